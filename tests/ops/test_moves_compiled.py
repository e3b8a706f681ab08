"""The generated C of data-movement ops: free of sanitizer reports, warnings and differences, at every `-opt`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import aboard
from support import oracle, sanitized
from support.tflite_builder import ModelBuilder

COMPILERS = [["gcc"], ["clang"], ["arm-none-eabi-gcc", "-mcpu=cortex-m0", "-mthumb"]]


def moves(dtype: type) -> bytes:
    """Returns a model with every op that moves data, in forms that need code."""
    quant = {"scale": 0.25, "zero_point": 3} if dtype == np.int8 else {}
    build = ModelBuilder()
    constants = {
        "pairs": [[0, 0], [1, 2], [2, 1], [0, 0]], "size": [7, 5], "axis": [3], "order": [0, 2, 1, 3],
        "begin": [0, -1, 0, 0], "end": [1, 0, 4, 6], "strides": [1, -2, 1, 3], "shape": [5, 7, 6], "order3": [2, 0, 1],
    }  # fmt: skip
    for name, values in constants.items():
        build.tensor(name, np.shape(values), np.int32, data=values)
    values = {
        "x": (1, 4, 2, 6), "padded": (1, 7, 5, 6), "resized": (1, 7, 5, 6), "turned": (1, 5, 7, 6), "flat": (5, 7, 6),
        "planes": (6, 5, 7), "left": (1, 7, 5, 3), "right": (1, 7, 5, 3), "joined": (1, 7, 5, 12), "cut": (1, 3, 4, 2),
    }  # fmt: skip
    for name, shape in values.items():
        build.tensor(name, shape, dtype, **quant)
    build.op("PAD", ["x", "pairs"], ["padded"])
    build.op("RESIZE_NEAREST_NEIGHBOR", ["x", "size"], ["resized"], {"HalfPixelCenters": True})
    build.op("TRANSPOSE", ["resized", "order"], ["turned"])
    build.op("RESHAPE", ["turned", "shape"], ["flat"])
    build.op("TRANSPOSE", ["flat", "order3"], ["planes"])
    build.op("SPLIT", ["axis", "padded"], ["left", "right"], {"NumSplits": 2})
    build.op("CONCATENATION", ["right", "resized", "left"], ["joined"], {"Axis": 3})
    build.op("STRIDED_SLICE", ["padded", "begin", "end", "strides"], ["cut"])
    return build.build(["x"], ["planes", "joined", "left", "cut"])


@pytest.mark.parametrize("dtype", [np.int8, np.float32])
@pytest.mark.parametrize("opt", ["size", "balanced"])
def test_clean_and_exact(dtype: type, opt: str, tmp_path: Path) -> None:
    model = moves(dtype)
    module = aboard.compile(model, target=f"c -runtime=host -opt={opt}", name="moves")
    used = {record.op for record in module.manifest.nodes}
    assert {"pad", "resize_nearest_neighbor", "transpose", "split", "concatenation", "strided_slice"} <= used
    x = np.random.default_rng(0).integers(-128, 128, (1, 4, 2, 6)).astype(dtype)
    outputs = sanitized.run(module, {"x": x}, tmp_path)
    for got, wanted in zip(outputs.values(), oracle.tflm(model, x), strict=True):
        np.testing.assert_array_equal(got, wanted)
    for compiler in COMPILERS if opt == "balanced" else COMPILERS[:1]:
        sanitized.compile_strictly(module, tmp_path, compiler)


@pytest.mark.parametrize("mode", ["consumed", "kept", "rows"])
def test_a_model_that_needs_no_code_is_clean(mode: str, tmp_path: Path) -> None:
    build = ModelBuilder().tensor("shape", (4,), np.int32, data=[1, 2, 12, 1])
    build.tensor("x", (1, 6, 1, 4), np.int8, scale=0.1, zero_point=5).tensor("axis", (), np.int32, data=1)
    for name, shape in (("y", (1, 2, 12, 1)), ("first", (1, 1, 12, 1)), ("second", (1, 1, 12, 1))):
        build.tensor(name, shape, np.int8, scale=0.1, zero_point=5)
    build.op("RESHAPE", ["x", "shape"], ["y"]).op("SPLIT", ["axis", "y"], ["first", "second"], {"NumSplits": 2})
    model = build.build(["x"], ["first", "second"])
    module = aboard.compile(model, target=f"c -runtime=host -input={mode}", name="moves")
    assert mode != "consumed" or not module.manifest.nodes
    x = np.arange(24).astype(np.int8).reshape(1, 6, 1, 4)
    for got, wanted in zip(sanitized.run(module, {"x": x}, tmp_path).values(), oracle.tflm(model, x), strict=True):
        np.testing.assert_array_equal(got, wanted)
    for compiler in COMPILERS:
        sanitized.compile_strictly(module, tmp_path, compiler)
