"""The table of docs/reference/targets.md: every requirement is shown by a command or a test, and the commands run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from aboard import cli
from aboard.target import Target, plugins, runtimes
from support import markdown

#: Words of the requirements, each of which has a row.
ASKED = (
    "target key", "string form", "attribute list", "hardware attribute for records", "host of a target", "composite",
    "hierarchy, canonical names", "A0", "A1", "A2", "A3", "A4", "column registration from Python", "listing",
    "device choice", "versions", "runtime attribute", "one partitioner", "from outside", "tuning records",
)  # fmt: skip


def requirements() -> dict[str, str]:
    """Returns what shows each requirement."""
    page = (markdown.CHECKOUT / "docs/reference/targets.md").read_text(encoding="utf-8")
    table = page.partition("| requirement | shown by |\n")[2].splitlines()[1:]
    rows = [line.strip().strip("|").split("|", 1) for line in table if line.startswith("|")]
    return {name.strip(): shown.strip() for name, shown in rows}


COMMANDS = [command for shown in requirements().values() for command in re.findall(r"`(aboard [^`]+)`", shown)]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_run(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.invoke(shlex.split(command)[1:]) == 0
    assert len(capsys.readouterr().out.splitlines()) > 1


def test_every_requirement_has_a_row_with_a_command_or_a_test() -> None:
    rows = requirements()
    assert len(COMMANDS) >= 10
    assert [row for row, shown in rows.items() if not re.search(r"`aboard [^`]+`|`tests/[^`]+`", shown)] == []
    assert [word for word in ASKED if not any(word in row for row in rows)] == []


def test_the_runtime_of_the_page_is_one() -> None:
    blocks = [text for language, text in markdown.blocks("docs/reference/targets.md") if language == "python"]
    (text,) = [text for text in blocks if "LinkedRuntime" in text]
    with plugins.restored():
        exec(text, {})
        assert Target("c -mcpu=cortex-m4 -runtime=acme-os").runtime == "acme-os"
        assert runtimes.templates() == {"acme_os": Path("acme_os")}
