"""Expansions that are computed again on an emulated Cortex-M4: the bytes of tflite-micro in less memory than stored."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import aboard
from support import oracle
from support.inverted_residuals import inverted, least

BOARD = "arm/mps2_an386"
TARGET = f"c -hardware={BOARD} -input=rows"


def test_the_bytes_of_the_reference(tmp_path: Path) -> None:
    models = [inverted(seed, window).build() for seed, window in ((1, 3), (2, 5))]
    limits = [least(data, TARGET) for data in models]
    modules = [
        aboard.compile(data, target=f"{TARGET} -ram-max={limit}", name=f"m{number}")
        for number, (data, limit) in enumerate(zip(models, limits, strict=True))
    ]
    kernels = [node.implementation for m in modules for node in m.manifest.nodes if node.op.startswith("expanded")]
    assert set(kernels) == {"dsp_blocks_s8"}
    project = aboard.create(modules, board=BOARD, path=tmp_path / "project")
    project.build()
    with project.session() as device:
        for number, data in enumerate(models):
            x = np.random.default_rng(number).integers(-128, 128, (1, 20, 20, 3)).astype(np.int8)
            (wanted,) = oracle.tflm(data, x)
            np.testing.assert_array_equal(device.run(x, model=f"m{number}"), wanted, err_msg=f"model {number}")
