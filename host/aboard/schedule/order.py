"""The order of a graph's nodes: one with a low peak of the bytes that are live at once.

The order matters if branches meet. Small graphs are searched completely: the sets of computed nodes are visited in
ascending order of their best peak, so the first path to the complete set is optimal. Beyond a budget of sets a beam
search keeps a few best prefixes of each length. Liveness is counted in whole tensors here; overlaps and cascades are
found later, for the orders that are tried (`aboard.compiler.fitting`).
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass

from aboard.ir import Graph, Node, Tensor
from aboard.kernels.contract import Implementation
from aboard.ops import get

#: Sets of nodes that the complete search may visit.
EXACT_BUDGET = 20_000
#: Prefixes of each length that the beam search keeps.
BEAM = 32


def best(graph: Graph, implementations: Mapping[Node, Implementation]) -> list[Node]:
    """Returns the nodes in the order with the lowest peak found; unchanged if no order has a lower peak.

    Args:
        graph: A verified graph in execution order.
        implementations: The implementation of every node.
    """
    orders = _Orders(graph, implementations)
    limit = orders.peak(range(len(graph.nodes)))
    found = orders.complete(limit) if len(graph.nodes) > 1 else None
    if found is None:
        return graph.nodes
    return [graph.nodes[index] for index in found]


def along_chains(graph: Graph) -> list[Node]:
    """Returns the nodes in an order that follows each chain to its end before it begins another one.

    Cascades consist of neighbouring nodes, and files often have the nodes of branches in turns.

    Args:
        graph: A verified graph in execution order.
    """
    place = {node: index for index, node in enumerate(graph.nodes)}
    missing = {node: {t for t in node.operands if not t.is_constant} - set(graph.entries) for node in graph.nodes}
    readers: dict[Tensor, list[Node]] = {}
    for node in graph.nodes:
        for tensor in dict.fromkeys(node.operands):
            readers.setdefault(tensor, []).append(node)
    ready = [index for index, node in enumerate(graph.nodes) if not missing[node]]
    found: list[Node] = []
    following: list[Node] = []
    while ready:
        # Of several branches the one with the smallest result, which is kept while the others are computed.
        node = min(following, key=lambda n: (_result_bytes(n), place[n]), default=graph.nodes[ready[0]])
        heapq.heappop(ready) if place[node] == ready[0] else ready.remove(place[node])
        found.append(node)
        following = []
        for reader in dict.fromkeys(r for tensor in node.outputs for r in readers.get(tensor, ())):
            missing[reader] -= set(node.outputs)
            if not missing[reader]:
                following.append(reader)
                ready.append(place[reader])
        heapq.heapify(ready)
    return found


def _result_bytes(node: Node) -> int:
    return sum(tensor.type.bytes for tensor in node.outputs)


@dataclass(frozen=True, order=True)
class _Prefix:
    """The first nodes of an order.

    Attributes:
        peak: Largest number of live bytes.
        missing: Number of nodes that follow; among equal peaks, the search extends the longest prefix first.
        live: Bytes that are live after it.
        order: The nodes, by their index in the graph.
        done: The nodes as a set of bits.
    """

    peak: int
    missing: int
    live: int
    order: tuple[int, ...]
    done: int


class _Orders:
    """Nodes and tensors as numbers and sets of bits."""

    def __init__(self, graph: Graph, implementations: Mapping[Node, Implementation]) -> None:
        self.count = len(graph.nodes)
        self.predecessors = [0] * self.count
        #: For each node, the tensors it reads and writes: bytes and the set of readers. An output has a reader that
        #: never runs.
        self.reads: list[list[tuple[int, int]]] = [[] for _ in graph.nodes]
        self.writes: list[list[tuple[int, int]]] = [[] for _ in graph.nodes]
        self.moves = [_moves(node, implementations[node]) for node in graph.nodes]
        readers: dict[Tensor, int] = {}
        for index, node in enumerate(graph.nodes):
            for tensor in node.operands:
                readers[tensor] = readers.get(tensor, 0) | 1 << index
        for tensor in graph.results:
            readers[tensor] = readers.get(tensor, 0) | 1 << self.count
        self.inputs = [(tensor.type.bytes, readers.get(tensor, 0)) for tensor in graph.inputs]
        for index, node in enumerate(graph.nodes):
            self.writes[index] = [(t.type.bytes, readers.get(t, 0)) for t in node.outputs]
            for tensor in dict.fromkeys(t for t in node.operands if not t.is_constant):
                self.reads[index].append((tensor.type.bytes, readers[tensor]))
        for index, node in enumerate(graph.nodes):
            for tensor in node.outputs:
                for reader in range(self.count):
                    self.predecessors[reader] |= (readers.get(tensor, 0) >> reader & 1) << index

    def peak(self, order: range) -> int:
        """Returns the peak of an order."""
        prefix = self._empty()
        for index in order:
            prefix = self._then(prefix, index)
        return prefix.peak

    def complete(self, limit: int) -> tuple[int, ...] | None:
        """Returns the order with the lowest peak below a limit that the budget allows; None if there is none."""
        waiting, seen = [self._empty()], set[int]()
        while waiting:
            prefix = heapq.heappop(waiting)
            if prefix.missing == 0:
                return prefix.order
            if prefix.done in seen:
                continue
            seen.add(prefix.done)
            if len(seen) > EXACT_BUDGET:
                return self._beam(limit)
            for index in self._ready(prefix.done):
                longer = self._then(prefix, index)
                if longer.peak < limit and longer.done not in seen:
                    heapq.heappush(waiting, longer)
        return None

    def _beam(self, limit: int) -> tuple[int, ...] | None:
        kept = [self._empty()]
        for _ in range(self.count):
            longer = {}
            for each in sorted((self._then(b, i) for b in kept for i in self._ready(b.done)), reverse=True):
                longer[each.done] = each
            kept = sorted(each for each in longer.values() if each.peak < limit)[:BEAM]
        return kept[0].order if kept else None

    def _empty(self) -> _Prefix:
        live = sum(bytes_ for bytes_, readers in self.inputs if readers)
        return _Prefix(live, self.count, live, (), 0)

    def _ready(self, done: int) -> list[int]:
        return [i for i in range(self.count) if not done >> i & 1 and self.predecessors[i] & ~done == 0]

    def _then(self, prefix: _Prefix, index: int) -> _Prefix:
        done = prefix.done | 1 << index
        dying = sum(bytes_ for bytes_, readers in self.reads[index] if readers & ~done == 0)
        written = sum(bytes_ for bytes_, _ in self.writes[index])
        lasting = sum(bytes_ for bytes_, readers in self.writes[index] if readers & ~done)
        during = prefix.live + written - (min(dying, written) if self.moves[index] else 0)
        live = prefix.live - dying + lasting
        order = (*prefix.order, index)
        return _Prefix(max(prefix.peak, during), prefix.missing - 1, live, order, done)


def _moves(node: Node, implementation: Implementation) -> bool:
    """True if a result can be stored in the buffer of an operand that dies."""
    return bool(get(node.op).shares(node) or implementation.runs_in_place(node))
