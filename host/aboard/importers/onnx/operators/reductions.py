"""Reductions of axes, places of extremes, sums along an axis, the largest elements."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from aboard.importers.onnx.builder import Builder
from aboard.importers.onnx.operator import Operator, reads
from aboard.ir import DType, Tensor
from aboard.ops.cumsum import CumsumAttributes
from aboard.ops.extremes import ExtremeAttributes, PlaceAttributes
from aboard.ops.reduction import ReductionAttributes
from aboard.ops.strided_slice import AxisSlice
from aboard.ops.top_k import TopKAttributes

_Over = Callable[[str, Tensor], Tensor]


def _squares(x: Tensor, make: Builder) -> Tensor:
    return make.op("mul", [x, x])


def _magnitudes(x: Tensor, make: Builder) -> Tensor:
    if x.dtype.is_float:
        return make.op("abs", [x])
    if x.dtype.numpy.kind == "u":
        return x
    return make.op("maximum", [x, make.op("sub", [make.scalar(0, x.dtype), x])])


@reads("ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum")
def plain(source: Operator, make: Builder) -> Tensor:
    """Reductions that are operators of their own; the largest bool is true where one is."""
    x = source.input(0)
    op = {"ReduceMax": "reduce_max", "ReduceMean": "mean", "ReduceMin": "reduce_min", "ReduceProd": "reduce_prod"}
    over = _over(source, make)
    if x.dtype is DType.BOOL and source.kind == "ReduceMin":
        return over("reduce_all", x)
    if x.dtype is DType.BOOL and source.kind == "ReduceMax":
        return make.op("logical_not", [over("reduce_all", make.op("logical_not", [x]))])
    return over(op.get(source.kind, "sum"), x)


@reads("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare")
def composed(source: Operator, make: Builder) -> Tensor:
    """Reductions of functions of the elements, and functions of sums."""
    x, over = source.input(0), _over(source, make)
    if source.kind == "ReduceL1":
        return over("sum", _magnitudes(x, make))
    if source.kind == "ReduceLogSum":
        return make.op("log", [over("sum", x)])
    if source.kind == "ReduceLogSumExp":
        return _log_sum_exp(source, x, make)
    total = over("sum", _squares(x, make))
    return make.op("sqrt", [total]) if source.kind == "ReduceL2" else total


def _log_sum_exp(source: Operator, x: Tensor, make: Builder) -> Tensor:
    """The maximum is subtracted before and added behind, so that no power is infinite."""
    over, kept = _over(source, make), _over(source, make, keeps=True)
    largest = make.op("minimum", [kept("reduce_max", x), make.scalar(_MOST_FINITE)])
    powers = make.op("exp", [make.op("sub", [x, largest])])
    return make.op("add", [make.op("log", [over("sum", powers)]), over("reduce_max", x)])


#: Largest finite float32: what is subtracted from an infinite maximum.
_MOST_FINITE = float(np.finfo(np.float32).max)


def _over(source: Operator, make: Builder, *, keeps: bool | None = None) -> _Over:
    """Returns a function that reduces a tensor over the axes of a node, given as operand or as attribute."""
    rank = len(source.input(0).shape)
    if source.optional(1) is not None:
        given = source.integers(1)
    else:
        given = [int(axis) for axis in source.options.get("axes") or []]
    axes = tuple(sorted({source.axis(axis, rank) for axis in given}))
    if not axes and not source.options.get("noop_with_empty_axes", 0):
        axes = tuple(range(rank))
    kept = bool(source.options["keepdims"]) if keeps is None else keeps
    return lambda op, x: make.op(op, [x], attributes(op, x, axes, kept=kept)) if axes else x


def attributes(op: str, x: Tensor, axes: tuple[int, ...], *, kept: bool) -> ReductionAttributes:
    """Returns the attributes of a reduction: extremes of float32 may be infinite."""
    if op in ("reduce_max", "reduce_min") and x.dtype.is_float:
        return ExtremeAttributes(axes, kept, True)
    return ReductionAttributes(axes, kept)


@reads("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def pool_of_all(source: Operator, make: Builder) -> Tensor:
    """Reductions of all axes behind the channels, which stay with one element."""
    x = source.input(0)
    attrs = ReductionAttributes(tuple(range(2, len(x.shape))), True)
    if source.kind == "GlobalMaxPool":
        return make.op("reduce_max", [x], attributes("reduce_max", x, attrs.axes, kept=True))
    if source.kind == "GlobalAveragePool":
        return make.op("mean", [x], attrs)
    p = int(source.options["p"])
    if p < 1:
        raise source.unsupported(f"p, got {p}, expected a number from 1. Export the model again")
    if p == 2:
        return make.op("sqrt", [make.op("sum", [_squares(x, make)], attrs)])
    powers = make.op("pow", [make.op("abs", [x]), make.scalar(p)])
    return make.op("pow", [make.op("sum", [powers], attrs), make.scalar(1 / p)])


@reads("ArgMax", "ArgMin")
def place(source: Operator, make: Builder) -> Tensor:
    """The index of the first, or of the last, of the largest or smallest elements along an axis, as int64."""
    x = source.input(0)
    axis = source.axis(int(source.options["axis"]), len(x.shape))
    extent = x.shape[axis]
    if not x.dtype.is_float:
        x = make.cast(x, DType.FLOAT32) if x.dtype.bytes < 4 else _refused(source, x)
    last = bool(source.options.get("select_last_index", 0))
    if last:
        slices = [AxisSlice(0, 1, size) for size in x.shape]
        slices[axis] = AxisSlice(extent - 1, -1, extent)
        x = make.take(x, slices)
    found = make.op(source.kind.replace("Arg", "arg_").lower(), [x], PlaceAttributes(axis), DType.INT32)
    if last:
        found = make.op("sub", [make.scalar(extent - 1, DType.INT32), found])
    wide = make.cast(found, DType.INT64)
    return make.reshape(wide, (*x.shape[:axis], 1, *x.shape[axis + 1 :])) if source.options["keepdims"] else wide


def _refused(source: Operator, x: Tensor) -> Tensor:
    raise source.unsupported(
        f"element type, got {x.dtype.value}, expected float32 or an integer of at most 16 bits. Convert it to float32"
    )


@reads("CumSum", "CumProd")
def running(source: Operator, make: Builder) -> Tensor:
    """Sums or products of the elements up to each along an axis; integers wrap."""
    x = source.input(0)
    given = source.integers(1)
    if len(given) != 1:
        raise source.unsupported(f"axis, got {given}, expected one number. Export the model again")
    axis = source.axis(given[0], len(x.shape))
    exclusive, reverse = bool(source.options["exclusive"]), bool(source.options["reverse"])
    if x.dtype.is_float and source.kind == "CumSum":
        return make.op("cumsum", [x], CumsumAttributes(axis, exclusive, reverse))
    op, neutral = ("add", 0) if source.kind == "CumSum" else ("mul", 1)
    total = _turned(make, x, axis) if reverse else x
    if exclusive:
        total = _later(make, total, axis, 1, neutral)
    # Each element holds as many as twice before: 1, 2, 4, and so on.
    step = 1
    while step < x.shape[axis]:
        total = make.op(op, [total, _later(make, total, axis, step, neutral)])
        step *= 2
    return _turned(make, total, axis) if reverse else total


def _turned(make: Builder, x: Tensor, axis: int) -> Tensor:
    """Returns the elements of an axis in reverse order."""
    slices = [AxisSlice(0, 1, extent) for extent in x.shape]
    slices[axis] = AxisSlice(x.shape[axis] - 1, -1, x.shape[axis])
    return make.take(x, slices) if x.shape[axis] > 1 else x


def _later(make: Builder, x: Tensor, axis: int, count: int, value: int) -> Tensor:
    """Returns the elements of an axis so many places later, behind elements of one value."""
    extent = x.shape[axis]
    pads = [(0, 0)] * len(x.shape)
    pads[axis] = (min(count, extent), 0)
    if count >= extent:
        return make.array(np.full(x.shape, value), x.dtype)
    slices = [AxisSlice(0, 1, size) for size in x.shape]
    slices[axis] = AxisSlice(0, 1, extent - count)
    return make.pad(make.take(x, slices), pads, value)


@reads("TopK")
def largest(source: Operator, make: Builder) -> list[Tensor]:
    """The k largest or smallest elements along an axis and their indices, the lower index first among equals."""
    x = source.input(0)
    rank = len(x.shape)
    counts = source.integers(1) if source.since >= 10 else [int(source.options["k"])]
    count = counts[0] if len(counts) == 1 else 0
    axis = source.axis(int(source.options["axis"]), rank)
    if not 1 <= count <= x.shape[axis]:
        raise source.unsupported(
            f"k, got {count}, expected a number in [1, {x.shape[axis]}], the extent of axis {axis}. Export the model "
            "with another k"
        )
    order = [other for other in range(rank) if other != axis] + [axis]
    attrs = TopKAttributes(count, bool(source.options.get("largest", 1)))
    results = make.multiple("top_k", [make.transpose(x, order)], attrs, [(x.dtype, None), (DType.INT32, None)])
    back = tuple(int(place) for place in np.argsort(order))
    values, indices = (make.transpose(each, back) for each in results)
    return [values, make.cast(indices, DType.INT64)]
