"""Kernels of elements, pools, means and softmax through any view, in any split of rows and in place: as `evaluate`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from aboard.ir import Attributes, DType, Node, Quantization, Rounding, Tensor, TensorType
from aboard.kernels import View, of
from aboard.kernels.contract import Implementation, KernelCall
from aboard.kernels.select import strategy
from aboard.kernels.select.strategy import choose
from aboard.ops import get
from aboard.ops.activation import Activation
from aboard.ops.arithmetic import ArithmeticAttributes
from aboard.ops.pool2d import PoolAttributes, attributes
from aboard.ops.reduction import ReductionAttributes
from aboard.ops.relu import LeakyReluAttributes
from aboard.ops.resize_bilinear import ResizeBilinearAttributes
from aboard.ops.softmax import SoftmaxAttributes
from aboard.ops.window import Padding, same
from aboard.target import Target
from support import kernel_call
from support.examples import examples
from support.preferred import preferred

TARGET = Target("c -runtime=host")
DSP = Target("c -mcpu=cortex-m4 -runtime=standalone")
MVE = Target("c -mcpu=cortex-m55 -runtime=standalone")
UNARY = ["relu", "relu6", "relu_n1_to_1", "leaky_relu", "hard_swish", "logistic", "tanh", "softmax"]
RESULTS = {"logistic": (1 / 256, -128), "softmax": (1 / 256, -128), "tanh": (1 / 128, 0)}
RESULTS_INT16 = {"logistic": 2.0**-15, "softmax": 2.0**-15, "tanh": 2.0**-15}
NO_INT16 = ("relu_n1_to_1", "hard_swish")
ATTRIBUTES = {"leaky_relu": LeakyReluAttributes(0.25), "softmax": SoftmaxAttributes()}

shapes = st.lists(st.integers(1, 4), min_size=1, max_size=5).map(tuple)
dtypes = st.sampled_from([DType.INT8, DType.INT16, DType.FLOAT32])


def tensor_type(shape: Sequence[int], dtype: DType, scale: float = 0.0625, zero_point: int = 3) -> TensorType:
    if dtype is DType.INT16:
        scale, zero_point = scale / 256, 0
    quant = None if dtype is DType.FLOAT32 else Quantization((scale,), (zero_point,))
    return TensorType(tuple(shape), dtype, quant)


def node(op: str, attrs: Attributes, operands: Sequence[TensorType], result: TensorType) -> Node:
    """Returns a node; the shape of the result is inferred."""
    inputs = [Tensor(f"x{i}", operand) for i, operand in enumerate(operands)]
    made = Node(op, op, list(inputs), [Tensor("y", result)], attrs)
    made.output.type = get(op).infer(made)[0]
    get(op).verify(made)
    return made


def random(tensor: Tensor) -> np.ndarray:
    rng = np.random.default_rng(len(tensor.name) + tensor.type.elements)
    if tensor.dtype is DType.FLOAT32:
        return rng.standard_normal(tensor.shape).astype(np.float32)
    limits = np.iinfo(tensor.dtype.numpy)
    return rng.integers(limits.min, limits.max + 1, tensor.shape).astype(tensor.dtype.numpy)


def drawn(data: st.DataObject, tensor: Tensor) -> View:
    return data.draw(kernel_call.views(tensor.shape, tensor.dtype.bytes))


def check(data: st.DataObject, made: Node, over: int | None = None, target: Target = TARGET) -> None:
    """Fails unless the kernel gives what `evaluate` gives, written over operand `over` where that is given."""
    implementation: Implementation = choose(made, target).implementation
    assert implementation.strided
    values = [random(tensor) for tensor in made.operands]
    (expected,) = get(made.op).evaluate(made, values)
    inputs = [kernel_call.Placed.of(x, drawn(data, t)) for x, t in zip(values, made.operands, strict=True)]
    if over is None:
        result = kernel_call.Placed.of(np.zeros(expected.shape, expected.dtype), drawn(data, made.output))
    else:
        assert (0, over) in implementation.in_place
        result = inputs[over]
    call = implementation.lower(made, [p.view for p in inputs], [result.view], target)
    kernel_call.run(call, inputs, [result], data.draw(kernel_call.row_ranges(call.rows, call.step_rows)))
    got = result.values(made.output.shape, made.output.dtype.numpy)
    if made.output.dtype is DType.FLOAT32:
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-7)
    else:
        np.testing.assert_array_equal(got, expected)
    assert result.gaps_are_untouched()


@settings(max_examples=examples(30), deadline=None)
@given(st.data(), st.sampled_from(UNARY), shapes, dtypes, st.sampled_from([None, 0]))
def test_unary(data: st.DataObject, op: str, shape: tuple[int, ...], dtype: DType, over: int | None) -> None:
    if dtype is DType.INT16 and op in NO_INT16:
        dtype = DType.INT8
    operand, result = tensor_type(shape, dtype), tensor_type(shape, dtype, *RESULTS.get(op, ()))
    if dtype is DType.INT16 and op in RESULTS_INT16:
        result = TensorType(shape, dtype, Quantization((RESULTS_INT16[op],), (0,)))
    elif op in ("relu", "leaky_relu") and data.draw(st.booleans()):
        result = tensor_type(shape, dtype, 0.04)
    check(data, node(op, ATTRIBUTES.get(op, Attributes()), [operand], result), over)


@settings(max_examples=examples(20), deadline=None)
@given(st.data(), shapes, dtypes, st.sampled_from([DType.INT8, DType.INT16]), st.sampled_from([None, 0]))
def test_requantisation(
    data: st.DataObject, shape: tuple[int, ...], dtype: DType, wanted: DType, over: int | None
) -> None:
    made = node("quantize", Attributes(), [tensor_type(shape, dtype)], tensor_type(shape, wanted, 0.03, -9))
    check(data, made, over if dtype is wanted else None)


@settings(max_examples=examples(6), deadline=None)
@given(st.data(), shapes, st.sampled_from([DType.INT8, DType.INT16, DType.UINT8]))
def test_dequantize(data: st.DataObject, shape: tuple[int, ...], dtype: DType) -> None:
    check(data, node("dequantize", Attributes(), [tensor_type(shape, dtype)], tensor_type(shape, DType.FLOAT32)))


@settings(max_examples=examples(30), deadline=None)
@given(st.data(), st.sampled_from(["add", "sub", "mul"]), shapes, dtypes, st.sampled_from([None, 0, 1]))
def test_arithmetic(data: st.DataObject, op: str, shape: tuple[int, ...], dtype: DType, over: int | None) -> None:
    broadcast = data.draw(st.lists(st.booleans(), min_size=len(shape), max_size=len(shape)))
    smaller = tuple(1 if one else extent for one, extent in zip(broadcast, shape, strict=True))
    smaller = smaller[data.draw(st.integers(0, len(shape))) :]
    pair = [tensor_type(shape, dtype), tensor_type(smaller, dtype, 0.05, -4)]
    if over == 1 or data.draw(st.booleans()):
        pair.reverse()
    over = None if over is None else pair.index(tensor_type(shape, dtype))
    result = tensor_type((), dtype, 0.07, -30)
    if (op, dtype) == ("mul", DType.INT16):
        result = tensor_type((), dtype, 0.9)
    check(data, node(op, ArithmeticAttributes(Activation.RELU6), pair, result), over)


@settings(max_examples=examples(20), deadline=None)
@given(st.data(), st.sampled_from(["add", "sub"]), shapes, st.sampled_from([None, 0, 1]))
def test_sums_in_c_for_helium(data: st.DataObject, op: str, shape: tuple[int, ...], over: int | None) -> None:
    # Scales of which sums are a line.
    pair = [tensor_type(shape, DType.INT8), tensor_type(shape, DType.INT8)]
    activation = data.draw(st.sampled_from([Activation.NONE, Activation.RELU6]))
    made = node(op, ArithmeticAttributes(activation), pair, tensor_type((), DType.INT8, 0.07, -30))
    with strategy.forced(preferred("arm_mve_s8")):
        assert choose(made, MVE).implementation.name == "arm_mve_s8"
        check(data, made, over, MVE)


@settings(max_examples=examples(30), deadline=None)
@given(st.data(), st.sampled_from(["add", "sub", "mul"]), shapes, st.floats(0.01, 0.2))
def test_broadcasting_in_c_for_helium(data: st.DataObject, op: str, shape: tuple[int, ...], scale: float) -> None:
    broadcast = data.draw(st.lists(st.booleans(), min_size=len(shape), max_size=len(shape)))
    smaller = (*(1 if one else extent for one, extent in zip(broadcast, shape, strict=True)),)
    pair = [tensor_type(shape, DType.INT8), tensor_type(smaller, DType.INT8, scale, -4)]
    made = node(op, ArithmeticAttributes(Activation.RELU6), pair, tensor_type((), DType.INT8, 0.07, -30))
    with strategy.forced(preferred("mve_broadcast_s8")):
        kernel = choose(made, MVE).implementation.name
        assert kernel == "mve_broadcast_s8" or (op != "mul" and smaller == shape)
        check(data, made, target=MVE)


@settings(max_examples=examples(15), deadline=None)
@given(st.data(), st.integers(1, 4), st.integers(4, 9), st.sampled_from([None, 0]))
def test_softmax_in_c_for_helium(data: st.DataObject, pixels: int, channels: int, over: int | None) -> None:
    kind, result = tensor_type((2, pixels, channels), DType.INT8), tensor_type((), DType.INT8, 1 / 256, -128)
    made = node("softmax", SoftmaxAttributes(), [kind], result)
    with strategy.forced(preferred("arm_mve_s8")):
        assert choose(made, MVE).implementation.name == "arm_mve_s8"
        check(data, made, over, MVE)


def test_softmax_of_few_channels_is_portable() -> None:
    kind, result = tensor_type((5, 3), DType.INT8), tensor_type((), DType.INT8, 1 / 256, -128)
    refused = choose(node("softmax", SoftmaxAttributes(), [kind], result), MVE).refused
    assert ("arm_mve_s8", "is for at least 4 channels") in refused


def test_what_the_kernel_with_broadcasting_refuses() -> None:
    kind, small = tensor_type((2, 3), DType.INT8), tensor_type((1, 3), DType.INT8)
    kernels = {op: next(k for k in of(op) if k.name == "mve_broadcast_s8") for op in ("add", "mul")}
    plain = ArithmeticAttributes()
    same_shape = node("add", plain, [kind, kind], kind)
    assert kernels["add"].refuses(same_shape, MVE) == "is for operands that arm_mve_s8 refuses"
    exact = node("mul", replace(plain, rounding=Rounding.EXACT), [kind, small], kind)
    assert kernels["mul"].refuses(exact, MVE) == "is for results that are rounded as in TFLite"
    wide = tensor_type((2, 3), DType.INT16)
    assert kernels["mul"].refuses(node("mul", plain, [wide, wide], wide), MVE) == "is for int8"


@pytest.mark.parametrize("value", [-128, 127])
def test_the_largest_sums_of_a_pool_of_halfwords(value: int) -> None:
    kind = tensor_type((1, 16, 16, 8), DType.INT8)
    made = node("average_pool2d", PoolAttributes((16, 16)), [kind], kind)
    x = np.full(kind.shape, value, np.int8)
    for target, name in ((DSP, "dsp_s8"), (MVE, "arm_mve_s8")):
        kernel = choose(made, target).implementation
        assert kernel.name == name
        source, whole = View.whole(kind.shape, 1), View.whole(made.output.shape, 1)
        call, places = kernel.lower(made, [source], [whole], target), [kernel_call.Placed.of(x[:, 0, 0], whole)]
        places[0].memory[:] = 0
        assert isinstance(call, KernelCall)
        kernel_call.run(call, [kernel_call.Placed.of(x, source)], places, [(0, call.rows)])
        np.testing.assert_array_equal(places[0].values(made.output.shape, np.dtype(np.int8)), value)


def pool(data: st.DataObject, op: str, dtype: DType, padded: bool, least: int = 1) -> Node:
    """Draws a pool over at least a number of channels."""
    batch, height, width, more = (data.draw(st.integers(1, most)) for most in (2, 6, 6, 8))
    window = data.draw(st.tuples(st.integers(1, height), st.integers(1, width)))
    strides = data.draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))
    padding = same((height, width), window, strides) if padded else Padding()
    attrs = PoolAttributes(window, strides, padding, data.draw(st.sampled_from(Activation)))
    kind = tensor_type((batch, height, width, least - 1 + more), dtype)
    return node(op, attrs, [kind], kind)


@settings(max_examples=examples(25), deadline=None)
@given(st.data(), st.sampled_from(["average_pool2d", "max_pool2d"]), dtypes, st.booleans())
def test_pool(data: st.DataObject, op: str, dtype: DType, padded: bool) -> None:
    check(data, pool(data, op, dtype, padded))


@settings(max_examples=examples(10), deadline=None)
@given(st.data(), st.booleans())
def test_l2_pool(data: st.DataObject, padded: bool) -> None:
    check(data, pool(data, "l2_pool2d", DType.FLOAT32, padded))


@settings(max_examples=examples(25), deadline=None)
@given(st.data(), st.sampled_from(["average_pool2d", "max_pool2d"]), st.booleans())
def test_pool_in_c_for_the_dsp_extension(data: st.DataObject, op: str, padded: bool) -> None:
    made = pool(data, op, DType.INT8, padded, least=4)
    small = math.prod(attributes(made).window) < 5
    assume(not (op == "average_pool2d" and small and made.output.shape[3] % 4))
    assert choose(made, DSP).implementation.name == "dsp_s8"
    check(data, made, target=DSP)


def test_pools_without_the_dsp_extension() -> None:
    # 17 x 16 pixels may leave 16 bits, and pixels of three channels are less than a word.
    large, odd = tensor_type((1, 17, 16, 4), DType.INT8), tensor_type((1, 4, 4, 3), DType.INT8)
    made = node("average_pool2d", PoolAttributes((17, 16)), [large], large)
    assert choose(made, DSP).refused[1] == ("dsp_s8", "is for windows of at most 256 pixels, got 272")
    made = node("max_pool2d", PoolAttributes((2, 2)), [odd], odd)
    assert choose(made, DSP).refused[1] == ("dsp_s8", "is for 4 channels or more")
    # Averages of few pixels of six channels are slower in two blocks of four.
    six = tensor_type((1, 4, 4, 6), DType.INT8)
    small, large = (node("average_pool2d", PoolAttributes(window), [six], six) for window in ((2, 2), (3, 2)))
    reason = "is for a multiple of 4 channels, or windows of 5 pixels or more, got 4"
    assert choose(small, DSP).refused[1] == ("dsp_s8", reason)
    assert choose(large, DSP).implementation.name == "dsp_s8"


@settings(max_examples=examples(25), deadline=None)
@given(st.data(), shapes, dtypes, st.booleans())
def test_mean(data: st.DataObject, shape: tuple[int, ...], dtype: DType, keep: bool) -> None:
    axes = data.draw(st.sets(st.integers(0, len(shape) - 1)))
    attrs = ReductionAttributes(tuple(sorted(axes)), keep)
    check(data, node("mean", attrs, [tensor_type(shape, dtype)], tensor_type((), dtype, 0.05, 7)))


@settings(max_examples=6, deadline=None)
@given(st.data(), shapes, st.sampled_from([DType.INT8, DType.FLOAT32]), st.sampled_from(["reduce_max", "reduce_min"]))
def test_extremes(data: st.DataObject, shape: tuple[int, ...], dtype: DType, op: str) -> None:
    axes = data.draw(st.sets(st.integers(0, len(shape) - 1)))
    attrs = ReductionAttributes(tuple(sorted(axes)), data.draw(st.booleans()))
    check(data, node(op, attrs, [tensor_type(shape, dtype)], tensor_type((), dtype)))


@settings(max_examples=6, deadline=None)
@given(st.data(), st.sampled_from([DType.INT8, DType.FLOAT32]))
def test_resize_bilinear(data: st.DataObject, dtype: DType) -> None:
    shape = tuple(data.draw(st.integers(1, 4)) for _ in range(4))
    size = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 6))
    made = node(
        "resize_bilinear",
        ResizeBilinearAttributes(size, False, True),
        [tensor_type(shape, dtype)],
        tensor_type((), dtype),
    )
    check(data, made)


@pytest.mark.parametrize(
    ("op", "attrs", "lag"),
    [
        ("average_pool2d", PoolAttributes((2, 2)), 1),
        ("softmax", SoftmaxAttributes(), 0),
        ("tanh", Attributes(), 0),
        ("add", ArithmeticAttributes(), 0),
    ],
)
def test_a_ring_of_rows(op: str, attrs: Attributes, lag: int) -> None:
    # Six rows pass through a memory of four: rows 4 and 5 lie where 0 and 1 lay before.
    shape, depth = (1, 6, 2, 3), 4
    kind = tensor_type(shape, DType.INT8)
    result_type = tensor_type(shape, DType.INT8, *RESULTS.get(op, ()))
    made = node(op, attrs, [kind] * (2 if op == "add" else 1), result_type)
    values = [random(tensor) for tensor in made.operands]
    (expected,) = get(op).evaluate(made, values)
    ring = View(6, 2, 3, 6, 3, depth, 1)
    placed = kernel_call.Placed(ring, np.zeros(ring.span, np.uint8))
    others = [kernel_call.Placed.of(x, View.whole(shape, 1)) for x in values[1:]]
    result = kernel_call.Placed.of(np.zeros_like(expected), View.whole(expected.shape, 1))
    views = [placed.view, *(other.view for other in others)]
    call = choose(made, TARGET).implementation.lower(made, views, [result.view], TARGET)
    rows = values[0].view(np.uint8).reshape(6, 6)
    done = 0
    for ready in (4, 6):
        for row in range(ready - depth, ready):
            placed.memory.reshape(depth, 6)[row % depth] = rows[row]
        kernel_call.run(call, [placed, *others], [result], [(done, ready - lag)])
        done = ready - lag
    np.testing.assert_array_equal(result.values(expected.shape, np.dtype(np.int8)), expected)
