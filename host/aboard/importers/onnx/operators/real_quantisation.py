"""QuantizeLinear and DequantizeLinear as operators on real numbers, for what one scale of a tensor does not describe.

That is: several scales of a tensor that is computed, along an axis or for blocks of it; scales that are computed; int16
with a zero point; int32. Results are the standard's bit for bit: a division, the nearest even integer, a sum, a clamp.
"""

from __future__ import annotations

import math

import numpy as np

from aboard.importers.onnx.builder import DTYPES, TYPES, Builder
from aboard.importers.onnx.operator import Operator
from aboard.importers.onnx.operators.integers import is_moved, saturated
from aboard.ir import Array, DType, Tensor
from aboard.ops.strided_slice import AxisSlice

#: Element types of integers: those of sums of products have no zero point.
_INTEGERS = (DType.INT8, DType.UINT8, DType.INT16, DType.INT32)


def quantised(source: Operator, make: Builder) -> Tensor:
    """Returns round(x / scale) + zero point, in the range of the result's type.

    Raises:
        ModelError: Shapes of scale and zero point do not fit, or the type is none of integers.
    """
    x, zero, dtype = make.cast(source.input(0), DType.FLOAT32), source.optional(2), result_type(source)
    if dtype not in _INTEGERS[:3]:
        raise source.unsupported(
            f"element type of the result, got {dtype.value}, expected int8, uint8 or int16. Quantise in one of these"
        )
    steps = make.op("round", [make.op("div", [x, _spread(source, make, source.input(1), x)])])
    if zero is not None:
        steps = make.op("add", [steps, make.cast(_spread(source, make, zero, x), DType.FLOAT32)])
    return saturated(make, steps, dtype)


def dequantised(source: Operator, make: Builder) -> Tensor:
    """Returns (x - zero point) * scale in float32.

    Raises:
        ModelError: Shapes of scale and zero point do not fit, or the type is none of integers.
    """
    x, zero = source.input(0), source.optional(2)
    if x.dtype not in _INTEGERS:
        known = ", ".join(dtype.value for dtype in _INTEGERS)
        raise source.unsupported(
            f"element type, got {x.dtype.value}, expected one of {known}. Quantise in one of these"
        )
    offset = 128 if zero is not None and is_moved(x, zero) else 0
    real = make.cast(x, DType.FLOAT32)
    if zero is not None:
        points = make.cast(_spread(source, make, zero, x), DType.FLOAT32)
        real = make.op("sub", [real, make.op("sub", [points, make.scalar(offset)]) if offset else points])
    return make.op("mul", [real, _spread(source, make, source.input(1), x)])


def result_type(source: Operator) -> DType:
    """Returns the element type of a QuantizeLinear: its zero point's, the one it names, or uint8.

    Raises:
        ModelError: No kernel computes the type, or the division is wanted in another type than float32.
    """
    check_float(source, "precision")
    zero, name = source.optional(2), _type_name(source, "output_dtype") or "uint8"
    if zero is None and name not in DTYPES:
        raise source.unsupported(f"output_dtype, got {name}, expected one of {TYPES}. Quantise in one of these")
    return DTYPES[name] if zero is None else zero.dtype


def check_float(source: Operator, attribute: str) -> None:
    """Raises a ModelError if an attribute names another element type than float32."""
    name = _type_name(source, attribute)
    if name not in ("", "float"):
        raise source.unsupported(f"{attribute}, got {name}, expected float. Export the model in float32")


def _type_name(source: Operator, attribute: str) -> str:
    """Returns the element type that an attribute names; "" for none."""
    from onnx import TensorProto

    number = int(source.options.get(attribute) or 0)
    return TensorProto.DataType.Name(number).lower() if number else ""


def spread_constant(source: Operator, values: Array, shape: tuple[int, ...]) -> Array:
    """Returns scales or zero points that broadcast to a constant of a shape; arguments and errors as for `_spread`."""
    axis, block = along(source, values.shape, shape)
    if axis is None:
        return values.reshape((1,) * len(shape))
    if not block:
        return values.reshape([-1 if place == axis else 1 for place in range(len(shape))])
    return np.repeat(values, block, axis).take(range(shape[axis]), axis)


def _spread(source: Operator, make: Builder, values: Tensor, like: Tensor) -> Tensor:
    """Returns scales or zero points in a shape that broadcasts to a tensor.

    Args:
        source: The node.
        make: Makes the nodes.
        values: One, one for each index of `axis`, or one for each block of `block_size` indices of it.
        like: The tensor.

    Raises:
        ModelError: There are others.
    """
    if values.data is not None:
        return make.array(spread_constant(source, values.data, like.shape), values.dtype)
    axis, block = along(source, values.shape, like.shape)
    if axis is None:
        return make.reshape(values, ())
    if not block:
        return make.reshape(values, [n if place == axis else 1 for place, n in enumerate(like.shape)])
    outer, inner = values.shape[: axis + 1], values.shape[axis + 1 :]
    count = math.prod(outer)
    repeated = make.broadcast(make.reshape(values, (count, 1, math.prod(inner))), (count, block, math.prod(inner)))
    whole = make.reshape(repeated, (*outer[:-1], outer[-1] * block, *inner))
    return make.take(whole, [AxisSlice(0, 1, extent) for extent in like.shape])


def along(source: Operator, given: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int | None, int]:
    """Returns the axis that scales belong to, None for one scale, and the size of blocks, 0 without blocks."""
    if math.prod(given) == 1:
        return None, 0
    axis = source.axis(int(source.options.get("axis", 1)), len(shape))
    block = int(source.options.get("block_size") or 0)
    if not block and given == shape[axis : axis + 1]:
        return axis, 0
    blocks = (*shape[:axis], -(-shape[axis] // block), *shape[axis + 1 :]) if block > 0 else ()
    if given != blocks:
        raise source.unsupported(
            f"scales or zero points of shape {list(given)} for shape {list(shape)}, expected one, one for each index "
            f"of axis {axis}, or one for each of its blocks. Export the model again"
        )
    return axis, block
