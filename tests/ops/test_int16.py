"""int16 activations against tflite-micro: layers with int8 weights, whose sums have 32 or 64 bits, and other ops."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aboard
from aboard.errors import ModelError
from aboard.importers import load
from aboard.kernels import weights as packing
from aboard.kernels.portable import epilogue_s16
from aboard.ops import conv2d, softmax_wide
from support import one_op, oracle, sanitized
from support.element_models import Value, activations, build, feed, floats32, real, refusal, seeds
from support.examples import examples
from support.tflite_builder import ModelBuilder
from support.weighted_models import Layer, layers
from support.weighted_models import refusal as layer_refusal

OPTIONS = {"Padding": "SAME", "StrideH": 1, "StrideW": 1}
LAYER = Layer("CONV_2D", (1, 5, 4, 3), (5, 3, 3, 3), (1, 5, 4, 5), 0, OPTIONS, form="int16")
DENSE = Layer("FULLY_CONNECTED", (2, 3000), (6, 3000), (2, 6), 0, form="int16")
DEPTHWISE = Layer(
    "DEPTHWISE_CONV_2D", (1, 9, 7, 4), (1, 3, 5, 8), (1, 9, 7, 8), 3, {**OPTIONS, "DepthMultiplier": 2}, form="int16"
)

#: Every value of an int16, once.
EVERY = np.arange(-32768, 32768).astype(np.int16).reshape(1, -1)
scales = floats32(1e-5, 0.01)


def int16(scale: float, shape: tuple[int, ...] = EVERY.shape) -> Value:
    return Value(shape, np.int16, float(np.float32(scale)))


# Layers with weights.


@settings(max_examples=examples(40), deadline=None)
@given(st.sampled_from(["CONV_2D", "FULLY_CONNECTED", "DEPTHWISE_CONV_2D"]).flatmap(lambda k: layers(k, "int16")))
def test_layers_equal_the_reference(layer: Layer) -> None:
    one_op.check_equal(layer.model(), layer.input())


def long_layers() -> dict[str, Layer]:
    """Layers whose sums do not fit 32 bits."""
    options = {**OPTIONS, "Padding": "VALID"}
    return {
        "dense": DENSE,
        "conv": Layer("CONV_2D", (1, 6, 6, 140), (5, 3, 3, 140), (1, 4, 4, 5), 0, options, form="int16"),
        "depthwise": Layer(
            "DEPTHWISE_CONV_2D", (1, 40, 41, 2), (1, 38, 40, 2), (1, 3, 2, 2), 3,
            {**options, "DepthMultiplier": 1}, form="int16",
        ),
    }  # fmt: skip


@pytest.mark.parametrize("name", long_layers())
@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("worst", [False, True])
def test_more_products_than_32_bits_hold(name: str, wide: bool, worst: bool) -> None:
    layer = dataclasses.replace(long_layers()[name], wide=wide or name == "depthwise", spread=0.5)
    x = np.full(layer.shape_in, -32768, np.int16) if worst else layer.input()
    one_op.check_equal(layer.model(), x)


@pytest.mark.parametrize("bits", [33, 40, 46])
def test_a_bias_that_32_bits_do_not_hold(bits: int) -> None:
    build_, operands = dataclasses.replace(LAYER, bias=False, spread=2.0 ** (bits - 28)).builder()
    build_.tensor("b", (5,), np.int64, scales=[1e-5] * 5, data=[2**bits, -(2**bits), 2**31, -5, 7 - 2**32])
    model = build_.op("CONV_2D", [*operands, "b"], ["y"], OPTIONS).build(["x"], ["y"])
    one_op.check_equal(model, LAYER.input())


def test_a_sum_of_32_bits_that_wraps() -> None:
    build_, operands = dataclasses.replace(LAYER, bias=False).builder()
    build_.tensor("b", (5,), np.int32, scales=[1e-5] * 5, data=[2**31 - 1, -(2**31), 2**30, 5, -1])
    model = build_.op("CONV_2D", [*operands, "b"], ["y"], OPTIONS).build(["x"], ["y"])
    one_op.check_equal(model, LAYER.input())


@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("layer", [LAYER, dataclasses.replace(DENSE, shape_in=(2, 30), shape_weights=(6, 30))])
def test_without_a_bias_the_file_says_how_wide_sums_are(layer: Layer, wide: bool) -> None:
    one = dataclasses.replace(layer, bias=False, wide=wide)
    (node,) = load(one.model(), name="model").nodes
    assert (node.optional_input(2) is None) == wide
    one_op.check_equal(one.model(), one.input())


@pytest.mark.parametrize("spread", [1e-2, 1.0, 1e3, 1e7])
def test_every_rescaling(spread: float) -> None:
    # Results that saturate, that are small, that are all 0.
    layer = dataclasses.replace(LAYER, spread=spread)
    one_op.check_equal(layer.model(), layer.input())


def test_a_sum_is_rescaled_by_one_product_where_that_is_proven() -> None:
    def form(layer: Layer) -> object:
        (node,) = load(layer.model(), name="model").nodes
        matrix = packing.matrix(node, conv2d.AXIS)
        activation = conv2d.attributes(node).activation
        return epilogue_s16.epilogue(node, matrix, packing.bias(node), activation, conv2d.AXIS).params["form"]

    assert form(LAYER) == "ABOARD_S16_SHORT"
    assert form(dataclasses.replace(LAYER, wide=False)) == "ABOARD_S16_DOUBLE"
    assert form(dataclasses.replace(LAYER, spread=1e-2)) == "ABOARD_S16_WIDE"
    assert form(long_layers()["conv"]) == "ABOARD_S16_WIDE"


@pytest.mark.parametrize("opt", ["size", "speed"])
def test_two_layers_that_share_code(opt: str) -> None:
    build_, operands = LAYER.builder()
    weights = np.random.default_rng(5).integers(-127, 128, (6, 1, 1, 5))
    build_.tensor("w2", (6, 1, 1, 5), np.int8, scale=0.01, data=weights)
    build_.tensor("y2", (1, 3, 2, 6), np.int16, scale=LAYER.scale_out)
    build_.op("CONV_2D", operands, ["y"], OPTIONS)
    build_.op("CONV_2D", ["y", "w2"], ["y2"], {"StrideH": 2, "StrideW": 2, "FusedActivationFunction": "RELU"})
    model = build_.build(["x"], ["y2"])
    expected = oracle.tflm(model, LAYER.input())[0]
    np.testing.assert_array_equal(one_op.compiled(model, LAYER.input(), attributes=f"-opt={opt}")[0], expected)


@pytest.mark.parametrize("layer", [LAYER, DENSE, DEPTHWISE, dataclasses.replace(LAYER, wide=False)])
def test_generated_c_is_clean(layer: Layer, tmp_path: Path) -> None:
    module = aboard.compile(layer.model(), target=one_op.HOST, name="model")
    for compiler in (["gcc"], ["clang"], ["arm-none-eabi-gcc", "-mcpu=cortex-m3", "-mthumb"]):
        sanitized.compile_strictly(module, tmp_path, compiler)


def test_refuses_what_the_reference_is_not_defined_for() -> None:
    assert "tensor x, got a zero point of 3, expected 0 for int16" in layer_refusal(LAYER, "x", zero_points=[3])
    assert "tensor y, got a zero point of -1, expected 0 for int16" in layer_refusal(LAYER, "y", zero_points=[-1])
    short = np.zeros(5, np.int16).tobytes()
    assert "bias b, got int16, expected int64 or int32" in layer_refusal(
        LAYER, "b", dtype=np.dtype(np.int16), data=short
    )
    message = layer_refusal(dataclasses.replace(LAYER, spread=1e-6))
    assert "scale of the result, got" in message
    assert "expected more than 2^-7 times the product of the scales of input and weights" in message
    large = np.array([2**47, 0, 0, 0, 0], np.int64).tobytes()
    assert "bias of up to 140737488355328 with 27 products, expected sums of less than 2^47" in layer_refusal(
        LAYER, "b", data=large
    )
    small = np.zeros(8, np.int32).tobytes()
    assert "bias b, got int32, expected int64" in layer_refusal(DEPTHWISE, "b", dtype=np.dtype(np.int32), data=small)


def test_everything_unsupported_is_reported_at_once() -> None:
    build_ = ModelBuilder()
    for name in "abc":
        build_.tensor(name, (1, 4), np.int16, scale=0.1)
    build_.op("HARD_SWISH", ["a"], ["b"]).op("RELU_N1_TO_1", ["b"], ["c"])
    with pytest.raises(ModelError) as caught:
        load(build_.build(["a"], ["c"]), name="model")
    text = str(caught.value)
    assert "node 0 HARD_SWISH: element types, got int16, int16, expected int8 or float32 for all of them" in text
    assert text.endswith("The same at node 1 RELU_N1_TO_1")


# Sums, differences, products.


@settings(max_examples=examples(25), deadline=None)
@given(st.sampled_from(["ADD", "SUB", "MUL"]), st.tuples(scales, scales, scales), activations, seeds)
def test_arithmetic_equals_the_reference(
    kind: str, three: tuple[float, float, float], activation: str, seed: int
) -> None:
    a, b, result = three
    if kind == "MUL":
        result = a * b * (1.5 + seed % 40000)
    values = [int16(a, (257, 255)), int16(b, (257, 255))]
    model = build(kind, values, int16(result, (257, 255)), {"FusedActivationFunction": activation})
    x, y = feed(values, seed)
    x[0], y[0, ::2], y[0, 1::2] = -32768, -32768, 32767
    one_op.check_equal(model, x, y)


@settings(max_examples=examples(15), deadline=None)
@given(st.sampled_from(["ADD", "SUB", "MUL"]), st.sampled_from([(3, 1), (1, 5), (5,), (1,), (2, 3, 1)]), seeds)
def test_broadcasting(kind: str, shape: tuple[int, ...], seed: int) -> None:
    values = [int16(0.001, (2, 3, 5)), int16(0.003, shape)]
    values = values[:: 1 if seed % 2 else -1]
    model = build(kind, values, int16(0.002, (2, 3, 5)), {"FusedActivationFunction": "NONE"})
    one_op.check_equal(model, *feed(values, seed))


@pytest.mark.parametrize(("ratio", "tie"), [(1.0, 1.0), (0.5, 2.0), (0.25, 1.0), (2.0**-12, 1.0), (2.0**-20, 0.5)])
@pytest.mark.parametrize("kind", ["ADD", "SUB"])
def test_ties_of_sums(kind: str, ratio: float, tie: float) -> None:
    # Scales that differ by powers of two round ties all the time.
    other = np.random.default_rng(0).permutation(EVERY.reshape(-1)).reshape(EVERY.shape)
    values = [int16(0.001), int16(0.001 * ratio)]
    one_op.check_equal(build(kind, values, int16(0.002 * tie), {"FusedActivationFunction": "NONE"}), EVERY, other)


def test_refuses_scales_at_which_sums_and_products_overflow() -> None:
    pair = [int16(0.1, (4,)), int16(0.1, (4,))]
    assert "expected more than" in refusal("ADD", pair, int16(1e-6, (4,)))
    assert "expected more than 0.01. Quantise the model again" in refusal("MUL", pair, int16(0.005, (4,)))
    assert "got a zero point of 4, expected 0 for int16" in refusal(
        "ADD", [dataclasses.replace(pair[0], zero_point=4), pair[1]], int16(0.1, (4,))
    )


# Functions of one element: every int16.


@pytest.mark.parametrize(
    ("kind", "ratio"),
    [("RELU6", 1.0), *((kind, ratio) for kind in ("RELU", "LEAKY_RELU") for ratio in (1.0, 0.7, 3.0))],
)
def test_rectifiers(kind: str, ratio: float) -> None:
    options = {"Alpha": 0.3 if ratio < 1 else -0.2} if kind == "LEAKY_RELU" else {}
    one_op.check_equal(build(kind, [int16(0.001)], int16(0.001 * ratio), options), EVERY)


@pytest.mark.parametrize("scale", [2.0**-13, 2.0**-12, 2.0**-11, 2.0**-12 * 1.0005, 1e-9, 1e-4, 0.01, 2.6])
@pytest.mark.parametrize("kind", ["LOGISTIC", "TANH"])
def test_sigmoids(kind: str, scale: float) -> None:
    one_op.check_equal(build(kind, [int16(scale)], int16(2.0**-15)), EVERY)


def test_refuses_scales_of_sigmoids() -> None:
    for scale in (2.7, 3e-14, 1.4e-45):
        words = f"got {np.float32(scale):g}, expected at least 3.79e-14 and less than 2.66667"
        assert words in refusal("TANH", [int16(scale, (4,))], int16(2.0**-15, (4,)))
    assert "expected 3.05176e-05 and 0" in refusal("LOGISTIC", [int16(0.1, (4,))], int16(2.0**-14, (4,)))


@settings(max_examples=examples(15), deadline=None)
@given(scales, scales)
def test_int16_to_int16(before: float, after: float) -> None:
    one_op.check_equal(build("QUANTIZE", [int16(before)], int16(after)), EVERY)


@settings(max_examples=examples(15), deadline=None)
@given(scales, floats32(1e-3, 0.5), st.integers(-128, 127), st.booleans())
def test_between_int8_and_int16(wide: float, narrow: float, zero_point: int, widen: bool) -> None:
    small = np.arange(-128, 128).astype(np.int8).reshape(1, -1)
    if widen:
        operand = Value(small.shape, np.int8, narrow, zero_point)
        one_op.check_equal(build("QUANTIZE", [operand], int16(wide, small.shape)), small)
    else:
        one_op.check_equal(build("QUANTIZE", [int16(wide)], Value(EVERY.shape, np.int8, narrow, zero_point)), EVERY)


@settings(max_examples=examples(15), deadline=None)
@given(scales, seeds)
def test_from_and_to_float(scale: float, seed: int) -> None:
    (x,) = feed([real((8, 200))], seed, spread=20000 * scale)
    x[0] = (np.arange(-100, 100) + 0.5) * np.float32(scale)
    x[1] = np.nextafter(x[0], np.float32(0))
    one_op.check_equal(build("QUANTIZE", [real(x.shape)], int16(scale, x.shape)), x)
    one_op.check_equal(build("DEQUANTIZE", [int16(scale)], real(EVERY.shape)), EVERY)


def test_what_no_int16_can_hold_saturates() -> None:
    x = np.array([np.inf, -np.inf, 3e38, -3e38, 40000, -40000, np.nan], np.float32)
    model = build("QUANTIZE", [real(x.shape)], int16(0.5, x.shape))
    for results in (one_op.evaluate(model, x), one_op.compiled(model, x)):
        assert results[0].tolist() == [32767, -32768, 32767, -32768, 32767, -32768, -32768]


# Ops over several elements.


@settings(max_examples=examples(20), deadline=None)
@given(st.sampled_from(["AVERAGE_POOL_2D", "MAX_POOL_2D"]), st.sampled_from(["SAME", "VALID"]), activations, seeds)
def test_pools(kind: str, padding: str, activation: str, seed: int) -> None:
    shape = (2, 7, 6, 5)
    out = (2, 4, 3, 5) if padding == "SAME" else (2, 3, 2, 5)
    options = {"Padding": padding, "StrideH": 2, "StrideW": 2, "FilterHeight": 3, "FilterWidth": 3}
    options["FusedActivationFunction"] = activation
    operand = int16(0.001, shape)
    one_op.check_equal(build(kind, [operand], int16(0.001, out), options), *feed([operand], seed))


@settings(max_examples=examples(15), deadline=None)
@given(st.sampled_from([(1, 2), (2,), (0, 3), (1, 2, 3)]), scales, seeds)
def test_means(axes: tuple[int, ...], scale: float, seed: int) -> None:
    shape = (2, 7, 6, 5)
    out = tuple(size for axis, size in enumerate(shape) if axis not in axes)
    operand = int16(0.001, shape)
    axis = Value((len(axes),), np.int32, data=np.array(axes, np.int32))
    one_op.check_equal(build("MEAN", [operand, axis], int16(scale, out), {"KeepDims": False}), *feed([operand], seed))


@settings(max_examples=examples(15), deadline=None)
@given(st.integers(1, 600), floats32(1e-6, 3e-3), st.sampled_from([1.0, 0.5]), seeds)
def test_softmax(channels: int, scale: float, beta: float, seed: int) -> None:
    shape = (4, channels)
    operand = int16(scale, shape)
    model = build("SOFTMAX", [operand], int16(2.0**-15, shape), {"Beta": beta})
    (x,) = feed([operand], seed)
    x[0], x[1] = 7, np.linspace(-32768, 32767, channels).astype(np.int16)
    one_op.check_equal(model, x)


@pytest.mark.parametrize("scale", [1e-5, 10 / 65535, 0.001, 1.0, 4.5])
def test_every_difference_in_softmax(scale: float) -> None:
    shape = (65536, 2)
    x = np.stack([EVERY.reshape(-1), np.full(65536, 32767, np.int16)], 1)
    one_op.check_equal(build("SOFTMAX", [int16(scale, shape)], int16(2.0**-15, shape), {"Beta": 1.0}), x)


def test_tables_of_softmax_end_where_their_functions_do() -> None:
    assert softmax_wide.exponentials()[[0, -1]].tolist() == [2, 32767]
    assert softmax_wide.reciprocals()[[0, -1]].tolist() == [32767, 16384]


def test_refuses_scales_of_softmax() -> None:
    operand = int16(0.1, (1, 4))
    assert "got scale 6.10352e-05, expected 2^-15" in refusal(
        "SOFTMAX", [operand], int16(2.0**-14, (1, 4)), {"Beta": 1.0}
    )
    assert "expected products of less than 5" in refusal(
        "SOFTMAX", [int16(9.0, (1, 4))], int16(2.0**-15, (1, 4)), {"Beta": 1.0}
    )


def test_moves_of_data() -> None:
    build_ = ModelBuilder().tensor("x", (1, 4, 3, 2), np.int16, scale=0.1)
    for name, shape in (("p", (1, 6, 4, 2)), ("c", (1, 6, 4, 4)), ("r", (24, 4)), ("t", (4, 24))):
        build_.tensor(name, shape, np.int16, scale=0.1)
    build_.tensor("pads", (4, 2), np.int32, data=[[0, 0], [1, 1], [1, 0], [0, 0]])
    build_.tensor("order", (2,), np.int32, data=[1, 0]).tensor("shape", (2,), np.int32, data=[24, 4])
    build_.op("PAD", ["x", "pads"], ["p"]).op("CONCATENATION", ["p", "p"], ["c"], {"Axis": 3})
    build_.op("RESHAPE", ["c", "shape"], ["r"]).op("TRANSPOSE", ["r", "order"], ["t"])
    x = np.random.default_rng(0).integers(-32768, 32768, (1, 4, 3, 2)).astype(np.int16)
    one_op.check_equal(build_.build(["x"], ["t"]), x)
