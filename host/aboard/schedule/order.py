"""The order of a graph's nodes: one in which as little as possible is alive at once.

Where branches meet it matters which of them is computed first. Small graphs are searched completely: the sets of nodes
that may have been computed are visited in the order of the memory that the fullest step on the way to them needs, so
that the first way to the end is a best one. Beyond a budget of sets a beam search takes over, which keeps the few best
beginnings of each length. What is alive is counted as tensors; how these overlap, and what cascades save, is found out
for the orders that are tried (`compiler`).
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
#: Beginnings of each length that the beam search keeps.
BEAM = 32


def best(graph: Graph, implementations: Mapping[Node, Implementation]) -> list[Node]:
    """Returns the nodes in an order whose fullest step needs least; as they are where no order found needs less.

    Args:
        graph: Verified; in execution order.
        implementations: For every node.
    """
    orders = _Orders(graph, implementations)
    limit = orders.peak(range(len(graph.nodes)))
    found = orders.complete(limit) if len(graph.nodes) > 1 else None
    if found is None:
        return graph.nodes
    return [graph.nodes[index] for index in found]


@dataclass(frozen=True, order=True)
class _Beginning:
    """Some nodes in order.

    Attributes:
        peak: Bytes of its fullest step.
        missing: How many nodes follow; of equal peaks the longest goes on first.
        alive: Bytes that are alive after it.
        order: The nodes, by their index in the graph.
        done: The same as a set of bits.
    """

    peak: int
    missing: int
    alive: int
    order: tuple[int, ...]
    done: int


class _Orders:
    """Nodes and tensors as numbers and sets of bits."""

    def __init__(self, graph: Graph, implementations: Mapping[Node, Implementation]) -> None:
        self.count = len(graph.nodes)
        self.needs = [0] * self.count
        #: For each node, what it reads and writes: bytes, and who reads it (with a bit that never comes for outputs).
        self.reads: list[list[tuple[int, int]]] = [[] for _ in graph.nodes]
        self.writes: list[list[tuple[int, int]]] = [[] for _ in graph.nodes]
        self.moves = [_moves(node, implementations[node]) for node in graph.nodes]
        readers: dict[Tensor, int] = {}
        for index, node in enumerate(graph.nodes):
            for tensor in node.operands:
                readers[tensor] = readers.get(tensor, 0) | 1 << index
        for tensor in graph.outputs:
            readers[tensor] = readers.get(tensor, 0) | 1 << self.count
        self.inputs = [(tensor.type.bytes, readers.get(tensor, 0)) for tensor in graph.inputs]
        for index, node in enumerate(graph.nodes):
            self.writes[index] = [(t.type.bytes, readers.get(t, 0)) for t in node.outputs]
            for tensor in dict.fromkeys(t for t in node.operands if not t.is_constant):
                self.reads[index].append((tensor.type.bytes, readers[tensor]))
        for index, node in enumerate(graph.nodes):
            for tensor in node.outputs:
                for reader in range(self.count):
                    self.needs[reader] |= (readers.get(tensor, 0) >> reader & 1) << index

    def peak(self, order: range) -> int:
        """Returns the bytes of the fullest step of an order."""
        beginning = self._empty()
        for index in order:
            beginning = self._then(beginning, index)
        return beginning.peak

    def complete(self, limit: int) -> tuple[int, ...] | None:
        """Returns an order that needs less than a limit, the least within the budget; None where there is none."""
        waiting, seen = [self._empty()], set[int]()
        while waiting:
            beginning = heapq.heappop(waiting)
            if beginning.missing == 0:
                return beginning.order
            if beginning.done in seen:
                continue
            seen.add(beginning.done)
            if len(seen) > EXACT_BUDGET:
                return self._beam(limit)
            for index in self._ready(beginning.done):
                longer = self._then(beginning, index)
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

    def _empty(self) -> _Beginning:
        alive = sum(bytes_ for bytes_, readers in self.inputs if readers)
        return _Beginning(alive, self.count, alive, (), 0)

    def _ready(self, done: int) -> list[int]:
        return [i for i in range(self.count) if not done >> i & 1 and self.needs[i] & ~done == 0]

    def _then(self, beginning: _Beginning, index: int) -> _Beginning:
        done = beginning.done | 1 << index
        dying = sum(bytes_ for bytes_, readers in self.reads[index] if readers & ~done == 0)
        written = sum(bytes_ for bytes_, _ in self.writes[index])
        lasting = sum(bytes_ for bytes_, readers in self.writes[index] if readers & ~done)
        during = beginning.alive + written - (min(dying, written) if self.moves[index] else 0)
        alive = beginning.alive - dying + lasting
        order = (*beginning.order, index)
        return _Beginning(max(beginning.peak, during), beginning.missing - 1, alive, order, done)


def _moves(node: Node, implementation: Implementation) -> bool:
    """True where a result can take the memory of what dies."""
    return bool(get(node.op).shares(node) or implementation.runs_in_place(node))
