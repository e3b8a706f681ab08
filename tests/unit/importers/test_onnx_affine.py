"""Constant factors and summands beside layers of ONNX files become part of their weights and biases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard.importers import load
from aboard.importers.onnx import affine
from aboard.ir import DType, Graph, Node, Tensor, TensorType
from aboard.ops.arithmetic import ArithmeticAttributes
from aboard.ops.fully_connected import FullyConnectedAttributes
from support import one_op
from support.examples import examples
from support.onnx_models import evaluated, model, node, runtime

#: Of the largest output.
TOLERANCE = 2e-5

Arrays = Mapping[str, np.ndarray]

KINDS = ["Conv", "grouped", "depthwise", "Conv1d", "Conv3d", "ConvTranspose", "Gemm", "MatMul", "matmul of 3 axes"]
STEPS = ["Mul", "Div", "Add", "Sub", "minus", "scale", "shift"]


def drawn(seed: int, shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def layer(kind: str, channels: int, size: int, bias: bool) -> tuple[list[onnx.NodeProto], Arrays, Arrays, int]:
    """Returns the node `c` of a layer that reads `x`, its inputs and weights, and the axis of its channels."""
    if kind in ("Gemm", "MatMul", "matmul of 3 axes"):
        rows = (2, 3, 6) if kind == "matmul of 3 axes" else (3, 6)
        weights = {"w": drawn(1, (6, channels)), **({"b": drawn(2, (channels,))} if bias and kind == "Gemm" else {})}
        name = "Gemm" if kind == "Gemm" else "MatMul"
        return [node(name, " ".join(["x", *weights]), "c")], {"x": drawn(0, rows)}, weights, -1
    rank, groups = {"Conv1d": 1, "Conv3d": 3}.get(kind, 2), {"grouped": 2, "depthwise": 4}.get(kind, 1)
    count = channels * groups if groups > 1 else channels
    shape = (4, count, *[size] * rank) if kind == "ConvTranspose" else (count, 4 // groups, *[size] * rank)
    weights = {"w": drawn(1, shape), **({"b": drawn(2, (count,))} if bias else {})}
    options: dict[str, Any] = {"pads": [1] * (2 * rank)} if size > 2 else {}
    if kind == "ConvTranspose":
        options["strides"] = [2, 2]
    nodes = [node(kind if kind == "ConvTranspose" else "Conv", " ".join(["x", *weights]), "c", group=groups, **options)]
    return nodes, {"x": drawn(0, (2, 4, *[4] * rank))}, weights, 1


def steps(kinds: list[str], read: str, shape: tuple[int, ...], axis: int) -> tuple[list[onnx.NodeProto], Arrays]:
    """Returns nodes that compute with constants for each channel, and these constants."""
    nodes, constants = [], {}
    extents = [n if place == axis % len(shape) else 1 for place, n in enumerate(shape)]
    for number, kind in enumerate(kinds):
        name, result = f"k{number}", f"s{number}"
        alone = kind in ("scale", "shift")
        constants[name] = np.float32(1.5) + drawn(10 + number, () if alone else tuple(extents)) / 4
        operands = f"{name} {read}" if kind == "minus" else f"{read} {name}"
        nodes.append(node({"minus": "Sub", "scale": "Mul", "shift": "Add"}.get(kind, kind), operands, result))
        read = result
    return nodes, constants


def assert_same(data: bytes, feed: Arrays, compiled: bool = False) -> None:
    wanted = runtime(data, feed)
    for results in [evaluated(data, feed), *([one_op.compiled(data, *feed.values())] if compiled else [])]:
        for got, value in zip(results, wanted, strict=True):
            np.testing.assert_allclose(got, value, rtol=0, atol=TOLERANCE * float(np.abs(value).max()))


def count(data: bytes) -> Counter[str]:
    graph: Graph = load(data, name="model")
    return Counter(node.op for node in graph.nodes)


@given(
    st.sampled_from(KINDS),
    st.integers(1, 4),
    st.integers(1, 3),
    st.booleans(),
    st.lists(st.sampled_from(STEPS), min_size=1, max_size=3),
)
@settings(max_examples=examples(60), deadline=None)
def test_steps_behind_a_layer_are_folded(kind, channels, size, bias, kinds):
    nodes, feed, weights, axis = layer(kind, channels, size, bias)
    shape = runtime(model(nodes, feed, weights), feed)[0].shape
    more, constants = steps(kinds, "c", shape, axis)
    data = model([*nodes, *more], feed, {**weights, **constants})
    assert not {"mul", "div", "add", "sub"} & set(count(data))
    assert_same(data, feed)


@given(
    st.sampled_from([kind for kind in KINDS if kind not in ("Conv3d", "ConvTranspose")]),
    st.integers(1, 3),
    st.lists(st.sampled_from(["Mul", "Div", "scale"]), min_size=1, max_size=2),
)
@settings(max_examples=examples(30), deadline=None)
def test_factors_in_front_of_a_layer_are_folded_past_padding(kind, size, kinds):
    nodes, feed, weights, axis = layer(kind, 2, size, True)
    more, constants = steps(kinds, "x", feed["x"].shape, axis)
    nodes[0].input[0] = more[-1].output[0]
    data = model([*more, *nodes], feed, {**weights, **constants})
    assert not {"mul", "div"} & set(count(data))
    assert_same(data, feed)


@pytest.mark.parametrize("kind", ["Conv", "depthwise", "ConvTranspose", "matmul of 3 axes"])
def test_folded_layers_as_c(kind):
    nodes, feed, weights, axis = layer(kind, 2, 3, True)
    shape = runtime(model(nodes, feed, weights), feed)[0].shape
    more, constants = steps(["Mul", "Add", "minus"], "c", shape, axis)
    assert_same(model([*nodes, *more, node("Relu", "s2")], feed, {**weights, **constants}), feed, compiled=True)


def normalised(between: str = "") -> tuple[list[onnx.NodeProto], Arrays, Arrays]:
    """Returns a convolution with batch normalisation behind it, and a node of one operand between the two."""
    nodes, feed, weights, _ = layer("Conv", 3, 3, True)
    names = ("gain", "offset", "mean", "variance")
    constants = {name: np.abs(drawn(20 + place, (3,))) + np.float32(0.5) for place, name in enumerate(names)}
    middle = [node(between, "c", "m")] if between else []
    last = node("BatchNormalization", " ".join(["m" if between else "c", *names]), "y")
    return [*nodes, *middle, last], feed, {**weights, **constants}


def test_batch_normalisation_is_folded_into_one_node_that_names_both():
    data = model(*normalised())
    graph = load(data, name="model")
    assert Counter(each.op for each in graph.nodes) == {"conv2d": 1, "transpose": 2}
    conv = next(each for each in graph.nodes if each.op == "conv2d")
    assert conv.sources == (0, 1)
    assert {tensor.name for tensor in graph.tensors() if tensor.source is not None} == {"x", "y"}
    assert_same(data, normalised()[1])


def test_constants_behind_an_activation_stay():
    nodes, feed, constants = normalised("Relu")
    data = model(nodes, feed, constants)
    assert {"relu", "mul", "add"} <= set(count(data))
    assert_same(data, feed)


def test_outputs_and_values_with_other_readers_keep_their_values():
    nodes, feed, constants = normalised()
    for more in ([node("Identity", "c", "z")], [node("Sigmoid", "c", "z")], [node("Add", "c c", "z")]):
        data = model([*nodes, *more], feed, constants)
        assert {"mul", "add"} <= set(count(data))
        assert_same(data, feed)


def test_constants_that_differ_inside_a_channel_stay():
    nodes, feed, weights, _ = layer("Conv", 3, 3, True)
    place = np.ones((1, 3, 4, 4), np.float32)
    place[0, 1, 2, 3] = 2
    data = model([*nodes, node("Mul", "c place")], feed, {**weights, "place": place})
    assert count(data)["mul"] == 1
    assert_same(data, feed)


def test_a_constant_that_makes_the_result_larger_stays():
    data = model([node("MatMul", "x w", "c"), node("Add", "c k")], {"x": drawn(0, (1, 6))},
                 {"w": drawn(1, (6, 3)), "k": drawn(2, (4, 3))})  # fmt: skip
    assert count(data)["add"] == 1
    assert_same(data, {"x": drawn(0, (1, 6))})


@pytest.mark.parametrize(
    ("op", "value"), [("Mul", 3e38), ("Mul", np.inf), ("Mul", np.nan), ("Div", 0.0), ("Div", 1e-42), ("Add", np.inf)]
)
def test_weights_and_biases_stay_finite(op, value):
    feed, weights = {"x": drawn(0, (3, 6)) * 0 + np.float32(1e-3)}, {"w": np.full((6, 4), 7.0, np.float32)}
    data = model([node("MatMul", "x w", "c"), node(op, "c k")], feed, {**weights, "k": np.full(4, value, np.float32)})
    assert count(data)[op.lower()] == 1
    np.testing.assert_array_equal(evaluated(data, feed)[0], runtime(data, feed)[0])


def test_a_summand_in_front_of_a_layer_stays():
    nodes, feed, weights, _ = layer("Conv", 3, 3, True)
    nodes[0].input[0] = "q"
    before = [node("Sub", "x mean", "p"), node("Div", "p deviation", "q")]
    constants = {"mean": np.float32(1e4), "deviation": np.full((4, 1, 1), 3.0, np.float32)}
    data = model([*before, *nodes], {"x": feed["x"] + 10_000}, {**weights, **constants})
    assert (count(data)["sub"], count(data)["div"]) == (1, 0)
    assert_same(data, {"x": feed["x"] + 10_000})


def test_weights_that_two_layers_read_stay_one():
    weights = Tensor("w", TensorType((2, 3), DType.FLOAT32), drawn(1, (2, 3)))
    factor = Tensor("k", TensorType((2,), DType.FLOAT32), drawn(2, (2,)))
    real = {name: Tensor(name, TensorType((4, 3 if name == "x" else 2), DType.FLOAT32)) for name in "xcdyz"}
    product = FullyConnectedAttributes()
    nodes = [Node("fully_connected", name, [real["x"], weights], [real[name]], product) for name in "cd"]
    nodes.append(Node("mul", "y", [real["c"], factor], [real["y"]], ArithmeticAttributes()))
    nodes.append(Node("add", "z", [factor, real["d"]], [real["z"]], ArithmeticAttributes()))
    graph = Graph("model", [real["x"]], [real["y"], real["z"]], nodes)
    affine.fold(graph)
    assert [each.op for each in graph.nodes] == ["fully_connected", "fully_connected", "mul"]
    assert all(each.input(1) is weights for each in graph.nodes[:2])
    np.testing.assert_array_equal(graph.nodes[1].input(2).data, factor.data)


def test_parts_of_a_layer_get_factors_of_their_own():
    """Attention as PyTorch writes it: a part of one product is scaled, the others are not."""
    weights = {"w": drawn(1, (6, 12)), "b": drawn(2, (12,)), "k": np.float32(0.25)}
    nodes = [node("MatMul", "x w", "c"), node("Add", "c b", "d"), node("Split", "d", "q r v", axis=-1, num_outputs=3)]
    sliced = [node("Slice", f"d from{n} to{n} axis", name) for n, name in enumerate("qrv")]
    bounds = {f"{kind}{n}": np.array([4 * n + 4 * (kind == "to")]) for n in range(3) for kind in ("from", "to")}
    after = [node("Mul", "q k", "s"), node("Sub", "r k", "t"), node("Concat", "s t v", axis=1)]
    constants = {**weights, **bounds, "axis": np.array([1])}
    data = model([*nodes[:2], *sliced, *after], {"x": drawn(0, (3, 6))}, constants)
    assert count(data) == {"fully_connected": 1, "strided_slice": 3, "concatenation": 1}
    assert_same(data, {"x": drawn(0, (3, 6))})
    overlapping = model([*nodes[:2], *sliced, *after], {"x": drawn(0, (3, 6))}, {**constants, "from2": np.array([3])})
    assert {"mul", "sub"} & set(count(overlapping))
    assert_same(overlapping, {"x": drawn(0, (3, 6))})


def test_parts_that_meet_again_are_one_layer():
    constants = {"w": drawn(1, (6, 4)), "k": drawn(2, (4,)), "axis": np.array([1])}
    bounds = {"from0": np.array([2]), "to0": np.array([4]), "from1": np.array([0]), "to1": np.array([2])}
    nodes = [node("MatMul", "x w", "c"), *(node("Slice", f"c from{n} to{n} axis", f"p{n}") for n in range(2))]
    nodes += [node("Concat", "p0 p1", "d", axis=1), node("Mul", "d k", "e"), node("Add", "e k")]
    data = model(nodes, {"x": drawn(0, (3, 6))}, {**constants, **bounds})
    assert not {"mul", "add"} & set(count(data))
    assert_same(data, {"x": drawn(0, (3, 6))})
