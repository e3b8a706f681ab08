"""The terminal receives no control character from a model, a device or a package, on a real pseudo-terminal."""

from __future__ import annotations

import json
import re
from pathlib import Path

import click
import pytest
from pydantic import BaseModel

from aboard import cli
from aboard.cli.console import Console
from aboard.errors import FlashError, ModelError
from aboard.rpc.line import Line
from aboard.rpc.messages import Header, Type
from aboard.transports.loopback import LoopbackTransport
from support import pseudo_terminal
from support.foreign import model_with

HOSTILE = "a\x1b]0;title\x07b\x9b31mc\u202ed\re"
SHOWN = r"a\x1b]0;title\x07b\x9b31mc\u202ed\re"
#: What sets colours, moves the cursor or hides it: rich and click write these and no others.
OWN = re.compile(rb"\x1b\[\??[0-9;]*[A-Zhlm]")


@pytest.mark.parametrize("options", [(), ("--explain",), ("--json",)], ids=" ".join)
def test_names_of_a_model_are_shown_and_not_executed(tmp_path: Path, options: tuple[str, ...]) -> None:
    model = tmp_path / "model.tflite"
    model.write_bytes(model_with([HOSTILE, f"[bold]{HOSTILE}", "[/nothing]:smile:", "[link=x]y"]))
    said = pseudo_terminal.output(
        "compile", str(model), "-t", "c -mcpu=cortex-m4", "-o", str(tmp_path / "bundle"), *options
    )
    left = OWN.sub(b"", said).decode()
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202e]", left)
    assert "[/nothing]:smile:" in left
    assert "[link=x]y" in left


def test_a_message_quotes_a_file_without_its_control_characters(tmp_path: Path) -> None:
    model = tmp_path / f"{HOSTILE}.tflite"
    model.write_bytes(b"TFL3")
    said = OWN.sub(
        b"", pseudo_terminal.output("compile", str(model), "-t", "c -mcpu=cortex-m4", "-o", str(tmp_path / "b"))
    ).decode()
    assert f"error: {SHOWN}.tflite: not a TFLite file" in said
    assert "\x1b" not in said


def test_usage_quotes_words_without_their_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke([HOSTILE]) == 2
    said = capsys.readouterr().err
    assert "\x1b" not in said
    assert "No such command" in said


def test_a_bug_quotes_an_exception_without_its_control_characters(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError(HOSTILE)

    monkeypatch.setattr(click.Group, "invoke", fail)
    assert cli.invoke(["doctor"]) == 70
    said = capsys.readouterr().err
    assert f"RuntimeError: {SHOWN}" in said
    assert "\x1b" not in said


class Result(BaseModel):
    text: str


def test_each_way_of_printing_shows_what_is_hidden(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console()
    console.emit(Result(text="x"), lambda: f"{HOSTILE}\tT\nU")
    console.diagnostic(f"{HOSTILE}\n")
    console.note(HOSTILE)
    console.error(HOSTILE)
    captured = capsys.readouterr()
    assert captured.out == f"{SHOWN}\tT\nU\n"
    assert click.unstyle(captured.err) == f"{SHOWN}\naboard: {SHOWN}\nerror: {SHOWN}\n"


def test_json_says_the_same_in_printable_characters(capsys: pytest.CaptureFixture[str]) -> None:
    text = f"{HOSTILE}é\U0001f600\U000e0001"
    Console(json=True).emit(Result(text=text), str)
    said = capsys.readouterr().out
    assert said.rstrip("\n").isprintable()
    assert json.loads(said) == {"text": text}


def test_the_messages_of_all_errors_show_what_is_hidden() -> None:
    assert str(ModelError(HOSTILE)) == SHOWN
    assert str(FlashError(f"a\nb {HOSTILE}", "locked")) == f"a\nb {SHOWN}"


def test_log_lines_of_a_device_show_what_is_hidden() -> None:
    logged: list[str] = []
    line = Line(LoopbackTransport(lambda data: data), logged.append)
    line.note_event(Header(Type.LOG, 0, 0, 0), f"{HOSTILE}\nnext".encode() + b"\xff")
    assert logged == [f"{SHOWN}\nnext\ufffd"]
