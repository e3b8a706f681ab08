"""An ONNX file with QuantizeLinear and DequantizeLinear is compiled like the TFLite file of the same network."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import aboard
from bench import measure, run
from support import models, qdq
from support.examples import part

NAMES = [name for name in measure.AS_ONNX if models.path(name)]


@pytest.mark.parametrize("name", part(NAMES))
def test_same_kernels_ram_and_constants(name: str) -> None:
    modules = [
        aboard.compile(data, target="c -mcpu=cortex-m4", name=name) for data in (models.read(name), qdq.convert(name))
    ]
    tflite, onnx = ([(n.op, n.implementation, n.macs) for n in each.manifest.nodes] for each in modules)
    assert onnx == tflite
    sizes = [(each.manifest.ram_bytes, each.manifest.weights_bytes) for each in modules]
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize("name", NAMES[:1])
def test_same_results(name: str) -> None:
    target, rng = "c -runtime=host", np.random.default_rng(5)
    tflite, onnx = (aboard.compile(data, target=target, name=name) for data in (models.read(name), qdq.convert(name)))
    for _ in range(5):
        x = rng.integers(-128, 128, tflite.manifest.inputs[0].shape).astype(np.int8)
        np.testing.assert_array_equal(onnx.run(x), tflite.run(x))


@pytest.mark.parametrize("name", [name for name in NAMES if name == "kws"])
def test_a_ds_cnn_takes_as_many_instructions_and_as_much_flash(name: str, tmp_path: Path) -> None:
    tflite, _ = measure.figures(name, "m4", tmp_path / "project")
    assert run.of_formats(measure.as_onnx(name), tflite) == []
