"""C code that goes by the compiler's tiles computes what the reference computes, in a scratchpad of 256 bytes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import aboard
from support import fake_device, oracle, sanitized, tiled_device
from support.device import device
from support.tflite_builder import ModelBuilder

COLUMNS = {"codegen": tiled_device.codegen, "memory": tiled_device.memory, "tiles": tiled_device.tiles}


def model() -> bytes:
    """Returns conv 1x1 of 6x4 pixels from 8 to 20 channels, relu, and fully connected from 480 inputs to 10."""
    rng = np.random.default_rng(5)
    build = ModelBuilder()
    for name, shape in {"x": (1, 6, 4, 8), "a": (1, 6, 4, 20), "b": (1, 6, 4, 20), "y": (1, 10)}.items():
        build.tensor(name, shape, np.int8, scale=0.08, zero_point=-3)
    for name, shape in {"v": (20, 1, 1, 8), "w": (10, 480)}.items():
        scales = np.full(shape[0], 0.004, np.float32)
        zeros = [0] * shape[0]
        data = rng.integers(-127, 128, shape).astype(np.int8)
        build.tensor(name, shape, np.int8, scales=scales, zero_points=zeros, axis=0, data=data)
    bias = rng.integers(-900, 900, 20).astype(np.int32)
    build.tensor("c", (20,), np.int32, scales=np.full(20, 0.00032, np.float32), zero_points=[0] * 20, axis=0, data=bias)
    window = {"StrideH": 1, "StrideW": 1, "Padding": "SAME", "DilationHFactor": 1, "DilationWFactor": 1}
    build.op("CONV_2D", ["x", "v", "c"], ["a"], window)
    build.op("RELU", ["a"], ["b"], {})
    build.op("FULLY_CONNECTED", ["b", "w"], ["y"], {})
    return build.build(["x"], ["y"])


@pytest.mark.parametrize("size", [tiled_device.SCRATCHPAD, 4096])
def test_code_by_tiles_is_exact(size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiled_device, "SCRATCHPAD", size)
    with device(fake_device.patterns(), runtime=fake_device.runtime, **COLUMNS):
        module = aboard.compile(model(), target="c -runtime=host + fake", name="net")
        assert module.partition is not None
        placed = [place.device for place in module.partition.placements]
        reasons = [refusal.reason for place in module.partition.placements for refusal in place.refused]
        feed = sanitized.random_feed(module, 3)
        results = sanitized.run(module, feed, tmp_path)
    (expected,) = oracle.tflm(model(), feed["x"])
    np.testing.assert_array_equal(results["y"], expected)
    small = size < 500
    assert (module.files["src/net_fake_0.c"].count("fake_product(") > 4) is small
    assert placed == ["fake", "fake", "c" if small else "fake"]
    assert [reason.split(",")[0] for reason in reasons] == ["fake: scratchpad too small for fully_connected y"] * small
