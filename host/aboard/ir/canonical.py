"""The canonical text of a computation, without names and values, so that a retrained model has the same text."""

from __future__ import annotations

from collections.abc import Sequence

from aboard.ir.graph import Node, Tensor
from aboard.ir.printer import attributes


def computation(nodes: Sequence[Node], inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> list[str]:
    """Returns the lines of a computation: ops, attributes, shapes, element types; no weights, scales or zero points.

    Args:
        nodes: The nodes in execution order.
        inputs: The tensors that they read from outside, without constants.
        outputs: The tensors that others read.
    """
    numbers: dict[Tensor, int] = {}
    for tensor in [*inputs, *(t for node in nodes for t in node.outputs)]:
        numbers[tensor] = len(numbers)

    def operand(tensor: Tensor | None) -> str:
        if tensor is None:
            return "-"
        return f"const {_type(tensor)}" if tensor.is_constant else f"%{numbers[tensor]}"

    lines = [f"%{numbers[tensor]}: {_type(tensor)}" for tensor in inputs]
    for node in nodes:
        results = ", ".join(f"%{numbers[t]}" for t in node.outputs)
        types = ", ".join(_type(t) for t in node.outputs)
        lines.append(f"{results} = {node.op}({', '.join(map(operand, node.inputs))}){attributes(node)}: {types}")
    return [*lines, "out " + ", ".join(f"%{numbers[tensor]}" for tensor in outputs)]


def of_node(node: Node) -> str:
    """Returns the canonical text of one node."""
    inputs = dict.fromkeys(t for t in node.inputs if t is not None and not t.is_constant)
    return "; ".join(computation([node], list(inputs), node.outputs))


def _type(tensor: Tensor) -> str:
    quant = tensor.type.quant
    per_axis = f" per axis {quant.axis}" if quant is not None and quant.per_channel else ""
    return f"{tensor.dtype.value}[{'x'.join(map(str, tensor.shape))}]{per_axis}"
