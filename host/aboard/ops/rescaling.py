"""From the scale of one tensor to that of another: how the ratio is formed, and where the reference's 32 bits end."""

from __future__ import annotations

from aboard.ir import DType, Tensor
from aboard.ir.numerics import quantize_multiplier

#: Most bits by which an operand, less its zero point, is moved up: with a zero point added it still fits 32 bits.
_MOST_SHIFT = {DType.INT8: 23, DType.UINT8: 23, DType.INT16: 15}


def scaling(operand: Tensor, result: Tensor, factor: float = 1.0) -> tuple[int, int]:
    """Returns multiplier and shift of the operand's scale * factor / the result's scale.

    The ratio is formed in double precision and in this order, as tflite-micro forms it. LiteRT forms that of its
    rectifiers in float32, from which int16 results differ often, and int8 results rarely.

    Args:
        operand: A tensor with one scale.
        result: Likewise.
        factor: At least 0.
    """
    return quantize_multiplier(operand.quant.scale * factor / result.quant.scale)


def overflow_problem(operand: Tensor, result: Tensor, factor: float = 1.0, spare_bits: int = 0) -> str | None:
    """Returns why rescaled elements would overflow the 32 bits in which the reference computes them, or None.

    Args:
        operand: An integer tensor with one scale.
        result: Likewise.
        factor: As for `scaling`.
        spare_bits: Bits by which what is rescaled may be larger than an element.
    """
    most = _MOST_SHIFT[operand.dtype] - spare_bits
    if scaling(operand, result, factor)[1] <= most:
        return None
    before, after = operand.quant.scale, result.quant.scale
    slope = "" if factor == 1.0 else f" and a slope of {factor:g}"
    return (
        f"scale of the result, got {after:g} for an operand of scale {before:g}{slope}, expected more than "
        f"{before * factor / 2**most:g}. Quantise the model again"
    )
