"""Channel liveness: the channels on which some output depends, from the outputs back."""

from __future__ import annotations

import numpy as np

from aboard.ir import Graph, Node, Tensor
from aboard.passes.channels.contract import Bools, ChannelLiveness, is_followed
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
    _settle(graph, live)
    while any(_fill(live, tensor, block) for tensor in live.tensors):
        _settle(graph, live)
    return {tensor: live[tensor] for tensor in live.tensors if not live[tensor].all()}


def _fill(live: ChannelLiveness, tensor: Tensor, block: int) -> bool:
    """Makes the first dead channels live, up to a full block: at least one channel, even if no output depends on it."""
    mask = live[tensor]
    blocks = max(1, -(-int(mask.sum()) // block))
    missing = min(blocks * block, len(mask)) - int(mask.sum())
    live.add(tensor, np.isin(np.arange(len(mask)), np.flatnonzero(~mask)[:missing]))
    return missing > 0


def _settle(graph: Graph, live: ChannelLiveness) -> None:
    live.changed = True
    while live.changed:
        live.changed = False
        for node in reversed(graph.nodes):
            _propagate(node, live)


def _propagate(node: Node, live: ChannelLiveness) -> None:
    found = rule(node)
    if found is not None:
        found.propagate(node, live)
        return
    for tensor in [*node.operands, *node.outputs]:
        live.add_all(tensor)
