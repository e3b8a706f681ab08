"""Which nodes can compute with integers, of 8 and of 16 bits."""

from __future__ import annotations

from aboard.ir import DType, Graph, Node
from aboard.quantization.insertion import integer_graph
from aboard.quantization.plan import Plan, nodes_of_reals

_CONVERSIONS = ("quantize", "dequantize")


def integer_types(graph: Graph, plan: Plan, dtype: DType) -> dict[str, DType]:
    """Returns the type for each node of a graph when all that can have integers have them.

    Args:
        graph: The prepared graph.
        plan: Ranges and weights; its types do not matter.
        dtype: INT8 or INT16.

    Returns:
        `dtype` or FLOAT32 for each node of real numbers, by its name.
    """
    types = {node.name: dtype for node in nodes_of_reals(graph)}
    while True:
        made = integer_graph(graph, plan.with_types(types), tables=True)
        reals = {node.name for node in made.nodes if node.op not in _CONVERSIONS and _computes_reals(node)}
        changed = {name for name in types if name in reals and types[name] is dtype}
        if not changed:
            return types
        types.update(dict.fromkeys(changed, DType.FLOAT32))


def _computes_reals(node: Node) -> bool:
    return any(tensor.dtype is DType.FLOAT32 for tensor in node.outputs)
