"""Tests that run on a list of models are deselected where none of these is there (`support.models`)."""

import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    def has_a_case(item: pytest.Item) -> bool:
        reasons = (mark.kwargs.get("reason", "") for mark in item.iter_markers("skip"))
        return not any(str(reason).startswith("got empty parameter set") for reason in reasons)

    without = [item for item in items if not has_a_case(item)]
    if without:
        config.hook.pytest_deselected(items=without)
        items[:] = [item for item in items if has_a_case(item)]
