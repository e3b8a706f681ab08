"""What all tests share.

Tests that run on a list of models are deselected where none of these is there (`support.models`). In CI the cases
that hypothesis draws are the same in every run, so that a change is judged by its own doing; elsewhere they are new.
"""

import os

import pytest
from hypothesis import settings

settings.register_profile("ci", derandomize=True, print_blob=True)
if os.environ.get("CI"):
    settings.load_profile("ci")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    def has_a_case(item: pytest.Item) -> bool:
        reasons = (mark.kwargs.get("reason", "") for mark in item.iter_markers("skip"))
        return not any(str(reason).startswith("got empty parameter set") for reason in reasons)

    without = [item for item in items if not has_a_case(item)]
    if without:
        config.hook.pytest_deselected(items=without)
        items[:] = [item for item in items if has_a_case(item)]
