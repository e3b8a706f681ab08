"""Convolutions of one channel for each group become depthwise convolutions, or the other way round.

Both have the same sums of products: each output channel reads one input channel. A depthwise convolution is rewritten
if its input has one channel, whose convolution most cores compute faster; a convolution if it has several groups. The
weights [1, height, width, outputs] of one are the weights [outputs, height, width, 1] of the other.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Collection
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

#: Axis of the output channels in the weights of either op, and the other op.
_OUTPUTS = {"conv2d": 0, "depthwise_conv2d": 3}
_OTHER = {"conv2d": "depthwise_conv2d", "depthwise_conv2d": "conv2d"}

#: Largest share of the cost at which a node changes. The errors of two predictions are a few percent.
_CLEARLY = 0.97


@register
@dataclass(frozen=True)
class DepthwiseForm(Pass):
    """Changes convolutions of one channel for each group to the form that the cost model predicts to cost less.

    Attributes:
        core: The core that computes the graph, as `-mcpu` names it; empty for no change.
        opt: The price of flash, as `-opt` names it. Work is counted in cycles.
    """

    name: ClassVar[str] = "depthwise-form"
    summary: ClassVar[str] = "gives a convolution of one channel for each group the cheaper of its two forms"

    core: str = ""
    opt: str = "balanced"

    @override
    def run(self, graph: Graph) -> None:
        # A node that changes may bring code that makes another change; it has one form then, so this ends.
        while changed := self._changed(graph):
            for node, made in changed:
                node.op, node.inputs = made.op, made.inputs

    @override
    def pending(self, graph: Graph) -> str | None:
        return describe(node for node, _ in self._changed(graph))

    def _changed(self, graph: Graph) -> list[tuple[Node, Node]]:
        """Returns the nodes whose other form costs less, each with that form."""
        nodes = [node for node in graph.nodes if _has_two_forms(node)]
        if not self.core or not nodes:
            return []
        target = Target({"kind": "c", "mcpu": self.core, "opt": self.opt})
        price = _flash_price(graph, target)
        uses = Counter(key for node in graph.nodes for key in _pieces(node, target, price))
        found = []
        for node in nodes:
            there = uses - Counter(_pieces(node, target, price))
            made = _other_form(graph, node)
            if _is_better(made, node, target, price, there):
                found.append((node, made))
        return found


def _has_two_forms(node: Node) -> bool:
    if node.op not in _OTHER or not node.input(1).is_constant:
        return False
    channels = node.input(0).shape[3]
    return channels == 1 if node.op == "depthwise_conv2d" else channels > node.input(1).shape[3] == 1


def _other_form(graph: Graph, node: Node) -> Node:
    op, weights = _OTHER[node.op], node.input(1)
    kind, quant = weights.type, weights.type.quant
    shape = (kind.shape[3], kind.shape[1], kind.shape[2], kind.shape[0])
    if quant is not None and quant.axis is not None:
        quant = dataclasses.replace(quant, axis=_OUTPUTS[op])
    values = np.ascontiguousarray(np.asarray(weights.data).swapaxes(0, 3))
    moved = Tensor(free_name(graph, f"{weights.name}/{op}"), TensorType(shape, kind.dtype, quant), values)
    return dataclasses.replace(node, op=op, inputs=[node.inputs[0], moved, *node.inputs[2:]])


def _flash_price(graph: Graph, target: Target) -> float:
    """Returns what a byte of flash must save in this model: the shorter its inference, the less."""
    if target.opt != "balanced":
        return flash_price(target)
    found = [_cheapest(node, target, 0.0) for node in graph.nodes]
    return flash_price(target, sum(each.time for each in found if each is not None))


def _is_better(made: Node, node: Node, target: Target, price: float, there: Collection[str]) -> bool:
    """Returns whether a form clearly costs less than another, where other nodes pay for some pieces of flash."""
    before, after = (_least_cost(each, target, price, there) for each in (node, made))
    return before is not None and after is not None and after < _CLEARLY * before


def _least_cost(node: Node, target: Target, price: float, there: Collection[str]) -> float | None:
    found = _cheapest(node, target, price, there)
    return None if found is None else _priced(found, price, there)


def _pieces(node: Node, target: Target, price: float) -> Collection[str]:
    """Returns the pieces of flash of a node's best kernel alone."""
    found = _cheapest(node, target, price)
    return () if found is None else found.flash.keys()


def _cheapest(node: Node, target: Target, price: float, there: Collection[str] = ()) -> KernelCost | None:
    """Returns the least cost of a node at a price of flash; None where no kernel can compute it."""
    explained = strategy.explain(node, target)
    if explained.chosen is None:
        return None
    compared = [each.cost for each in explained.candidates if each.cost is not None]
    costs = compared or [cost(node, explained.chosen.implementation, target)]
    return min(costs, key=lambda each: _priced(each, price, there))


def _priced(found: KernelCost, price: float, there: Collection[str]) -> float:
    return found.time + price * sum(size for key, size in found.flash.items() if key not in there)
