"""QuantizeLinear and DequantizeLinear: between real numbers and 8-bit or 16-bit integers.

Integers of 8 bits are signed inside: an unsigned one less 128 stands for the same number with a zero point less 128.
Weights stay integers behind a `dequantize`, so that a pass can make the layers that read them integer layers.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from aboard.importers.onnx.builder import Builder
from aboard.importers.onnx.operator import Operator, reads
from aboard.ir import Array, DType, Quantization, Tensor, TensorType

#: Difference between an unsigned integer and the signed one that it becomes.
_OFFSET = 128


@reads("DequantizeLinear")
def dequantize(source: Operator, make: Builder) -> Tensor:
    """Scale * (x - zero point) in float32, with one scale, or with one for each index of an axis of a constant.

    Raises:
        ModelError: Scales are computed at run time, or there are several for a tensor that is computed; or the element
            type is not supported.
    """
    x, scales = source.input(0), source.constant(1).astype(np.float32)
    zeros = np.zeros(scales.shape, np.int64)
    if source.optional(2) is not None:
        zeros = source.constant(2).astype(np.int64)
    if x.data is not None:
        return _constant(source, make, x.data, scales, zeros)
    if scales.size != 1 or x.dtype not in (DType.INT8, DType.UINT8, DType.INT16):
        raise source.unsupported(
            f"element type and number of scales, got {x.dtype.value} with {scales.size}, expected int8, uint8 or int16 "
            "with one. Quantise activations per tensor"
        )
    quant = Quantization((float(scales.reshape(-1)[0]),), (int(zeros.reshape(-1)[0]),))
    return make.op("dequantize", [_with(source, make, x, quant)], dtype=DType.FLOAT32)


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
    """Returns what a constant stands for: integers of 8 bits behind a `dequantize`, others as float32."""
    rank = data.ndim
    axis = source.axis(int(source.options.get("axis", 1)), rank) if scales.size > 1 and rank else 0
    fits = scales.size == 1 or (scales.ndim == 1 and rank and scales.size == data.shape[axis])
    if not fits or zeros.size not in (1, scales.size):
        raise source.unsupported(
            f"scales of shape {scales.shape} and {zeros.size} zero points for shape {data.shape}, expected one or one "
            "for each index of an axis. Quantise weights per tensor or per channel"
        )
    points = np.broadcast_to(zeros.reshape(-1), scales.size)
    if data.dtype not in (np.int8, np.uint8) or not data.size or not rank:
        shape = [-1 if other == axis else 1 for other in range(rank)] if scales.size > 1 else [1] * rank
        real = (data.astype(np.int64) - points.reshape(shape)).astype(np.float32) * scales.reshape(shape)
        return make.array(real.reshape(data.shape))
    offset = _OFFSET if data.dtype == np.uint8 else 0
    stored = (data.astype(np.int64) - offset).astype(np.int8)
    quant = Quantization(
        tuple(float(scale) for scale in scales.reshape(-1)),
        tuple(int(point) - offset for point in points),
        axis if scales.size > 1 else None,
    )
    weights = Tensor("constant", TensorType(data.shape, DType.INT8, quant), stored)
    result = make.op("dequantize", [weights], dtype=DType.FLOAT32)
    make.weights[id(result)] = weights
    return result


@reads("QuantizeLinear")
def quantize(source: Operator, make: Builder) -> Tensor:
    """The nearest integers to x / scale + zero point, in the range of the zero point's type.

    Raises:
        ModelError: Scales are computed at run time or several, or the element type is not supported.
    """
    x, scales = source.input(0), source.constant(1)
    zero = source.optional(2)
    dtype = DType.UINT8 if zero is None else zero.dtype
    point = 0 if zero is None else int(source.constant(2).reshape(-1)[0])
    known = dtype in (DType.INT8, DType.UINT8) or (dtype is DType.INT16 and point == 0)
    if scales.size != 1 or not known or not x.dtype.is_float:
        raise source.unsupported(
            f"{x.dtype.value} to {dtype.value} with {scales.size} scales, expected float32 to int8 or uint8, or to "
            "int16 with a zero point of 0, and one scale. Quantise activations per tensor"
        )
    quant = Quantization((float(np.float32(scales.reshape(-1)[0])),), (point,))
    if dtype is DType.UINT8:
        return make.op("quantize", [x], dtype=DType.INT8, quant=_signed(quant))
    return make.op("quantize", [x], dtype=dtype, quant=quant)
