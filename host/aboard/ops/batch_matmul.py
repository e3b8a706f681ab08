"""Products of matrices that are both computed at run time, or stored for each batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Attributes, DType, Node, TensorType
from aboard.ir.numerics import (
    multiply_by_quantized_multiplier,
    multiply_wide_by_quantized_multiplier,
    quantize_multiplier,
    wrap32,
)
from aboard.ops.registry import Op, SourceNode, register, require
from aboard.ops.unary import saturate
from aboard.ops.uniform import COMPUTED_WIDE, types_problem

_MAX_RANK = 5

#: Most bits by which a sum is moved up: of 32 bits (int8), of 64 bits (int16).
_MOST_SHIFT = {DType.INT8: 30, DType.INT16: 7}


#: Products of int8, less their zero points, that a sum of 32 bits holds.
_MOST_DEPTH = (1 << 31) // (255 * 255)


@dataclass(frozen=True)
class BatchMatmulAttributes(Attributes):
    """Attributes of `batch_matmul`.

    Attributes:
        adj_x: True when operand 0 has its last two axes transposed.
        adj_y: True when operand 1 has.
    """

    adj_x: bool = False
    adj_y: bool = False


@dataclass(frozen=True)
class Extents:
    """Extents of a product: for each batch [rows, depth] times [depth, cols].

    Attributes:
        batches: Extents of the result's axes but the last two.
        rows: Of operand 0 and the result.
        depth: Products that are added.
        cols: Of operand 1 and the result.
    """

    batches: tuple[int, ...]
    rows: int
    depth: int
    cols: int


@register
class BatchMatmul(Op):
    """result = operand 0 times operand 1, for each batch; axes before the last two are broadcast."""

    name = "batch_matmul"
    attributes = BatchMatmulAttributes
    tflite = ("BATCH_MATMUL",)
    types = COMPUTED_WIDE

    @override
    def from_tflite(self, source: SourceNode) -> Node:
        """Reads the options.

        Raises:
            ModelError: Types, shapes or quantisation are not supported.
        """
        attrs = BatchMatmulAttributes(bool(source.options["AdjX"]), bool(source.options["AdjY"]))
        node = source.node(self.name, [source.input(0), source.input(1)], attrs)
        wrong = self.problem(node)
        if wrong is not None:
            raise source.unsupported(wrong)
        return node

    def problem(self, node: Node) -> str | None:
        """Returns what is wrong with types, shapes or quantisation, or None."""
        x, y = node.input(0), node.input(1)
        if extents(node) is None:
            return (
                f"shapes, got {x.shape} and {y.shape}, expected matrices with two to {_MAX_RANK} axes that can be "
                "multiplied, and batches that are equal or 1. Export the model again"
            )
        wrong = types_problem([x, y, node.output], self.types)
        if wrong is not None or node.output.dtype.is_float:
            return wrong
        depth = x.shape[-2 if attributes(node).adj_x else -1]
        if node.output.dtype is DType.INT8 and depth > _MOST_DEPTH:
            return f"depth, got {depth} products in a sum of 32 bits, expected at most {_MOST_DEPTH}. Divide the matrix"
        most = _MOST_SHIFT[node.output.dtype]
        if scaling(node)[1] > most:
            return (
                f"scale of the result, got {node.output.quant.scale:g}, expected more than 2^-{most} times the product "
                "of the scales of the operands. Quantise the model again"
            )
        return None

    @override
    def infer(self, node: Node) -> list[TensorType]:
        """Returns the type of the product."""
        found = extents(node)
        require(found is not None, node, "shapes, expected matrices that can be multiplied")
        shape = () if found is None else (*found.batches, found.rows, found.cols)
        return [TensorType(shape, node.input(0).dtype, node.output.type.quant)]

    @override
    def verify(self, node: Node) -> None:
        """Checks what `problem` finds.

        Raises:
            VerifyError: Types, shapes or quantisation are wrong.
        """
        wrong = self.problem(node)
        require(wrong is None, node, wrong or "")

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        """Computes the product; float sums are formed in the order of the depth."""
        attrs, x, y = attributes(node), np.asarray(operands[0]), np.asarray(operands[1])
        x = x.swapaxes(-1, -2) if attrs.adj_x else x
        y = y.swapaxes(-1, -2) if attrs.adj_y else y
        if node.output.dtype.is_float:
            total = np.zeros(node.output.shape, np.float32)
            for k in range(x.shape[-1]):
                total = total + x[..., :, k, None] * y[..., None, k, :]
            return [total.astype(np.float32)]
        zeros = [node.input(index).quant.zero_point for index in (0, 1)]
        sums = np.matmul(x.astype(np.int64) - zeros[0], y.astype(np.int64) - zeros[1])
        dtype = node.output.dtype
        if dtype is DType.INT16:
            scaled = multiply_wide_by_quantized_multiplier(sums, *scaling(node))
        else:
            scaled = multiply_by_quantized_multiplier(wrap32(sums), *scaling(node))
        return [saturate(scaled + node.output.quant.zero_point, dtype).astype(dtype.numpy)]

    @override
    def macs(self, node: Node) -> int:
        """Returns the products of one inference."""
        found = extents(node)
        return 0 if found is None else node.output.type.elements * found.depth


def attributes(node: Node) -> BatchMatmulAttributes:
    """Returns the attributes of a `batch_matmul` node."""
    return cast(BatchMatmulAttributes, node.attrs)


def extents(node: Node) -> Extents | None:
    """Returns the extents of a product, or None where the operands cannot be multiplied."""
    attrs, x, y = attributes(node), node.input(0).shape, node.input(1).shape
    if not (2 <= len(x) <= _MAX_RANK and 2 <= len(y) <= _MAX_RANK):
        return None
    rows, depth = (x[-1], x[-2]) if attrs.adj_x else (x[-2], x[-1])
    again, cols = (y[-1], y[-2]) if attrs.adj_y else (y[-2], y[-1])
    try:
        batches = np.broadcast_shapes(x[:-2], y[:-2])
    except ValueError:
        return None
    return Extents(tuple(batches), rows, depth, cols) if depth == again else None


def scaling(node: Node) -> tuple[int, int]:
    """Returns multiplier and shift from sums to the result's scale.

    The product of two scales is in double precision, as in TensorFlow Lite Micro; LiteRT has it in float32.
    """
    product = node.input(0).quant.scale * node.input(1).quant.scale
    return quantize_multiplier(product / node.output.quant.scale)
