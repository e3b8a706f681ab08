"""Which channels matter: from the outputs back."""

from __future__ import annotations

import numpy as np

from aboard.ir import Graph, Node, Tensor
from aboard.passes.channels.contract import Bools, Keep, is_followed
from aboard.passes.channels.registry import rule


def unneeded(graph: Graph, block: int = 1) -> dict[Tensor, Bools]:
    """Returns the tensors of which channels can go, each with those that stay.

    Args:
        graph: Every node reaches an output.
        block: Tensors that lose channels keep a multiple of this, as far as they have so many.
    """
    computed = [*graph.inputs, *(tensor for node in graph.nodes for tensor in node.outputs)]
    keep = Keep([tensor for tensor in computed if is_followed(tensor)])
    for tensor in [*graph.inputs, *graph.outputs]:
        keep.add_all(tensor)
    _settle(graph, keep)
    while any(_fill(keep, tensor, block) for tensor in keep.tensors):
        _settle(graph, keep)
    return {tensor: keep[tensor] for tensor in keep.tensors if not keep[tensor].all()}


def _fill(keep: Keep, tensor: Tensor, block: int) -> bool:
    """Keeps the first of the channels that could go, up to a full block: one at least, though nobody needs it."""
    kept = keep[tensor]
    blocks = max(1, -(-int(kept.sum()) // block))
    missing = min(blocks * block, len(kept)) - int(kept.sum())
    keep.add(tensor, np.isin(np.arange(len(kept)), np.flatnonzero(~kept)[:missing]))
    return missing > 0


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
