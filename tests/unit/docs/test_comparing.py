"""docs/how-to/comparing.md: its commands and its code run, its example is what is printed, its tables are complete."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from aboard import cli
from aboard.base import resources
from aboard.check.compare import Cause, State
from aboard.check.reference import KINDS
from support import damage, markdown

PAGE = "docs/how-to/comparing.md"
TEXT = (markdown.CHECKOUT / PAGE).read_text(encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("digits_test.npz", "digits_f32.tflite", "digits.tflite"):
        shutil.copy(resources.models() / name, tmp_path)
    return tmp_path


def test_the_code_runs(folder: Path) -> None:
    (script,) = [text for language, text in markdown.blocks(PAGE) if language == "python"]
    (folder / "page.py").write_text(script, encoding="utf-8")
    state, ratio = markdown.run("python page.py", folder).split()
    assert state == "rounding"
    assert float(ratio) > 40


def test_the_example_is_what_is_printed(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "80")
    whole, rng = Path("digits.tflite"), np.random.default_rng(1)
    data = whole.read_bytes()
    feeds = damage.inputs.feeds(data, damage.samples(whole, rng))
    Path("wrong.tflite").write_bytes(damage.tflite(data, rng, feeds, "transposition").data)
    assert cli.invoke(["compare", "digits_f32", "wrong.tflite", "--data", "digits_test.npz"]) == 1
    (example,) = [text for language, text in markdown.blocks(PAGE) if language == "text"]
    assert capsys.readouterr().out.partition("\n\n")[0] == example.strip()


def test_the_tables_are_complete() -> None:
    words = re.findall(r"`([^`]+)`", "".join(re.findall(r"^\| (`[^|]*|none, `[^|]*)\|", TEXT, re.MULTILINE)))
    assert {cause.value for cause in Cause} <= set(words)
    assert {state.value for state in State} <= set(words)
    assert set(KINDS) <= set(words)
