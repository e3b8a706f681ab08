"""The canonical text of a region's computation, without names and values: the key of tuning records."""

from __future__ import annotations

from collections.abc import Sequence

from aboard.ir import Graph, Tensor
from aboard.ir.printer import attributes
from aboard.ops.subgraph import Matched


def workload(graph: Graph, patterns: Sequence[Matched]) -> str:
    """Returns the canonical text of a region.

    It contains ops, attributes, shapes, element types and patterns. It omits names, weights, scales and zero points, so
    that a retrained model finds its records.

    Args:
        graph: The inner graph.
        patterns: The matches of the region.
    """
    numbers: dict[Tensor, int] = {}
    for tensor in [*graph.inputs, *(t for node in graph.nodes for t in node.outputs)]:
        numbers[tensor] = len(numbers)

    def operand(tensor: Tensor | None) -> str:
        if tensor is None:
            return "-"
        return f"const {_type(tensor)}" if tensor.is_constant else f"%{numbers[tensor]}"

    lines = [f"%{numbers[tensor]}: {_type(tensor)}" for tensor in graph.inputs]
    for node in graph.nodes:
        results = ", ".join(f"%{numbers[t]}" for t in node.outputs)
        types = ", ".join(_type(t) for t in node.outputs)
        lines.append(f"{results} = {node.op}({', '.join(map(operand, node.inputs))}){attributes(node)}: {types}")
    lines.append("out " + ", ".join(f"%{numbers[tensor]}" for tensor in graph.outputs))
    index = {node: number for number, node in enumerate(graph.nodes)}
    matched = (f"{m.pattern}[{', '.join(str(index[node]) for node in m.nodes)}]" for m in patterns)
    return "; ".join([*lines, "by " + ", ".join(matched)])


def _type(tensor: Tensor) -> str:
    quant = tensor.type.quant
    per_axis = f" per axis {quant.axis}" if quant is not None and quant.per_channel else ""
    return f"{tensor.dtype.value}[{'x'.join(map(str, tensor.shape))}]{per_axis}"
