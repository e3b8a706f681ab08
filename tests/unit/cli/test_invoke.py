"""Exit codes, messages, help and JSON of the command line as a whole."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import click
import pytest

from aboard import cli
from aboard.cli.group import COMMANDS, group
from aboard.errors import ToolError

LEAVES = [(name,) for name in COMMANDS if name not in ("ci", "farm")] + [
    ("ci", "init"),
    ("farm", "status"),
    ("farm", "verify"),
    ("farm", "worker"),
    ("boards", "show"),
    ("targets", "show"),
    ("targets", "why"),
    ("hardware", "show"),
    ("hardware", "detect"),
]


def leaf(words: tuple[str, ...]) -> click.Command:
    command: click.Command = group
    for word in words:
        assert isinstance(command, click.Group)
        found = command.get_command(click.Context(command), word)
        assert found is not None
        command = found
    return command


@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_every_command_has_json_and_help_with_an_example(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.invoke([*words, "--help"]) == 0
    text = capsys.readouterr().out
    assert "--json" in text
    assert re.search(rf"Examples?:\n\s+aboard {words[0]}", text)


@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_every_option_says_what_it_does(words: tuple[str, ...]) -> None:
    silent = [p.name for p in leaf(words).params if isinstance(p, click.Option) and not p.help]
    assert silent == []


def test_the_list_of_commands_says_what_the_commands_say() -> None:
    for name, (_, about) in COMMANDS.items():
        assert leaf((name,)).name == name
        assert about.endswith(".")


def test_an_unknown_command_is_usage_and_names_near_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["bord"]) == 2
    assert "No such command 'bord'. Did you mean boards?" in capsys.readouterr().err


def test_an_unknown_option_is_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["compile", "digits", "--bord", "x"]) == 2
    assert "No such option" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("attribute", "hint"),
    [("-opt=size", "--opt size, or it after the board or core"), ("-ram-max=4096", "Write it after the board or core")],
)
def test_an_attribute_of_a_target_is_no_option(
    attribute: str, hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.invoke(["compile", "digits", "--board", "arm/mps2_an386", attribute]) == 2
    error = capsys.readouterr().err
    assert f"{attribute} is an attribute of a target" in error
    assert hint in error
    assert f'--target "arm/mps2_an386 {attribute}"' in error
    assert not list(tmp_path.iterdir())


def test_a_folder_may_follow_its_option_at_once(tmp_path: Path) -> None:
    assert cli.invoke(["compile", "digits", "--board", "arm/mps2_an386", f"-o{tmp_path / 'a=b'}", "--quiet"]) == 0
    assert (tmp_path / "a=b" / "manifest.json").exists()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "Missing option '--board' or '--target'"),
        (["--board", "b", "--target", "t"], "--target and --board exclude each other"),
    ],
)
def test_exactly_one_of_target_and_board(given: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["compile", "digits", *given]) == 2
    assert message in capsys.readouterr().err


def test_a_template_option_needs_a_value(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["create", "digits", "--board", "b", "-o", "x", "-O", "trace"]) == 2
    assert "got 'trace', expected KEY=VALUE" in capsys.readouterr().err


@pytest.mark.parametrize("value", ["seq", "=3", "seq=0", "seq=-1", "seq=1.5", "seq="])
def test_a_dimension_needs_a_name_and_a_size(value: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["compile", "digits", "-b", "riscv/qemu_virt32", "--dimension", value]) == 2
    wanted = f"Invalid value for '--dimension': got {value!r}, expected NAME=SIZE with a size from 1, such as seq=16."
    assert wanted in " ".join(capsys.readouterr().err.split())


def test_a_users_error_is_one_message_and_exit_code_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["boards", "show", "arm/mps2_an38"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert re.fullmatch(r"error: board arm/mps2_an38: unknown. Did you mean arm/mps2_an38.*\n", err)


def test_with_json_an_error_is_the_one_object_and_still_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["boards", "show", "nowhere/nothing", "--json"]) == 1
    out, err = capsys.readouterr()
    error = json.loads(out)["error"]
    assert error["kind"] == "BoardError"
    assert error["exit_code"] == 1
    assert error["message"] in err


def test_with_json_wrong_usage_is_an_object_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["compile", "--json"]) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert (error["kind"], error["exit_code"]) == ("UsageError", 2)
    assert "Missing argument 'MODEL'" in error["message"]


def test_our_bug_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def broken() -> None:
        raise KeyError("surprise")

    monkeypatch.setattr("aboard.boards.names", broken)
    assert cli.invoke(["boards", "--json"]) == 70
    out, err = capsys.readouterr()
    assert json.loads(out)["error"]["exit_code"] == 70
    assert "Traceback (most recent call last)" in err
    assert "KeyError: 'surprise'" in err
    assert "this is a bug in aboard" in err


def test_an_interrupt_is_no_bug(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("aboard.boards.names", interrupted)
    assert cli.invoke(["boards"]) == 130
    assert capsys.readouterr().err.endswith("error: interrupted\n")


def test_an_interrupt_during_the_import_prints_what_any_other_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("aboard.boards.names", interrupted)
    assert cli.invoke(["boards", "--json"]) == 130
    later = capsys.readouterr()
    script = """
        import sys

        class Interrupts:
            def find_spec(self, name, path=None, target=None):
                if name == "aboard.cli.group":
                    raise KeyboardInterrupt

        sys.meta_path.insert(0, Interrupts())
        from aboard.__main__ import main
        main()
    """
    command = [sys.executable, "-c", textwrap.dedent(script), "boards"]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, later.out, later.err)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", later.err)


def test_a_missing_tool_is_the_users_to_get(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing() -> None:
        raise ToolError("cmake: not found. Install it")

    monkeypatch.setattr("aboard.device.doctor.inspect", missing)
    assert cli.invoke(["doctor"]) == 1
    assert capsys.readouterr().err == "error: cmake: not found. Install it\n"


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["--version"]) == 0
    assert re.fullmatch(r"aboard \d+\.\d+\S*\n", capsys.readouterr().out)
