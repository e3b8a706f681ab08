"""What users read is as the snapshots in tests/snapshots have it; `make snapshots` writes them again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support import error_messages, message_rules, snapshots
from support.error_messages import Message
from support.message_tails import ANY, TAILS
from support.snapshot_cases import SESSIONS

AGAIN = "if the change is meant: make snapshots"
FAST = [session for session in SESSIONS if not session.on_a_board]


@pytest.fixture(scope="module")
def collected() -> list[Message]:
    return error_messages.collect()


@pytest.mark.parametrize("session", FAST, ids=lambda session: session.name)
def test_a_session_prints_what_its_snapshot_has(session: snapshots.Session) -> None:
    kept = (snapshots.COMMANDS / f"{session.name}.txt").read_text(encoding="utf-8")
    assert snapshots.session(session) == kept, AGAIN


def test_no_snapshot_is_without_its_session() -> None:
    names = sorted(session.name for session in SESSIONS)
    assert sorted(path.stem for path in snapshots.COMMANDS.iterdir()) == names
    assert len(set(names)) == len(names)


def test_no_session_ends_with_a_bug() -> None:
    for path in snapshots.COMMANDS.iterdir():
        text = path.read_text(encoding="utf-8")
        assert "\nexit 70\n" not in text
        assert "Traceback" not in text


@pytest.mark.parametrize("line", ["boards show arm/mps2_an38", "compile --help", "new-target my-npu"])
def test_a_process_of_its_own_prints_the_same(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with snapshots.bare_machine(tmp_path):
        here = snapshots.run(line)
    variables = {**snapshots.environment(tmp_path, path=""), "PYTHONPATH": str(snapshots.CHECKOUT / "host")}
    command = [sys.executable, "-c", "from aboard.cli import main; main()", *line.split()]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=variables, check=False)
    assert (done.returncode, done.stdout, done.stderr) == here


def test_filters_replace_figures_and_keep_their_lines() -> None:
    text = (
        "flash  13,392 bytes (13.1 KiB) of the model\n"
        "RAM    1,600 bytes (1.6 KiB) of the model, 7,688 of the image and its stack\n"
    )
    for each in snapshots.MEASURED:
        text = each(text)
    assert text == (
        "flash  <n> bytes (<n> KiB) of the model\n"
        "RAM    1,600 bytes (1.6 KiB) of the model, <n> of the image and its stack\n"
    )


def test_the_messages_are_those_of_the_snapshot(collected: list[Message]) -> None:
    assert error_messages.page(collected) == snapshots.MESSAGES.read_text(encoding="utf-8"), AGAIN
    assert len(collected) > 400


def test_messages_that_break_a_rule_are_the_listed_ones(collected: list[Message]) -> None:
    listed = snapshots.EXCEPTIONS.read_text(encoding="utf-8").splitlines()
    broken = message_rules.broken(collected)
    assert [line for line in broken if line not in listed] == [], "change the message, not the list"
    assert [line for line in listed if line not in broken] == [], AGAIN
    assert listed == sorted(set(listed))


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("{path}: size, got 3, got 4. Change it", "says got twice"),
        ("board {name}: unsupported, got {name}. Name another", "says the same fact twice"),
        ("{path}: too large, got {size}, expected 3", "does not say what to do"),
        ("{path}: what has been made of it. Remove it", "what ... of it"),
        ("{path}: is there no file. Remove it", "is there no"),
        ("board {name}: not known. {did_you_mean}", "not known, for unknown"),
        ("{path}: is no file. Remove it", "is no, for is not a"),
    ],
)
def test_each_rule_finds_what_breaks_it(text: str, rule: str) -> None:
    assert rule in [line.split(" | ")[0] for line in message_rules.broken([Message("x.py", "ModelError", 1, text)])]


@pytest.mark.parametrize(
    "text",
    [
        "board {name}: unknown. {did_you_mean}",
        "{path}: too large, got {size} bytes, expected {most}. Shorten the file",
        "{path}: cannot be read, got {error}; restart the device",
        "{path}: missing. For a board, name one with --board",
    ],
)
def test_sound_messages_break_no_rule(text: str) -> None:
    assert message_rules.broken([Message("x.py", "ModelError", 1, text)]) == []


@pytest.mark.parametrize(("file", "placeholder"), TAILS)
def test_every_text_of_a_declared_tail_says_what_to_do(file: str, placeholder: str) -> None:
    texts = list(TAILS[file, placeholder]())
    assert texts
    assert [text for origin, text in texts if not message_rules.says_what_to_do(origin, text)] == []


def test_every_declared_tail_ends_a_message(collected: list[Message]) -> None:
    ending = [(message.file, message.text) for message in collected]
    ending += [found for source in TAILS.values() for found in source()]
    unused = [
        (file, name)
        for file, name in TAILS
        if not any(text.endswith(f"{{{name}}}") and file in (ANY, origin) for origin, text in ending)
    ]
    assert unused == []


def test_a_placeholder_says_what_to_do_only_where_it_is_declared() -> None:
    declared = Message("runners/unicorn.py", "ToolError", 1, "runner unicorn: {problem}")
    elsewhere = Message("runners/other.py", "ToolError", 1, "runner other: {problem}")
    assert message_rules.broken([declared]) == []
    assert message_rules.broken([elsewhere]) == ["does not say what to do | runners/other.py | runner other: {problem}"]


SOURCE = """
from aboard.errors import ModelError
HINT = "Export it again"
class Cut(ModelError):
    def __init__(self, path):
        super().__init__(f"{path}: cut off. {HINT}")
def unsupported(what) -> ModelError:
    return ModelError(f"model: {what}. {HINT}")
def check(self, words):
    if words:
        raise ModelError(f"{self.path.name}: {'one' if words else 'two'} of {', '.join(map(str, words))}")
    message = "empty" if self else "none"
    raise ModelError(message + f", got {len(words)}")
def refuse():
    raise unsupported("axis, got {axis}")
def wrong():
    raise ValueError("no words")
"""


def test_messages_are_found_in_their_forms(tmp_path: Path) -> None:
    (tmp_path / "errors.py").write_text("class AboardError(Exception): ...\nclass ModelError(AboardError): ...\n")
    (tmp_path / "room").mkdir()
    (tmp_path / "room/file.py").write_text(SOURCE)
    found = [(m.kind, m.exit_code, m.text, m.wrapper) for m in error_messages.collect(tmp_path)]
    assert found == [
        ("Cut", 1, "{path}: cut off. Export it again", ""),
        ("ModelError", 1, "model: {what}. Export it again", ""),
        ("ModelError", 1, "{name}: [one|two] of {words}", ""),
        ("ModelError", 1, "empty, got {words}", ""),
        ("ModelError", 1, "none, got {words}", ""),
        ("ModelError", 1, "axis, got {axis}", "unsupported"),
        ("ValueError", 70, "no words", ""),
    ]
