"""Removal of dead channels from a graph."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from aboard.ir import ChannelMap, Graph, Tensor
from aboard.passes.channels.contract import Bools, channels
from aboard.passes.channels.registry import rule


def shrink(graph: Graph, live: Mapping[Tensor, Bools]) -> None:
    """Removes dead channels from tensors, and their weights from nodes.

    Args:
        graph: Changed in place.
        live: Mask of the remaining channels, from `liveness.live_channels`.
    """
    for node in graph.nodes:
        known = rule(node)
        if known is not None and any(tensor in live for tensor in [*node.operands, *node.outputs]):
            known.shrink(graph, node, live)
    for tensor, mask in live.items():
        left = np.flatnonzero(mask)
        before = tensor.channel_map or ChannelMap(tuple(range(channels(tensor))), channels(tensor))
        tensor.channel_map = ChannelMap(tuple(before.kept[channel] for channel in left), before.of)
        tensor.type = dataclasses.replace(tensor.type, shape=(*tensor.shape[:-1], len(left)))
