"""Constant folding."""

import numpy as np
import pytest

from aboard.ir import DType
from aboard.passes.fold_constants import FoldConstants
from support.rewrites import check_rewrite, kinds
from support.tflite_builder import ModelBuilder


def test_chains_of_constants_fold():
    model = ModelBuilder().tensor("x", (1, 4), np.float32).tensor("y", (1, 4), np.float32)
    model.tensor("q", (4,), np.int8, scale=0.5, zero_point=1, data=[1, 2, 3, -4]).tensor("f", (4,), np.float32)
    model.tensor("r", (4,), np.float32).op("DEQUANTIZE", ["q"], ["f"], {}).op("RELU", ["f"], ["r"])
    after = check_rewrite(model.op("ADD", ["x", "r"], ["y"], {}).build(["x"], ["y"]), FoldConstants())
    assert kinds(after) == ["add"]
    np.testing.assert_array_equal(after.nodes[0].input(1).data, np.array([0, 0.5, 1, 0], np.float32))


@pytest.mark.parametrize("rows", [2, 4000])
def test_float16_weights_become_float32(rows):
    weights = np.linspace(-2, 2, rows * 4, dtype=np.float16).reshape(rows, 4)
    model = ModelBuilder().tensor("x", (1, 4), np.float32).tensor("y", (1, rows), np.float32)
    model.tensor("h", (rows, 4), np.float16, data=weights).tensor("w", (rows, 4), np.float32)
    model.op("DEQUANTIZE", ["h"], ["w"], {}).op("FULLY_CONNECTED", ["x", "w", -1], ["y"], {})
    after = check_rewrite(model.build(["x"], ["y"]), FoldConstants())
    assert kinds(after) == ["fully_connected"]
    assert after.nodes[0].input(1).dtype is DType.FLOAT32
    np.testing.assert_array_equal(after.nodes[0].input(1).data, weights.astype(np.float32))


def test_constants_that_would_grow_a_lot_are_left():
    model = ModelBuilder().tensor("x", (64, 64), np.float32).tensor("y", (64, 64), np.float32)
    model.tensor("c", (1, 1), np.float32, data=[[1]]).tensor("p", (2, 2), np.int32, data=[[0, 63], [0, 63]])
    model.tensor("big", (64, 64), np.float32).op("PAD", ["c", "p"], ["big"], {})
    after = check_rewrite(model.op("ADD", ["x", "big"], ["y"], {}).build(["x"], ["y"]), FoldConstants())
    assert kinds(after) == ["pad", "add"]


def test_outputs_stay_computed():
    model = ModelBuilder().tensor("x", (4,), np.float32).tensor("y", (4,), np.float32).tensor("z", (4,), np.float32)
    model.tensor("c", (4,), np.float32, data=[-1, 2, -3, 4])
    after = check_rewrite(
        model.op("RELU", ["c"], ["z"]).op("RELU", ["x"], ["y"]).build(["x"], ["y", "z"]), FoldConstants()
    )
    assert kinds(after) == ["relu", "relu"]
