"""Reshape elimination: a reshape of a reshape reads the operand of the first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from typing_extensions import override

from aboard.ir import Graph, Node
from aboard.ir.rewriting import merged_sources, only_reader
from aboard.passes.contract import Pass
from aboard.passes.identity import is_identity
from aboard.passes.registry import register
from aboard.passes.rewriting import bypass, can_bypass, describe, replace_operand


@register
@dataclass(frozen=True)
class MergeReshapes(Pass):
    """Makes each reshape read a tensor that is not a reshape's result; removes reshapes without effect."""

    name: ClassVar[str] = "merge-reshapes"
    summary: ClassVar[str] = "makes a reshape of a reshape read the operand of the first one"

    @override
    def run(self, graph: Graph) -> None:
        for node in list(graph.nodes):
            first = _first_of_two(graph, node)
            if first is None:
                continue
            if only_reader(graph, first.output) is node:
                node.sources = merged_sources(first, node)
                graph.remove([first])
            replace_operand(node, first.output, first.input(0))
            if is_identity(node) and can_bypass(graph, node):
                bypass(graph, node)

    @override
    def pending(self, graph: Graph) -> str | None:
        return describe(node for node in graph.nodes if _first_of_two(graph, node) is not None)


def _first_of_two(graph: Graph, node: Node) -> Node | None:
    """Returns the reshape whose result a reshape reads."""
    if node.op != "reshape":
        return None
    producer = graph.producer(node.input(0))
    return producer if producer is not None and producer.op == "reshape" else None
