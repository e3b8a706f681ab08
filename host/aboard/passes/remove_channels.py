"""Channel removal: the device does not compute channels that are constant, equal to others or dead."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from typing_extensions import override

from aboard.errors import PassError
from aboard.ir import Graph, Node
from aboard.ops.weighted import BIAS, INPUT, WEIGHTS
from aboard.passes.channels.constants import replace_constant
from aboard.passes.channels.liveness import live_channels
from aboard.passes.channels.shrink import shrink
from aboard.passes.channels.value_analysis import ValueAnalysis
from aboard.passes.channels.weighted import Constants, Weighted
from aboard.passes.contract import Pass
from aboard.passes.registry import register
from aboard.passes.remove_dead_code import RemoveDeadCode
from aboard.passes.rewriting import describe


@register
@dataclass(frozen=True)
class RemoveChannels(Pass):
    """Removes channels of int8 tensors inside the model, and their weights.

    Four rewritings run to a fixpoint: weights of results that are constant for every model input become 0; constant
    inputs of a node move into its bias; weights of an input are added to those of an equal input; and where none of
    these is left, dead channels are removed. The remaining channels keep their values; `Tensor.channel_map` lists them.

    Attributes:
        block: Channels that kernels compute at once. A tensor keeps some dead channels to fill up the last block: a
            full block costs less than a part of one.
    """

    name: ClassVar[str] = "remove-channels"
    summary: ClassVar[str] = "drops int8 channels that are constant, equal to others or read by nobody"
    requires: ClassVar[tuple[type[Pass], ...]] = (RemoveDeadCode,)

    block: int = 1

    def __post_init__(self) -> None:
        if self.block < 1:
            raise PassError(f"passes: {self.name}: block, got {self.block}, expected 1 or more. Raise it")

    @override
    def run(self, graph: Graph) -> None:
        while True:
            # A rewriting changes no value, so one analysis is valid for a whole round.
            found = list(_simpler(graph))
            for node, known, constants in found:
                _rewrite(graph, node, known, constants)
            if found:
                continue
            live = live_channels(graph, self.block)
            if not live:
                return
            # Removal changes no value, but ranges of sums without dead operands may be narrower.
            shrink(graph, live)

    @override
    def pending(self, graph: Graph) -> str | None:
        simpler = describe(node for node, _, _ in _simpler(graph))
        return simpler or next((f"tensor {tensor.name}" for tensor in live_channels(graph, self.block)), None)


def _simpler(graph: Graph) -> Iterator[tuple[Node, Weighted, Constants]]:
    analysis = ValueAnalysis(graph)
    for node in graph.nodes:
        known = analysis.rules[node]
        if isinstance(known, Weighted):
            constants = known.simplified(node, analysis[node.input(INPUT)], analysis[node.output])
            if constants is not None:
                yield node, known, constants


def _rewrite(graph: Graph, node: Node, known: Weighted, new: Constants) -> None:
    replace_constant(graph, node, WEIGHTS, known.stored(node, new.weights))
    if node.optional_input(BIAS) is not None or new.bias.any():
        replace_constant(graph, node, BIAS, new.bias)
