"""Finds the effect of a node on its operand by running the node, so that no pass needs a list of such ops."""

from __future__ import annotations

import numpy as np

from aboard import ops
from aboard.ir import Array, DType, Node, Tensor, TensorType

# Largest number of elements of a node that is tried.
_MAX_ELEMENTS = 1 << 22


def keeps_order(node: Node) -> bool:
    """True if a node that only moves data returns all elements of its one operand in the same order."""
    if not ops.get(node.op).moves_data or len(node.operands) != 1 or len(node.outputs) != 1:
        return False
    operand, result = node.input(0).type, node.output.type
    if operand.elements != result.elements or operand.elements > _MAX_ELEMENTS:
        return False
    numbers = np.arange(operand.elements).reshape(operand.shape)
    moved = ops.get(node.op).evaluate(node, [numbers])[0]
    return bool(np.array_equal(moved.ravel(), numbers.ravel()))


def table(node: Node) -> Array | None:
    """Returns the result of a node for each value of int8 or int16, the lowest first.

    None if the node does not map elements one by one, or if operand and result are not both int8 or both int16.
    """
    if not ops.get(node.op).elementwise or len(node.inputs) != 1 or len(node.outputs) != 1:
        return None
    operand, result = node.input(0).type, node.output.type
    if operand.dtype not in (DType.INT8, DType.INT16) or result.dtype is not operand.dtype:
        return None
    every = values(operand.dtype)
    small = Node(
        node.op,
        node.name,
        [Tensor("every", TensorType(every.shape, operand.dtype, operand.quant))],
        [Tensor("table", TensorType(every.shape, result.dtype, result.quant))],
        node.attrs,
    )
    return ops.get(node.op).evaluate(small, [every])[0]


def is_identity(node: Node) -> bool:
    """True if the result has the type of the operand and, for any operand, its values."""
    if not node.inputs or node.inputs[0] is None or node.input(0).type != node.output.type:
        return False
    if keeps_order(node):
        return True
    mapped = table(node)
    return mapped is not None and bool(np.array_equal(mapped, values(node.output.dtype)))


def values(dtype: DType) -> Array:
    """Returns every value of an integer type, the lowest first."""
    info = np.iinfo(dtype.value)
    return np.arange(int(info.min), int(info.max) + 1).astype(dtype.numpy)
