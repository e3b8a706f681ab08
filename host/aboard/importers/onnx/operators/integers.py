"""Products and convolutions of 8-bit integers that give sums of 32 bits; DynamicQuantizeLinear, which makes 8 bits.

Sums of products of 8 bits are exact in float32 up to 2^24. So layers are cut along the axis that is summed into parts
which stay below that, computed in float32, and added as int32: the result is exact, in any order of summation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from aboard.importers.onnx.builder import Builder
from aboard.importers.onnx.operator import Operator, reads
from aboard.importers.onnx.operators.convolution import image_conv
from aboard.importers.onnx.operators.matrices import product
from aboard.importers.onnx.operators.windows import (
    as_image,
    as_sequence,
    channels_first,
    channels_last,
    window,
)
from aboard.ir import DType, Tensor
from aboard.ops.reduction import ReductionAttributes
from aboard.ops.strided_slice import AxisSlice

#: Products of two differences of 8-bit integers whose sum is exact in float32.
_MOST_PRODUCTS = (1 << 24) // (255 * 255)

#: Element types of operands.
BYTES = (DType.INT8, DType.UINT8)


@reads("MatMulInteger")
def matmul_integer(source: Operator, make: Builder) -> Tensor:
    """(A - zero points of its rows) * (B - zero points of its columns), as int32."""
    return matrix_sums(source, make, (0, 2), (1, 3))


@reads("ConvInteger")
def conv_integer(source: Operator, make: Builder) -> Tensor:
    """Convolution of x - zero point with w - zero points of its filters, as int32; padding is the zero point."""
    return window_sums(source, make, (0, 2), (1, 3))


@reads("DynamicQuantizeLinear")
def dynamic_quantize(source: Operator, make: Builder) -> list[Tensor]:
    """Integers of uint8, and the scale and zero point by which the range of x with 0 fills them."""
    x = source.input(0)
    axes = tuple(range(len(x.shape)))
    zero = make.scalar(0)
    ends = []
    for name, bound in (("reduce_min", "minimum"), ("reduce_max", "maximum")):
        end = make.op(name, [x], ReductionAttributes(axes, False)) if axes else x
        ends.append(make.op(bound, [end, zero]))
    # A range without extent has some scale, as 0 / 0 is no number.
    span = make.op("div", [make.op("sub", [ends[1], ends[0]]), make.scalar(255)])
    scale = make.op("maximum", [span, make.scalar(float(np.finfo(np.float32).tiny))])
    point = saturated(make, make.op("round", [make.op("div", [make.op("sub", [zero, ends[0]]), scale])]), DType.UINT8)
    steps = make.op("round", [make.op("div", [x, scale])])
    moved = make.op("add", [steps, make.cast(point, DType.FLOAT32)])
    return [saturated(make, moved, DType.UINT8), scale, point]


def saturated(make: Builder, steps: Tensor, dtype: DType) -> Tensor:
    """Converts whole numbers of float32 to integers, those out of range to the nearest in it."""
    info = np.iinfo(dtype.value)
    low = make.op("maximum", [steps, make.scalar(float(info.min))])
    return make.cast(make.op("minimum", [low, make.scalar(float(info.max))]), dtype)


def _centred(source: Operator, make: Builder, at: int, zero_at: int, shape: Callable[[int], Sequence[int]]) -> Tensor:
    """Returns an operand less its zero points, in float32.

    Args:
        source: The node.
        make: Makes the nodes.
        at: Index of the operand.
        zero_at: Index of its zero points.
        shape: Gives the shape in which so many zero points meet the operand.
    """
    tensor, zero = source.input(at), source.optional(zero_at)
    if zero is not None and is_moved(tensor, zero):
        zero = make.array(source.constant(zero_at).astype(np.int64) - 128, DType.INT8)
    if tensor.dtype not in BYTES or (zero is not None and zero.dtype is not tensor.dtype):
        raise source.unsupported(
            f"element type of operand {at}, got {tensor.dtype.value}"
            f"{'' if zero is None else f' with zero points of {zero.dtype.value}'}, expected int8 or uint8 for both. "
            "Export the model again"
        )
    if zero is None:
        return _real(make, tensor)
    points = zero if len(zero.shape) > 1 else make.reshape(zero, tuple(shape(zero.type.elements)))
    aligned = zip(points.shape[::-1], tensor.shape[::-1], strict=False)
    if len(points.shape) > len(tensor.shape) or any(given not in (1, extent) for given, extent in aligned):
        raise source.unsupported(
            f"zero points of shape {zero.shape} for operand {at} of shape {tensor.shape}, expected one, or one for "
            "each row of the first or column of the second operand. Export the model again"
        )
    if tensor.data is not None and points.data is not None:
        return make.array(tensor.data.astype(np.float32) - points.data.astype(np.float32))
    return make.op("sub", [_real(make, tensor), _real(make, points)])


def is_moved(tensor: Tensor, zero: Tensor) -> bool:
    """True for signed integers that stand for unsigned ones 128 above, as QuantizeLinear makes them."""
    return tensor.dtype is DType.INT8 and tensor.type.quant is not None and zero.dtype is DType.UINT8


def _real(make: Builder, tensor: Tensor) -> Tensor:
    return make.cast(tensor, DType.FLOAT32) if tensor.data is None else make.array(tensor.data.astype(np.float32))


def matrix_sums(source: Operator, make: Builder, left: tuple[int, int], right: tuple[int, int]) -> Tensor:
    """Returns the product as int32; `left` and `right` are indices of a matrix and its zero points."""
    a = _centred(source, make, *left, lambda count: (count, 1) if count > 1 else (1,))
    b = _centred(source, make, *right, lambda count: (count,))
    depth_axis = max(len(b.shape) - 2, 0)
    if not a.shape or not b.shape or a.shape[-1] != b.shape[depth_axis]:
        return product(source, make, a, b)  # which says what is wrong
    parts = []
    for first in range(0, a.shape[-1], _MOST_PRODUCTS):
        count = min(_MOST_PRODUCTS, a.shape[-1] - first)
        rows, columns = (
            _part(make, each, axis, first, count) for each, axis in ((a, len(a.shape) - 1), (b, depth_axis))
        )
        parts.append(make.cast(product(source, make, rows, columns), DType.INT32))
    return _sum(make, parts)


def _part(make: Builder, tensor: Tensor, axis: int, first: int, count: int) -> Tensor:
    slices = [AxisSlice(0, 1, extent) for extent in tensor.shape]
    slices[axis] = AxisSlice(first, 1, count)
    return make.take(tensor, slices)


def _sum(make: Builder, parts: Sequence[Tensor]) -> Tensor:
    total = parts[0]
    for part in parts[1:]:
        total = make.op("add", [total, part])
    return total


def window_sums(source: Operator, make: Builder, image_at: tuple[int, int], filters_at: tuple[int, int]) -> Tensor:
    """Returns the convolution as int32, channels first; the pairs are indices of an operand and its zero points."""
    rank = len(source.input(image_at[0]).shape)
    x = _centred(source, make, *image_at, lambda count: (count, *[1] * rank) if count > 1 else (1,))
    weights = _centred(source, make, *filters_at, lambda count: (count, *[1] * (rank - 1)) if count > 1 else (1,))
    groups, taps = int(source.options["group"]), math.prod(weights.shape[2:])
    fits = rank in (3, 4) and len(weights.shape) == rank and groups >= 1 and weights.data is not None
    if not fits or x.shape[1] != weights.shape[1] * groups or weights.shape[0] % groups or taps > _MOST_PRODUCTS:
        raise source.unsupported(
            f"shapes of input and weights, got {x.shape} and {weights.shape} with {groups} groups, expected three or "
            f"four axes, constant weights, channels that the groups divide, and at most {_MOST_PRODUCTS} taps. "
            "Export the model again"
        )
    found = window(source, x.shape[2:], weights.shape[2:])
    image = as_image(make, channels_last(make, x))
    filters = make.transpose(weights, (0, *range(2, rank), 1))
    flat = filters if rank == 4 else make.reshape(filters, (filters.shape[0], 1, *filters.shape[1:]))
    depth, step = flat.shape[3], max(_MOST_PRODUCTS // taps, 1)
    if groups > 1 and depth > step:
        raise source.unsupported(
            f"{depth} channels of {taps} taps in each of {groups} groups, expected at most {step}. Use one group"
        )
    parts = []
    for first in range(0, depth, step):
        count = min(step, depth - first)
        taken = image if groups > 1 else _part(make, image, 3, first, count)
        result = image_conv(make, taken, _part(make, flat, 3, first, count), None, found, groups)
        parts.append(make.cast(result, DType.INT32))
    return channels_first(make, as_sequence(make, _sum(make, parts), rank))
