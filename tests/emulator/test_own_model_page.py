"""The page "Your own model": its commands with the files that its blocks wrote, and the figures of its table."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest

import aboard
from aboard import cli
from support import markdown, models, own_model, widths
from support.examples import either

TEXT = (markdown.CHECKOUT / own_model.PAGE).read_text(encoding="utf-8")
SECTIONS = markdown.sections(own_model.PAGE)
WITH_COMMANDS = [heading for heading, blocks in SECTIONS.items() if own_model.commands(blocks)]
DIGITS, RESNET = "digits of this page (Keras)", "ResNet-8 of MLPerf Tiny"
ONNX_DATA = markdown.CHECKOUT / "tests" / "data" / "onnx"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in own_model.KEPT:
        shutil.copy(own_model.STORED / name, tmp_path)
    for stored in set(own_model.CONVERTED.values()):
        shutil.copy(own_model.STORED / stored, tmp_path)
    return tmp_path


def test_all_frameworks_have_commands() -> None:
    assert {"Keras", "PyTorch", "scikit-learn", "int8", "TensorFlow's converter", "Check it"} <= set(WITH_COMMANDS)


@pytest.mark.parametrize("heading", WITH_COMMANDS)
def test_the_commands_of_a_section(
    heading: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    for command in own_model.commands(SECTIONS[heading]):
        assert cli.invoke(shlex.split(own_model.with_stored_files(command))[1:]) == 0
        own_model.check(command, capsys.readouterr().out)


@pytest.mark.parametrize("heading", ["Keras", "PyTorch", "scikit-learn"])
def test_a_framework_takes_at_most_fifteen_lines_to_the_board(heading: str) -> None:
    first = next(text for language, text in SECTIONS[heading] if language == "python")
    lines = [line for line in first.splitlines() if line.strip()]
    assert len(lines) <= 15
    assert max(map(len, lines)) <= 120
    assert "fit(" in first or "backward()" in first
    assert "device.run(" in first


def rows() -> dict[tuple[str, str], list[int]]:
    """Returns the figures of the table of costs by network and form: instructions (M4, M3), RAM and flash."""
    table = TEXT.partition("## What float and hybrid models cost")[2].partition("\n## ")[0]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    found = [row for row in cells if len(row) == 6 and row[2][0].isdigit()]
    return {(row[0], row[1]): [int(figure.replace(",", "")) for figure in row[2:]] for row in found}


def model_of(network: str, form: str, folder: Path) -> Path:
    """Returns the file of a row of the table."""
    if network == DIGITS:
        if form == "hybrid":
            return own_model.STORED / "keras_hybrid.tflite"
        source = own_model.STORED / "digits_keras.tflite"
        if form == "float32":
            return source
        return aboard.quantize(source, own_model.STORED / "test.npz").save(folder / "int8.tflite")
    if form == "hybrid":
        (folder / "hybrid.tflite").write_bytes(widths.hybrid(models.read("ic_f32")))
        return folder / "hybrid.tflite"
    found = models.path("ic_f32" if form == "float32" else "ic")
    assert found is not None
    return found


def measured(model: Path, board: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, int]:
    """Returns the figures of a run on an emulated board."""
    assert cli.invoke(["deploy", str(model), "--board", board, "-o", str(folder / "project"), "--force", "--json"]) == 0
    figures: dict[str, int] = json.loads(capsys.readouterr().out)
    return figures


#: Each form, and a form of the larger network, which takes a minute for all.
ROWS = [(DIGITS, form) for form in ("float32", "hybrid", "int8")]
if models.available(["ic", "ic_f32"]):
    ROWS += [(RESNET, form) for form in either(("float32", "hybrid", "int8"), ("hybrid",))]


@pytest.mark.parametrize(("network", "form"), ROWS)
def test_the_table_of_costs(network: str, form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    m4, m3, ram, flash = rows()[network, form]
    model = model_of(network, form, tmp_path)
    found = measured(model, "arm/mps2_an386", tmp_path, capsys)
    assert found["ram_bytes"] == ram
    assert found["instructions"] == pytest.approx(m4, rel=0.05)
    assert found["flash_bytes"] == pytest.approx(flash, rel=0.05)
    if network == DIGITS or os.environ.get("ABOARD_FULL"):  # a thousand million instructions take a minute
        assert measured(model, "arm/mps2_an385", tmp_path, capsys)["instructions"] == pytest.approx(m3, rel=0.05)


def test_the_text_above_the_table_says_what_it_has() -> None:
    known = rows()
    assert len(known) == 6
    for network in (DIGITS, RESNET):
        real, hybrid, integers = (np.array(known[network, form]) for form in ("float32", "hybrid", "int8"))
        m4, m3, ram, flash = real / integers
        assert 1.7 <= m4 <= 3
        assert 25 <= m3 <= 40
        assert 3 <= ram <= 5
        assert 2 <= flash <= 3.5
        # Kernels of float32 have a table of the window in scratch, and blocks of rows begin at units of their tables.
        assert 0.95 * real[2] <= hybrid[2] <= real[2]
        assert hybrid[3] <= integers[3]
        assert 1.1 * real[0] <= hybrid[0] <= 8 * integers[0]
    for words in ("1.7 to 3 times as many instructions", "25 to 40 times as many instructions"):
        assert words in re.sub(r"\s+", " ", TEXT)


def test_the_digits_of_onnx_are_what_their_script_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ONNX_DATA))
    import make_digits

    made, kept = make_digits.model(), onnx.load(ONNX_DATA / "digits.onnx")
    assert made.graph.node == kept.graph.node
    for one, other in zip(made.graph.initializer, kept.graph.initializer, strict=True):
        np.testing.assert_array_equal(onnx.numpy_helper.to_array(one), onnx.numpy_helper.to_array(other))
