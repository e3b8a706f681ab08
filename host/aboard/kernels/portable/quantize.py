"""quantize from float32, and dequantize, on any core.

`kernels.lookup` converts between 8-bit quantisations, `kernels.elements_s16` converts from and to int16.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from typing_extensions import override

from aboard.ir import DType, Node, Quantization, Rounding
from aboard.kernels.contract import Argument, Implementation, InputArg, KernelCall, OutputArg
from aboard.kernels.portable.elementwise import joined, present
from aboard.kernels.registry import implements
from aboard.kernels.view import Literal, View
from aboard.target import Target

_SUFFIXES = {DType.INT8: "s8", DType.INT16: "s16", DType.UINT8: "u8"}


def _call(
    kind: str, dtype: DType, params: Mapping[str, Literal], arguments: tuple[Argument, ...], rows: int
) -> KernelCall:
    """Returns the call of the function of a kind for an integer type."""
    header = "portable/quantize_s16.h" if dtype is DType.INT16 else "portable/quantize.h"
    function = f"aboard_{kind}_{_SUFFIXES[dtype]}"
    return KernelCall(header, function, "aboard_quantize_t", params, arguments, rows)


def _params(source: View, result: View, quant: Quantization) -> Mapping[str, Literal]:
    source, result = joined(source, result)
    return {
        "in": source.literal(),
        "out": result.literal(),
        "scale": quant.scale,
        "zero_point": quant.zero_point,
    }


@implements
class QuantizePortable(Implementation):
    """float32 to int8 or int16."""

    op, name = "quantize", "portable"
    strided = True
    by_rows = True
    exact = True

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        """Refuses other element types."""
        known = node.input(0).dtype is DType.FLOAT32 and node.output.dtype in (DType.INT8, DType.INT16)
        return None if known else "is for float32 to int8 or int16"

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        (source,), result = present(inputs), outputs[0]
        params = _params(source, result, node.output.quant)
        if node.attrs.rounding is Rounding.EXACT:
            params = {**params, "ties_to_even": 1}
        arguments = (InputArg(0, "const float *"), OutputArg(0, f"{node.output.dtype.c} *"))
        return _call("quantize", node.output.dtype, params, arguments, result.rows)


@implements
class DequantizePortable(Implementation):
    """int8, int16 or uint8 to float32."""

    op, name = "dequantize", "portable"
    strided = True
    by_rows = True

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        """Refuses other element types, and per-channel scales."""
        operand = node.input(0)
        if operand.dtype not in _SUFFIXES:
            return "is for int8, int16 and uint8"
        return "is for one scale per tensor" if operand.quant.per_channel else None

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        (source,), result, operand = present(inputs), outputs[0], node.input(0)
        params = _params(source, result, operand.quant)
        arguments = (InputArg(0, f"const {operand.dtype.c} *"), OutputArg(0, "float *"))
        return _call("dequantize", operand.dtype, params, arguments, result.rows)
