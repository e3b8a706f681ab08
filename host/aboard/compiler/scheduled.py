"""Schedules of a model whose kernels are chosen, with their memory plans, and the best of them.

They differ in the order of nodes, in their cascades, in whether states lie in rolling buffers, and in whether the rows
of cascades lie in rolling buffers or in blocks.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from aboard.base import progress
from aboard.emit.instances import Instances
from aboard.errors import CapacityError
from aboard.ir import Graph, Node
from aboard.kernels.select import code_size
from aboard.memory import arenas
from aboard.memory.arenas import Layout
from aboard.memory.planner import quick_peak
from aboard.memory.problem import WORD, lower_bound, round_up
from aboard.memory.state import POSITION_BYTES
from aboard.schedule import aims, blocks, blocks_instead, control, cost, order, search, traffic
from aboard.schedule.aims import Aim
from aboard.schedule.buffers import BufferAssignment
from aboard.schedule.lowering import Calls, Program, lower
from aboard.target import Target
from aboard.target.regions import ArenaRegion

#: Most instructions of a schedule with stripes of one row by default, as a factor of those without, as predicted.
MOST_INSTRUCTIONS = 1.02


@dataclass(frozen=True)
class Scheduled:
    """The schedule of a model.

    Attributes:
        program: The schedule and its allocation problem.
        layout: Addresses of its buffers.
        calls: The calls of all nodes. Their target's `-opt` is the `-opt` of the code, which may be `balanced` with
            `-opt=size`.
        aim: The objective of the schedule.
        less_scratch: True with the forms of kernels that need the least scratch.
        nodes: The nodes in the order of the file, by which cascades are named (`aboard.schedule.spans`).
    """

    program: Program
    layout: Layout
    calls: Calls
    aim: Aim
    less_scratch: bool = False
    nodes: tuple[Node, ...] = ()

    @property
    def graph_of_file(self) -> Graph:
        """The graph with its nodes in the order of the file."""
        return replace(self.program.graph, nodes=list(self.nodes))

    @property
    def flash(self) -> int:
        """Predicted bytes of flash; 0 if devices compute a part of the model."""
        return self.program.flash(self.calls.target) or 0

    @property
    def instructions(self) -> int:
        """Predicted instructions of the host."""
        return cost.instructions(self.program.steps, self.program.assignment, self.calls.target)

    @property
    def cycles(self) -> int:
        """Predicted cycles of the host; equal to the instructions if no cycles are known."""
        return cost.cycles(self.program.steps, self.program.assignment, self.calls.target)

    def needs_no_more_than(self, balanced: Scheduled) -> bool:
        """True if it needs no more RAM than the schedule for `-opt=balanced`, and certainly no more flash.

        Flash is not compared for a host, and not if devices compute a part, because then it cannot be predicted.
        """
        target = self.calls.target
        if self.layout.ram > balanced.layout.ram:
            return False
        if target.cpu.is_host_class or not self.flash:
            return True
        return balanced.flash - self.flash >= 2 * code_size.doubt(target)


def best(graph: Graph, calls: Calls, aim: Aim) -> Scheduled:
    """Returns the schedule in the order of the file, or in a better order if it needs less RAM.

    Orders differ in the sum of whole tensors that are live at once, and in the chains that cascades may consist of.

    Args:
        graph: A partitioned graph.
        calls: Its nodes with their kernels.
        aim: The objective.

    Raises:
        CapacityError: No schedule fits the arenas.
    """
    found, errors = [], []
    for ordered in _orders(graph, calls, aim):
        try:
            found.append(_rolled(ordered, calls, aim))
        except CapacityError as error:
            errors.append(error)
    if not found:
        raise errors[-1]
    return min(found, key=_ram)


def in_blocks(graph: Graph, calls: Calls, aim: Aim) -> Iterator[Scheduled]:
    """Yields the schedules in the order of the file whose cascades are best for rows in blocks, with rows in blocks.

    Arguments and errors as for `best`; the graph has no states, and the target one arena.
    """
    for assignment in search.schedules(graph, calls, aim, search.IN_BLOCKS):
        program = lower(graph, assignment, calls)
        progress.report("memory plan")
        regions = _arenas(program, calls.target)
        found = blocks_instead.made(program, calls, regions[0].name if regions else None)
        made = _planned(program, calls, aim, regions) if found is None else Scheduled(*found, calls, aim)
        layout = made.layout.with_state(program.state_bytes, calls.target.state_mode, regions, graph.name)
        yield replace(made, layout=layout, nodes=tuple(graph.nodes))


def _rolled(graph: Graph, calls: Calls, aim: Aim) -> Scheduled:
    """Returns the schedule with states in rolling buffers, or one whose runs move them if that needs less RAM.

    The positions of the rolling buffers do not count unless RAM is scarce (`-opt=size`, `-ram-max`), and RAM does not
    count with `-opt=speed`.
    """
    found, errors = list[Scheduled](), list[CapacityError]()
    for each in (calls, calls.without_rolling()):
        try:
            found.append(_in_order(graph, each, aim))
        except CapacityError as error:
            errors.append(error)
        if found and not found[0].program.assignment.rolling:
            return found[0]
    if not found:
        raise errors[0]
    target = calls.target
    if target.ram_max is None and target.opt == "speed":
        return found[0]
    scarce = target.ram_max is not None or target.opt == "size"

    def needed(each: Scheduled) -> int:
        positions = POSITION_BYTES * len(each.program.assignment.position_counts)
        return each.layout.ram - (0 if scarce else round_up(positions, WORD))

    return min(found, key=needed)


def _orders(graph: Graph, calls: Calls, aim: Aim) -> list[Graph]:
    """Returns a graph with its nodes in the orders that are tried."""
    orders = [graph.nodes, order.best(graph, calls.implementations)]
    if aim is not Aim.PLAIN:
        orders.append(order.along_chains(graph))
    return [replace(graph, nodes=nodes) for index, nodes in enumerate(orders) if nodes not in orders[:index]]


def may_fit(graph: Graph, calls: Calls, limit: int) -> bool:
    """Returns False if certainly no schedule that `best` finds has at most some bytes of RAM.

    Arguments as for `best`; the graph has no states.
    """
    placements = search.IN_BLOCKS, search.IN_RINGS
    ways = itertools.product(_orders(graph, calls, Aim.LEAST), placements)
    return any(search.least_peak(ordered, calls, limit, placement) <= limit for ordered, placement in ways)


def _in_order(graph: Graph, calls: Calls, aim: Aim) -> Scheduled:
    """Returns the first schedule within `-ram-max` if there is one, else the last.

    Rows of its cascades lie in rolling buffers, or in blocks where that saves RAM. Which cascades are best depends on
    it, so the best for blocks are tried too.
    """
    limit = calls.target.ram_max
    if aim is Aim.NEAR_LEAST and limit is None and not graph.states:
        return _near_least(graph, calls)
    found = _until(_lowered(graph, calls, aim), limit)
    if found[-1].aim not in (Aim.PLAIN, Aim.TUNED) and not graph.states:
        traced: search.Traced = {}
        found += _until(_lowered(graph, calls, aim, search.IN_BLOCKS, _programs(found), traced), limit)
        if aim is Aim.NEAR_LEAST and _is_in_pieces(found):
            found += _until(_lowered(graph, calls, aim, search.LEAST_IN_BLOCKS, _programs(found), traced), limit)
    if limit is not None:
        within = [each for each in found if each.layout.ram <= limit]
        return min(within, key=_stripes_of) if within else _placed_within(min(found, key=_ram), limit)
    return min(found, key=_ram) if aim is not Aim.NEAR_LEAST else _with_fewest_stripes(found)


def _near_least(graph: Graph, calls: Calls) -> Scheduled:
    """As `_in_order` for `Aim.NEAR_LEAST` without a limit and states: only what may be the best is planned."""
    rings, traced = list(_lowered(graph, calls, Aim.NEAR_LEAST)), search.Traced()
    if rings[-1].aim in (Aim.PLAIN, Aim.TUNED):
        return _with_fewest_stripes([each.planned() for each in rings])
    lowered = [*rings, *_lowered(graph, calls, Aim.NEAR_LEAST, search.IN_BLOCKS, _programs(rings), traced)]
    late = [each for each in lowered if each.is_in_pieces()]
    found = [each.planned() for each in lowered[len(rings) :] if each not in late]
    found[:0] = [each.planned() for each in rings if each not in late and each.may_win(found)]
    if not found or _is_in_pieces(found):
        more = list(_lowered(graph, calls, Aim.NEAR_LEAST, search.LEAST_IN_BLOCKS, _programs(lowered), traced))
        lowered += more
        found += [each.planned() for each in more if each.may_win(found)]
    found += [each.planned() for each in late if each.may_win(found)]
    return _with_fewest_stripes(found + _in_low_stripes(graph, calls, lowered, found, traced))


def _is_in_pieces(found: Sequence[Scheduled]) -> bool:
    """True if the least RAM is in pieces that nothing fits: another schedule may be nearer to its bound."""
    nearest = min(found, key=_ram).layout
    return nearest.peak > aims.SLACK * nearest.bound


def _with_fewest_stripes(found: Sequence[Scheduled]) -> Scheduled:
    """Returns the schedule with the fewest stripes among those whose RAM is near to the least."""
    most = aims.SLACK * min(map(_ram, found))
    return min((each for each in found if each.layout.ram <= most), key=_stripes_of)


def _in_low_stripes(
    graph: Graph, calls: Calls, known: Sequence[_Lowered], found: Sequence[Scheduled], traced: search.Traced
) -> list[Scheduled]:
    """Returns the schedule with the least RAM that stripes of one row need, if these take few instructions more."""
    high = any(c.stripe_height(node) > 1 for k in known for c in k.program.assignment.cascades for node in c.nodes)
    if not high or aims.is_plain_by_default(calls.target):
        return []
    most = MOST_INSTRUCTIONS * min(each.instructions for each in found)
    made = _lowered(graph, calls, Aim.NEAR_LEAST, search.LOW_IN_BLOCKS, _programs(known), traced)
    planned = (each.planned() for each in made if each.may_win(found))
    return list(itertools.islice((each for each in planned if each.instructions <= most), 1))


def _placed_within(found: Scheduled, limit: int) -> Scheduled:
    """Returns a schedule above a limit with its blocks placed by a longer search, if these can be within the limit."""
    before, target = found.layout, found.calls.target
    if not found.program.table_bytes or before.ram - before.peak + before.bound > limit:
        return found
    regions = _arenas(found.program, target)
    name = regions[0].name if regions else None
    layout = blocks.layout(found.program, name, limit - (before.ram - before.peak))
    if layout is None:
        return found
    graph = found.program.graph.name
    return replace(found, layout=layout.with_state(found.program.state_bytes, target.state_mode, regions, graph))


def _ram(scheduled: Scheduled) -> int:
    return scheduled.layout.ram


def _until(lowered: Iterable[_Lowered], limit: int | None) -> list[Scheduled]:
    """Returns the memory plans of schedules up to the first within a limit; all of them without a limit."""
    found = []
    for each in lowered:
        found.append(each.planned())
        if limit is not None and found[-1].layout.ram <= limit:
            break
    return found


def _programs(found: Iterable[_Lowered | Scheduled]) -> list[Program]:
    return [each.program for each in found]


def _cascades(assignment: BufferAssignment) -> list[tuple[object, ...]]:
    return [(each.nodes, each.stripes, each.minimise_ram) for each in assignment.cascades]


def _stripes(program: Program) -> int:
    return sum(len(cascade.stripes) for cascade in program.assignment.cascades)


def _stripes_of(scheduled: Scheduled) -> int:
    return _stripes(scheduled.program)


@dataclass(frozen=True)
class _Lowered:
    """A schedule without a memory plan: `aim` as in `Scheduled`."""

    program: Program
    calls: Calls
    aim: Aim

    def may_win(self, found: Sequence[Scheduled]) -> bool:
        """Returns False if certainly no memory plan makes it better than schedules by `_with_fewest_stripes`.

        It then has too much RAM, or no fewer stripes than the best and no less RAM than the least.
        """
        if not found:
            return True
        least = min(map(_ram, found))
        fewer = _stripes(self.program) < _stripes_of(_with_fewest_stripes(found))
        most = aims.SLACK * least if fewer else least - 1
        if lower_bound(self.program.live_ranges, self.program.overlaps) <= most:
            return True
        bound = blocks_instead.bound(self.program, self.calls)
        return bound is not None and bound <= most

    def is_in_pieces(self) -> bool:
        """Returns whether only a long search may place its buffers near their bound."""
        live_ranges, overlaps = self.program.live_ranges, self.program.overlaps
        bound = lower_bound(live_ranges, overlaps)
        if quick_peak(live_ranges, overlaps, bound) <= aims.SLACK * bound:
            return False
        in_blocks = blocks_instead.bound(self.program, self.calls)
        return in_blocks is None or in_blocks > bound

    def planned(self) -> Scheduled:
        """Returns the schedule with its memory plan."""
        progress.report("memory plan")
        regions, program = _arenas(self.program, self.calls.target), self.program
        made = _planned(program, self.calls, self.aim, regions)
        layout = made.layout.with_state(program.state_bytes, self.calls.target.state_mode, regions, program.graph.name)
        return replace(made, layout=layout)


def _lowered(
    graph: Graph,
    calls: Calls,
    aim: Aim,
    memory: search.RowPlacement = search.IN_RINGS,
    known: Sequence[Program] = (),
    traced: search.Traced | None = None,
) -> Iterator[_Lowered]:
    """Yields the schedules of a search, without those that are known.

    Other arguments are as for `search.schedules`.
    """
    seen = [_cascades(each.assignment) for each in known]
    for assignment in search.schedules(graph, calls, aim, memory, traced):
        if _cascades(assignment) not in seen:
            yield _Lowered(lower(graph, assignment, calls), calls, aims.taken(aim, calls, assignment))


def _planned(program: Program, calls: Calls, aim: Aim, regions: Sequence[ArenaRegion]) -> Scheduled:
    """Returns a schedule with its memory plan, with rows in blocks if they save enough.

    What saves enough beside the bound of rolling buffers saves enough beside their plan, whose exact search may take
    seconds. A limit keeps rolling buffers that may be within it.
    """
    limit, bound = calls.target.ram_max, lower_bound(program.live_ranges, program.overlaps)
    if (limit is None or bound > limit) and len(regions) < 2:
        made = _in_blocks(program, calls, aim, bound, regions[0].name if regions else None)
        if made is not None:
            return made
    name = program.graph.name
    layout = arenas.plan(program.live_ranges, program.overlaps, traffic.accesses(program), regions, name)
    if len(layout.peaks) == 1 and (layout.peak > bound if limit is None else layout.ram > limit):
        made = _in_blocks(program, calls, aim, layout.peak, layout.regions[0] if layout.regions else None)
        if made is not None:
            return made
    return Scheduled(program, layout, calls, aim)


def _in_blocks(program: Program, calls: Calls, aim: Aim, peak: int, region: str | None) -> Scheduled | None:
    """Returns a schedule with the rows of its cascades in blocks; None if this saves less than it takes."""
    found = blocks_instead.of(program, calls, peak, region)
    if found is None:
        return None
    made = Scheduled(*found, calls, aim)
    return made if calls.target.flash_max is None or made.flash <= calls.target.flash_max else None


def _arenas(program: Program, target: Target) -> tuple[ArenaRegion, ...]:
    """Returns the regions for the arenas, less the bytes of the weights in them."""
    if target.weights_region is None:
        return target.arenas()
    programs = [program, *(body.program for body in control.inside(program))]
    return target.arenas(sum(Instances(each, target).constants_bytes for each in programs))
