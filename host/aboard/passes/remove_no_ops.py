"""No-op elimination: removes nodes that return their operand, and turns nodes that only reshape it into reshapes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from typing_extensions import override

from aboard.ir import Graph, Node
from aboard.ops.reshape import ReshapeAttributes
from aboard.passes.contract import Pass
from aboard.passes.identity import is_identity, keeps_order
from aboard.passes.registry import register
from aboard.passes.rewriting import bypass, can_bypass, describe


@register
@dataclass(frozen=True)
class RemoveNoOps(Pass):
    """Removes identity reshapes, transposes, pads, slices, splits, quantisations, activations that never clamp.

    A transpose that only moves axes of one element becomes a reshape, which costs nothing; so does any other node that
    keeps the order of all elements.
    """

    name: ClassVar[str] = "remove-no-ops"
    summary: ClassVar[str] = "drops nodes that change nothing, and makes nodes that only change a shape reshapes"

    @override
    def run(self, graph: Graph) -> None:
        for node in list(graph.nodes):
            if is_identity(node) and can_bypass(graph, node):
                bypass(graph, node)
            elif _is_reshape_in_disguise(node):
                node.op, node.attrs = "reshape", ReshapeAttributes(node.output.shape)

    @override
    def pending(self, graph: Graph) -> str | None:
        return describe(
            node
            for node in graph.nodes
            if (is_identity(node) and can_bypass(graph, node)) or _is_reshape_in_disguise(node)
        )


def _is_reshape_in_disguise(node: Node) -> bool:
    return node.op != "reshape" and keeps_order(node)
