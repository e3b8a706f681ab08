"""The commands of the page on comparing models, one of which runs a model on an emulated board."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np

import aboard
from aboard.base import resources
from aboard.check.compare import State
from support import markdown

PAGE = "docs/how-to/comparing.md"
DATA = markdown.CHECKOUT / "tests" / "data" / "onnx"


def test_the_commands_run(tmp_path: Path) -> None:
    shutil.copy(resources.models() / "digits_test.npz", tmp_path)
    commands = [text for language, text in markdown.blocks(PAGE) if language == "sh"]
    printed = [markdown.run(command, tmp_path) for command in markdown.commands("".join(commands))]
    results = [re.findall(r"^result +(\w+)", text, re.MULTILINE) for text in printed]
    assert results == [["rounding"], ["equal"]]


def test_an_onnx_file_on_a_board(tmp_path: Path) -> None:
    images = np.load(resources.models() / "digits_test.npz")["x_f32"][:4].reshape(4, 1, 8, 8)
    path = DATA / "digits.onnx"
    found = aboard.compare(path, f"{path}@arm/mps2_an386", images)
    assert found.state is State.ROUNDING
    assert found.outputs[0].snr_db is not None
    assert found.outputs[0].snr_db > 100
