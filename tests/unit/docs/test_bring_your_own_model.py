"""docs/how-to/bring_your_own_model.md: its code runs, and the messages that it explains are those of aboard."""

from __future__ import annotations

import ast
import functools
import re
import shutil
from pathlib import Path

import pytest

from aboard.base import resources
from aboard.cli.group import COMMANDS
from aboard.frameworks import extras, foreign
from support import error_messages, markdown, models, own_model, snapshots
from support.own_model import PAGE

TEXT = (markdown.CHECKOUT / PAGE).read_text(encoding="utf-8")
BLOCKS = markdown.blocks(PAGE)
LINES = [line for language, text in BLOCKS if language == "sh" for line in markdown.commands(text)]
OF_FRAMEWORKS = [block for blocks in own_model.sections().values() for block in blocks]
SOURCES = [text for language, text in BLOCKS if language == "python" and (language, text) not in OF_FRAMEWORKS]
ROOMS = ("importers", "ops", "frameworks")
REFUSALS = ("ModelError", "InputError", "ExtraError")

#: The end of a text with an advice; docstrings have none of these verbs there.
ADVICE = re.compile(r"\. (?:Add|Assign|Convert|Divide|Export|Quantise|Reshape|Train|Use|Write) [^.\n]*$")

#: Messages whose words are other texts of these rooms, and messages about arrays, not models.
WITHOUT_ROW = {
    "{known}",
    "{_where}: {compiled}",
    "{_where}: {error}",
    "{where}: {what}",
    "input {name}: got {dtype}[{shape}], expected {type}. Reshape or convert it",
    "input {name}: not given, expected {type}. Pass a value for every input",
    "input {name}: unknown. {did_you_mean}",
}
FRONT_END = "audio_preprocessor_int8.tflite"


def test_the_commands_named_in_the_text_exist() -> None:
    names = set(re.findall(r"`aboard ([a-z-]+)", TEXT)) | {line.split()[1] for line in LINES}
    assert names <= set(COMMANDS)
    assert {"verify", "ops", "compile", "evaluate"} <= names


@pytest.mark.parametrize("text", SOURCES)
def test_python_that_needs_no_framework_runs(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(resources.models() / "digits.tflite", tmp_path / "model.tflite")
    if FRONT_END in text:
        model = models.path("audio_features")
        if model is None:
            pytest.skip("the front end is not there: set ABOARD_MODELS")
        shutil.copy(model, tmp_path / FRONT_END)
    monkeypatch.chdir(tmp_path)
    exec(compile(text, PAGE, "exec"), {})


@functools.cache
def _noted() -> tuple[str, ...]:
    """Returns the texts in importers, ops and frameworks, which collect problems and reasons as texts."""
    found = []
    for path in sorted(path for room in ROOMS for path in (error_messages.PACKAGE / room).rglob("*.py")):
        tree = error_messages.tree(path.relative_to(error_messages.PACKAGE).as_posix())
        nodes = list(ast.walk(tree))
        others = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}  # docstrings
        others |= {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
        for node in (node for node in nodes if id(node) not in others):
            parts = node.values if isinstance(node, ast.JoinedStr) else [node]
            text = "".join(map(_part, parts))
            if text:
                found.append(" ".join(text.split()))
    return tuple(found)


def _part(node: ast.AST) -> str:
    if isinstance(node, ast.FormattedValue):
        return "{" + error_messages.short_name(node.value) + "}"
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _phrases() -> list[str]:
    table = TEXT.partition("## What a refusal means")[2]
    rows = [line.split(" | ")[0] for line in table.splitlines() if line.startswith("| `")]
    return [text for row in rows for text in re.findall(r"`([^`]+)`", row)]


def test_the_messages_of_the_tables_exist() -> None:
    known = "\n".join([snapshots.MESSAGES.read_text(encoding="utf-8"), *_noted()])
    assert len(_phrases()) >= 100
    assert [phrase for phrase in _phrases() if phrase not in known] == []


def test_every_message_about_a_model_has_a_row() -> None:
    messages = [
        message.text
        for message in error_messages.collect()
        if message.file.startswith(ROOMS) and message.kind in REFUSALS and message.wrapper != "corrupt"
    ]
    noted = [text for text in _noted() if ADVICE.search(text)]
    assert len(messages) > 200
    assert len(noted) > 100
    phrases = _phrases()
    without = {text for text in (*messages, *noted) if not any(phrase in text for phrase in phrases)}
    assert without - WITHOUT_ROW == set()
    assert without >= WITHOUT_ROW


def test_every_foreign_format_has_a_row() -> None:
    formats = [value for value in vars(foreign).values() if isinstance(value, foreign.ForeignFormat)]
    assert len(formats) >= 15
    row = next(line for line in TEXT.splitlines() if "`expected a model that aboard reads`" in line)
    for word in ("pickle", "TorchScript", "ExecuTorch", "Core ML", "GGUF", "arrays", "archive"):
        assert word in row
        assert any(word in value.name for value in formats)


def test_the_packages_are_those_of_the_extras() -> None:
    for requirements in extras.EXTRAS.values():
        assert "`pip install " + " ".join(f'"{each}"' for each in requirements) + "`" in TEXT


def test_the_note_on_free_dimensions_is_that_of_the_importer() -> None:
    quoted = re.search(r"^    aboard: (input x: .*)$", TEXT, re.MULTILINE)
    assert quoted is not None
    assert quoted[1] == "input x: free dimensions are fixed, ?x8x8x1 is compiled as 1x8x8x1"
    assert any(": free dimensions are fixed, {free} is compiled as {fixed}" in text for text in _noted())
