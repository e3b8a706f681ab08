"""Nearly every op on emulated cores of each family: the outputs of tflite-micro, byte for byte."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import aboard
from support import oracle, zoo

CORES = {
    "m0": "bbc/microbit",
    "m3": "arm/mps2_an385",
    "m4": "arm/mps2_an386",
    "m55": "arm/mps3_an547",
    "rv32": "riscv/qemu_virt32",
}


def run(model: bytes, board: str, folder: Path, x: np.ndarray) -> list[np.ndarray]:
    """Returns the outputs of a model on an emulated board."""
    module = aboard.compile(model, board=board, name="many_ops")
    project = aboard.create(module, board=board, path=folder / "project")
    project.build()
    with project.session() as device:
        outputs = device.run(x)
    assert isinstance(outputs, dict)
    return [outputs[record.name] for record in module.manifest.outputs]


@pytest.mark.parametrize("core", CORES)
def test_int8_ops_are_exact(core: str, tmp_path: Path) -> None:
    model = zoo.many_ops(np.int8)
    x = np.random.default_rng(1).integers(-128, 128, (1, 8, 8, 4)).astype(np.int8)
    for got, wanted in zip(run(model, CORES[core], tmp_path, x), oracle.tflm(model, x), strict=True):
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("core", CORES)
def test_int16_ops_are_exact(core: str, tmp_path: Path) -> None:
    model = zoo.many_ops(np.int16)
    x = np.random.default_rng(1).integers(-32768, 32768, (1, 8, 8, 4)).astype(np.int16)
    for got, wanted in zip(run(model, CORES[core], tmp_path, x), oracle.tflm(model, x), strict=True):
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("core", ["m0", "m4"])
def test_float_ops_are_close(core: str, tmp_path: Path) -> None:
    model = zoo.many_ops(np.float32)
    x = np.random.default_rng(1).standard_normal((1, 8, 8, 4)).astype(np.float32)
    for got, wanted in zip(run(model, CORES[core], tmp_path, x), oracle.tflm(model, x), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-6)
