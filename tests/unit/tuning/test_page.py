"""docs/how-to/tuning.md: its code runs, and the commands have the options that it names."""

from __future__ import annotations

import re
from typing import Any

import pytest

from aboard.base import resources
from aboard.cli import compile as compiling
from aboard.cli import deploy, tune
from aboard.target import Target
from aboard.tuning import space
from support import markdown
from support.device import device
from support.fake_device import RUNS, fake_device

PAGE = "docs/how-to/tuning.md"
#: Attributes of targets that the page names.
_ATTRIBUTES = {"-runtime", "-model", "-opt", "-partition", "-ram-max", "-flash-max"}


def code() -> list[str]:
    return [text for language, text in markdown.blocks(PAGE) if language == "python"]


def test_the_search_of_the_page_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(resources.models())
    made: dict[str, Any] = {}
    with fake_device(RUNS):
        exec(code()[0].replace("my-npu", "fake"), made)
    assert [trial.point for trial in made["found"].trials if trial.device == "fake"] == [
        {"runs": runs} for runs in RUNS.values
    ]


def test_the_knobs_of_the_page_are_a_space() -> None:
    text = code()[1]
    made: dict[str, object] = {}
    exec(text, made)
    with device((), tuning=made["tuning"]):
        found = space.of_device(Target("fake", as_device=True))
        assert found.defaults == {"rows": 4, "buffers": 2}
        assert found.size == 8


def test_the_options_of_the_page_are_there() -> None:
    text = (markdown.CHECKOUT / PAGE).read_text(encoding="utf-8")
    options = {name for command in (tune, compiling, deploy) for p in command.command.params for name in p.opts}
    named = set(re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", text)) - _ATTRIBUTES
    assert {"--points", "--seconds", "--only", "--samples", "--tuning", "-O", "--json"} <= named
    assert named <= options
