"""Operators of TFLite that only move data, as chains of reshapes, transposes, slices, joins and broadcasts.

Reshapes, joins and cuts are aliases wherever a view can express them, so that a chain costs one gather at most.
`TYPES` has the element types that TensorFlow Lite Micro's kernel of each operator takes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import cast

import numpy as np

from aboard.ir import DType, Node, Tensor
from aboard.ops.chain import Chain
from aboard.ops.dynamic_slice import DynamicSlice, DynamicSliceAttributes
from aboard.ops.registry import SourceNode, composes, get
from aboard.ops.strided_slice import AxisSlice
from aboard.ops.uniform import EVERY

_F32_S8 = (DType.FLOAT32, DType.INT8)

#: For each operator, the types that its operand may have.
TYPES = {
    "PACK": (*_F32_S8, DType.INT16, DType.INT32, DType.INT64),
    "UNPACK": (*_F32_S8, DType.INT16, DType.INT32),
    "SLICE": (*_F32_S8, DType.INT16, DType.INT32, DType.BOOL),
    "REVERSE_V2": EVERY,
    "BROADCAST_TO": EVERY,
    "TILE": EVERY,
    "FILL": (*_F32_S8, DType.INT32),
    "ZEROS_LIKE": (*_F32_S8, DType.INT32, DType.INT64),
    "SPACE_TO_DEPTH": _F32_S8,
    "DEPTH_TO_SPACE": _F32_S8,
    "SPACE_TO_BATCH_ND": _F32_S8,
    "BATCH_TO_SPACE_ND": _F32_S8,
}

_Move = Callable[[SourceNode, Tensor, Chain], list[Node]]


def _moves(kind: str, operand: int = 0) -> Callable[[_Move], _Move]:
    """Registers how an operator is composed, after a check of the element type of one of its operands."""

    def add(move: _Move) -> _Move:
        def build(source: SourceNode) -> list[Node]:
            tensor = source.input(operand)
            source.check_type(tensor, TYPES[kind])
            return move(source, tensor, Chain(source))

        composes(kind, types=[dtype.value for dtype in TYPES[kind]])(build)
        return move

    return add


@_moves("PACK")
def pack(source: SourceNode, first: Tensor, chain: Chain) -> list[Node]:
    """Joins tensors along a new axis.

    Raises:
        ModelError: Operands differ, or the axis does not exist.
    """
    operands = [source.input(index) for index in range(len(source.inputs))]
    axis = axis_of(source, int(source.options["Axis"]), len(first.shape) + 1)
    for operand in operands:
        if operand.shape != first.shape or operand.dtype is not first.dtype:
            raise source.unsupported(
                f"operand {operand.name}, got {operand.type}, expected {first.type} as operand 0. "
                "Export the model again"
            )
    shape = (*first.shape[:axis], 1, *first.shape[axis:])
    parts = [chain.reshape(operand, shape) for operand in operands]
    return chain.finish(chain.join(parts, axis))


@_moves("UNPACK")
def unpack(source: SourceNode, tensor: Tensor, chain: Chain) -> list[Node]:
    """Cuts a tensor into its slices along an axis, which goes.

    Raises:
        ModelError: The axis does not exist, or has another extent than there are results.
    """
    axis = axis_of(source, int(source.options["Axis"]), len(tensor.shape))
    if tensor.shape[axis] != len(source.outputs):
        raise source.unsupported(
            f"results, got {len(source.outputs)} for axis {axis} of {tensor.shape}, expected {tensor.shape[axis]}. "
            "Export the model again"
        )
    shape = (*tensor.shape[:axis], *tensor.shape[axis + 1 :])
    for index, part in enumerate(chain.split(tensor, axis)):
        chain.finish(chain.reshape(part, shape), index)
    return chain.nodes


@_moves("SLICE")
def cut(source: SourceNode, tensor: Tensor, chain: Chain) -> list[Node]:
    """Takes a box; a size of -1 goes to the end of its axis. Sizes that are computed at run time are the result's.

    Raises:
        ModelError: The box is not in the operand, or its begin is computed at run time and a size is -1.
    """
    result, rank = source.outputs[0], len(tensor.shape)
    sizes = source.integers(2) if source.input(2).is_constant else list(result.shape)
    if not source.input(1).is_constant:
        return _cut_at_run_time(source, tensor, sizes)
    begins = source.integers(1)
    if len(begins) != rank or len(sizes) != rank:
        raise source.unsupported(
            f"begin and size, got {begins} and {sizes} for shape {tensor.shape}, expected a number for each axis. "
            "Export the model again"
        )
    slices = []
    for begin, size, extent in zip(begins, sizes, tensor.shape, strict=True):
        count = extent - begin if size == -1 else size
        if begin < 0 or count < 1 or begin + count > extent:
            raise source.unsupported(
                f"begin and size, got {begins} and {sizes}, expected a part of shape {tensor.shape}. "
                "Export the model again"
            )
        slices.append(AxisSlice(begin, 1, count))
    return chain.finish(chain.take(tensor, slices))


def _cut_at_run_time(source: SourceNode, tensor: Tensor, sizes: list[int]) -> list[Node]:
    if min(sizes, default=1) < 1:
        raise source.unsupported(
            f"size, got {sizes} with a begin that is computed at run time, expected numbers from 1. "
            "Export the model with a fixed size"
        )
    node = source.node("dynamic_slice", [tensor, source.input(1)], DynamicSliceAttributes(tuple(sizes)))
    wrong = cast(DynamicSlice, get(node.op)).problem(node)
    if wrong is not None:
        raise source.unsupported(wrong)
    return [node]


@_moves("REVERSE_V2")
def reverse(source: SourceNode, tensor: Tensor, chain: Chain) -> list[Node]:
    """Reverses the order of indices of some axes.

    Raises:
        ModelError: The axes do not exist, or are not neighbours (the reference takes no others).
    """
    given, rank = source.integers(1), len(tensor.shape)
    axes = sorted(axis_of(source, axis, rank) for axis in given)
    if not axes or axes != list(range(axes[0], axes[0] + len(axes))):
        raise source.unsupported(
            f"axes, got {given}, expected neighbouring axes, each once. TensorFlow Lite Micro reverses no others; "
            "reverse them one after the other"
        )
    slices = [
        AxisSlice(extent - 1, -1, extent) if axis in axes and extent > 1 else AxisSlice(0, 1, extent)
        for axis, extent in enumerate(tensor.shape)
    ]
    return chain.finish(chain.take(tensor, slices))


@_moves("BROADCAST_TO")
def broadcast(source: SourceNode, tensor: Tensor, chain: Chain) -> list[Node]:
    """Repeats axes of one element, and adds axes at the front.

    Raises:
        ModelError: The shape is computed at run time, or the operand does not fit it.
    """
    shape = source.integers(1)
    front = len(shape) - len(tensor.shape)
    padded = (*(1,) * front, *tensor.shape)
    if front < 0 or any(before not in (1, after) for before, after in zip(padded, shape, strict=True)):
        raise source.unsupported(
            f"shape, got {shape} for an operand of {tensor.shape}, expected its extents where they are not 1. "
            "Export the model again"
        )
    return chain.finish(chain.broadcast(chain.reshape(tensor, padded), shape))


@_moves("TILE")
def tile(source: SourceNode, tensor: Tensor, chain: Chain) -> list[Node]:
    """Repeats a tensor along its axes, one axis after the other.

    Raises:
        ModelError: The counts are computed at run time, or are not one from 1 for each axis.
    """
    counts = source.integers(1)
    if len(counts) != len(tensor.shape) or min(counts, default=1) < 1:
        raise source.unsupported(
            f"counts, got {counts} for shape {tensor.shape}, expected a number from 1 for each axis. "
            "Export the model again"
        )
    for axis in reversed(range(len(counts))):
        shape, count = tensor.shape, counts[axis]
        if count > 1:
            outer, inner = math.prod(shape[:axis]), math.prod(shape[axis:])
            repeated = chain.broadcast(chain.reshape(tensor, (outer, 1, inner)), (outer, count, inner))
            tensor = chain.reshape(repeated, (*shape[:axis], count * shape[axis], *shape[axis + 1 :]))
    return chain.finish(tensor)


@_moves("FILL", operand=1)
def fill(source: SourceNode, value: Tensor, chain: Chain) -> list[Node]:
    """Repeats one element.

    Raises:
        ModelError: The shape is computed at run time, or the value is no scalar.
    """
    shape = source.integers(0)
    if value.shape:
        raise source.unsupported(f"value, got shape {value.shape}, expected a scalar. Export the model again")
    return chain.finish(chain.broadcast(chain.reshape(value, (1,) * len(shape)), shape))


@_moves("ZEROS_LIKE")
def zeros_like(_source: SourceNode, tensor: Tensor, chain: Chain) -> list[Node]:
    """Repeats 0, as it is stored; the reference does not look at the zero point."""
    zero = chain.constant(np.zeros((1,) * len(tensor.shape)), tensor.dtype)
    return chain.finish(chain.broadcast(zero, tensor.shape))


@_moves("SPACE_TO_DEPTH")
def space_to_depth(source: SourceNode, tensor: Tensor, chain: Chain) -> list[Node]:
    """Makes the pixels of each block channels of one pixel.

    Raises:
        ModelError: The operand is no batch of images, or is not made of whole blocks.
    """
    block = int(source.options["BlockSize"])
    if len(tensor.shape) != 4 or block < 1 or tensor.shape[1] % block or tensor.shape[2] % block:
        raise source.unsupported(
            f"blocks of {block}, got an operand of {tensor.shape}, expected four axes, the middle two multiples of the "
            "block. Export the model again"
        )
    batch, height, width, depth = tensor.shape
    split = chain.reshape(tensor, (batch, height // block, block, width // block, block, depth))
    moved = chain.transpose(split, (0, 1, 3, 2, 4, 5))
    return chain.finish(chain.reshape(moved, (batch, height // block, width // block, block * block * depth)))


@_moves("DEPTH_TO_SPACE")
def depth_to_space(source: SourceNode, tensor: Tensor, chain: Chain) -> list[Node]:
    """Makes the channels of each pixel a block of pixels.

    Raises:
        ModelError: The operand is no batch of images, or its channels are no whole blocks.
    """
    block = int(source.options["BlockSize"])
    if len(tensor.shape) != 4 or block < 1 or tensor.shape[3] % (block * block):
        raise source.unsupported(
            f"blocks of {block}, got an operand of {tensor.shape}, expected four axes, the last a multiple of "
            f"{block * block}. Export the model again"
        )
    batch, height, width, depth = tensor.shape
    left = depth // (block * block)
    split = chain.reshape(tensor, (batch, height, width, block, block, left))
    moved = chain.transpose(split, (0, 1, 3, 2, 4, 5))
    return chain.finish(chain.reshape(moved, (batch, height * block, width * block, left)))


@_moves("SPACE_TO_BATCH_ND")
def space_to_batch(source: SourceNode, tensor: Tensor, chain: Chain) -> list[Node]:
    """Pads with what stands for 0, and makes the elements of each block elements of other batches.

    TensorFlow Lite Micro pads with a value that it never sets; TensorFlow Lite with the result's zero point.
    """
    blocks, pads = _blocks(source, tensor)
    spatial = [size + before + after for size, (before, after) in zip(tensor.shape[1:-1], pads, strict=True)]
    if any(size % block for size, block in zip(spatial, blocks, strict=True)):
        raise source.unsupported(
            f"blocks of {blocks}, got {spatial} with padding, expected multiples. Export the model again"
        )
    quant = source.outputs[0].type.quant
    padded = chain.pad(tensor, [(0, 0), *pads, (0, 0)], 0 if quant is None else quant.zero_point)
    factors = [n for size, block in zip(spatial, blocks, strict=True) for n in (size // block, block)]
    count, batch, depth = len(blocks), tensor.shape[0], tensor.shape[-1]
    split = chain.reshape(padded, (batch, *factors, depth))
    order = (*(2 * i + 2 for i in range(count)), 0, *(2 * i + 1 for i in range(count)), 2 * count + 1)
    moved = chain.transpose(split, order)
    return chain.finish(chain.reshape(moved, (math.prod(blocks) * batch, *factors[::2], depth)))


@_moves("BATCH_TO_SPACE_ND")
def batch_to_space(source: SourceNode, tensor: Tensor, chain: Chain) -> list[Node]:
    """Makes elements of several batches blocks of one, and crops."""
    blocks, crops = _blocks(source, tensor)
    count, batch, depth = len(blocks), tensor.shape[0] // math.prod(blocks), tensor.shape[-1]
    whole = [size * block for size, block in zip(tensor.shape[1:-1], blocks, strict=True)]
    left = [size - before - after for size, (before, after) in zip(whole, crops, strict=True)]
    if batch * math.prod(blocks) != tensor.shape[0] or min(left) < 1:
        raise source.unsupported(
            f"blocks of {blocks} and crops of {crops}, got an operand of {tensor.shape}, expected batches that they "
            "divide, and something left. Export the model again"
        )
    split = chain.reshape(tensor, (*blocks, batch, *tensor.shape[1:]))
    order = (count, *(axis for i in range(count) for axis in (count + 1 + i, i)), 2 * count + 1)
    joined = chain.reshape(chain.transpose(split, order), (batch, *whole, depth))
    inside = [AxisSlice(before, 1, size) for size, (before, _) in zip(left, crops, strict=True)]
    return chain.finish(chain.take(joined, [AxisSlice(0, 1, batch), *inside, AxisSlice(0, 1, depth)]))


def axis_of(source: SourceNode, axis: int, rank: int) -> int:
    """Returns an axis counted from the front.

    Raises:
        ModelError: There is no such axis.
    """
    if not -rank <= axis < rank:
        raise source.unsupported(
            f"axis, got {axis}, expected a number in [{-rank}, {rank - 1}]. Export the model again"
        )
    return axis % rank


def _blocks(source: SourceNode, tensor: Tensor) -> tuple[list[int], list[tuple[int, int]]]:
    """Returns the block of each spatial axis, and the pair of paddings or crops of each.

    Raises:
        ModelError: The operand has other than three or four axes, or the lists do not fit.
    """
    blocks, ends = source.integers(1), source.integers(2)
    spatial = len(tensor.shape) - 2
    fits = spatial in (1, 2) and len(blocks) == spatial and len(ends) == 2 * spatial
    if not fits or min(blocks) < 1 or min(ends) < 0:
        raise source.unsupported(
            f"blocks and pairs, got {blocks} and {ends} for an operand of {tensor.shape}, expected three or four axes, "
            "and a block from 1 and a pair from 0 for each axis between. TensorFlow Lite Micro takes no others; export "
            "the model again"
        )
    return blocks, list(zip(ends[::2], ends[1::2], strict=True))
