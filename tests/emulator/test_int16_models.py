"""Whole models with int16 activations on emulated cores: the bytes of tflite-micro in every schedule."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import aboard
from support import oracle
from support.int16_models import image_model, keyword_model

BOARDS = {"m3": "arm/mps2_an385", "m4": "arm/mps2_an386", "m55": "arm/mps3_an547"}


@pytest.mark.parametrize("core", BOARDS)
def test_a_keyword_spotter_from_float_to_float(core: str, tmp_path: Path) -> None:
    data, board = keyword_model(), BOARDS[core]
    project = aboard.create(aboard.compile(data, board=board, name="m"), board=board, path=tmp_path / "project")
    project.build()
    with project.session() as device:
        for seed in range(3):
            x = np.random.default_rng(seed).normal(0, 1.5, (1, 49, 10, 1)).astype(np.float32)
            np.testing.assert_array_equal(device.run(x), oracle.tflm(data, x)[0])


@pytest.mark.parametrize("core", BOARDS)
def test_an_image_model_in_every_schedule(core: str, tmp_path: Path) -> None:
    data, board = image_model(), BOARDS[core]
    attributes = ("-opt=size", "-opt=balanced", "-opt=speed", "-opt=speed -input=kept")
    modules = [aboard.compile(data, target=f"{board} {a}", name=f"m{i}") for i, a in enumerate(attributes)]
    turning = [sum(node.cascade is not None for node in module.manifest.nodes) for module in modules]
    assert turning[0] >= 2
    assert turning[2] == 0
    project = aboard.create(modules, board=board, path=tmp_path / "project")
    project.build()
    x = np.random.default_rng(0).integers(-32768, 32768, (1, 16, 12, 3)).astype(np.int16)
    (wanted,) = oracle.tflm(data, x)
    assert len(set(wanted.ravel().tolist())) > 4
    with project.session() as device:
        for index, attribute in enumerate(attributes):
            np.testing.assert_array_equal(device.run(x, model=f"m{index}"), wanted, err_msg=attribute)
