"""The page on tests of firmware: its suite passes as it stands, and what it says of options and fixtures is so."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
import yaml

from aboard.base import resources
from aboard.testing import plugin
from support import markdown

PAGE = "docs/how-to/testing_firmware.md"
TEXT = (markdown.CHECKOUT / PAGE).read_text(encoding="utf-8")


def files() -> dict[str, str]:
    """Returns the Python files of the page, by name."""
    code = (text for language, text in markdown.blocks(PAGE) if language == "python")
    return {text.split("\n", 1)[0].removeprefix("# "): text for text in code}


def suite(folder: Path, *names: str) -> None:
    for name in ("digits.tflite", "digits_test.npz"):
        shutil.copy(resources.models() / name, folder)
    for name in names:
        (folder / name).write_text(files()[name], encoding="utf-8")


def test_the_first_tests_pass(tmp_path: Path) -> None:
    suite(tmp_path, "test_digits.py")
    (command,) = (text for language, text in markdown.blocks(PAGE) if language == "sh")
    assert "2 passed" in markdown.run(command, tmp_path)


def test_the_overridden_fixtures_work(tmp_path: Path) -> None:
    assert sorted(files()) == ["conftest.py", "test_digits.py", "test_layers.py"]
    suite(tmp_path, "conftest.py", "test_layers.py")
    assert "1 passed" in markdown.run("pytest --aboard-board host/native", tmp_path)


def test_all_fixtures_and_options_are_explained(pytestconfig: pytest.Config) -> None:
    names = {name for name in vars(plugin) if name.startswith("aboard_")} - {"aboard_workshop"}
    rows = dict(re.findall(r"^\| `(aboard_\w+)` \| (session|module) \|", TEXT, re.MULTILINE))
    assert set(rows) == names
    for name in names:
        assert pytestconfig.pluginmanager.has_plugin("aboard")
        definition = getattr(plugin, name)
        assert definition._fixture_function_marker.scope == rows[name]
    options = set(re.findall(r"^\| `(--aboard-\w+)", TEXT, re.MULTILINE))
    assert options == {"--aboard-board", "--aboard-runner", "--aboard-device"}
    for option in options:
        pytestconfig.getoption(option)


def test_the_workflow_is_one() -> None:
    (text,) = (text for language, text in markdown.blocks(PAGE) if language == "yaml")
    steps = yaml.safe_load(text)["jobs"]["test"]["steps"]
    assert [step["run"].split()[0] for step in steps if "run" in step] == ["pip", "pytest"]
