"""The page "From PyTorch" from an exported file to outputs on a board, as it stands there."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest

from aboard.base import resources
from support import markdown

PAGE = "docs/how-to/from_pytorch.md"
DATA = markdown.CHECKOUT / "tests" / "data" / "onnx"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copy(DATA / "digits.onnx", tmp_path)
    shutil.copy(resources.models() / "digits_test.npz", tmp_path)
    return tmp_path


def test_the_page(folder: Path) -> None:
    commands = [
        line for language, text in markdown.blocks(PAGE) if language == "sh" for line in markdown.commands(text)
    ]
    printed = {command.split()[1] + command.split()[2]: markdown.run(command, folder) for command in commands}
    assert len(printed) == 4
    for out in (printed["verifydigits.onnx"], printed["verifydigits_int8.onnx"]):
        assert re.search(r"^reference +onnxruntime$", out, re.MULTILINE)
        assert re.search(r"^result +0 differing bytes", out, re.MULTILINE)
    accuracy = re.search(r"^accuracy +([\d.]+) %$", printed["evaluatedigits_int8.onnx"], re.MULTILINE)
    assert accuracy is not None
    assert float(accuracy[1]) >= 97


def test_the_page_has_at_most_fifteen_lines_of_code() -> None:
    lines = [line for _, text in markdown.blocks(PAGE) for line in text.splitlines() if line.strip()]
    assert len(lines) <= 15


def test_the_file_is_what_its_script_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DATA))
    import make_digits

    made, kept = make_digits.model(), onnx.load(DATA / "digits.onnx")
    assert made.graph.node == kept.graph.node
    for one, other in zip(made.graph.initializer, kept.graph.initializer, strict=True):
        np.testing.assert_array_equal(onnx.numpy_helper.to_array(one), onnx.numpy_helper.to_array(other))
