"""quantize from float32, and dequantize, on any core. From one 8-bit quantisation to another: `kernels.lookup`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aboard.ir import DType, Node, Quantization
from aboard.kernels.contract import Implementation, InputArg, KernelCall, Literal, OutputArg, View
from aboard.kernels.elementwise import joined, present
from aboard.kernels.registry import implements
from aboard.target import Target


def _params(source: View, result: View, quant: Quantization) -> Mapping[str, Literal]:
    source, result = joined(source, result)
    return {
        "in": source.literal(),
        "out": result.literal(),
        "scale": quant.scale,
        "zero_point": quant.zero_point,
    }


@implements
class QuantizeS8(Implementation):
    """float32 to int8."""

    op, name = "quantize", "portable_s8"
    strided = True
    by_rows = True

    def refuses(self, node: Node, target: Target) -> str | None:
        """Refuses other element types."""
        del target
        types = node.input(0).dtype, node.output.dtype
        return None if types == (DType.FLOAT32, DType.INT8) else "is for float32 to int8"

    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        """Returns the call."""
        del target
        (source,), result = present(inputs), outputs[0]
        params = _params(source, result, node.output.quant)
        arguments = (InputArg(0, "const float *"), OutputArg(0, "int8_t *"))
        return KernelCall("quantize.h", "aboard_quantize_s8", "aboard_quantize_t", params, arguments, result.rows)


@implements
class DequantizePortable(Implementation):
    """int8 or uint8 to float32."""

    op, name = "dequantize", "portable"
    strided = True
    by_rows = True

    def refuses(self, node: Node, target: Target) -> str | None:
        """Refuses other element types, and a scale per channel."""
        del target
        operand = node.input(0)
        if operand.dtype not in (DType.INT8, DType.UINT8):
            return "is for int8 and uint8"
        return "is for one scale per tensor" if operand.quant.per_channel else None

    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        """Returns the call."""
        del target
        (source,), result, operand = present(inputs), outputs[0], node.input(0)
        suffix = "s8" if operand.dtype is DType.INT8 else "u8"
        params = _params(source, result, operand.quant)
        arguments = (InputArg(0, f"const {operand.dtype.c} *"), OutputArg(0, "float *"))
        function = f"aboard_dequantize_{suffix}"
        return KernelCall("quantize.h", function, "aboard_quantize_t", params, arguments, result.rows)
