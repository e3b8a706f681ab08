"""What is predicted of a model is near what an emulator counts, also where rows lie in blocks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from aboard import cli
from support import models

#: Boards whose kernels differ; on each the layers of kws keep their rows in blocks.
BOARDS = ("arm/mps2_an385", "arm/mps2_an386", "riscv/qemu_virt32")


@pytest.mark.parametrize("name", models.available(["kws"]))
@pytest.mark.parametrize("board", BOARDS)
def test_rows_in_blocks_take_the_predicted_instructions(
    board: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "project"
    assert cli.invoke(["deploy", str(models.path(name)), "--board", board, "-o", str(folder), "--json"]) == 0
    counted = json.loads(capsys.readouterr().out)["instructions"]
    manifest = json.loads((folder / "models" / name / "manifest.json").read_text(encoding="utf-8"))
    assert any("in blocks" in buffer["name"] for buffer in manifest["buffers"])
    assert counted == pytest.approx(sum(node["estimated_instructions"] for node in manifest["nodes"]), rel=0.15)
