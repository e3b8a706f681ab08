"""Shells complete command lines, as docs/reference/command_line.md says."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from aboard import boards
from aboard.cli.group import COMMANDS
from aboard.project import templates
from support import markdown

PAGE = markdown.CHECKOUT / "docs" / "reference" / "command_line.md"


def asked(instruction: str, **variables: str) -> str:
    code = "from aboard.cli import main; main()"
    environment = {**os.environ, "_ABOARD_COMPLETE": instruction, **variables}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.stdout


def completed(*words: str) -> list[str]:
    """Returns the completions of the last word of a command line, as bash asks for them."""
    line = " ".join(("aboard", *words))
    said = asked("bash_complete", COMP_WORDS=line, COMP_CWORD=str(len(words)))
    return [entry.partition(",")[2] for entry in said.splitlines()]


def test_commands_are_completed() -> None:
    assert completed("bo") == ["boards"]
    assert set(completed("t")) == {name for name in COMMANDS if name.startswith("t")}


def test_options_are_completed() -> None:
    assert completed("compile", "digits", "--boar") == ["--board"]


@pytest.mark.parametrize("words", [("compile", "digits", "--board"), ("boards", "show")], ids=" ".join)
def test_boards_are_completed(words: tuple[str, ...]) -> None:
    assert completed(*words, "arm/") == [name for name in boards.names() if name.startswith("arm/")]


def test_templates_are_completed() -> None:
    assert completed("create", "digits", "--template", "a") == [n for n in templates.names() if n.startswith("a")]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_page_names_the_variable_of_each_shell(shell: str) -> None:
    assert f"_ABOARD_COMPLETE={shell}_source aboard" in PAGE.read_text(encoding="utf-8")
    if shell != "bash":  # click asks an installed bash for its version
        assert "_ABOARD_COMPLETE" in asked(f"{shell}_source")
