"""Nodes that round exactly: equal to real numbers rounded once, and the same bits in numpy and on every core."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard.errors import VerifyError
from aboard.importers import load
from aboard.ir import Rounding
from aboard.ir.numerics import MOST_EXACT_SHIFT, multiply_exactly
from aboard.kernels.select import strategy
from aboard.ops.verify import verify
from support import exact, one_op
from support.element_models import floats32, quantized, random, seeds
from support.examples import examples, part
from support.preferred import preferred
from support.tflite_builder import ModelBuilder
from support.weighted_models import Layer, layers

EXACT = "-arithmetic=exact"


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(-(2**47) + 1, 2**47 - 1), st.integers(2**30, 2**31 - 1), st.integers(-31, MOST_EXACT_SHIFT))
def test_a_product_is_rounded_once_and_ties_go_to_even(x: int, multiplier: int, shift: int) -> None:
    wanted = round(Fraction(x * multiplier, 2**31) * Fraction(2) ** shift)
    assert int(multiply_exactly(x, multiplier, shift)) == wanted


@pytest.mark.parametrize(("x", "wanted"), [(1, 0), (3, 2), (5, 2), (7, 4), (-1, 0), (-3, -2), (-5, -2), (2, 1)])
def test_halves(x: int, wanted: int) -> None:
    assert int(multiply_exactly(x, 2**30, 0)) == wanted


def real_of_layer(layer: Layer, x: np.ndarray) -> np.ndarray:
    """Returns the layer's results in real numbers: the model with float64 for each of its quantised tensors."""
    node = exact.graph_of(layer.model()).nodes[0]
    weights, bias = node.input(1), node.optional_input(2)
    scales = np.array(weights.quant.scales, np.float64)
    sums = sums_of(layer, x)
    biases = np.zeros(1) if bias is None or bias.data is None else bias.data.astype(np.float64).reshape(-1)
    low, high = node.attrs.activation.limits  # type: ignore[attr-defined]
    return np.clip((sums + biases) * (scales * np.float64(node.input(0).quant.scale)), low, high)


def sums_of(layer: Layer, x: np.ndarray) -> np.ndarray:
    """Returns the layer's sums of products, whose quantisation is 1: its weights and inputs as float32 numbers."""
    graph = exact.graph_of(layer.model())
    node = graph.nodes[0]
    zero_point = node.input(0).quant.zero_point
    build = ModelBuilder().tensor("x", layer.shape_in, np.float32).tensor("y", layer.shape_out, np.float32)
    build.tensor("w", layer.shape_weights, np.float32, data=layer.weights.astype(np.float32))
    options = {**layer.options, "FusedActivationFunction": "NONE"}
    model = build.op(layer.kind, ["x", "w"], ["y"], options).build(["x"], ["y"])
    return one_op.evaluate(model, x.astype(np.float32) - zero_point)[0].astype(np.float64)


@pytest.mark.parametrize("kind", ["CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"])
@pytest.mark.parametrize("form", ["int8", "int16"])
def test_layers_with_weights(kind: str, form: str) -> None:
    @settings(max_examples=examples(12), deadline=None)
    @given(layers(kind, form))
    def check(layer: Layer) -> None:
        model, x = layer.model(), layer.input()
        node = exact.graph_of(model).nodes[-1]
        (wanted,) = exact.evaluate(model, x)
        np.testing.assert_array_equal(one_op.compiled(model, x, attributes=EXACT)[0], wanted)
        if node.attrs.rounding is Rounding.EXACT and not layer.zero_every:
            exact.check(wanted, real_of_layer(layer, x), node.output.quant)

    check()


LAYERS = [
    Layer("CONV_2D", (1, 6, 5, 8), (8, 3, 3, 8), (1, 6, 5, 8), 0, {"Padding": "SAME", "StrideH": 1, "StrideW": 1}),
    Layer("CONV_2D", (1, 4, 4, 16), (16, 1, 1, 16), (1, 4, 4, 16), 0, {"StrideH": 1, "StrideW": 1}),
    Layer(
        "DEPTHWISE_CONV_2D",
        (1, 6, 6, 16),
        (1, 3, 3, 16),
        (1, 6, 6, 16),
        3,
        {"Padding": "SAME", "StrideH": 1, "StrideW": 1, "DepthMultiplier": 1},
    ),
    Layer("FULLY_CONNECTED", (1, 32), (12, 32), (1, 12), 0),
]
# With one scale and such results, each channel has a single rounding, which fast kernels need.
LAYERS = [
    dataclasses.replace(layer, per_channel=False, spread=spread)
    for layer, spread in zip(LAYERS, (0.5, 0.7, 0.5, 0.5), strict=True)
]

#: A kernel of each core.
KERNELS = {"cortex-m0": "portable_s8", "cortex-m3": "mla_s8", "cortex-m4": "dsp_s8", "cortex-m55": "arm_mve_s8"}


@pytest.mark.parametrize("core", exact.CORES)
@pytest.mark.parametrize(
    "layer",
    [dataclasses.replace(layer, per_channel=False) for layer in LAYERS],
    ids=lambda layer: f"{layer.kind}_{layer.shape_weights[1]}",
)
def test_kernels_of_every_core_give_the_same(core: str, layer: Layer) -> None:
    model, x = layer.model(), layer.input()
    with strategy.forced(preferred(KERNELS[core])):
        got, names = exact.on_core(core, model, x)
    np.testing.assert_array_equal(got[0], exact.evaluate(model, x)[0])
    fast = layer.kind != "DEPTHWISE_CONV_2D" or core != "cortex-m3"
    assert names == {KERNELS[core] if fast else "portable_s8"}


def ties(kind: str, scale_out: float, zero_point: int = 0) -> bytes:
    """Returns a layer of one product whose scales are powers of two, so that every other sum is a tie."""
    build = ModelBuilder().tensor("x", (1, 256), np.int8, scale=0.5, zero_point=0)
    if kind == "FULLY_CONNECTED":
        build = ModelBuilder().tensor("x", (256, 1), np.int8, scale=0.5, zero_point=0)
        build.tensor("w", (1, 1), np.int8, scale=1.0, data=np.ones((1, 1))).tensor(
            "y", (256, 1), np.int8, scale=scale_out, zero_point=zero_point
        )
        return build.op(kind, ["x", "w"], ["y"]).build(["x"], ["y"])
    build.tensor("y", (1, 256), np.int8, scale=scale_out, zero_point=zero_point)
    return build.op(kind, ["x"], ["y"]).build(["x"], ["y"])


@pytest.mark.parametrize("core", exact.CORES)
@pytest.mark.parametrize("scale_out", [1.0, 2.0])
def test_ties_on_every_core(core: str, scale_out: float) -> None:
    model = ties("FULLY_CONNECTED", scale_out, -3)
    x = np.arange(-128, 128, dtype=np.int8).reshape(256, 1)
    wanted = np.clip(np.rint(x / (2 * scale_out)) - 3, -128, 127)
    np.testing.assert_array_equal(exact.on_core(core, model, x)[0][0], wanted)


def test_ties_of_tflite_go_elsewhere() -> None:
    # So that the tests above do test something: of TFLite's results, those of negative ties differ.
    model = ties("FULLY_CONNECTED", 1.0)
    x = np.arange(-128, 128, dtype=np.int8).reshape(256, 1)
    (got,) = one_op.compiled(model, x)
    assert np.count_nonzero(got != np.rint(x / 2)) == 64


@pytest.mark.parametrize("kind", ["RELU", "LOGISTIC", "TANH", "ELU", "HARD_SWISH", "ABS", "QUANTIZE", "LEAKY_RELU"])
def test_functions_of_every_value(kind: str) -> None:
    functions = {
        "RELU": lambda x: np.maximum(x, 0),
        "LOGISTIC": lambda x: 1 / (1 + np.exp(-x)),
        "TANH": np.tanh,
        "ELU": lambda x: np.where(x < 0, np.expm1(x), x),
        "HARD_SWISH": lambda x: x * np.clip(x + 3, 0, 6) / 6,
        "ABS": np.abs,
        "QUANTIZE": lambda x: x,
        "LEAKY_RELU": lambda x: np.where(x < 0, np.float64(np.float32(0.1)) * x, x),
    }
    fixed = {"LOGISTIC": (1 / 256, -128), "TANH": (1 / 128, 0)}
    x = np.arange(-128, 128, dtype=np.int8).reshape(1, 256)
    for before, point in ((0.03, 5), (0.1, -128)):
        scale, zero_point = fixed.get(kind, (0.07, -10))
        made = ModelBuilder().tensor("x", (1, 256), np.int8, scale=before, zero_point=point)
        made.tensor("y", (1, 256), np.int8, scale=scale, zero_point=zero_point)
        options = {"Alpha": 0.1} if kind == "LEAKY_RELU" else {}
        model = made.op(kind, ["x"], ["y"], options).build(["x"], ["y"])
        node = exact.graph_of(model).nodes[0]
        assert node.attrs.rounding is Rounding.EXACT
        (wanted,) = exact.evaluate(model, x)
        exact.check(wanted, functions[kind](exact.real(node.input(0), x)), node.output.quant)
        np.testing.assert_array_equal(one_op.compiled(model, x, attributes=EXACT)[0], wanted)


PAIRS = {"ADD": np.add, "SUB": np.subtract, "MUL": np.multiply}


@pytest.mark.parametrize("kind", PAIRS)
def test_pairs(kind: str) -> None:
    every = np.arange(-128, 128, dtype=np.int8)
    a, b = (part.reshape(256, 256) for part in (np.repeat(every, 256), np.tile(every, 256)))
    for scales in scales_of_pairs():
        made = ModelBuilder()
        for name, scale, point in zip("xzy", scales, (3, -4, 5), strict=True):
            made.tensor(name, (256, 256), np.int8, scale=scale, zero_point=point)
        model = made.op(kind, ["x", "z"], ["y"]).build(["x", "z"], ["y"])
        node = exact.graph_of(model).nodes[0]
        assert node.attrs.rounding is Rounding.EXACT
        (wanted,) = exact.evaluate(model, a, b)
        exact.check(wanted, PAIRS[kind](exact.real(node.input(0), a), exact.real(node.input(1), b)), node.output.quant)
        np.testing.assert_array_equal(one_op.compiled(model, a, b, attributes=EXACT)[0], wanted)


def scales_of_pairs() -> list[tuple[float, float, float]]:
    """Returns scales of two operands and a result: any, equal, powers of two that make ties, and far apart."""
    return [(0.031, 0.017, 0.044), (0.05, 0.05, 0.05), (0.5, 0.25, 1.0), (0.5, 0.5, 0.5), (1.0, 0.001, 0.9)]


@pytest.mark.parametrize("core", exact.CORES)
@pytest.mark.parametrize("kind", PAIRS)
def test_pairs_on_every_core(core: str, kind: str) -> None:
    rng = np.random.default_rng(4)
    for scales in part(scales_of_pairs()):
        made = ModelBuilder()
        for name, scale, point in zip("xzy", scales, (3, -4, 5), strict=True):
            made.tensor(name, (1, 4, 5, 16), np.int8, scale=scale, zero_point=point)
        model = made.op(kind, ["x", "z"], ["y"]).build(["x", "z"], ["y"])
        feed = [rng.integers(-128, 128, (1, 4, 5, 16)).astype(np.int8) for _ in "xz"]
        np.testing.assert_array_equal(exact.on_core(core, model, *feed)[0][0], exact.evaluate(model, *feed)[0])


@settings(max_examples=examples(20), deadline=None)
@given(st.data(), st.sampled_from(["MEAN", "SUM"]), floats32(0.01, 0.1), seeds)
def test_means(data: st.DataObject, kind: str, scale: float, seed: int) -> None:
    shape = data.draw(st.lists(st.integers(1, 5), min_size=2, max_size=4))
    axes = sorted(data.draw(st.sets(st.integers(0, len(shape) - 1), min_size=1)))
    before = data.draw(quantized(tuple(shape), st.just(scale)))
    left = tuple(1 if axis in axes else extent for axis, extent in enumerate(shape))
    after = data.draw(quantized(left, st.just(scale if kind == "MEAN" else 3 * scale)))
    made = ModelBuilder().tensor("x", before.shape, np.int8, scale=before.scale, zero_point=before.zero_point)
    made.tensor("axes", (len(axes),), np.int32, data=axes)
    made.tensor("y", left, np.int8, scale=after.scale, zero_point=after.zero_point)
    model = made.op(kind, ["x", "axes"], ["y"], {"KeepDims": True}).build(["x"], ["y"])
    x = random(np.random.default_rng(seed), before)
    node = exact.graph_of(model).nodes[0]
    assert node.attrs.rounding is Rounding.EXACT
    (wanted,) = exact.evaluate(model, x)
    reduce = np.mean if kind == "MEAN" else np.sum
    exact.check(wanted, reduce(exact.real(node.input(0), x), axis=tuple(axes), keepdims=True), node.output.quant)
    np.testing.assert_array_equal(one_op.compiled(model, x, attributes=EXACT)[0], wanted)


@settings(max_examples=examples(30), deadline=None)
@given(st.sampled_from([np.int8, np.int16]), floats32(0.01, 4.0), st.integers(-20, 20))
def test_quantize_rounds_ties_to_even(dtype: type, scale: float, zero_point: int) -> None:
    point = zero_point if dtype is np.int8 else 0
    made = ModelBuilder().tensor("x", (1, 512), np.float32)
    made.tensor("y", (1, 512), dtype, scale=scale, zero_point=point)
    model = made.op("QUANTIZE", ["x"], ["y"]).build(["x"], ["y"])
    x = (np.arange(-256, 256, dtype=np.float32) * np.float32(scale) / 2).reshape(1, 512)
    info = np.iinfo(dtype)
    steps = np.rint(x / np.float32(scale)).astype(np.int64)
    wanted = np.clip(steps + point, info.min, info.max)
    np.testing.assert_array_equal(exact.evaluate(model, x)[0], wanted)
    np.testing.assert_array_equal(one_op.compiled(model, x, attributes=EXACT)[0], wanted)


def test_an_op_without_exact_form_computes_real_numbers() -> None:
    before = {"scale": 0.05, "zero_point": 4}
    made = ModelBuilder().tensor("x", (1, 4, 4, 3), np.int8, **before).tensor("y", (1, 2, 2, 3), np.int8, **before)
    options = {"FilterHeight": 2, "FilterWidth": 2, "StrideH": 2, "StrideW": 2, "Padding": "VALID"}
    model = made.op("AVERAGE_POOL_2D", ["x"], ["y"], options).build(["x"], ["y"])
    assert [node.op for node in exact.graph_of(model).nodes] == ["dequantize", "average_pool2d", "quantize"]
    x = np.random.default_rng(0).integers(-128, 128, (1, 4, 4, 3)).astype(np.int8)
    wanted = np.rint(x.reshape(1, 2, 2, 2, 2, 3).astype(np.float64).mean((2, 4)))
    (got,) = one_op.compiled(model, x, attributes=EXACT)
    np.testing.assert_array_equal(got, exact.evaluate(model, x)[0])
    assert np.abs(got - wanted).max() <= 1


def test_maxima_and_moves_stay_integers() -> None:
    before = {"scale": 0.05, "zero_point": 4}
    made = ModelBuilder().tensor("x", (1, 4, 4, 3), np.int8, **before).tensor("y", (1, 2, 2, 3), np.int8, **before)
    options = {"FilterHeight": 2, "FilterWidth": 2, "StrideH": 2, "StrideW": 2, "Padding": "VALID"}
    model = made.op("MAX_POOL_2D", ["x"], ["y"], options).build(["x"], ["y"])
    assert [node.op for node in exact.graph_of(model).nodes] == ["max_pool2d"]


def test_exact_rounding_of_an_op_that_has_none_breaks_a_rule() -> None:
    before = {"scale": 0.05, "zero_point": 4}
    made = ModelBuilder().tensor("x", (1, 4, 4, 3), np.int8, **before).tensor("y", (1, 2, 2, 3), np.int8, **before)
    options = {"FilterHeight": 2, "FilterWidth": 2, "StrideH": 2, "StrideW": 2, "Padding": "VALID"}
    graph = load(made.op("MAX_POOL_2D", ["x"], ["y"], options).build(["x"], ["y"]), name="model")
    graph.nodes[0].attrs = dataclasses.replace(graph.nodes[0].attrs, rounding=Rounding.EXACT)
    with pytest.raises(VerifyError, match="rounding, got exact, expected tflite"):
        verify(graph)


def test_a_quantisation_that_real_numbers_cannot_pass_stays() -> None:
    # A softmax of int8 leaves int16 with the zero point -32768, which dequantize does not take.
    made = ModelBuilder().tensor("x", (1, 4), np.int16, scale=1 / 65536, zero_point=-32768)
    model = made.tensor("y", (1, 4), np.int8, scale=1 / 256, zero_point=-128).op("QUANTIZE", ["x"], ["y"])
    (node,) = exact.graph_of(model.build(["x"], ["y"])).nodes
    assert (node.op, node.attrs.rounding) == ("quantize", Rounding.TFLITE)
