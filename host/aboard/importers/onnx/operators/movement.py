"""Operators that give elements another place: shapes, slices, joins, paddings."""

from __future__ import annotations

import math
from typing import Literal, get_args

import numpy as np

from aboard.importers.onnx.builder import Builder
from aboard.importers.onnx.operator import Operator, reads
from aboard.ir import Array, DType, Tensor
from aboard.ops.gather import GatherAttributes
from aboard.ops.mirror_pad import MirrorPadAttributes
from aboard.ops.strided_slice import AxisSlice


@reads("Reshape")
def reshape(source: Operator, make: Builder) -> Tensor:
    """0 keeps an extent unless `allowzero` is set; -1 is what is left."""
    tensor, given = source.input(0), source.integers(1)
    keeps = not source.options.get("allowzero", 0)
    shape = [
        tensor.shape[axis] if size == 0 and keeps and axis < len(tensor.shape) else size
        for axis, size in enumerate(given)
    ]
    if shape.count(-1) == 1:
        rest = -math.prod(shape)
        shape[shape.index(-1)] = tensor.type.elements // rest if rest else 0
    if math.prod(shape) != tensor.type.elements or min(shape, default=1) < 1:
        raise source.unsupported(
            f"shape, got {given} for an operand of {list(tensor.shape)}, expected as many elements. Export the model "
            "again"
        )
    return make.reshape(tensor, shape)


@reads("Transpose")
def transpose(source: Operator, make: Builder) -> Tensor:
    """Axes in the order of `perm`; reversed without it."""
    tensor = source.input(0)
    rank = len(tensor.shape)
    order = [int(axis) for axis in source.options.get("perm") or reversed(range(rank))]
    if sorted(order) != list(range(rank)):
        raise source.unsupported(f"perm, got {order}, expected each of {rank} axes once. Export the model again")
    return make.transpose(tensor, order)


@reads("Flatten")
def flatten(source: Operator, make: Builder) -> Tensor:
    """A matrix: axes before `axis`, and the others."""
    tensor = source.input(0)
    rank = len(tensor.shape)
    given = int(source.options["axis"])
    axis = rank if given == rank else source.axis(given, rank)
    return make.reshape(tensor, (math.prod(tensor.shape[:axis]), math.prod(tensor.shape[axis:])))


@reads("Squeeze", "Unsqueeze")
def single_axes(source: Operator, make: Builder) -> Tensor:
    """Removes axes of one element, or adds them; they are an operand from version 13 on."""
    tensor = source.input(0)
    given = source.integers(1) if source.optional(1) is not None else list(source.options.get("axes") or [])
    rank = len(tensor.shape)
    if source.kind == "Unsqueeze":
        whole = rank + len(given)
        added = {source.axis(int(axis), whole) for axis in given}
        if len(added) != len(given):
            raise source.unsupported(f"axes to add, got {given}, expected each axis once. Export the model again")
        extents = iter(tensor.shape)
        return make.reshape(tensor, [1 if axis in added else next(extents) for axis in range(whole)])
    dropped = {source.axis(int(axis), rank) for axis in given} or {
        axis for axis, extent in enumerate(tensor.shape) if extent == 1
    }
    if any(tensor.shape[axis] != 1 for axis in dropped):
        raise source.unsupported(
            f"axes to remove, got {sorted(dropped)} of shape {tensor.shape}, expected axes with one element. Export "
            "the model again"
        )
    return make.reshape(tensor, [extent for axis, extent in enumerate(tensor.shape) if axis not in dropped])


@reads("Expand")
def expand(source: Operator, make: Builder) -> Tensor:
    """Repeats axes of one element, by numpy's rules for two shapes."""
    tensor, given = source.input(0), source.integers(1)
    try:
        shape = np.broadcast_shapes(tensor.shape, tuple(given))
    except ValueError:
        raise source.unsupported(
            f"shape, got {given} for an operand of {tensor.shape}, expected extents that are equal or 1. Export again"
        ) from None
    return make.broadcast(make.reshape(tensor, (1,) * (len(shape) - len(tensor.shape)) + tensor.shape), shape)


@reads("Tile")
def tile(source: Operator, make: Builder) -> Tensor:
    """Repeats a tensor along its axes, one axis after the other."""
    tensor, counts = source.input(0), source.integers(1)
    if len(counts) != len(tensor.shape) or min(counts, default=1) < 1:
        raise source.unsupported(
            f"repeats, got {counts} for shape {tensor.shape}, expected a number from 1 for each axis. Export again"
        )
    for axis in reversed(range(len(counts))):
        if counts[axis] > 1:
            shape = tensor.shape
            outer, inner = math.prod(shape[:axis]), math.prod(shape[axis:])
            repeated = make.broadcast(make.reshape(tensor, (outer, 1, inner)), (outer, counts[axis], inner))
            tensor = make.reshape(repeated, (*shape[:axis], counts[axis] * shape[axis], *shape[axis + 1 :]))
    return tensor


@reads("Concat")
def concat(source: Operator, make: Builder) -> Tensor:
    """Joins tensors along an axis; those without elements add nothing."""
    operands = [source.input(index) for index in range(len(source.inputs))]
    axis = source.axis(int(source.options["axis"]), len(operands[0].shape))
    operands = [each for each in operands if 0 not in each.shape] or operands[:1]
    return operands[0] if len(operands) == 1 else make.join(operands, axis)


@reads("Split")
def split(source: Operator, make: Builder) -> list[Tensor]:
    """Cuts a tensor into parts: of given sizes, or equal ones but for the last."""
    tensor = source.input(0)
    axis = source.axis(int(source.options["axis"]), len(tensor.shape))
    extent, count = tensor.shape[axis], len(source.results)
    if source.optional(1) is not None:
        sizes = source.integers(1)
    else:
        sizes = [int(size) for size in source.options.get("split") or []]
    if not sizes:
        part = -(-extent // count)
        sizes = [min(part, extent - first) for first in range(0, extent, part)]
    if len(sizes) != count or sum(sizes) != extent or min(sizes) < 0:
        raise source.unsupported(
            f"sizes, got {sizes} for {count} results and an extent of {extent}, expected as many as results, which "
            "add up to the extent. Export the model again"
        )
    parts, first = [], 0
    for size in sizes:
        slices = [AxisSlice(0, 1, each) for each in tensor.shape]
        slices[axis] = AxisSlice(first, 1, size)
        parts.append(make.take(tensor, slices))
        first += size
    return parts


@reads("Slice")
def cut(source: Operator, make: Builder) -> Tensor:
    """Takes indices from a start to before an end, in steps; operands from version 10 on."""
    tensor = source.input(0)
    rank = len(tensor.shape)
    if source.since >= 10:
        given = [source.integers(i) if source.optional(i) is not None else [] for i in range(1, 5)]
    else:
        given = [[int(n) for n in source.options.get(name) or []] for name in ("starts", "ends", "axes", "steps")]
    starts, ends, axes, steps = given
    axes = [source.axis(axis, rank) for axis in axes] or list(range(min(len(starts), rank)))
    steps = steps or [1] * len(starts)
    if len({len(starts), len(ends), len(axes), len(set(axes)), len(steps)}) > 1:
        raise source.unsupported(
            f"starts {starts}, ends {ends}, axes {axes} and steps {steps}, expected as many "
            "of each, and no axis twice. Export the model again"
        )
    slices = [AxisSlice(0, 1, extent) for extent in tensor.shape]
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        extent = tensor.shape[axis]
        if step == 0:
            raise source.unsupported("steps, got 0, expected another number. Export the model again")
        taken = range(
            *slice(start, end if abs(end) < 1 << 62 else (1 << 62) * (1 if end > 0 else -1), step).indices(extent)
        )
        if step < 0 and end < -extent:
            taken = range(taken.start, -1, step)
        first = taken[0] if taken else 0
        slices[axis] = AxisSlice(first, step if len(taken) > 1 else 1, len(taken))
    return make.take(tensor, slices)


_Mode = Literal["constant", "reflect", "edge", "wrap"]

#: Modes of `Pad`.
_PADDINGS: tuple[_Mode, ...] = get_args(_Mode)


@reads("Pad")
def pad(source: Operator, make: Builder) -> Tensor:
    """Adds elements on both sides of axes, or crops where their number is below 0."""
    tensor, given = source.input(0), source.options["mode"]
    rank, mode = len(tensor.shape), next((each for each in _PADDINGS if each == given), None)
    if mode is None:
        raise source.unsupported(f"mode, got {given}, expected one of {', '.join(_PADDINGS)}. Export the model again")
    pads = source.integers(1) if source.since >= 11 else [int(n) for n in source.options["pads"]]
    axes = source.integers(3) if source.optional(3) is not None else list(range(rank))
    if len(pads) != 2 * len(axes):
        raise source.unsupported(f"pads, got {pads}, expected two numbers for each of {len(axes)} axes. Export again")
    pairs = [(0, 0)] * rank
    for place, axis in enumerate(axes):
        pairs[source.axis(axis, rank)] = (pads[place], pads[place + len(axes)])
    slices = [
        AxisSlice(max(-before, 0), 1, extent - max(-before, 0) - max(-after, 0))
        for extent, (before, after) in zip(tensor.shape, pairs, strict=True)
    ]
    if min((part.count for part in slices), default=1) < 1:
        raise source.unsupported(
            f"pads, got {pads} for shape {tensor.shape}, expected elements that stay. Export again"
        )
    pairs = [(max(before, 0), max(after, 0)) for before, after in pairs]
    inner = make.take(tensor, slices)
    if mode == "constant":
        return make.pad(inner, pairs, _padding_value(source))
    if mode == "reflect" and all(max(pair) < extent for pair, extent in zip(pairs, inner.shape, strict=True)):
        return make.op("mirror_pad", [inner], MirrorPadAttributes(tuple(pairs), False)) if np.any(pairs) else inner
    for axis, pair in enumerate(pairs):
        if any(pair):
            indices = np.pad(np.arange(inner.shape[axis]), pair, mode)
            inner = pick(make, inner, axis, indices)
    return inner


def _padding_value(source: Operator) -> float | int:
    if source.since < 11:
        return float(source.options["value"])
    if source.optional(2) is None:
        return 0
    value: float | int = single(source, 2).item()
    return value


def single(source: Operator, index: int) -> Array:
    """Returns the one element of a constant operand.

    Raises:
        ModelError: It has another number of elements.
    """
    values = source.constant(index)
    if values.size != 1:
        raise source.unsupported(f"operand {index}, got shape {values.shape}, expected one number. Export again")
    return values.reshape(())


def pick(make: Builder, tensor: Tensor, axis: int, indices: Array) -> Tensor:
    """Returns the elements with known indices along an axis; those at regular distances are a slice."""
    flat = [int(index) for index in indices.reshape(-1)]
    step = flat[1] - flat[0] if len(flat) > 1 else 1
    if step and flat == list(range(flat[0], flat[0] + step * len(flat), step)):
        slices = [AxisSlice(0, 1, extent) for extent in tensor.shape]
        slices[axis] = AxisSlice(flat[0], step, len(flat))
        return make.take(tensor, slices)
    chosen = make.array(np.array(flat), DType.INT32)
    return make.op("gather", [tensor, chosen], GatherAttributes(axis))


@reads("DepthToSpace", "SpaceToDepth")
def blocks(source: Operator, make: Builder) -> Tensor:
    """Channels of each pixel become a block of pixels, or the other way round."""
    x, block = source.input(0), int(source.options["blocksize"])
    if len(x.shape) != 4 or block < 1:
        raise source.unsupported(
            f"operand, got shape {x.shape} and blocks of {block}, expected four axes. Export again"
        )
    batch, channels, height, width = x.shape
    if source.kind == "SpaceToDepth":
        if height % block or width % block:
            raise source.unsupported(f"blocks of {block}, got shape {x.shape}, expected multiples. Export again")
        split = make.reshape(x, (batch, channels, height // block, block, width // block, block))
        blocks_first = source.options.get("mode", "DCR") == "DCR"
        moved = make.transpose(split, (0, 3, 5, 1, 2, 4) if blocks_first else (0, 1, 3, 5, 2, 4))
        return make.reshape(moved, (batch, block * block * channels, height // block, width // block))
    left = channels // (block * block)
    if left * block * block != channels:
        raise source.unsupported(f"blocks of {block}, got {channels} channels, expected a multiple. Export again")
    if source.options.get("mode", "DCR") == "DCR":
        split = make.reshape(x, (batch, block, block, left, height, width))
        moved = make.transpose(split, (0, 3, 4, 1, 5, 2))
    else:
        split = make.reshape(x, (batch, left, block, block, height, width))
        moved = make.transpose(split, (0, 1, 4, 2, 5, 3))
    return make.reshape(moved, (batch, left, height * block, width * block))


@reads("Trilu")
def triangle(source: Operator, make: Builder) -> Tensor:
    """Keeps one side of a diagonal of matrices; the other elements become 0."""
    x = source.input(0)
    if len(x.shape) < 2:
        raise source.unsupported(f"operand, got shape {x.shape}, expected matrices. Export the model again")
    diagonal = int(single(source, 1)) if source.optional(1) is not None else 0
    ones = np.ones(x.shape[-2:], np.bool_)
    kept = make.array(np.triu(ones, diagonal) if source.options["upper"] else np.tril(ones, diagonal), DType.BOOL)
    return make.op("select", [kept, x, make.scalar(0, x.dtype)], dtype=x.dtype)
