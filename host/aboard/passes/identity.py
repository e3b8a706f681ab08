"""Finds out what a node does to its operand by running it: no pass has to know the ops that may do nothing."""

from __future__ import annotations

import numpy as np

from aboard import ops
from aboard.ir import Array, DType, Node, Tensor, TensorType

# Above this many elements, a node is left alone rather than tried.
_MAX_ELEMENTS = 1 << 22


def keeps_order(node: Node) -> bool:
    """True when a node that only moves data gives the elements of its one operand, all of them, in the same order."""
    if not ops.get(node.op).moves_data or len(node.operands) != 1 or len(node.outputs) != 1:
        return False
    operand, result = node.input(0).type, node.output.type
    if operand.elements != result.elements or operand.elements > _MAX_ELEMENTS:
        return False
    numbers = np.arange(operand.elements).reshape(operand.shape)
    moved = ops.get(node.op).evaluate(node, [numbers])[0]
    return bool(np.array_equal(moved.ravel(), numbers.ravel()))


def table(node: Node) -> Array | None:
    """Returns what a node makes of each int8 from -128 to 127, where it maps int8 elements one by one; else None."""
    if not ops.get(node.op).elementwise or len(node.inputs) != 1 or len(node.outputs) != 1:
        return None
    operand, result = node.input(0).type, node.output.type
    if operand.dtype is not DType.INT8 or result.dtype is not DType.INT8:
        return None
    every = np.arange(-128, 128).astype(np.int8)
    small = Node(
        node.op,
        node.name,
        [Tensor("every", TensorType(every.shape, DType.INT8, operand.quant))],
        [Tensor("table", TensorType(every.shape, DType.INT8, result.quant))],
        node.attrs,
    )
    return ops.get(node.op).evaluate(small, [every])[0]


def is_identity(node: Node) -> bool:
    """True when the result has the type and, whatever the operand, the values of the operand."""
    if not node.inputs or node.inputs[0] is None or node.input(0).type != node.output.type:
        return False
    if keeps_order(node):
        return True
    mapped = table(node)
    return mapped is not None and bool(np.array_equal(mapped, np.arange(-128, 128)))
