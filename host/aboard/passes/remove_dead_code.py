"""Dead code elimination: what nobody reads is not computed."""

from __future__ import annotations

from typing import ClassVar

from aboard.ir import Graph, Node
from aboard.passes.contract import Pass
from aboard.passes.rewriting import describe


class RemoveDeadCode(Pass):
    """Removes nodes none of whose results reaches an output."""

    name: ClassVar[str] = "remove_dead_code"

    def run(self, graph: Graph) -> None:
        """See `Pass.run`."""
        graph.remove(_dead(graph))

    def pending(self, graph: Graph) -> str | None:
        """See `Pass.pending`."""
        return describe(_dead(graph))


def _dead(graph: Graph) -> list[Node]:
    read = {id(tensor) for tensor in graph.outputs}
    dead: list[Node] = []
    for node in reversed(graph.nodes):
        if any(id(tensor) in read for tensor in node.outputs):
            read.update(id(tensor) for tensor in node.operands)
        else:
            dead.append(node)
    return dead[::-1]
