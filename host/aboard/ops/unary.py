"""Base of ops that compute each element of the result from one element of one operand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from aboard.ir import Array, Attributes, DType, Node, Quantization, Rounding, Tensor, TensorType
from aboard.ir.numerics import Int64
from aboard.ops.registry import Op, SourceNode, require
from aboard.ops.uniform import COMPUTED, types_problem

Float32 = npt.NDArray[np.float32]


class Unary(Op):
    """An element-wise op with one operand of the result's shape and type, integer or float32.

    Attributes:
        types: Supported element types.
    """

    elementwise = True
    types: ClassVar[tuple[DType, ...]] = COMPUTED

    def read(self, source: SourceNode) -> Attributes:
        """Returns the attributes for the operator's options."""
        del source
        return Attributes()

    @override
    def from_tflite(self, source: SourceNode) -> Node:
        node = source.node(self.name, [source.input(0)], self.read(source))
        wrong = self.problem(node)
        if wrong is not None:
            raise source.unsupported(wrong)
        return node

    def problem(self, node: Node) -> str | None:
        """Returns the error in types, quantisation or attributes as text, or None."""
        return types_problem([node.input(0), node.output], self.types)

    @override
    def infer(self, node: Node) -> list[TensorType]:
        """Returns the operand's type with the result's quantisation."""
        operand = node.input(0)
        return [TensorType(operand.shape, operand.dtype, node.output.type.quant)]

    @override
    def verify(self, node: Node) -> None:
        if node.attrs.rounding is Rounding.EXACT:
            # Limits of the reference's integers do not matter.
            wrong = types_problem([node.input(0), node.output], self.types)
        else:
            wrong = self.problem(node)
        require(wrong is None, node, wrong or "")

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        x = np.asarray(operands[0])
        if node.input(0).dtype is DType.FLOAT32:
            with np.errstate(over="ignore", invalid="ignore"):
                return [np.asarray(self.real(node, x.astype(np.float32)), np.float32)]
        if node.attrs.rounding is Rounding.EXACT:
            with np.errstate(over="ignore", invalid="ignore"):
                real = np.asarray(self.real(node, real_values(x, node.input(0).quant)), np.float32)
            return [nearest(real, node.output)]
        return [np.asarray(self.quantized(node, x.astype(np.int64)), node.output.dtype.numpy)]

    @override
    def is_exact(self, node: Node) -> bool:
        """True for int8: a table has the result of each element."""
        return node.input(0).dtype is DType.INT8 is node.output.dtype

    def quantized(self, node: Node, x: Int64) -> Int64:
        """Computes quantised elements in the range of the result; only called if `problem` returns None."""
        raise NotImplementedError

    def real(self, node: Node, x: Float32) -> Float32:
        """Computes float32 elements; only called if `problem` returns None."""
        raise NotImplementedError


def real_values(x: Array, quant: Quantization) -> Float32:
    """Returns what integers of one scale stand for: scale * (x - zero point), as the product of two float32."""
    centred = (x.astype(np.int64) - quant.zero_point).astype(np.float32)
    return np.asarray(np.float32(quant.scale) * centred, np.float32)


def nearest(x: Float32, result: Tensor) -> Array:
    """Returns the nearest integers of a quantisation to float32 values, ties to even; saturates.

    NaN becomes the lowest value, as in `quantize`.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        steps = np.nan_to_num(x / np.float32(result.quant.scale), nan=-(2.0**20), posinf=2.0**20, neginf=-(2.0**20))
    whole = np.rint(np.clip(steps, -(2.0**20), 2.0**20)).astype(np.int64)
    return saturate(whole + result.quant.zero_point, result.dtype).astype(result.dtype.numpy)


def saturate(x: Int64, dtype: DType = DType.INT8) -> Int64:
    """Returns values restricted to the range of an integer type."""
    info = np.iinfo(dtype.value)
    return np.clip(x, int(info.min), int(info.max))
