"""Cost of a model with some matches given to accelerators: a compilation up to the allocation problem, on a copy.

A full trial is needed because a claim changes more than its region: transfers between regions, the host's passes
that no longer apply across a border (fused paddings and activations, removed channels), operands that are overwritten
in place, and live ranges.
"""

from __future__ import annotations

import copy
import gc
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from typing_extensions import override

from aboard.errors import TargetError
from aboard.ir import Graph, Node
from aboard.ir.fingerprint import Memo, is_hashable
from aboard.kernels import tunable
from aboard.kernels.accelerator import ALIGN, Cost
from aboard.kernels.contract import Call, ExternalCall, Implementation, Scratch, ScratchArg
from aboard.kernels.select import strategy
from aboard.kernels.subgraph import region_of
from aboard.kernels.view import View
from aboard.memory.problem import lower_bound
from aboard.ops import rows_of
from aboard.ops.subgraph import attributes
from aboard.partition.estimate import Offer
from aboard.partition.matcher import Match
from aboard.partition.workload import workload
from aboard.passes import Pass
from aboard.schedule import search
from aboard.schedule.cost import cost
from aboard.schedule.lowering import Calls, Program, lower
from aboard.target import Target, columns
from aboard.tuning.choice import DEFAULTS, Tuning, region


@dataclass(frozen=True)
class ModelCost:
    """The estimated cost of a model.

    Attributes:
        missing: Nodes that neither a device nor the host computes.
        host: Instructions of the host.
        compute: Cycles of the devices.
        transfer: Cycles of transfers over the borders of regions.
        ram_bytes: Lower bound of the RAM of any plan with rolling buffers; rows in blocks may need less.
    """

    missing: int
    host: int
    compute: float
    transfer: float
    ram_bytes: int

    def price(self, cycles_per_byte: float) -> tuple[int, float]:
        """Returns the sort key, less being better: missing nodes, then cycles including the price of RAM."""
        return self.missing, self.host + self.compute + self.transfer + self.ram_bytes * cycles_per_byte


@dataclass(eq=False)
class _Placeholder(Implementation):
    """Placeholder for a node that a trial does not lower: a region, or a node that the host cannot compute."""

    ram_bytes: int = 0

    op = "subgraph"
    name = "trial"
    align = ALIGN

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> ExternalCall:
        scratch = (ScratchArg(Scratch(self.ram_bytes, ALIGN), "void *"),) if self.ram_bytes else ()
        return ExternalCall("", scratch, rows_of(node.output.shape), "", target, "")


@contextmanager
def _without_collections() -> Iterator[None]:
    """Pauses the search for cycles of garbage: the objects of a trial die with it, and a search finds next to nothing.

    A trial of a large model would start several searches, each through all objects of the process.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@dataclass
class CostTrial:
    """Tries sets of matches on a graph.

    Attributes:
        graph: The graph to be partitioned; not changed.
        target: The target.
        passes: The passes after partitioning.
        apply: Replaces the regions of some matches with one node each, in a copy of the graph.
        build: Returns the node of a region of some matches of one device; changes no graph.
        tuning: Its records price nodes of the host, and regions that a board has timed.
    """

    graph: Graph
    target: Target
    passes: Sequence[Pass]
    apply: Callable[[Graph, Sequence[Offer]], None]
    build: Callable[[int, Sequence[Match]], Node]
    tuning: Tuning = DEFAULTS
    _wholes: dict[frozenset[tuple[int, tuple[int, ...]]], ModelCost] = field(default_factory=dict)
    _regions: dict[tuple[int, tuple[str, ...]], Cost] = field(default_factory=dict)
    _known: strategy.KnownNodes = field(default_factory=strategy.KnownNodes)
    _calls: Memo[Call] = field(default_factory=lambda: Memo(1 << 14))
    _alone: tuple[Program, dict[str, Cost]] | None = None

    def whole(self, taken: Sequence[Offer]) -> ModelCost:
        """Returns the cost of the model with exactly these matches on devices.

        Raises:
            TargetError: A device's column is wrong.
        """
        number = {node: index for index, node in enumerate(self.graph.nodes)}
        key = frozenset((device, tuple(number[node] for node in match.nodes)) for device, match in taken)
        if key not in self._wholes:
            self._wholes[key] = self._compiled(taken)
        return self._wholes[key]

    def region(self, device: int, matches: Sequence[Match]) -> Cost:
        """Returns the cost of a region of some matches, as its device states it.

        Raises:
            TargetError: A device's column is wrong.
        """
        return self._cost(self.build(device, matches))

    @_without_collections()
    def host(self) -> dict[Node, float]:
        """Returns the host's cycles for each node in the model without devices; infinite where the host has no kernel.

        The cycles of nodes that the passes make one are those of the last of them.
        """
        program, _ = self._program([])
        found: dict[Node, float] = dict.fromkeys(self.graph.nodes, 0.0)
        names = {node.name: node for node in self.graph.nodes}
        for step in program.steps:
            parts = [node for node in self.graph.nodes if not set(node.sources).isdisjoint(step.node.sources)]
            node = parts[-1] if parts else names.get(step.node.name)
            if node is not None:
                is_missing = isinstance(step.implementation, _Placeholder)
                found[node] += math.inf if is_missing else cost(step, program.assignment, self.target).time
        return found

    @_without_collections()
    def _compiled(self, taken: Sequence[Offer]) -> ModelCost:
        program, costs = self._program(taken)
        hosted = [step for step in program.steps if step.node.op != "subgraph"]
        return ModelCost(
            sum(isinstance(step.implementation, _Placeholder) for step in hosted),
            sum(cost(step, program.assignment, self.target).time for step in hosted),
            sum(cost.compute for cost in costs.values()),
            sum(cost.transfer for cost in costs.values()),
            lower_bound(program.live_ranges, program.overlaps),
        )

    def _program(self, taken: Sequence[Offer]) -> tuple[Program, dict[str, Cost]]:
        """Returns the program with exactly these matches on devices, and the cost of each region by its name."""
        if not taken and self._alone is not None:
            return self._alone
        graph, copied = _copy(self.graph, taken)
        if copied:
            self.apply(graph, copied)
        costs = {node.name: self._cost(node) for node in graph.nodes if node.op == "subgraph"}
        for step in self.passes:
            # No checks of `run_passes` here: the compilation of the chosen partition makes them.
            step.run(graph)
        chosen = self._implementations(graph, costs)
        calls = Calls(chosen, self.target, equal=self._calls)
        found = lower(graph, search.choose(graph, calls), calls), costs
        self._alone = self._alone if taken else found
        return found

    def _implementations(self, graph: Graph, costs: Mapping[str, Cost]) -> dict[Node, Implementation]:
        """Returns the implementation of each node, or a placeholder. The host's nodes are chosen together."""
        hosted = [node for node in graph.nodes if node.op != "subgraph"]
        found: dict[Node, Implementation] = {
            node: _Placeholder(costs[node.name].ram_bytes) for node in graph.nodes if node.op == "subgraph"
        }
        best: dict[Node, Implementation] = {}
        for explained in strategy.explain_each(hosted, self.target, None, self._known):
            if explained.chosen is None:
                found[explained.node] = _Placeholder()
            else:
                best[explained.node] = explained.chosen.implementation
        return found | tunable.tuned(best, self.target, self.tuning)

    def _cost(self, node: Node) -> Cost:
        attrs = attributes(node)
        key = (attrs.device, tuple(inner.name for inner in attrs.graph.nodes))
        if key not in self._regions:
            self._regions[key] = self._timed(node, ask(node, self.target))
        return self._regions[key]

    def _timed(self, node: Node, stated: Cost) -> Cost:
        """Returns the cost of a region as a board has timed it, if it has, else as the device states it.

        Instructions are no measure of a device: it computes while the core waits, or an emulator computes in its place.
        """
        attrs = attributes(node)
        device = self.target.devices[attrs.device]
        part = region(self.target, device, attrs.label, workload(attrs.graph, attrs.patterns))
        found = self.tuning.choose(part).cost if part.space.defaults else None
        return stated if found is None or found.cycles is None else replace(stated, compute=found.cycles, transfer=0.0)


def ask(node: Node, target: Target) -> Cost:
    """Returns the cost of a region, as its device states it.

    Args:
        node: The node `subgraph`.
        target: The composite target.

    Raises:
        TargetError: The device has no column `cost`, or the column returns impossible figures.
    """
    graph, device = attributes(node).graph, target.devices[attributes(node).device]
    where = f"kind {device.kind.name}, column cost"
    if not columns.has(device, "cost"):
        raise TargetError(
            f"kind {device.kind.name}: has no column cost, so -partition=cost cannot ask it. Use -partition=order"
        )
    views = [tuple(View.whole(t.shape, t.dtype.bytes) for t in side) for side in (graph.inputs, graph.outputs)]
    region = region_of(node, views[0], views[1], target)
    cost: Cost = columns.call(device, "cost", region)
    figures: Mapping[str, float] = {"compute": cost.compute, "transfer": cost.transfer, "ram_bytes": cost.ram_bytes}
    for name, value in figures.items():
        if not math.isfinite(value) or value < 0:
            raise TargetError(
                f"{where}: {name} of {region.name}, got {value}, expected a number of at least 0. "
                "This is a bug of the device's package"
            )
    return cost


def _copy(graph: Graph, taken: Sequence[Offer]) -> tuple[Graph, list[Offer]]:
    """Returns copies of a graph and of matches in it.

    Passes replace types, constants and attributes and do not change them, so they are shared; graphs inside are copied.
    """
    tensors = {tensor: copy.copy(tensor) for tensor in graph.tensors()}
    nodes: dict[Node, Node] = {}
    for node in graph.nodes:
        inputs = [None if tensor is None else tensors[tensor] for tensor in node.inputs]
        outputs = [tensors[tensor] for tensor in node.outputs]
        attrs = node.attrs if is_hashable(node.attrs) else copy.deepcopy(node.attrs)
        nodes[node] = replace(node, inputs=inputs, outputs=outputs, attrs=attrs)
    made = replace(
        graph,
        inputs=[tensors[tensor] for tensor in graph.inputs],
        outputs=[tensors[tensor] for tensor in graph.outputs],
        nodes=list(nodes.values()),
        states=[replace(s, read=tensors[s.read], write=tensors[s.write]) for s in graph.states],
        notes=list(graph.notes),
    )
    return made, [(device, _moved(match, nodes)) for device, match in taken]


def _moved(match: Match, nodes: Mapping[Node, Node]) -> Match:
    named = {name: nodes[node] for name, node in match.named.items()}
    return replace(match, nodes=tuple(nodes[node] for node in match.nodes), named=named)
