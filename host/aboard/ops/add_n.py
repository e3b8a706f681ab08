"""add_n: the sum of any number of tensors of one type."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from aboard.ir import Array, DType, Node, TensorType
from aboard.ir.numerics import multiply_by_quantized_multiplier, quantize_multiplier
from aboard.ops.registry import Op, SourceNode, register, require
from aboard.ops.rescaling import product_problem
from aboard.ops.unary import saturate
from aboard.ops.uniform import COMPUTED, types_problem

#: Bits by which an int8 sum is moved up before it is rescaled.
_LEFT_SHIFT = 19

#: Most operands of int8: the sum, moved up, still fits 32 bits.
MAX_INT8 = 15


@register
class AddN(Op):
    """x0 + x1 + ... in this order. Int8 operands have one quantisation.

    The int8 sum of n operands is less their zero point n + 1 times, and not n: so tflite-micro defines it.
    """

    name = "add_n"
    tflite = ("ADD_N",)
    types = COMPUTED
    elementwise = True

    @override
    def from_tflite(self, source: SourceNode) -> Node:
        """Returns the node.

        Raises:
            ModelError: Number, types, shapes or quantisation of the operands are not supported.
        """
        node = source.node(self.name, [source.input(index) for index in range(len(source.inputs))])
        wrong = self.problem(node)
        if wrong is not None:
            raise source.unsupported(wrong)
        return node

    def problem(self, node: Node) -> str | None:
        """Returns what is wrong with number, types, shapes or quantisation of the operands, or None."""
        operands, result = node.operands, node.output
        if len(operands) < 2:
            return f"operands, got {len(operands)}, expected at least 2. Export the model again"
        wrong = types_problem([*operands, result], self.types)
        if wrong is not None:
            return wrong
        other = next((tensor for tensor in operands if tensor.type != operands[0].type), None)
        if other is not None:
            return (
                f"operands, got {operands[0].type} and {other.type}, expected one shape and quantisation for all. "
                "Add them two by two"
            )
        if result.dtype.is_float:
            return None
        if len(operands) > MAX_INT8:
            return f"operands of int8, got {len(operands)}, expected at most {MAX_INT8}. Add them in groups"
        least = operands[0].quant.scale / 2 ** (_LEFT_SHIFT - 1)
        return product_problem(operands[:2], result, least) if self.scaling(node)[1] > 0 else None

    def scaling(self, node: Node) -> tuple[int, int]:
        """Returns multiplier and shift of an int8 sum that is moved up by 19 bits."""
        return quantize_multiplier(2 * node.input(0).quant.scale / ((2 << _LEFT_SHIFT) * node.output.quant.scale))

    @override
    def infer(self, node: Node) -> list[TensorType]:
        """Returns the operands' shape with the result's quantisation."""
        operand = node.input(0)
        return [TensorType(operand.shape, operand.dtype, node.output.type.quant)]

    @override
    def verify(self, node: Node) -> None:
        """Checks what `problem` finds.

        Raises:
            VerifyError: Number, types, shapes or quantisation of the operands are wrong.
        """
        wrong = self.problem(node)
        require(wrong is None, node, wrong or "")

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        arrays = [np.asarray(operand) for operand in operands]
        if node.output.dtype is DType.FLOAT32:
            total = np.zeros(node.output.shape, np.float32)
            with np.errstate(over="ignore", invalid="ignore"):
                for array in arrays:
                    total = total + array.astype(np.float32)
            return [total]
        sums = sum(array.astype(np.int64) for array in arrays) - (len(arrays) + 1) * node.input(0).quant.zero_point
        result = multiply_by_quantized_multiplier(sums << _LEFT_SHIFT, *self.scaling(node))
        return [saturate(result + node.output.quant.zero_point).astype(np.int8)]
