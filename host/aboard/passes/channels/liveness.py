"""Channel liveness: the channels on which some output depends, from the outputs back."""

from __future__ import annotations

import numpy as np

from aboard.ir import Graph, Node, Tensor
from aboard.passes.channels.contract import Bools, ChannelLiveness, Rule, is_followed
from aboard.passes.channels.registry import rule


def live_channels(graph: Graph, block: int = 1) -> dict[Tensor, Bools]:
    """Returns the tensors with dead channels, each with a mask of its live ones.

    Args:
        graph: Every node reaches an output.
        block: Tensors with dead channels keep a multiple of this number, if they have so many channels.
    """
    computed = [*graph.entries, *(tensor for node in graph.nodes for tensor in node.outputs)]
    live = ChannelLiveness([tensor for tensor in computed if is_followed(tensor)])
    for tensor in [*graph.entries, *graph.results]:
        live.add_all(tensor)
    propagation = _Propagation(graph, live)
    propagation.settle()
    while any(_fill(live, tensor, block) for tensor in live.tensors):
        propagation.settle()
    return {tensor: live[tensor] for tensor in live.tensors if not live[tensor].all()}


def _fill(live: ChannelLiveness, tensor: Tensor, block: int) -> bool:
    """Makes the first dead channels live, up to a full block: at least one channel, even if no output depends on it."""
    mask = live[tensor]
    count = int(mask.sum())
    missing = min(max(1, -(-count // block)) * block, len(mask)) - count
    if missing > 0:
        live.add(tensor, np.isin(np.arange(len(mask)), np.flatnonzero(~mask)[:missing]))
    return missing > 0


class _Propagation:
    """Propagates live channels to neighbours; visits only nodes of which a tensor has changed."""

    def __init__(self, graph: Graph, live: ChannelLiveness) -> None:
        self._live = live
        self._rules = {node: rule(node) for node in reversed(graph.nodes)}
        self._nodes: dict[Tensor, list[Node]] = {}
        for node in graph.nodes:
            for tensor in [*node.operands, *node.outputs]:
                self._nodes.setdefault(tensor, []).append(node)
        self._waiting = set(graph.nodes)

    def settle(self) -> None:
        """Propagates until nothing changes."""
        self._wake()
        while self._waiting:
            for node, found in self._rules.items():
                if node in self._waiting:
                    self._waiting.remove(node)
                    self._propagate(node, found)
                    self._wake()

    def _wake(self) -> None:
        for tensor in self._live.changes():
            self._waiting.update(self._nodes.get(tensor, ()))

    def _propagate(self, node: Node, found: Rule | None) -> None:
        if found is not None:
            found.propagate(node, self._live)
            return
        for tensor in [*node.operands, *node.outputs]:
            self._live.add_all(tensor)
