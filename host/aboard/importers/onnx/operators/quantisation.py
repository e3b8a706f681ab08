"""QuantizeLinear and DequantizeLinear: between real numbers and 8-bit or 16-bit integers.

Integers of 8 bits are signed inside: an unsigned one less 128 stands for the same number with a zero point less 128.
Weights stay integers behind a `dequantize`, so that a pass can make the layers that read them integer layers.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import numpy.typing as npt

from aboard.importers.onnx.builder import Builder
from aboard.importers.onnx.operator import Operator, reads
from aboard.importers.onnx.operators.real_quantisation import (
    along,
    check_float,
    dequantised,
    quantised,
    result_type,
    spread_constant,
)
from aboard.ir import Array, DType, Quantization, Tensor, TensorType

#: Difference between an unsigned integer and the signed one that it becomes.
_OFFSET = 128


@reads("DequantizeLinear")
def dequantize(source: Operator, make: Builder) -> Tensor:
    """Scale * (x - zero point) in float32.

    Raises:
        ModelError: Scales do not fit, or the element type is not supported.
    """
    x, scale, zero = source.input(0), source.input(1), source.optional(2)
    check_float(source, "output_dtype")
    if x.data is not None and scale.data is not None and (zero is None or zero.data is not None):
        scales = scale.data.astype(np.float32)
        zeros = np.zeros(scales.shape, np.int64) if zero is None else source.constant(2).astype(np.int64)
        return _constant(source, make, x.data, scales, zeros)
    quant = _quantisation(source, x.dtype)
    if quant is None:
        return dequantised(source, make)
    return make.op("dequantize", [_with(source, make, x, quant)], dtype=DType.FLOAT32)


def _quantisation(source: Operator, dtype: DType) -> Quantization | None:
    """Returns scale and zero point of integers of a type, if both are one constant each; otherwise None."""
    scale, zero = source.input(1), source.optional(2)
    given = [scale] if zero is None else [scale, zero]
    if any(each.data is None or each.type.elements != 1 for each in given):
        return None
    step = float(np.float32(source.constant(1).reshape(-1)[0]))
    point = 0 if zero is None else int(source.constant(2).reshape(-1)[0])
    known = dtype in (DType.INT8, DType.UINT8) or (dtype is DType.INT16 and point == 0)
    return Quantization((step,), (point,)) if known and 0 < step < math.inf else None


def _with(source: Operator, make: Builder, x: Tensor, quant: Quantization) -> Tensor:
    """Returns a tensor of signed integers with a quantisation, which a tensor of the model's border gets here."""
    signed = _signed(quant) if x.dtype is DType.UINT8 or _is_moved(x, quant) else quant
    if x.type.quant is None:
        x.type = dataclasses.replace(x.type, quant=quant)
    elif x.type.quant not in (quant, signed):
        raise source.unsupported(
            f"quantisation of {x.name}, got {quant}, expected {x.type.quant} with which it was made. Export again"
        )
    return make.op("quantize", [x], dtype=DType.INT8, quant=signed) if x.dtype is DType.UINT8 else x


def _is_moved(x: Tensor, quant: Quantization) -> bool:
    """True for a tensor of int8 that stands for unsigned integers of a quantisation."""
    return x.dtype is DType.INT8 and x.type.quant == _signed(quant)


def _signed(quant: Quantization) -> Quantization:
    return dataclasses.replace(quant, zero_points=tuple(point - _OFFSET for point in quant.zero_points))


def _constant(
    source: Operator, make: Builder, data: Array, scales: npt.NDArray[np.float32], zeros: npt.NDArray[np.int64]
) -> Tensor:
    """Returns what a constant stands for: integers of 8 bits behind a `dequantize`, others as float32.

    Those with scales of blocks become float32 too.
    """
    axis, block = along(source, scales.shape, data.shape)
    if data.dtype not in (np.int8, np.uint8) or not data.size or not data.ndim or block:
        points = spread_constant(source, zeros, data.shape).astype(np.int64)
        real = (data.astype(np.int64) - points).astype(np.float32)
        return make.array(real * spread_constant(source, scales, data.shape).astype(np.float32))
    if zeros.size not in (1, scales.size):
        raise source.unsupported(
            f"zero points, got {zeros.size} with {scales.size} scales, expected one for each. Export the model again"
        )
    points = np.broadcast_to(zeros.reshape(-1), scales.size)
    offset = _OFFSET if data.dtype == np.uint8 else 0
    stored = (data.astype(np.int64) - offset).astype(np.int8)
    quant = Quantization(
        tuple(float(scale) for scale in scales.reshape(-1)),
        tuple(int(point) - offset for point in points),
        axis,
    )
    weights = Tensor("constant", TensorType(data.shape, DType.INT8, quant), stored)
    result = make.op("dequantize", [weights], dtype=DType.FLOAT32)
    make.weights[id(result)] = weights
    return result


@reads("QuantizeLinear")
def quantize(source: Operator, make: Builder) -> Tensor:
    """The nearest integers to x / scale + zero point, in the range of the result's type.

    Raises:
        ModelError: Scales do not fit, or the element type is not supported.
    """
    x, dtype = source.input(0), result_type(source)
    quant = _quantisation(source, dtype) if x.dtype.is_float else None
    if quant is None:
        return quantised(source, make)
    if dtype is DType.UINT8:
        return make.op("quantize", [x], dtype=DType.INT8, quant=_signed(quant))
    return make.op("quantize", [x], dtype=dtype, quant=quant)
