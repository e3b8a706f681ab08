"""The pages about targets and devices say what is there."""

from __future__ import annotations

import re

from aboard.cli.group import COMMANDS
from aboard.partition.matcher import check_patterns
from aboard.target import Target, columns
from support import markdown


def test_targets_of_the_page_are_targets() -> None:
    specs = [text for language, text in markdown.blocks("docs/targets.md") if language == "python"]
    made: dict[str, object] = {}
    for number, line in enumerate(line for line in specs[0].splitlines() if line.startswith("Target(")):
        exec(f"made[{number}] = {line}", {"Target": Target, "made": made})
    assert len(made) == 6
    assert made[3] == made[4] == made[5]


def test_the_table_names_tests_that_are_there() -> None:
    page = (markdown.CHECKOUT / "docs/targets.md").read_text(encoding="utf-8")
    for path, name in re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?", page):
        text = (markdown.CHECKOUT / path).read_text(encoding="utf-8")
        assert not name or f"def {name}(" in text, f"{path}::{name}"
    for column in re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE):
        assert column in columns.columns()
    for command in re.findall(r"`aboard ([\w-]+)", page):
        assert command in COMMANDS


def test_commands_of_the_page_run(tmp_path) -> None:
    lines = [
        c for language, text in markdown.blocks("docs/targets.md") if language == "sh" for c in markdown.commands(text)
    ]
    assert len(lines) == 3
    assert "convolve_s8" in markdown.run(lines[0], tmp_path)
    assert '"device":"cmsis-nn"' in markdown.run(lines[1], tmp_path).replace(" ", "")
    assert (tmp_path / "digits.svg").is_file()
    assert "->" in markdown.run(lines[2], tmp_path)


def test_the_pattern_of_the_page_is_one() -> None:
    (text,) = [text for language, text in markdown.blocks("docs/adding_a_device.md") if language == "python"]
    made: dict[str, object] = {}
    exec(text, made)
    check_patterns(made["offered"], "the page")  # type: ignore[arg-type]


def test_the_first_command_writes_the_package(tmp_path) -> None:
    (text,) = [text for language, text in markdown.blocks("docs/adding_a_device.md") if language == "sh"]
    (command,) = markdown.commands(text)
    markdown.run(command, tmp_path)
    assert (tmp_path / "my_npu/my_npu/codegen.py").is_file()
