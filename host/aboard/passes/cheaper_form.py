"""The cheaper of two forms of a node, by the cost model: code that other nodes need is free for either."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar

from typing_extensions import override

from aboard.ir import Graph, Node, Tensor
from aboard.kernels.select import strategy
from aboard.kernels.select.cost_model import KernelCost, cost
from aboard.kernels.select.price import flash_price
from aboard.ops.reshape import ReshapeAttributes
from aboard.passes.contract import Pass
from aboard.passes.rewriting import describe
from aboard.target import Target

#: Largest share of the cost at which a node changes. The errors of two predictions are a few percent.
_CLEARLY = 0.97


@dataclass(frozen=True)
class CheaperForm(Pass):
    """Changes nodes to another form that the cost model predicts to cost less.

    Attributes:
        core: The core that computes the graph, as `-mcpu` names it; empty for no change.
        opt: The price of flash, as `-opt` names it. Work is counted in cycles.
        usual: The op of which a node of one image takes its other form where the costs of both are not measured.
    """

    usual: ClassVar[str] = ""

    core: str = ""
    opt: str = "balanced"

    @abstractmethod
    def other_form(self, graph: Graph, node: Node) -> Node | None:
        """Returns the other form of a node, None for a node of one form. Changes nothing in the graph.

        Its input and output may have other shapes, as tensors of their own.
        """

    @override
    def run(self, graph: Graph) -> None:
        # A node that changes may bring code that makes another change; it has one form then, so this ends.
        while changed := self._changed(graph):
            for node in changed:
                # Made again, because a change before may have taken a tensor's name.
                if (made := self.other_form(graph, node)) is not None:
                    _take(graph, node, made)

    @override
    def pending(self, graph: Graph) -> str | None:
        return describe(self._changed(graph))

    def _changed(self, graph: Graph) -> list[Node]:
        """Returns the nodes whose other form costs less; none where kernels are forced."""
        if not self.core or strategy.is_forced():
            return []
        forms = [(node, made) for node in graph.nodes if (made := self.other_form(graph, node)) is not None]
        if not forms:
            return []
        target = Target({"kind": "c", "mcpu": self.core, "opt": self.opt})
        price = _flash_price(graph, target)
        uses = Counter(key for node in graph.nodes for key in _pieces(node, target, price))
        found = []
        for node, made in forms:
            there = uses - Counter(_pieces(node, target, price))
            if self._is_better(made, node, target, price, there):
                found.append(node)
        return found

    def _is_better(self, made: Node, node: Node, target: Target, price: float, there: Collection[str]) -> bool:
        """Returns whether a form clearly costs less than another, where other nodes pay for some pieces of flash."""
        before, after = (_cheapest(each, target, price, there) for each in (node, made))
        if before is None or after is None:
            return False
        are_measured = before.prediction.is_measured and after.prediction.is_measured
        if not are_measured and node.op == self.usual and node.output.shape[0] == 1:
            return True
        return _priced(after, price, there) < _CLEARLY * _priced(before, price, there)


def _take(graph: Graph, node: Node, made: Node) -> None:
    """Gives a node of the graph its other form, between reshapes where that has tensors of other shapes."""
    at, x, y = graph.nodes.index(node), node.input(0), node.output
    if made.output is not y:
        graph.nodes.insert(at + 1, _reshape(made.output, y, f"{y.name}/samples", node))
    if made.input(0) is not x:
        graph.nodes.insert(at, _reshape(x, made.input(0), made.input(0).name, node))
    node.op, node.inputs, node.outputs, node.attrs = made.op, made.inputs, made.outputs, made.attrs


def _reshape(read: Tensor, written: Tensor, name: str, node: Node) -> Node:
    return Node("reshape", name, [read], [written], ReshapeAttributes(written.shape), node.sources)


def _flash_price(graph: Graph, target: Target) -> float:
    """Returns what a byte of flash must save in this model: the shorter its inference, the less."""
    if target.opt != "balanced":
        return flash_price(target)
    found = [_cheapest(node, target, 0.0) for node in graph.nodes]
    return flash_price(target, sum(each.time for each in found if each is not None))


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
