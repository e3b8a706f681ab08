"""softmax of int8 with Helium on an emulated Cortex-M55: the bytes of tflite-micro."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import aboard
from aboard.kernels.select import strategy
from support import oracle
from support.element_models import Value, build
from support.preferred import preferred

BOARD = "arm/mps3_an547"

#: Shape, scale and element type of the result: short tables and whole ones, ends of vectors, many rows.
CASES = [
    ((64, 10), 0.1, np.int8),
    ((9, 33), 0.004, np.int8),
    ((3, 5, 16), 3.0, np.int8),
    ((20, 7), 0.05, np.int16),
    ((4, 64), 0.3, np.int16),
]


@pytest.mark.parametrize("opt", ["speed", "balanced"])
def test_softmax(opt: str, tmp_path: Path) -> None:
    files = [_model(shape, scale, dtype) for shape, scale, dtype in CASES]
    equal = _model((2, 511), 0.1, np.int8), _model((1, 3000), 0.1, np.int8)
    with strategy.forced(preferred("arm_mve_s8", "arm_mve_s8_s16")):
        modules = [
            aboard.compile(model, target=f"c -hardware={BOARD} -opt={opt}", name=f"m{n}")
            for n, model in enumerate([*files, *equal])
        ]
    kernels = {node.implementation for module in modules for node in module.manifest.nodes}
    assert kernels == {"arm_mve_s8", "arm_mve_s8_s16"}
    project = aboard.create(modules, board=BOARD, path=tmp_path / "project")
    project.build()
    rng = np.random.default_rng(3)
    with project.session() as device:
        for number, ((shape, *_), model) in enumerate(zip(CASES, files, strict=True)):
            x = rng.integers(-128, 128, shape).astype(np.int8)
            np.testing.assert_array_equal(device.run(x, model=f"m{number}"), oracle.tflm(model, x)[0])
        same, many = np.full((2, 511), 55, np.int8), np.zeros((1, 3000), np.int8)
        np.testing.assert_array_equal(device.run(same, model="m5"), oracle.tflm(equal[0], same)[0])
        # The reference ends the process for as many equal classes.
        np.testing.assert_array_equal(device.run(many, model="m6"), np.full((1, 3000), -128, np.int8))


def _model(shape: tuple[int, ...], scale: float, dtype: type) -> bytes:
    fixed = (1 / 256, -128) if dtype is np.int8 else (2.0**-16, -32768)
    return build("SOFTMAX", [Value(shape, np.int8, scale, -3)], Value(shape, dtype, *fixed), {"Beta": 1.0})
