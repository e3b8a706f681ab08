"""Takes channels out of a graph."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from aboard.ir import ChannelMap, Graph, Tensor
from aboard.passes.channels.contract import Bools, channels
from aboard.passes.channels.registry import rule


def shrink(graph: Graph, keep: Mapping[Tensor, Bools]) -> None:
    """Takes channels out of tensors, and what belongs to them out of the nodes that touch these.

    Args:
        graph: Changed in place.
        keep: From `needs.unneeded`.
    """
    for node in graph.nodes:
        known = rule(node)
        if known is not None and any(tensor in keep for tensor in [*node.operands, *node.outputs]):
            known.shrink(graph, node, keep)
    for tensor, kept in keep.items():
        left = np.flatnonzero(kept)
        before = tensor.channel_map or ChannelMap(tuple(range(channels(tensor))), channels(tensor))
        tensor.channel_map = ChannelMap(tuple(before.kept[channel] for channel in left), before.of)
        tensor.type = dataclasses.replace(tensor.type, shape=(*tensor.shape[:-1], len(left)))
