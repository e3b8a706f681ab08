"""Kernels mixed layer by layer, for a limit of RAM that no schedule of steps one after another keeps otherwise.

With Helium a cascade may take several times the instructions, because its stripes leave lanes unused. A few layers may
alone need too much RAM: another kernel of theirs copies less, or lets the result lie over the operand. First each node
has the kernel that needs the least. If the model then is within the limit, nodes get faster kernels again, those first
that gain most, as long as the memory plan stays within the limit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from aboard.compiler import scheduled
from aboard.compiler.scheduled import Scheduled
from aboard.errors import CapacityError
from aboard.ir import Graph, Node
from aboard.kernels.contract import Implementation
from aboard.kernels.select import cost_model, strategy
from aboard.kernels.view import View
from aboard.ops.weighted import INPUT
from aboard.schedule.aims import Aim
from aboard.schedule.lowering import Calls
from aboard.target import Target

#: Most nodes with several kernels: each of these takes some memory plans.
_MOST_NODES = 40

#: Makes the calls of a graph from the kernels of its nodes.
CallsOf = Callable[[Mapping[Node, Implementation]], Calls]


@dataclass(frozen=True)
class Way:
    """A kernel of a node at a point of its knobs.

    Attributes:
        kernel: The kernel.
        time: Its predicted time.
        tensors: Bytes of operand 0 and result 0, which may lie over each other.
        scratch: Bytes of scratch.
    """

    kernel: Implementation
    time: float
    tensors: int
    scratch: int

    @property
    def need(self) -> int:
        """Bytes of the arena at the node's step, without those of other tensors."""
        return self.tensors + self.scratch

    def needs_less(self, other: Way) -> bool:
        """True if it needs less than another way in any respect."""
        return self.tensors < other.tensors or self.scratch < other.scratch


def within(graph: Graph, preferred: Mapping[Node, Implementation], limit: float, calls_of: CallsOf) -> Scheduled | None:
    """Returns a schedule without cascades within a limit, whose kernels are as fast as is found; None if there is none.

    Args:
        graph: As for `fitting.fit`.
        preferred: The kernels that are chosen without a limit.
        limit: Bytes of RAM, those of states included; infinity for the kernels that need the least, whatever they take.
        calls_of: Makes the calls of the graph.
    """
    ways = dict(zip(graph.nodes, _all_ways(graph, preferred, calls_of(preferred).target), strict=True))
    several = [node for node in graph.nodes if len(ways[node]) > 1]
    if not several or len(several) > _MOST_NODES:
        return None
    least = {node: min(ways[node], key=lambda way: way.need) for node in graph.nodes}
    kernels = {node: way.kernel for node, way in least.items()}
    found = _planned(graph, calls_of(kernels), limit)
    if found is None or limit == math.inf:
        return found
    for node in sorted(several, key=lambda node: ways[node][0].time - least[node].time):
        for way in ways[node]:
            if way.time >= least[node].time:
                break
            faster = _planned(graph, calls_of({**kernels, node: way.kernel}), limit)
            if faster is not None:
                kernels[node], found = way.kernel, faster
                break
    return found


def _planned(graph: Graph, calls: Calls, limit: float) -> Scheduled | None:
    """Returns the schedule without cascades if it is within a limit."""
    try:
        found = scheduled.best(graph, calls, Aim.PLAIN)
    except CapacityError:
        return None
    return replace(found, aim=Aim.MIXED, nodes=tuple(graph.nodes)) if found.layout.ram <= limit else None


def _all_ways(graph: Graph, preferred: Mapping[Node, Implementation], target: Target) -> Iterator[list[Way]]:
    """Yields the ways to compute each node: the fastest first, and of slower ones those that need less somewhere."""
    for explained in strategy.explain_all(graph, target):
        node = explained.node
        priced = [c.implementation for c in explained.candidates if c.cost is not None and not c.refused]
        kernels = [preferred[node], *(point for kernel in priced for point in _points(kernel, node, target))]
        yield _pareto_front([_way(node, kernel, target) for kernel in kernels])


def _points(kernel: Implementation, node: Node, target: Target) -> Iterator[Implementation]:
    """Yields a kernel of a node as it is, and with another value of one of its knobs."""
    yield kernel
    for knob in kernel.knobs(node, target):
        for value in knob.values[1:]:
            yield kernel.at(replace(kernel.tuned, values={**kernel.tuned.values, knob.name: value}))


def _way(node: Node, kernel: Implementation, target: Target) -> Way:
    call = cost_model.whole_call(node, kernel, target)
    scratch = sum(each.bytes for each in call.scratch)
    return Way(kernel, cost_model.cost(node, kernel, target).time, _tensors(node, kernel), scratch)


def _tensors(node: Node, kernel: Implementation) -> int:
    """Returns the bytes of operand 0 and result 0, which lie over each other as far as a kernel lets them."""
    operand = node.optional_input(INPUT)
    if operand is None or operand.is_constant:
        return node.output.type.bytes
    sizes = operand.type.bytes, node.output.type.bytes
    if (0, INPUT) in kernel.runs_in_place(node):
        return max(sizes)
    views = [None if t is None else View.whole(t.shape, t.dtype.bytes) for t in node.inputs]
    outputs = [View.whole(t.shape, t.dtype.bytes) for t in node.outputs]
    distance = kernel.overlap(node, views, outputs)
    return sum(sizes) if distance is None else min(sum(sizes), max(sizes[1], max(distance, 0) + sizes[0]))


def _pareto_front(ways: list[Way]) -> list[Way]:
    """Returns the ways that need less than each faster one in some respect, the fastest first."""
    found: list[Way] = []
    for way in sorted(ways, key=lambda way: (way.time, way.need)):
        if all(way.needs_less(other) for other in found):
            found.append(way)
    return found
