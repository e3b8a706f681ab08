"""Models on an emulated RISC-V core with Zbb: the bytes of tflite-micro, in fewer instructions than without."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import aboard
from aboard.api import Project
from aboard.boards import cpu
from aboard.cycles.histogram import total
from bench import histogram
from support import models, oracle
from support.examples import either, without_shrinking
from support.riscv_v_layers import KERNELS
from support.weighted_models import Layer, layers

BOARD, WITHOUT = "riscv/qemu_virt32b", "riscv/qemu_virt32"
BATCH = 10
#: Instructions of Zbb that kernels have use of.
OF_ZBB = {"min", "max", "minu", "maxu", "clz", "sext.b", "sext.h", "zext.h", "andn", "rol", "ror", "rori"}


def built(board: str, folder: Path) -> Project:
    """Builds the shipped model for a board."""
    project = aboard.create(aboard.compile(models.path(models.SHIPPED), board=board), board=board, path=folder)
    project.build()
    return project


def test_the_shipped_model_takes_fewer_instructions(tmp_path: Path) -> None:
    found = [histogram.run(built(board, tmp_path / str(n))) for n, board in enumerate((BOARD, WITHOUT))]
    with_zbb, without = (executed for executed in found if executed is not None)
    mnemonics = [
        {each.mnemonic for each in executed.listing if each.address in executed.run} for executed in (with_zbb, without)
    ]
    assert mnemonics[0] & OF_ZBB >= {"min", "max", "clz"}
    assert not mnemonics[1] & OF_ZBB
    assert with_zbb.instructions < without.instructions


@pytest.mark.parametrize("name", models.available(["kws"]))
def test_figures_of_rv32imac_predict_it(name: str, tmp_path: Path) -> None:
    module = aboard.compile(models.path(name), board=BOARD)
    project = aboard.create(module, board=BOARD, path=tmp_path / "project")
    project.build()
    executed = histogram.run(project)
    assert executed is not None
    manifest = json.loads((project.path / "models" / name / "manifest.json").read_text(encoding="utf-8"))
    predicted = sum(node["estimated_instructions"] for node in manifest["nodes"])
    assert sum(map(total, executed.nodes.values())) == pytest.approx(predicted, rel=0.05)
    assert cpu.find("rv32imac_zbb").known_base == "rv32imac"


@without_shrinking(either(4, 1))
@given(drawn=st.lists(st.sampled_from(KERNELS.kinds).flatmap(layers), min_size=BATCH, max_size=BATCH))
def test_random_layers(drawn: list[Layer], tmp_path_factory: pytest.TempPathFactory) -> None:
    cases = [(layer.model(), layer.input()) for layer in drawn]
    modules = [aboard.compile(model, board=BOARD, name=f"m{i}") for i, (model, _) in enumerate(cases)]
    project = aboard.create(modules, board=BOARD, path=tmp_path_factory.mktemp("zbb") / "project")
    project.build()
    with project.session() as device:
        for number, (model, x) in enumerate(cases):
            (wanted,) = oracle.tflm(model, x)
            np.testing.assert_array_equal(device.run(x, model=f"m{number}"), wanted, err_msg=f"model {number}")
