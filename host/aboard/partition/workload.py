"""The canonical text of a region's computation: the key of tuning records."""

from __future__ import annotations

from collections.abc import Sequence

from aboard.ir import Graph
from aboard.ir.canonical import computation
from aboard.ops.subgraph import Matched


def workload(graph: Graph, patterns: Sequence[Matched]) -> str:
    """Returns the canonical text of a region (`aboard.ir.canonical`) with the patterns of its matches.

    Args:
        graph: The inner graph.
        patterns: The matches of the region.
    """
    index = {node: number for number, node in enumerate(graph.nodes)}
    matched = (f"{m.pattern}[{', '.join(str(index[node]) for node in m.nodes)}]" for m in patterns)
    return "; ".join([*computation(graph.nodes, graph.inputs, graph.outputs), "by " + ", ".join(matched)])
