"""What is predicted of a model is near what an emulator counts, also where rows lie in blocks and windows roll."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from aboard import cli
from support import models, rolling_models
from support.rolling_models import Layer

#: Boards whose kernels differ; on each the layers of kws keep their rows in blocks.
BOARDS = ("arm/mps2_an385", "arm/mps2_an386", "riscv/qemu_virt32")


@pytest.mark.parametrize("name", models.available(["kws"]))
@pytest.mark.parametrize("board", BOARDS)
def test_rows_in_blocks_take_the_predicted_instructions(
    board: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    counted, manifest = _deployed(models.path(name), board, tmp_path / "project", capsys)
    assert any("in blocks" in buffer["name"] for buffer in manifest["buffers"])
    assert counted == pytest.approx(sum(node["estimated_instructions"] for node in manifest["nodes"]), rel=0.15)


@pytest.mark.parametrize("board", BOARDS)
def test_rolling_windows_take_the_predicted_instructions(
    board: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    layers = [Layer("CONV_2D", 2, 5, 3, channels=60), Layer("DEPTHWISE_CONV_2D", 20, 21)]
    model = tmp_path / "net.tflite"
    model.write_bytes(rolling_models.model(layers, 3, 1, 40))
    counted, manifest = _deployed(model, board, tmp_path / "project", capsys)
    assert manifest["state"]["rolling"]
    # A single pixel is half a pair on Cortex-M3, which its prediction does not know.
    assert counted == pytest.approx(sum(node["estimated_instructions"] for node in manifest["nodes"]), rel=0.35)


def _deployed(model: Path, board: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    """Returns the instructions of a run that the emulator counts, and the model's manifest."""
    assert cli.invoke(["deploy", str(model), "--board", board, "-o", str(folder), "--json"]) == 0
    counted = json.loads(capsys.readouterr().out)["instructions"]
    manifest = json.loads((folder / "models" / model.stem / "manifest.json").read_text(encoding="utf-8"))
    return counted, manifest
