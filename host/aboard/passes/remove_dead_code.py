"""Dead code elimination: removes nodes on which no output depends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from typing_extensions import override

from aboard.ir import Graph, Node
from aboard.passes.contract import Pass
from aboard.passes.registry import register
from aboard.passes.rewriting import describe


@register
@dataclass(frozen=True)
class RemoveDeadCode(Pass):
    """Removes nodes from which no result reaches an output."""

    name: ClassVar[str] = "remove-dead-code"
    summary: ClassVar[str] = "drops nodes whose results reach no output"

    @override
    def run(self, graph: Graph) -> None:
        graph.remove(_dead(graph))

    @override
    def pending(self, graph: Graph) -> str | None:
        return describe(_dead(graph))


def _dead(graph: Graph) -> list[Node]:
    read = {id(tensor) for tensor in graph.results}
    dead: list[Node] = []
    for node in reversed(graph.nodes):
        if any(id(tensor) in read for tensor in node.outputs):
            read.update(id(tensor) for tensor in node.operands)
        else:
            dead.append(node)
    return dead[::-1]
