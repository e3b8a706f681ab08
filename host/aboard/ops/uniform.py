"""Rules on element types that many ops share: the allowed types, and the quantisation of integers."""

from __future__ import annotations

from collections.abc import Iterable

from aboard.ir import DType, Tensor

#: Element types that kernels compute with; and those of ops that also support int16 activations.
COMPUTED = (DType.INT8, DType.FLOAT32)
COMPUTED_WIDE = (DType.INT8, DType.INT16, DType.FLOAT32)

#: Element types of ops that only move data. Float16 is a type of constants.
EVERY = tuple(dtype for dtype in DType if dtype is not DType.FLOAT16)


def types_problem(tensors: Iterable[Tensor], allowed: tuple[DType, ...] = COMPUTED) -> str | None:
    """Returns the error in tensors that must all have one element type as text, or None.

    Args:
        tensors: Operands and results.
        allowed: The allowed types.
    """
    tensors = list(tensors)
    types = {tensor.dtype for tensor in tensors}
    if len(types) != 1 or not types <= set(allowed):
        got = ", ".join(tensor.dtype.value for tensor in tensors)
        known = " or ".join(dtype.value for dtype in allowed)
        return f"element types, got {got}, expected {known} for all of them. Convert the model to {known} throughout"
    return quantization_problem(tensors)


def quantization_problem(tensors: Iterable[Tensor], *, symmetric_s16: bool = True) -> str | None:
    """Returns the error in the quantisation of the integer tensors as text, or None.

    Args:
        tensors: Operands and results.
        symmetric_s16: True if int16 must have the zero point 0, as in nearly all kernels.
    """
    for tensor in tensors:
        if tensor.dtype.is_float:
            continue
        quant = tensor.type.quant
        if quant is None or quant.per_channel or not quant.scale > 0:
            return (
                f"quantisation of {tensor.name}, got {_describe(tensor)}, expected one positive scale. "
                "Quantise activations per tensor"
            )
        symmetric = tensor.dtype is DType.INT32 or (tensor.dtype is DType.INT16 and symmetric_s16)
        if symmetric and quant.zero_point != 0:
            return (
                f"quantisation of {tensor.name}, got a zero point of {quant.zero_point}, expected 0 for "
                f"{tensor.dtype.value}. "
                "Quantise the model again with TFLite's converter"
            )
    return None


def _describe(tensor: Tensor) -> str:
    quant = tensor.type.quant
    if quant is None:
        return "none"
    return f"{len(quant.scales)} scales" if quant.per_channel else f"scale {quant.scale:g}"
