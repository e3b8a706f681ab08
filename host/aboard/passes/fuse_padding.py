"""Pad fusion: padding with the real value 0 before a convolution becomes the convolution's own padding."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import ClassVar

from typing_extensions import override

from aboard.ir import Graph, Node
from aboard.ir.rewriting import merged_sources
from aboard.ops.conv2d import attributes as conv_attributes
from aboard.ops.conv2d import window
from aboard.ops.pad import attributes as pad_attributes
from aboard.ops.window import Padding, reach
from aboard.passes.contract import Pass
from aboard.passes.registry import register
from aboard.passes.remove_dead_code import RemoveDeadCode
from aboard.passes.rewriting import describe, replace_operand

# The padding of convolutions has the real value 0, so it can include the padding of a `pad`. Pooling cannot: it leaves
# padding out of the average.
_CONVOLUTIONS = ("conv2d", "depthwise_conv2d")


@register
@dataclass(frozen=True)
class FusePadding(Pass):
    """Merges pads into the convolutions that read them, if all readers can take over the padding."""

    name: ClassVar[str] = "fuse-padding"
    summary: ClassVar[str] = "makes zero padding before a convolution the convolution's own"
    requires: ClassVar[tuple[type[Pass], ...]] = (RemoveDeadCode,)

    @override
    def run(self, graph: Graph) -> None:
        for pad in [node for node in graph.nodes if _fusable(graph, node)]:
            for reader in graph.consumers(pad.output):
                reader.attrs = dataclasses.replace(conv_attributes(reader), padding=_total(pad, reader))
                reader.sources = merged_sources(pad, reader)
                replace_operand(reader, pad.output, pad.input(0))
            graph.remove([pad])

    @override
    def pending(self, graph: Graph) -> str | None:
        return describe(node for node in graph.nodes if _fusable(graph, node))


def _fusable(graph: Graph, node: Node) -> bool:
    if node.op != "pad" or graph.is_result(node.output) or not _pads_image_with_zero(node):
        return False
    return all(_takes(node, reader) for reader in graph.consumers(node.output))


def _pads_image_with_zero(pad: Node) -> bool:
    attrs, operand = pad_attributes(pad), pad.input(0)
    if len(operand.shape) != 4 or any(max(attrs.padding[axis]) for axis in (0, 3)):
        return False
    if operand.type.quant != pad.output.type.quant:
        return False
    zero = 0 if operand.type.quant is None else operand.quant.zero_point
    return attrs.value == zero


def _takes(pad: Node, reader: Node) -> bool:
    """True if a node is a convolution of the padded image whose every window still contains a pixel of the image."""
    if reader.op not in _CONVOLUTIONS or reader.input(0) is not pad.output:
        return False
    total, size = _total(pad, reader), window(reader)
    height, width = (reach(size[axis], conv_attributes(reader).dilations[axis]) for axis in (0, 1))
    return max(total.top, total.bottom) < height and max(total.left, total.right) < width


def _total(pad: Node, reader: Node) -> Padding:
    own = conv_attributes(reader).padding
    _, (top, bottom), (left, right), _ = pad_attributes(pad).padding
    return Padding(own.top + top, own.left + left, own.bottom + bottom, own.right + right)
