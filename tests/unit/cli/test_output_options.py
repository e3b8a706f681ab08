"""`-q`, `-v` and `NO_COLOR`; and `python -m aboard`."""

from __future__ import annotations

import contextlib
import logging
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console as RichConsole
from rich.text import Text

from aboard import cli
from aboard.base import programs, progress
from aboard.base.version import VERSION
from aboard.cli import console as console_module
from aboard.cli.console import Console, Verbosity, details
from support import pseudo_terminal

RED = "\x1b[31m\x1b[1merror: \x1b[0m"


@pytest.fixture
def broken_board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Adds a board file that lists leave out with a note."""
    (tmp_path / "acme").mkdir()
    (tmp_path / "acme" / "broken.toml").write_text('name = "x"\n')
    monkeypatch.setenv("ABOARD_BOARDS", str(tmp_path))


@pytest.mark.usefixtures("broken_board")
@pytest.mark.parametrize("words", [("-q", "hardware"), ("hardware", "-q"), ("boards", "--quiet")], ids=" ".join)
def test_quiet_leaves_out_notes(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke([word for word in words if not word.startswith("-")]) == 0
    normal = capsys.readouterr()
    assert "left out: " in normal.err
    assert cli.invoke([*words]) == 0
    quiet = capsys.readouterr()
    assert (quiet.out, quiet.err) == (normal.out, "")


def test_quiet_prints_errors(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["-q", "boards", "show", "arm/mps2_an38"]) == 1
    assert capsys.readouterr().err.startswith("error: board arm/mps2_an38: unknown.")


@pytest.mark.parametrize("words", [("-v", "compile"), ("compile", "-v"), ("compile", "--verbose")], ids=" ".join)
def test_verbose_prints_each_step_with_its_time(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert cli.invoke([*words, "digits", "-b", "arm/mps2_an386", "-o", str(tmp_path / "bundle")]) == 0
    first, second = capsys.readouterr().err.splitlines()
    assert first == "aboard: compiling digits"
    assert second.startswith("aboard: compiling digits: done in ")
    assert second.endswith(" s")


def test_verbose_prints_the_programs_that_are_started(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    command = [sys.executable, "-c", "print('a b')"]
    with details(Console(verbosity=Verbosity.VERBOSE)):
        assert programs.run(command, tmp_path, {}, 60)[0] == 0
    assert (
        capsys.readouterr().err == f"aboard: starting in {tmp_path}: {sys.executable} -c 'print('\"'\"'a b'\"'\"')'\n"
    )


@pytest.mark.parametrize("verbosity", [Verbosity.QUIET, Verbosity.NORMAL])
def test_other_verbosities_print_no_details(verbosity: Verbosity, capsys: pytest.CaptureFixture[str]) -> None:
    console = Console(verbosity=verbosity)
    with details(console), console.step("a step"), console.progress("pieces", 2) as advance:
        logging.getLogger("aboard.base").debug("said")
        advance()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("seconds", "console", "shown"),
    [
        (2.5, Console(), ["compiling x: schedule: 120 of 500 layers"]),
        (1.5, Console(), []),
        (2.5, Console(verbosity=Verbosity.QUIET), []),
        (2.5, Console(json=True), ["compiling x: schedule: 120 of 500 layers"]),
    ],
)
def test_a_long_step_shows_what_it_is_doing_on_a_terminal(
    seconds: float, console: Console, shown: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    updates, clock = list[str](), iter([100.0, 100.0 + seconds])

    class Status(contextlib.nullcontext[Any]):
        def update(self, text: Text) -> None:
            updates.append(text.plain)

    monkeypatch.setattr(RichConsole, "status", lambda self, text: Status(Status()))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(console_module, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    with console.step("compiling x"):
        progress.report("schedule", 120, 500)
    assert updates == shown


def test_details_end_with_their_context(capsys: pytest.CaptureFixture[str]) -> None:
    logger = logging.getLogger("aboard")
    before = (list(logger.handlers), logger.level)
    with details(Console(verbosity=Verbosity.VERBOSE)):
        pass
    logger.debug("said")
    assert (list(logger.handlers), logger.level) == before
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("words", [["-q", "-v", "boards"], ["-q", "boards", "-v"]], ids=" ".join)
def test_quiet_and_verbose_exclude_each_other(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(words) == 2
    assert "Error: --quiet and --verbose exclude each other: give one." in capsys.readouterr().err


@pytest.mark.parametrize(("value", "coloured"), [(None, True), ("", True), ("1", False)])
def test_no_color_takes_the_colour_of_errors(
    value: str | None, coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    environment = {} if value is None else {"NO_COLOR": value}
    said = pseudo_terminal.output("boards", "show", "none", **environment).decode()
    assert said.startswith(RED if coloured else "error: board none: unknown.")


def test_errors_have_no_colour_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["boards", "show", "none"]) == 1
    assert capsys.readouterr().err.startswith("error: board none: unknown.")


def test_the_module_is_the_command_line(tmp_path: Path) -> None:
    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "aboard", *words]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert run("--version").stdout == f"aboard {VERSION}\n"
    wrong = run("bord")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "Usage: aboard " in wrong.stderr
