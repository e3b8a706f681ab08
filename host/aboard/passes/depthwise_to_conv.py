"""Depthwise convolutions of one channel become convolutions, whose kernels compute them faster on most cores.

Both have the same sums of products: each output channel reads the only input channel. The weights change their layout
from [1, height, width, outputs] to [outputs, height, width, 1].
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from typing_extensions import override

from aboard.ir import Graph, Node, Tensor, TensorType
from aboard.ir.rewriting import free_name
from aboard.kernels.select import strategy
from aboard.kernels.select.cost_model import KernelCost, cost
from aboard.kernels.select.price import flash_price
from aboard.passes.contract import Pass
from aboard.passes.registry import register
from aboard.passes.rewriting import describe
from aboard.target import Target

#: Axis of the output channels in the weights of a convolution.
_OUTPUTS = 0

#: Largest share of the cost at which a node changes. The errors of two predictions are a few percent.
_CLEARLY = 0.95


@register
@dataclass(frozen=True)
class DepthwiseToConv(Pass):
    """Makes depthwise convolutions of one channel convolutions where the cost model predicts that these cost less.

    Attributes:
        core: The core that computes the graph, as `-mcpu` names it; empty for no change.
        opt: The price of flash, as `-opt` names it. Work is counted in cycles.
    """

    name: ClassVar[str] = "depthwise-to-conv"
    summary: ClassVar[str] = "makes a depthwise convolution of one channel a convolution, where that costs less"

    core: str = ""
    opt: str = "balanced"

    @override
    def run(self, graph: Graph) -> None:
        for node in graph.nodes:
            made = self._better(graph, node)
            if made is not None:
                node.op, node.inputs = made.op, made.inputs

    @override
    def pending(self, graph: Graph) -> str | None:
        return describe(node for node in graph.nodes if self._better(graph, node) is not None)

    def _better(self, graph: Graph, node: Node) -> Node | None:
        """Returns the convolution that computes a node for less; None where the node stays."""
        if not self.core or node.op != "depthwise_conv2d" or node.input(0).shape[3] != 1:
            return None
        if not node.input(1).is_constant:
            return None
        made, target = _convolution(graph, node), Target({"kind": "c", "mcpu": self.core, "opt": self.opt})
        before, after = (_price(each, target) for each in (node, made))
        return made if before is not None and after is not None and after < _CLEARLY * before else None


def _convolution(graph: Graph, node: Node) -> Node:
    weights = node.input(1)
    kind, quant = weights.type, weights.type.quant
    shape = (kind.shape[3], kind.shape[1], kind.shape[2], 1)
    if quant is not None and quant.axis is not None:
        quant = dataclasses.replace(quant, axis=_OUTPUTS)
    values = np.ascontiguousarray(np.transpose(np.asarray(weights.data), (3, 1, 2, 0)))
    moved = Tensor(free_name(graph, f"{weights.name}/conv2d"), TensorType(shape, kind.dtype, quant), values)
    return dataclasses.replace(node, op="conv2d", inputs=[node.inputs[0], moved, *node.inputs[2:]])


def _price(node: Node, target: Target) -> float | None:
    """Returns the cost of a node with the kernel that would compute it; None where no kernel can."""
    chosen = strategy.explain(node, target).chosen
    if chosen is None:
        return None
    found: KernelCost = chosen.cost or cost(node, chosen.implementation, target)
    return found.time + flash_price(target) * found.flash_bytes
