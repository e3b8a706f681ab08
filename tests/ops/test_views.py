"""Ops that move data, through any view and in any split of rows: the values of `evaluate`, and no byte else."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard import kernels
from aboard.ir import Attributes, DType, Node, Tensor, TensorType
from aboard.ops import get
from aboard.ops.broadcast_to import BroadcastAttributes
from aboard.ops.concatenation import ConcatenationAttributes
from aboard.ops.mirror_pad import MirrorPadAttributes
from aboard.ops.pad import PadAttributes
from aboard.ops.reshape import ReshapeAttributes
from aboard.ops.resize_nearest_neighbor import ResizeNearestNeighborAttributes
from aboard.ops.split import SplitAttributes
from aboard.ops.strided_slice import AxisSlice, StridedSliceAttributes
from aboard.ops.transpose import TransposeAttributes
from aboard.target import Target
from support import kernel_call
from support.examples import examples

shapes = st.lists(st.integers(1, 4), min_size=1, max_size=5).map(tuple)
dtypes = st.sampled_from([DType.INT8, DType.INT16, DType.FLOAT32, DType.INT64])


def node(op: str, attrs: Attributes, operands: Sequence[tuple[int, ...]], dtype: DType, results: int = 1) -> Node:
    """Returns a node with operands of these shapes; the shapes of the results are inferred."""
    inputs = [Tensor(f"x{i}", TensorType(shape, dtype)) for i, shape in enumerate(operands)]
    made = Node(op, op, list(inputs), [Tensor(f"y{i}", TensorType((), dtype)) for i in range(results)], attrs)
    for tensor, inferred in zip(made.outputs, get(op).infer(made), strict=True):
        tensor.type = inferred
    get(op).verify(made)
    return made


def check(data: st.DataObject, made: Node) -> None:
    """Fails unless the kernel gives what `evaluate` gives, through views drawn for operands and results."""
    implementation = kernels.of(made.op)[0]
    rng = np.random.default_rng(0)
    values = [
        rng.integers(0, 256, t.type.bytes).astype(np.uint8).view(t.dtype.numpy).reshape(t.shape) for t in made.operands
    ]
    expected = get(made.op).evaluate(made, values)

    def view(tensor: Tensor) -> kernels.View:
        whole = kernels.View.whole(tensor.shape, tensor.dtype.bytes)
        drawn = kernel_call.views(tensor.shape, tensor.dtype.bytes) if implementation.strided else st.just(whole)
        return data.draw(drawn)

    inputs = [kernel_call.Placed.of(x, view(t)) for x, t in zip(values, made.operands, strict=True)]
    outputs = [kernel_call.Placed.of(np.zeros(t.shape, t.dtype.numpy), view(t)) for t in made.outputs]
    in_views, out_views = [p.view for p in inputs], [p.view for p in outputs]
    call = implementation.lower(made, in_views, out_views, Target("c -runtime=host"))
    ranges = data.draw(kernel_call.row_ranges(call.rows, call.step_rows))
    kernel_call.run(call, inputs, outputs, ranges)
    for tensor, placed, wanted in zip(made.outputs, outputs, expected, strict=True):
        got = placed.values(tensor.shape, tensor.dtype.numpy)
        assert got.tobytes() == wanted.tobytes()
        assert placed.gaps_are_untouched()


@settings(max_examples=examples(15), deadline=None)
@given(st.data(), shapes, dtypes)
def test_transpose(data: st.DataObject, shape: tuple[int, ...], dtype: DType) -> None:
    order = tuple(data.draw(st.permutations(range(len(shape)))))
    check(data, node("transpose", TransposeAttributes(order), [shape], dtype))


@settings(max_examples=5, deadline=None)
@given(st.data(), shapes, dtypes)
def test_broadcast(data: st.DataObject, shape: tuple[int, ...], dtype: DType) -> None:
    operand = tuple(data.draw(st.sampled_from([1, extent])) for extent in shape)
    check(data, node("broadcast_to", BroadcastAttributes(shape), [operand], dtype))


@settings(max_examples=5, deadline=None)
@given(st.data(), shapes, dtypes, st.booleans())
def test_mirror_pad(data: st.DataObject, shape: tuple[int, ...], dtype: DType, edge: bool) -> None:
    ends = [st.integers(0, extent if edge else extent - 1) for extent in shape]
    padding = tuple((data.draw(end), data.draw(end)) for end in ends)
    check(data, node("mirror_pad", MirrorPadAttributes(padding, edge), [shape], dtype))


@settings(max_examples=examples(10), deadline=None)
@given(st.data(), shapes, dtypes)
def test_reshape(data: st.DataObject, shape: tuple[int, ...], dtype: DType) -> None:
    factors = data.draw(st.permutations([*shape, 1]))
    cut = data.draw(st.integers(0, len(factors)))
    target = (math.prod(factors[:cut]), *factors[cut:])
    check(data, node("reshape", ReshapeAttributes(target), [shape], dtype))


@settings(max_examples=examples(20), deadline=None)
@given(st.data(), shapes, dtypes)
def test_strided_slice(data: st.DataObject, shape: tuple[int, ...], dtype: DType) -> None:
    slices, result = [], []
    for extent in shape:
        first, last = data.draw(st.integers(0, extent - 1)), data.draw(st.integers(0, extent - 1))
        stride = data.draw(st.integers(1, 3)) * (1 if last >= first else -1)
        count = len(range(first, last + (1 if stride > 0 else -1), stride))
        slices.append(AxisSlice(first, stride, count))
        if count > 1 or data.draw(st.booleans()):
            result.append(count)
        if data.draw(st.integers(0, 5)) == 0:
            result.append(1)
    check(data, node("strided_slice", StridedSliceAttributes(tuple(slices), tuple(result)), [shape], dtype))


@settings(max_examples=examples(20), deadline=None)
@given(st.data(), shapes, dtypes, st.lists(st.integers(1, 3), min_size=1, max_size=4))
def test_split(data: st.DataObject, shape: tuple[int, ...], dtype: DType, sizes: list[int]) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    whole = (*shape[:axis], sum(sizes), *shape[axis + 1 :])
    check(data, node("split", SplitAttributes(axis, tuple(sizes)), [whole], dtype, len(sizes)))


@settings(max_examples=examples(20), deadline=None)
@given(st.data(), shapes, dtypes, st.lists(st.integers(1, 3), min_size=1, max_size=4))
def test_concatenation(data: st.DataObject, shape: tuple[int, ...], dtype: DType, sizes: list[int]) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    parts = [(*shape[:axis], size, *shape[axis + 1 :]) for size in sizes]
    check(data, node("concatenation", ConcatenationAttributes(axis), parts, dtype))


@pytest.mark.parametrize("count", [10, 16])
def test_concatenation_and_split_of_many_parts(count: int) -> None:
    @settings(max_examples=2, deadline=None)
    @given(st.data())
    def both(data: st.DataObject) -> None:
        check(data, node("concatenation", ConcatenationAttributes(2), [(1, 2, 3, 2)] * count, DType.INT8))
        check(data, node("split", SplitAttributes(1, (1,) * count), [(1, count, 3, 2)], DType.INT8, count))

    both()


@settings(max_examples=examples(20), deadline=None)
@given(st.data(), shapes, st.sampled_from([DType.INT8, DType.INT16, DType.INT32, DType.FLOAT32]))
def test_pad(data: st.DataObject, shape: tuple[int, ...], dtype: DType) -> None:
    padding = tuple((data.draw(st.integers(0, 2)), data.draw(st.integers(0, 2))) for _ in shape)
    value = data.draw(st.integers(-128, 127))
    check(data, node("pad", PadAttributes(padding, value), [shape], dtype))


@settings(max_examples=examples(15), deadline=None)
@given(st.data(), st.tuples(*[st.integers(1, 5)] * 4), dtypes, st.tuples(*[st.integers(1, 9)] * 2))
def test_resize(data: st.DataObject, shape: tuple[int, ...], dtype: DType, size: tuple[int, int]) -> None:
    attrs = ResizeNearestNeighborAttributes(size, data.draw(st.booleans()), data.draw(st.booleans()))
    check(data, node("resize_nearest_neighbor", attrs, [shape], dtype))
