"""Which channels matter: from the outputs back."""

from __future__ import annotations

import numpy as np

from aboard.ir import Graph, Node, Tensor
from aboard.passes.channels.contract import Bools, Keep, channels, is_followed
from aboard.passes.channels.registry import rule


def unneeded(graph: Graph) -> dict[Tensor, Bools]:
    """Returns the tensors of which channels can go, each with those that stay.

    Args:
        graph: Every node reaches an output.
    """
    computed = [*graph.inputs, *(tensor for node in graph.nodes for tensor in node.outputs)]
    keep = Keep([tensor for tensor in computed if is_followed(tensor)])
    for tensor in [*graph.inputs, *graph.outputs]:
        keep.add_all(tensor)
    _settle(graph, keep)
    for tensor in keep.tensors:
        if not keep[tensor].any():
            # Nothing has no channels, though only constants may be left of it.
            keep.add(tensor, np.arange(channels(tensor)) == 0)
            _settle(graph, keep)
    return {tensor: keep[tensor] for tensor in keep.tensors if not keep[tensor].all()}


def _settle(graph: Graph, keep: Keep) -> None:
    keep.changed = True
    while keep.changed:
        keep.changed = False
        for node in reversed(graph.nodes):
            _spread(node, keep)


def _spread(node: Node, keep: Keep) -> None:
    known = rule(node)
    if known is not None:
        known.spread(node, keep)
        return
    for tensor in [*node.operands, *node.outputs]:
        keep.add_all(tensor)
