"""docs/how-to/bring_your_own_model.md: its code runs, and the messages that it explains are those of aboard."""

from __future__ import annotations

import ast
import re
import shlex
import shutil
from pathlib import Path

import pytest

from aboard import cli
from aboard.base import resources
from aboard.cli.group import COMMANDS
from support import error_messages, markdown, models, snapshots

PAGE = "docs/how-to/bring_your_own_model.md"
TEXT = (markdown.CHECKOUT / PAGE).read_text(encoding="utf-8")
BLOCKS = markdown.blocks(PAGE)
LINES = [line for language, text in BLOCKS if language == "sh" for line in markdown.commands(text)]
SOURCES = [text for language, text in BLOCKS if language == "python"]
FRONT_END = "audio_preprocessor_int8.tflite"


@pytest.mark.parametrize("line", [line for line in LINES if not line.startswith("aboard verify")])
def test_the_commands_run(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.invoke(shlex.split(line)[1:]) == 0
    assert capsys.readouterr().out


def test_the_commands_named_in_the_text_exist() -> None:
    names = set(re.findall(r"`aboard ([a-z-]+)", TEXT)) | {line.split()[1] for line in LINES}
    assert names <= set(COMMANDS)
    assert {"verify", "ops", "compile", "evaluate"} <= names


@pytest.mark.parametrize("text", SOURCES)
def test_the_python_runs(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(resources.models() / "digits.tflite", tmp_path / "model.tflite")
    if FRONT_END in text:
        model = models.path("audio_features")
        if model is None:
            pytest.skip("the front end is not there: set ABOARD_MODELS")
        shutil.copy(model, tmp_path / FRONT_END)
    monkeypatch.chdir(tmp_path)
    exec(compile(text, PAGE, "exec"), {})


def test_the_snippets_for_tensorflow_are_python() -> None:
    snippets = [text for language, text in BLOCKS if language == "text"]
    assert len(snippets) == 3
    for text in snippets:
        ast.parse(text)


def _texts() -> str:
    """Returns every error message, and every text in the importers, which collect problems as texts."""
    found = [snapshots.MESSAGES.read_text(encoding="utf-8")]
    for path in sorted(path for room in ("importers", "ops") for path in (error_messages.PACKAGE / room).glob("*.py")):
        file = path.relative_to(error_messages.PACKAGE).as_posix()
        texts = (
            node for node in ast.walk(error_messages.tree(file)) if isinstance(node, (ast.JoinedStr, ast.Constant))
        )
        found += [" ".join(ast.unparse(node).split()) for node in texts]
    return "\n".join(found)


def test_the_messages_of_the_table_exist() -> None:
    table = TEXT.partition("## What a refusal means")[2]
    rows = [line.split(" | ")[0] for line in table.splitlines() if line.startswith("| `")]
    quoted = [text for row in rows for text in re.findall(r"`([^`]+)`", row)]
    assert len(quoted) >= 15
    known = _texts()
    assert [text for text in quoted if text not in known] == []


def test_the_note_on_free_dimensions_is_that_of_the_importer() -> None:
    quoted = re.search(r"^    aboard: (input x: .*)$", TEXT, re.MULTILINE)
    assert quoted is not None
    assert quoted[1] == "input x: free dimensions are fixed, ?x8x8x1 is compiled as 1x8x8x1"
    assert ": free dimensions are fixed, {free} is compiled as {fixed}" in _texts()
