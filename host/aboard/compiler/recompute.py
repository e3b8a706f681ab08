"""Expansions that are computed again, where no schedule of a model is within `-ram-max`.

A 1x1 convolution often expands an image for a depthwise convolution, and its result is the largest tensor around. As
one node (`aboard.ops.expanded_depthwise_conv2d`) the pair needs no memory for it: a stripe of the depthwise convolution
computes the rows of its windows from the narrow image. Neighbouring stripes compute the rows that both need twice.

The schedule with all pairs joined needs about the least RAM. If it is within the limit, pairs whose expansion can be
stored after all are taken apart again, those first that cost most. Everything is predicted by the search for schedules;
memory plans are made of its last results alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from aboard.compiler import scheduled
from aboard.compiler.scheduled import Scheduled
from aboard.errors import CapacityError
from aboard.ir import Graph, Node
from aboard.ir.rewriting import merged_sources, only_reader
from aboard.kernels.select import cost_model
from aboard.ops import expanded_depthwise_conv2d
from aboard.ops.weighted import Precision, form
from aboard.schedule import cost, search
from aboard.schedule.aims import Aim
from aboard.schedule.lowering import Calls

#: Makes the calls of a graph: chooses its kernels.
CallsOf = Callable[[Graph], Calls]

#: Smallest part of a model's cycles for which a pair is taken apart.
_LEAST_PRICE = 0.001


@dataclass(frozen=True, eq=False)
class Pair:
    """A 1x1 convolution and its only reader, a depthwise convolution, of which one node can be made.

    Attributes:
        expansion: The 1x1 convolution; its result is larger than its operand.
        depthwise: The depthwise convolution.
        joined: The node that computes both.
    """

    expansion: Node
    depthwise: Node
    joined: Node


def pairs(graph: Graph) -> list[Pair]:
    """Returns the pairs of a graph in the order of its nodes."""
    found = []
    for node in graph.nodes:
        reader = only_reader(graph, node.output) if _expands(node) else None
        if reader is None or reader.op != "depthwise_conv2d" or reader.inputs[0] is not node.output:
            continue
        if form(reader) is Precision.INT8 and _is_constant(reader) and reader.attrs.rounding is node.attrs.rounding:
            joined = expanded_depthwise_conv2d.joined(node, reader)
            found.append(Pair(node, reader, replace(joined, sources=merged_sources(node, reader))))
    return found


def _expands(node: Node) -> bool:
    """True if a node computes a larger image that can be computed again."""
    if node.op != "conv2d" or form(node) is not Precision.INT8 or not _is_constant(node):
        return False
    return expanded_depthwise_conv2d.problem(node) is None and node.output.shape[3] > node.input(0).shape[3]


def _is_constant(node: Node) -> bool:
    return all(tensor is None or tensor.is_constant for tensor in node.inputs[1:])


def joined(graph: Graph, wanted: Sequence[Pair]) -> Graph:
    """Returns a graph with some of its pairs as single nodes; the graph stays as it is."""
    gone = {pair.expansion for pair in wanted}
    instead = {pair.depthwise: pair.joined for pair in wanted}
    return replace(graph, nodes=[instead.get(node, node) for node in graph.nodes if node not in gone])


def within(graph: Graph, limit: int, calls_of: CallsOf) -> Scheduled | None:
    """Returns the schedule with the fewest predicted cycles within a limit that is found, or one that is not within it.

    Args:
        graph: As for `fitting.fit`, without states.
        limit: The `-ram-max`.
        calls_of: Makes the calls of a graph.

    Returns:
        None if no pair can be joined. If nothing is within the limit, the schedule with the least RAM, whatever the
        limit is: `within` finds it if the limit is its RAM.
    """
    known = pairs(graph)
    if not known:
        return None
    found = _first(joined(graph, known), calls_of, Aim.LEAST, limit)
    if found is None or found.layout.ram > limit:
        return found
    for wanted in _fewer(graph, known, found, limit, calls_of):
        made = _first(joined(graph, wanted), calls_of, Aim.WITHIN, limit)
        if made is not None and made.layout.ram <= limit and made.cycles < found.cycles:
            return made
    return found


def _first(graph: Graph, calls_of: CallsOf, aim: Aim, limit: int) -> Scheduled | None:
    """Returns the first schedule of a graph within a limit, else the one with the least RAM; None without any."""
    best: Scheduled | None = None
    try:
        for each in scheduled.in_blocks(graph, calls_of(graph), aim):
            if best is None or each.layout.ram < best.layout.ram:
                best = each
            if best.layout.ram <= limit:
                break
    except CapacityError:
        return best
    return best


def _fewer(
    graph: Graph, known: Sequence[Pair], found: Scheduled, limit: int, calls_of: CallsOf
) -> list[Sequence[Pair]]:
    """Returns pairs to join: those without which a step needs more than a limit, half of the others with them, all.

    Args:
        graph: The graph.
        known: All pairs.
        found: A schedule with all of them joined.
        limit: Bytes of RAM. Steps may need as much less as the schedule found needs more than its largest step.
        calls_of: Makes the calls of a graph.
    """
    most = limit * found.layout.bound // found.layout.peak
    apart, dropped = calls_of(graph), list[Pair]()
    prices = {pair: _price(pair, found, apart) for pair in known}
    for pair in sorted(known, key=lambda pair: -prices[pair]):
        if prices[pair] < _LEAST_PRICE * found.cycles:
            break
        made = joined(graph, [each for each in known if each not in (*dropped, pair)])
        if search.least_peak(made, calls_of(made), most) <= most:
            dropped.append(pair)
    counts = dict.fromkeys((len(dropped), len(dropped) // 2, 0))
    return [[pair for pair in known if pair not in dropped[:count]] for count in counts]


def _price(pair: Pair, found: Scheduled, apart: Calls) -> float:
    """Returns the predicted cycles that a pair takes more as one node of a schedule than as two that run once."""
    target = found.calls.target
    (step,) = (step for step in found.program.steps if step.node is pair.joined)
    once = (cost_model.cost(node, apart.implementations[node], target) for node in (pair.expansion, pair.depthwise))
    return cost.cost(step, found.program.assignment, target).cycles - sum(each.cycles for each in once)
