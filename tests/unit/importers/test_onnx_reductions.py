"""Reductions and normalisations of ONNX: what the standard's cases leave out, and what is refused."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard.errors import ModelError
from aboard.importers import load
from support.examples import examples
from support.onnx_models import check, evaluated, expected, model, node

X = np.linspace(-2, 3, 24, dtype=np.float32).reshape(2, 4, 3)


def same(data, feed):
    for got, wanted in zip(evaluated(data, feed), expected(data, feed), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)


def changed(data, **attributes):
    """Returns a model whose first node has other attributes, which need not make sense."""
    loaded = onnx.load_from_string(data)
    for each in loaded.graph.node[0].attribute:
        if each.name in attributes:
            each.CopyFrom(onnx.helper.make_attribute(each.name, attributes[each.name]))
    return loaded.SerializeToString()


def refused(data, message):
    with pytest.raises(ModelError, match=message):
        load(data)


REDUCTIONS = ["L1", "L2", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare"]


@given(st.sampled_from(REDUCTIONS), st.sets(st.integers(-3, 2), min_size=1), st.booleans(), st.integers(0, 99))
@settings(max_examples=examples(200), deadline=None)
def test_any_axes(kind, axes, keeps, seed):
    axes = sorted({axis % 3 for axis in axes})
    x = np.random.default_rng(seed).normal(0, 1, (2, 4, 3)).astype(np.float32)
    constants = {"axes": np.array(axes, np.int64)}
    same(model([node(f"Reduce{kind}", "x axes", keepdims=int(keeps))], {"x": x}, constants), {"x": x})


def test_sums_of_magnitudes_of_unsigned_integers():
    x = np.array([[1, 2, 4]], np.uint32)
    data = model([node("ReduceL1", "x", keepdims=0)], {"x": x})
    assert evaluated(data, {"x": x})[0] == 7


def test_the_logarithm_of_an_infinite_sum():
    x = np.array([[np.inf, 1]], np.float32)
    data = model([node("ReduceLogSumExp", "x", keepdims=0)], {"x": x})
    assert evaluated(data, {"x": x})[0] == np.inf


@given(st.integers(1, 4), st.sampled_from([0, 1]), st.integers(-3, 2), st.integers(0, 99))
@settings(max_examples=examples(100), deadline=None)
def test_the_largest(count, largest, axis, seed):
    x = np.random.default_rng(seed).integers(-4, 5, (4, 5, 6)).astype(np.float32)
    nodes = [node("TopK", "x k", "values indices", axis=axis, largest=largest)]
    data = model(nodes, {"x": x}, {"k": np.array([count], np.int64)})
    for got, wanted in zip(evaluated(data, {"x": x}), expected(data, {"x": x}), strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_layers_are_normalised_over_any_axes():
    scale = np.linspace(0.5, 2, 12, dtype=np.float32).reshape(4, 3)
    data = model([node("LayerNormalization", "x s b", axis=1)], {"x": X}, {"s": scale, "b": scale - 1})
    same(data, {"x": X})


@pytest.mark.parametrize(
    ("nodes", "constants", "message"),
    [
        ([node("TopK", "x k", "v i")], {"k": np.array([4], np.int64)}, r"k, got 4, expected a number in \[1, 3\]"),
        ([node("CumSum", "x a")], {"a": np.array(3, np.int64)}, r"axis, got 3, expected a number in \[-3, 2\]"),
        ([node("LpNormalization", "x", p=2)], {}, None),
    ],
)
def test_operands_out_of_range(nodes, constants, message):
    if message is None:
        refused(changed(model(nodes, {"x": X}, constants), p=3), "p, got 3, expected 1 or 2")
        return
    loaded = onnx.load_from_string(model(nodes, {"x": X}, {name: value * 0 + 1 for name, value in constants.items()}))
    for each in loaded.graph.initializer:
        each.CopyFrom(onnx.numpy_helper.from_array(constants[each.name], each.name))
    refused(loaded.SerializeToString(), message)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
def test_sums_along_an_axis_of_integers(dtype, exclusive, reverse):
    x = np.random.default_rng(1).integers(-(2**30), 2**30, (2, 7, 1)).astype(dtype)
    for axis in range(3):
        nodes = [node("CumSum", "x a", exclusive=exclusive, reverse=reverse)]
        check(model(nodes, {"x": x}, {"a": np.array(axis, np.int64)}), {"x": x}, compiled=axis == 1)


@pytest.mark.parametrize("dtype", [np.int32, np.float32])
@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
def test_products_along_an_axis(dtype, exclusive, reverse):
    x = np.random.default_rng(1).integers(-3, 4, (2, 5)).astype(dtype)
    nodes = [node("CumProd", "x a", exclusive=exclusive, reverse=reverse)]
    data = model(nodes, {"x": x}, {"a": np.array(1, np.int64)}, opset=26)
    wide = x[:, ::-1] if reverse else x
    wanted = np.cumprod(np.concatenate([np.ones_like(wide[:, :1]), wide], axis=1), axis=1, dtype=dtype)
    wanted = wanted[:, :-1] if exclusive else wanted[:, 1:]
    check(data, {"x": x}, wanted=[wanted[:, ::-1] if reverse else wanted], compiled=not exclusive)


def test_statistics_that_are_computed():
    parts = {name: np.linspace(0.5, 2, 4, dtype=np.float32) for name in "sbv"}
    mean = np.linspace(-1, 1, 4, dtype=np.float32)
    data = model([node("BatchNormalization", "x s b m v")], {"x": X, "m": mean}, parts)
    same(data, {"x": X, "m": mean})


def test_training_mode():
    ones = {name: np.ones(4, np.float32) for name in "sbmv"}
    data = model([node("BatchNormalization", "x s b m v", training_mode=0)], {"x": X}, ones)
    same(data, {"x": X})
    refused(changed(data, training_mode=1), "training mode, got true, expected false|not a valid ONNX model")
