"""Rules of ops that only move data, where channels may change their index."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise

import numpy as np

from aboard.ir import Graph, Node, Tensor
from aboard.ops import concatenation, pad, split
from aboard.ops.reshape import ReshapeAttributes
from aboard.passes.channels.channelwise import Same
from aboard.passes.channels.contract import Bools, Fact, Keep, Marks, Ranges, Rule, channels


class Pad(Same):
    """Pixels of one value around the operand."""

    def accepts(self, node: Node) -> bool:
        """True when no channels are added."""
        return pad.attributes(node).padding[-1:] == ((0, 0),)

    def ranges(self, node: Node, operands: Sequence[Ranges]) -> list[Ranges]:
        """See `Rule.ranges`."""
        attrs = pad.attributes(node)
        if not any(map(any, attrs.padding)):
            return [operands[0]]
        value = int(attrs.value)
        return [Ranges(np.minimum(operands[0].low, value), np.maximum(operands[0].high, value))]


class Reshape(Rule):
    """Elements keep their order.

    Element e is in channel e modulo the number of channels, before and after. So channels fall into classes, by their
    index modulo what both numbers have in common, and each class stays or goes as a whole.
    """

    def ranges(self, node: Node, operands: Sequence[Ranges]) -> list[Ranges]:
        """See `Rule.ranges`."""
        classes = _classes(node)
        return [operands[0].fold(classes).take(np.arange(channels(node.output)) % classes)]

    def marks(self, node: Node, operands: Sequence[Fact]) -> list[Marks]:
        """See `Rule.marks`."""
        before, after, marks = channels(node.input(0)), channels(node.output), operands[0].marks
        if after % before == 0:
            return [tuple((channel // before, marks[channel % before]) for channel in range(after))]
        if before % after == 0:
            return [tuple(marks[channel::after] for channel in range(after))]
        return [tuple(range(after))]

    def spread(self, node: Node, keep: Keep) -> None:
        """See `Rule.spread`."""
        both, classes = (node.input(0), node.output), _classes(node)
        together = np.logical_or.reduce([keep[tensor].reshape(-1, classes).any(0) for tensor in both])
        for tensor in both:
            keep.add(tensor, np.tile(together, channels(tensor) // classes))

    def shrink(self, graph: Graph, node: Node, keep: Mapping[Tensor, Bools]) -> None:
        """Changes the last extent of the shape."""
        del graph
        if node.output in keep:
            node.attrs = ReshapeAttributes((*node.output.shape[:-1], int(keep[node.output].sum())))


class Concatenation(Rule):
    """Operands one after the other: along the channels, or each with all of them."""

    def ranges(self, node: Node, operands: Sequence[Ranges]) -> list[Ranges]:
        """See `Rule.ranges`."""
        lows, highs = [r.low for r in operands], [r.high for r in operands]
        if _joins_channels(node):
            return [Ranges(np.concatenate(lows), np.concatenate(highs))]
        return [Ranges(np.min(lows, 0), np.max(highs, 0))]

    def marks(self, node: Node, operands: Sequence[Fact]) -> list[Marks]:
        """See `Rule.marks`."""
        if _joins_channels(node):
            return [tuple(mark for operand in operands for mark in operand.marks)]
        return [tuple(zip(*(operand.marks for operand in operands), strict=True))]

    def accepts(self, node: Node) -> bool:
        """False where an operand is a constant, which would have to shrink with the others."""
        return not any(tensor.is_constant for tensor in node.operands)

    def spread(self, node: Node, keep: Keep) -> None:
        """See `Rule.spread`."""
        if _joins_channels(node):
            _tie_parts(node.output, node.operands, keep)
        else:
            keep.tie(node.output, *node.operands)


class Split(Rule):
    """Parts of the operand: some of its channels each, or all of them."""

    def ranges(self, node: Node, operands: Sequence[Ranges]) -> list[Ranges]:
        """See `Rule.ranges`."""
        if not _cuts_channels(node):
            return [operands[0]] * len(node.outputs)
        return [operands[0].take(np.arange(first, end)) for first, end in _bounds(node.outputs)]

    def marks(self, node: Node, operands: Sequence[Fact]) -> list[Marks]:
        """See `Rule.marks`."""
        if not _cuts_channels(node):
            return [operands[0].marks] * len(node.outputs)
        return [operands[0].marks[first:end] for first, end in _bounds(node.outputs)]

    def spread(self, node: Node, keep: Keep) -> None:
        """See `Rule.spread`."""
        if _cuts_channels(node):
            _tie_parts(node.input(0), node.outputs, keep)
        else:
            keep.tie(node.input(0), *node.outputs)

    def shrink(self, graph: Graph, node: Node, keep: Mapping[Tensor, Bools]) -> None:
        """Changes the sizes of the parts."""
        del graph
        if _cuts_channels(node):
            sizes = (int(keep[t].sum()) if t in keep else channels(t) for t in node.outputs)
            node.attrs = dataclasses.replace(split.attributes(node), sizes=tuple(sizes))


def _classes(node: Node) -> int:
    return math.gcd(channels(node.input(0)), channels(node.output))


def _joins_channels(node: Node) -> bool:
    return concatenation.attributes(node).axis == len(node.output.shape) - 1


def _cuts_channels(node: Node) -> bool:
    return split.attributes(node).axis == len(node.input(0).shape) - 1


def _bounds(parts: Sequence[Tensor]) -> list[tuple[int, int]]:
    return list(pairwise(accumulate(map(channels, parts), initial=0)))


def _tie_parts(whole: Tensor, parts: Sequence[Tensor], keep: Keep) -> None:
    keep.add(whole, np.concatenate([keep[part] for part in parts]))
    for part, (first, end) in zip(parts, _bounds(parts), strict=True):
        keep.add(part, keep[whole][first:end])
