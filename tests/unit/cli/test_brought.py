"""Commands that packages bring: listed without an import, called, and named where they are at fault."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from aboard import cli
from aboard.base import extensions
from aboard.cli import brought

Install = Callable[..., None]

GOOD = """
import click

@click.command("greet")
def command():
    click.echo("hello from a package")

@click.command("greet")
def failing():
    raise ZeroDivisionError("of the vendor")

other = click.Command("other")
text = "greet"
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Returns a function that makes entry points (name, value) the installed ones."""
    (tmp_path / "vendor_commands.py").write_text(GOOD, encoding="utf-8")
    (tmp_path / "vendor_broken.py").write_text("import no_such_module_of_the_vendor\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    for module in ("vendor_commands", "vendor_broken"):
        monkeypatch.delitem(sys.modules, module, raising=False)

    def use(*entries: tuple[str, str]) -> None:
        found = [EntryPoint(name, value, brought.GROUP) for name, value in entries]
        monkeypatch.setattr(extensions, "entry_points", lambda group: found if group == brought.GROUP else [])

    return use


def test_a_command_of_a_package_runs(install: Install, capsys: pytest.CaptureFixture[str]) -> None:
    install(("greet", "vendor_commands:command"))
    assert cli.invoke(["greet"]) == 0
    assert capsys.readouterr().out == "hello from a package\n"


def test_help_lists_it_without_an_import(install: Install, capsys: pytest.CaptureFixture[str]) -> None:
    install(("greet", "vendor_broken:command"))
    assert cli.invoke(["--help"]) == 0
    assert "Commands of packages:\n  greet  From vendor_broken.\n" in capsys.readouterr().out
    assert "vendor_broken" not in sys.modules
    install()
    assert cli.invoke(["--help"]) == 0
    assert "Commands of packages" not in capsys.readouterr().out


def test_a_near_name_is_suggested(install: Install, capsys: pytest.CaptureFixture[str]) -> None:
    install(("greet", "vendor_commands:command"))
    assert cli.invoke(["gret"]) == 2
    assert "No such command 'gret'. Did you mean greet, report, create?" in capsys.readouterr().err


def test_commands_of_aboard_come_first(install: Install, capsys: pytest.CaptureFixture[str]) -> None:
    install(("passes", "vendor_broken:command"))
    assert cli.invoke(["passes", "--help"]) == 0
    assert "List the passes" in capsys.readouterr().out
    assert cli.invoke(["--help"]) == 0
    assert "vendor_broken" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        (
            [("greet", "vendor_broken:command")],
            "of vendor_broken:command cannot be imported, got ModuleNotFoundError: No module named 'no_such_module_of",
        ),
        (
            [("greet", "vendor_commands:other")],
            "is of the wrong type, got other, expected a click command of the name greet. Name one in the entry point",
        ),
        (
            [("greet", "vendor_commands:text")],
            "is of the wrong type, got str, expected a click command of the name greet. Name one in the entry point",
        ),
        (
            [("greet", "vendor_commands:command"), ("greet", "vendor_broken:command")],
            "error: command greet: comes from several packages, got vendor_broken:command, vendor_commands:command",
        ),
    ],
    ids=["import", "name", "type", "twice"],
)
def test_a_wrong_command_names_its_package(
    entries: list[tuple[str, str]], message: str, install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    install(*entries)
    assert cli.invoke(["greet"]) == 1
    assert message in capsys.readouterr().err


def test_a_command_that_fails_is_no_bug_of_aboard(install: Install, capsys: pytest.CaptureFixture[str]) -> None:
    install(("greet", "vendor_commands:failing"))
    assert cli.invoke(["greet"]) == 1
    assert (
        "vendor_commands:failing: the package failed, got ZeroDivisionError: of the vendor" in capsys.readouterr().err
    )


def test_a_disabled_command_is_left_out(
    install: Install, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install(("greet", "vendor_commands:command"))
    monkeypatch.setenv(extensions.DISABLED, "greet")
    assert cli.invoke(["greet"]) == 2
    assert "No such command 'greet'." in capsys.readouterr().err
