"""Convolutions of one channel for each group become depthwise convolutions, or the other way round.

Both have the same sums of products: each output channel reads one input channel. A depthwise convolution is rewritten
if its input has one channel, whose convolution most cores compute faster; a convolution if it has several groups. The
weights [1, height, width, outputs] of one are the weights [outputs, height, width, 1] of the other.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from typing_extensions import override

from aboard.ir import Graph, Node, Tensor, TensorType
from aboard.ir.rewriting import free_name
from aboard.passes.cheaper_form import CheaperForm
from aboard.passes.registry import register

#: Axis of the output channels in the weights of either op, and the other op.
_OUTPUTS = {"conv2d": 0, "depthwise_conv2d": 3}
_OTHER = {"conv2d": "depthwise_conv2d", "depthwise_conv2d": "conv2d"}


@register
@dataclass(frozen=True)
class DepthwiseForm(CheaperForm):
    """Changes convolutions of one channel for each group to the form that costs less."""

    name: ClassVar[str] = "depthwise-form"
    summary: ClassVar[str] = "gives a convolution of one channel for each group the cheaper of its two forms"

    @override
    def other_form(self, graph: Graph, node: Node) -> Node | None:
        if not _has_two_forms(node):
            return None
        op, weights = _OTHER[node.op], node.input(1)
        kind, quant = weights.type, weights.type.quant
        shape = (kind.shape[3], kind.shape[1], kind.shape[2], kind.shape[0])
        if quant is not None and quant.axis is not None:
            quant = dataclasses.replace(quant, axis=_OUTPUTS[op])
        values = np.ascontiguousarray(np.asarray(weights.data).swapaxes(0, 3))
        moved = Tensor(free_name(graph, f"{weights.name}/{op}"), TensorType(shape, kind.dtype, quant), values)
        return dataclasses.replace(node, op=op, inputs=[node.inputs[0], moved, *node.inputs[2:]])


def _has_two_forms(node: Node) -> bool:
    if node.op not in _OTHER or not node.input(1).is_constant:
        return False
    channels = node.input(0).shape[3]
    return channels == 1 if node.op == "depthwise_conv2d" else channels > node.input(1).shape[3] == 1
