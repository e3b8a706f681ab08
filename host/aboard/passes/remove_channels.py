"""Channel removal: channels that are constant, equal to others or read by nobody are not computed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from typing_extensions import override

from aboard.errors import PassError
from aboard.ir import Graph, Node
from aboard.ops.weighted import BIAS, INPUT, WEIGHTS
from aboard.passes.channels.constants import replace_constant
from aboard.passes.channels.facts import Facts
from aboard.passes.channels.needs import unneeded
from aboard.passes.channels.registry import rule
from aboard.passes.channels.shrink import shrink
from aboard.passes.channels.weighted import Constants, Weighted
from aboard.passes.contract import Pass
from aboard.passes.registry import register
from aboard.passes.remove_dead_code import RemoveDeadCode
from aboard.passes.rewriting import describe


@register
@dataclass(frozen=True)
class RemoveChannels(Pass):
    """Removes channels of int8 tensors inside the model, and the weights that belong to them.

    First to a fixpoint: weights of results that are constant for every input of the model go to 0, constant inputs of a
    node into its bias, weights of an input to those of an equal one. Then every channel goes that no kept one needs.
    What stays has the values it had; `Tensor.channel_map` tells which channels those are.

    Attributes:
        block: Channels that kernels compute at once. What is left of a tensor is filled up to a multiple of it with
            channels that could go: a full block costs less than the end of one.
    """

    name: ClassVar[str] = "remove-channels"
    summary: ClassVar[str] = "drops int8 channels that are constant, equal to others or read by nobody"
    requires: ClassVar[tuple[type[Pass], ...]] = (RemoveDeadCode,)

    block: int = 1

    def __post_init__(self) -> None:
        if self.block < 1:
            raise PassError(f"passes: {self.name}: block, got {self.block}, expected 1 or more")

    @override
    def run(self, graph: Graph) -> None:
        while True:
            # What one rewriting makes true of a tensor was true before: facts hold for a whole round.
            found = list(_simpler(graph))
            for node, known, constants in found:
                _rewrite(graph, node, known, constants)
            keep = {} if found else unneeded(graph, self.block)
            if keep:
                shrink(graph, keep)
            elif not found:
                return

    @override
    def pending(self, graph: Graph) -> str | None:
        simpler = describe(node for node, _, _ in _simpler(graph))
        return simpler or next((f"tensor {tensor.name}" for tensor in unneeded(graph, self.block)), None)


def _simpler(graph: Graph) -> Iterator[tuple[Node, Weighted, Constants]]:
    facts = Facts(graph)
    for node in graph.nodes:
        known = rule(node)
        if isinstance(known, Weighted):
            constants = known.simplified(node, facts[node.input(INPUT)], facts[node.output])
            if constants is not None:
                yield node, known, constants


def _rewrite(graph: Graph, node: Node, known: Weighted, new: Constants) -> None:
    replace_constant(graph, node, WEIGHTS, known.stored(node, new.weights))
    if node.optional_input(BIAS) is not None or new.bias.any():
        replace_constant(graph, node, BIAS, new.bias)
