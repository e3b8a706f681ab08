"""Rescaling between the scales of two tensors: the ratio, and the limits of the reference's 32 bits."""

from __future__ import annotations

from collections.abc import Iterable

from aboard.ir import DType, Tensor
from aboard.ir.numerics import quantize_multiplier

#: Most bits by which an operand, less its zero point, is moved up: with a zero point added it still fits 32 bits. An
#: int32 may wrap, as operand or result; more than 30 bits are not defined.
_MOST_SHIFT = {DType.INT8: 23, DType.UINT8: 23, DType.INT16: 15, DType.INT32: 30}


def scaling(operand: Tensor, result: Tensor, factor: float = 1.0) -> tuple[int, int]:
    """Returns multiplier and shift of the operand's scale * factor / the result's scale.

    The ratio is computed in double precision and in this order, as in tflite-micro. LiteRT computes the ratio of its
    rectifiers in float32, which often changes int16 results, and rarely int8 results.

    Args:
        operand: A tensor with one scale.
        result: A tensor with one scale.
        factor: At least 0.
    """
    return quantize_multiplier(operand.quant.scale * factor / result.quant.scale)


def overflow_problem(operand: Tensor, result: Tensor, factor: float = 1.0, spare_bits: int = 0) -> str | None:
    """Returns why rescaled elements would overflow the reference's 32 bits, or None.

    Args:
        operand: An integer tensor with one scale.
        result: An integer tensor with one scale.
        factor: As for `scaling`.
        spare_bits: Bits by which the rescaled value may be larger than an element.
    """
    most = _MOST_SHIFT[DType.INT32 if result.dtype is DType.INT32 else operand.dtype] - spare_bits
    if scaling(operand, result, factor)[1] <= most:
        return None
    before, after = operand.quant.scale, result.quant.scale
    slope = "" if factor == 1.0 else f" and a slope of {factor:g}"
    return (
        f"scale of the result, got {after:g} for an operand of scale {before:g}{slope}, expected more than "
        f"{before * factor / 2**most:g}. Quantise the model again"
    )


def product_problem(operands: Iterable[Tensor], result: Tensor, least: float) -> str:
    """Returns that the scale of a result of several operands is too small for the 32 bits that the reference has.

    Args:
        operands: Tensors with one scale each.
        result: Likewise.
        least: What its scale must be more than.
    """
    scales = " and ".join(f"{tensor.quant.scale:g}" for tensor in operands)
    return (
        f"scale of the result, got {result.quant.scale:g} for operands of {scales}, expected more than {least:g}. "
        "Quantise the model again"
    )
