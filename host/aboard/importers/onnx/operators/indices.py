"""Operators that read or write elements at the places that an operand names."""

from __future__ import annotations

import numpy as np

from aboard.importers.onnx.builder import Builder
from aboard.importers.onnx.operator import Operator, reads
from aboard.importers.onnx.operators.movement import pick, single
from aboard.ir import Array, DType, Tensor
from aboard.ops.gather import GatherAttributes
from aboard.ops.scatter import Reduction, ScatterAttributes


def _from_front(source: Operator, make: Builder, indices: Tensor, extent: int) -> Tensor:
    """Returns indices as int32, counted from the front: those below 0 count from the end.

    Raises:
        ModelError: A known index is out of range.
    """
    if indices.data is not None:
        return make.array(_checked(source, indices.data, extent), DType.INT32)
    narrow = make.cast(indices, DType.INT32)
    below = make.op("less", [narrow, make.scalar(0, DType.INT32)], dtype=DType.BOOL)
    moved = make.op("add", [narrow, make.scalar(extent, DType.INT32)])
    return make.op("select", [below, moved, narrow], dtype=DType.INT32)


def _checked(source: Operator, indices: Array, extent: int) -> Array:
    wide = indices.astype(np.int64)
    if wide.size and (wide.min() < -extent or wide.max() >= extent):
        raise source.unsupported(
            f"indices, got {int(wide.min())} to {int(wide.max())}, expected numbers in [{-extent}, {extent - 1}]. "
            "Export the model again"
        )
    return np.where(wide < 0, wide + extent, wide)


@reads("Gather")
def gather(source: Operator, make: Builder) -> Tensor:
    """Slices along an axis. Indices that are computed at run time and out of range stand for the nearest in range."""
    x, indices = source.input(0), source.input(1)
    axis = source.axis(int(source.options["axis"]), len(x.shape))
    if indices.data is not None:
        known = _checked(source, indices.data, x.shape[axis])
        taken = pick(make, x, axis, known)
        return make.reshape(taken, (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]))
    return make.op("gather", [x, _from_front(source, make, indices, x.shape[axis])], GatherAttributes(axis))


@reads("Compress")
def compress(source: Operator, make: Builder) -> Tensor:
    """The slices along an axis for which a constant condition is true; of all elements without an axis."""
    x, given = source.input(0), source.options.get("axis")
    chosen = np.flatnonzero(source.constant(1))
    flat = make.reshape(x, (x.type.elements,)) if given is None else x
    axis = 0 if given is None else source.axis(int(given), len(x.shape))
    if not chosen.size or chosen[-1] >= flat.shape[axis]:
        raise source.unsupported(f"condition, got {chosen.size} true elements, expected at least 1. Export again")
    return pick(make, flat, axis, chosen)


@reads("GatherElements")
def gather_elements(source: Operator, make: Builder) -> Tensor:
    """result[i, j, k] = x[indices[i, j, k], j, k] for the first axis, and so on."""
    x = source.input(0)
    axis = source.axis(int(source.options["axis"]), len(x.shape))
    return make.op("gather_nd", [x, _tuples(source, make, source.input(1), axis, x.shape)])


def _tuples(source: Operator, make: Builder, indices: Tensor, axis: int, shape: tuple[int, ...]) -> Tensor:
    """Returns, for each element of `indices`, its place with the index itself on one axis: [..., rank]."""
    pairs = zip(indices.shape, shape, strict=False)
    if len(indices.shape) != len(shape) or any(i > n for other, (i, n) in enumerate(pairs) if other != axis):
        raise source.unsupported(
            f"indices, got shape {indices.shape}, expected at most {shape} but for axis {axis}. Export again"
        )
    chosen = _from_front(source, make, indices, shape[axis])
    grid = np.stack(np.meshgrid(*(np.arange(n) for n in indices.shape), indexing="ij"), axis=-1)
    if chosen.data is not None:
        grid[..., axis] = chosen.data
        return make.array(grid, DType.INT32)
    parts = [make.array(grid[..., other : other + 1], DType.INT32) for other in range(len(shape))]
    parts[axis] = make.reshape(chosen, (*indices.shape, 1))
    return make.join(parts, len(shape)) if len(parts) > 1 else parts[0]


def _nd_indices(source: Operator, make: Builder, indices: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Returns tuples of indices on the last axis, counted from the front."""
    count = indices.shape[-1] if indices.shape else 0
    if not 1 <= count <= len(shape):
        raise source.unsupported(
            f"indices, got shape {indices.shape}, expected tuples of at most {len(shape)}. Export again"
        )
    if indices.data is not None:
        columns = [_checked(source, indices.data[..., axis], shape[axis]) for axis in range(count)]
        return make.array(np.stack(columns, axis=-1), DType.INT32)
    narrow = make.cast(indices, DType.INT32)
    below = make.op("less", [narrow, make.scalar(0, DType.INT32)], dtype=DType.BOOL)
    moved = make.op("add", [narrow, make.array(np.array(shape[:count]), DType.INT32)])
    return make.op("select", [below, moved, narrow], dtype=DType.INT32)


@reads("GatherND")
def gather_nd(source: Operator, make: Builder) -> Tensor:
    """Slices at tuples of indices; the first axes may be common to operand and indices."""
    x, indices = source.input(0), source.input(1)
    batch = int(source.options.get("batch_dims", 0))
    if batch:
        most = min(len(x.shape), len(indices.shape))
        if not 0 < batch < most or indices.shape[:batch] != x.shape[:batch]:
            raise source.unsupported(
                f"batch_dims, got {batch} for shapes {x.shape} and {indices.shape}, expected equal axes before others. "
                "Export again"
            )
        common = indices.shape[:batch]
        grid = np.stack(np.meshgrid(*(np.arange(n) for n in common), indexing="ij"), axis=-1)
        inner = indices.shape[batch:-1]
        wide = np.broadcast_to(grid.reshape(*common, *(1,) * len(inner), batch), (*common, *inner, batch))
        own = _nd_indices(source, make, indices, x.shape[batch:])
        first = make.array(wide, DType.INT32)
        indices = make.join([first, own], len(indices.shape) - 1)
        return make.op("gather_nd", [x, indices])
    return make.op("gather_nd", [x, _nd_indices(source, make, indices, x.shape)])


@reads("ScatterElements", "Scatter")
def scatter_elements(source: Operator, make: Builder) -> Tensor:
    """A copy of the operand with elements at some places replaced by updates, or combined with them."""
    x, indices, updates = (source.input(index) for index in range(3))
    axis = source.axis(int(source.options["axis"]), len(x.shape))
    return _scattered(source, make, x, _tuples(source, make, indices, axis, x.shape), updates)


@reads("ScatterND")
def scatter_nd(source: Operator, make: Builder) -> Tensor:
    """A copy of the operand with slices at tuples of indices replaced by updates, or combined with them."""
    x, indices, updates = (source.input(index) for index in range(3))
    return _scattered(source, make, x, _nd_indices(source, make, indices, x.shape), updates)


def _scattered(source: Operator, make: Builder, x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    name = str(source.options.get("reduction", "none"))
    if name not in [each.value for each in Reduction]:
        raise source.unsupported(f"reduction, got {name}, expected none, add, mul, max or min. Export the model again")
    if x.dtype is DType.BOOL and name != "none":
        raise source.unsupported(f"reduction of bool, got {name}, expected none. Convert the model to integers")
    return make.op("scatter_nd", [x, indices, updates], ScatterAttributes(Reduction(name)))


@reads("OneHot")
def one_hot(source: Operator, make: Builder) -> Tensor:
    """A new axis with one element of one value, at an index, and the others of another."""
    indices, values = source.input(0), source.input(2)
    depth = int(single(source, 1))
    if depth < 1 or values.shape != (2,):
        raise source.unsupported(
            f"depth {depth} and values of shape {values.shape}, expected a number from 1 and two values. Export again"
        )
    rank = len(indices.shape) + 1
    axis = source.axis(int(source.options["axis"]), rank)
    chosen = indices if indices.dtype is DType.INT32 else make.cast(indices, DType.INT32)
    below = make.op("less", [chosen, make.scalar(0, DType.INT32)], dtype=DType.BOOL)
    moved = make.op("add", [chosen, make.scalar(depth, DType.INT32)])
    front = make.op("select", [below, moved, chosen], dtype=DType.INT32)
    places = np.arange(depth).reshape([-1 if other == axis else 1 for other in range(rank)])
    wide = make.reshape(front, (*indices.shape[:axis], 1, *indices.shape[axis:]))
    found = make.op("equal", [wide, make.array(places, DType.INT32)], dtype=DType.BOOL)
    off, on = (make.reshape(pick(make, values, 0, np.array([place])), ()) for place in (0, 1))
    return make.op("select", [found, on, off], dtype=values.dtype)


@reads("ReverseSequence")
def reverse_sequence(source: Operator, make: Builder) -> Tensor:
    """Reverses the first elements of each sample along the axis of time; their numbers are constant."""
    x, lengths = source.input(0), source.integers(1)
    time, batch = int(source.options["time_axis"]), int(source.options["batch_axis"])
    if len(x.shape) < 2 or {time, batch} != {0, 1}:
        raise source.unsupported(
            f"axes of time and samples, got {time} and {batch} of shape {x.shape}, expected the first two. Export again"
        )
    places: Array = np.arange(x.type.elements).reshape(x.shape)
    moved = np.moveaxis(places, (batch, time), (0, 1))
    if len(lengths) != moved.shape[0] or any(not 1 <= n <= moved.shape[1] for n in lengths):
        raise source.unsupported(
            f"lengths, got {lengths} for shape {x.shape}, expected numbers within it. Export again"
        )
    for sample, length in zip(list(moved), lengths, strict=True):
        row: Array = np.asarray(sample)
        row[:length] = np.flip(row[:length], 0).copy()
    flat = make.reshape(x, (x.type.elements,))
    return make.reshape(pick(make, flat, 0, places), x.shape)
