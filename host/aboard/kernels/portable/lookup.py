"""Functions of one byte as tables: exact by construction, because the op's own `evaluate` fills the table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from aboard.ir import Array, DType, Node, Tensor, TensorType
from aboard.kernels.contract import ConstantArg, Implementation, InputArg, KernelCall, OutputArg, PackedConstant
from aboard.kernels.portable.elementwise import joined, present
from aboard.kernels.registry import implement
from aboard.kernels.view import View
from aboard.ops import get
from aboard.target import Target

_BYTES = (DType.INT8, DType.UINT8)
_SCALAR_RESULTS = (DType.INT8, DType.BOOL)


def table(node: Node, index: int = 0) -> Array:
    """Returns the result for each byte of one operand, both as unsigned bytes.

    Args:
        node: An element-wise node whose other operands are constants of one element.
        index: Index of the operand that varies.
    """
    values = np.arange(256, dtype=np.uint8).view(node.input(index).dtype.numpy)
    probe = _probe(node, index)
    operands = [values if i == index else probe.input(i).data for i in range(len(node.inputs))]
    (result,) = get(node.op).evaluate(probe, operands)
    return result.view(np.uint8)


def _probe(node: Node, index: int) -> Node:
    """Returns the node with 256 elements as the operand's shape."""
    inputs: list[Tensor | None] = []
    for i, tensor in enumerate(node.operands):
        data = None if i == index else np.asarray(tensor.data).reshape(())
        shape = (256,) if i == index else ()
        inputs.append(Tensor(tensor.name, TensorType(shape, tensor.dtype, tensor.type.quant), data))
    output = Tensor("result", TensorType((256,), node.output.dtype, node.output.type.quant))
    return Node(node.op, node.name, inputs, [output], node.attrs)


def call(node: Node, index: int, source: View, result: View) -> KernelCall:
    """Returns the call of a table lookup for one operand."""
    source, result = joined(source, result)
    arguments = (
        InputArg(index, "const void *"),
        OutputArg(0, "void *"),
        ConstantArg(PackedConstant("table", table(node, index))),
    )
    params = {"in": source.literal(), "out": result.literal()}
    return KernelCall("portable/lookup.h", "aboard_lookup", "aboard_lookup_t", params, arguments, result.rows)


class Lookup(Implementation):
    """An op of one 8-bit operand and an 8-bit result."""

    name = "lookup"
    in_place = ((0, 0),)
    strided = True
    by_rows = True
    exact = True

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        """Refuses other element types."""
        types = (node.input(0).dtype, node.output.dtype)
        return None if all(dtype in _BYTES for dtype in types) else "is for 8-bit operand and result"

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        (source,) = present(inputs)
        return call(node, 0, source, outputs[0])


implement(
    Lookup,
    [
        {"op": op}
        for op in (
            "relu",
            "relu_n1_to_1",
            "leaky_relu",
            "hard_swish",
            "logistic",
            "tanh",
            "quantize",
            "abs",
            "rsqrt",
            "elu",
            "lookup",
        )
    ],
)


class ScalarLookup(Implementation):
    """An op of two operands, one of them int8, the other a constant of one element, and an int8 or bool result."""

    name = "lookup"
    specialised = True
    exact = True
    in_place = ((0, 0), (0, 1))
    strided = True
    by_rows = True

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        """Refuses other operands, and a table where the one-line form is smaller."""
        if node.output.dtype not in _SCALAR_RESULTS:
            return "is for results of 8 bits"
        if _varying(node) is None:
            return "is for a constant operand of one element and a result of the other's shape"
        return "its table is larger than the code it saves (-opt=size)" if target.opt == "size" else None

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        index = _varying(node)
        if index is None:
            raise ValueError(f"{node.op} {node.name} has no constant operand of one element")
        return call(node, index, present(inputs)[index], outputs[0])


def _varying(node: Node) -> int | None:
    """Returns the index of the varying operand if the other is a constant of one element, or None."""
    for index in (0, 1):
        other = node.input(1 - index)
        varying = node.input(index)
        if other.is_constant and other.type.elements == 1 and varying.shape == node.output.shape:
            return index if varying.dtype is DType.INT8 and not varying.is_constant else None
    return None


_COMPARISONS = ("equal", "not_equal", "greater", "greater_equal", "less", "less_equal")
_ARITHMETIC = ("add", "sub", "mul", "div", "squared_difference", "prelu")

implement(ScalarLookup, [{"op": op} for op in (*_ARITHMETIC, *_COMPARISONS)])
