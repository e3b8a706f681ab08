"""Windows lose the rows and columns of taps that only ever read padding.

A small image has such windows: of 3x3 taps over one pixel with padding around it, eight are multiplied with zero.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from typing_extensions import override

from aboard.ir import Graph, Node, Tensor
from aboard.ir.rewriting import free_name
from aboard.ops.conv2d import attributes, window
from aboard.ops.window import Padding, reach
from aboard.passes.contract import Pass
from aboard.passes.registry import register
from aboard.passes.rewriting import describe

_CONVOLUTIONS = ("conv2d", "depthwise_conv2d")


@dataclass(frozen=True)
class _Direction:
    """A window in one direction: pixels of the image, taps, stride, dilation, and padding before and after."""

    size: int
    taps: int
    stride: int
    dilation: int
    before: int
    after: int

    @property
    def results(self) -> int:
        """Number of windows."""
        return (self.size + self.before + self.after - reach(self.taps, self.dilation)) // self.stride + 1

    def reads(self, tap: int) -> bool:
        """True if a tap reads a pixel of the image in some window."""
        left = self.before - tap * self.dilation
        first = max(-(-left // self.stride), 0)
        return first < self.results and first * self.stride < self.size + left

    def trimmed(self) -> tuple[int, _Direction]:
        """Returns the first tap that stays, and the window of the taps that stay: itself if all do."""
        used = [tap for tap in range(self.taps) if self.reads(tap)]
        if not used or len(used) == self.taps:
            return 0, self
        first, taps = used[0], used[-1] - used[0] + 1
        before = self.before - first * self.dilation
        dilation = self.dilation if taps > 1 else 1
        last = (self.results - 1) * self.stride + reach(taps, dilation)
        made = _Direction(self.size, taps, self.stride, dilation, before, max(last - before - self.size, 0))
        return (first, made) if before >= 0 and made.results == self.results else (0, self)


@register
@dataclass(frozen=True)
class TrimWindows(Pass):
    """Removes taps of convolutions at the sides of the window that read no pixel of the image."""

    name: ClassVar[str] = "trim-windows"
    summary: ClassVar[str] = "drops taps of convolutions that only read padding"

    @override
    def run(self, graph: Graph) -> None:
        for node in graph.nodes:
            if _is_trimmed(node):
                _trim(graph, node)

    @override
    def pending(self, graph: Graph) -> str | None:
        return describe(node for node in graph.nodes if _is_trimmed(node))


def _directions(node: Node) -> tuple[_Direction, _Direction]:
    """Returns the window of a convolution in rows and columns."""
    attrs, size, taps = attributes(node), node.input(0).shape[1:3], window(node)
    top, bottom, left, right = attrs.padding.sides
    down, across = (
        _Direction(size[axis], taps[axis], attrs.strides[axis], attrs.dilations[axis], *around)
        for axis, around in enumerate(((top, bottom), (left, right)))
    )
    return down, across


def _is_trimmed(node: Node) -> bool:
    if node.op not in _CONVOLUTIONS or not node.input(1).is_constant or not attributes(node).padding.any:
        return False
    return any(each.trimmed()[1] is not each for each in _directions(node))


def _trim(graph: Graph, node: Node) -> None:
    (top, down), (left, across) = (each.trimmed() for each in _directions(node))
    weights = node.input(1)
    values = np.asarray(weights.data)[:, top : top + down.taps, left : left + across.taps]
    kind = dataclasses.replace(weights.type, shape=values.shape)
    inside = Tensor(free_name(graph, f"{weights.name}/inside"), kind, np.ascontiguousarray(values))
    node.inputs = [node.inputs[0], inside, *node.inputs[2:]]
    node.attrs = dataclasses.replace(
        attributes(node),
        padding=Padding(down.before, across.before, down.after, across.after),
        dilations=(down.dilation, across.dilation),
    )
