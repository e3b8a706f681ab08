"""Fits a model to a target: its kernels, schedule and memory plan, within `-ram-max` and `-flash-max`.

With `-opt=size` a model never needs more RAM or more flash than with `-opt=balanced` and otherwise the same options.
Less RAM may cost flash (cascades add code), and some kernels are not smaller with `-Os`. Therefore the needs with
`-opt=balanced` are computed first, and the smallest schedules are compared with them. Flash is predicted: a schedule
is accepted only if half of the predicted saving covers the error of predictions (`code_size.doubt`). If no schedule
is accepted, the code is the code for `-opt=balanced`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from aboard.base import progress
from aboard.emit.instances import Instances
from aboard.errors import CapacityError
from aboard.ir import Graph, Node
from aboard.kernels import tunable
from aboard.kernels.contract import Implementation
from aboard.kernels.control import ControlFlow
from aboard.kernels.select import code_size, strategy
from aboard.kernels.select.flash import model_bytes
from aboard.memory import arenas
from aboard.memory.arenas import Layout
from aboard.memory.problem import WORD, lower_bound, round_up
from aboard.memory.state import POSITION_BYTES
from aboard.ops.control import bodies
from aboard.schedule import blocks_instead, control, order, search, spans, traffic
from aboard.schedule.buffers import BufferAssignment
from aboard.schedule.lowering import Calls, GivenCascades, Program, lower
from aboard.schedule.search import Aim
from aboard.target import Target
from aboard.target.regions import ArenaRegion
from aboard.tuning.choice import DEFAULTS, Tuning

#: Attributes of a target that hold for a whole model, and not for a graph inside a node.
_OF_MODEL = ("arena", "flash-max", "input", "ram-max", "state")

#: Number of choices of kernel variants for `-flash-max`: as predicted, with the code of cascades, and the smallest.
_FLASH_ATTEMPTS = 3


@dataclass(frozen=True)
class Scheduled:
    """The schedule of a model.

    Attributes:
        program: The schedule and its allocation problem.
        layout: Addresses of its buffers.
        calls: The calls of all nodes. Their target's `-opt` is the `-opt` of the code, which may be `balanced` with
            `-opt=size`.
        aim: The objective of the schedule.
        nodes: The nodes in the order of the file, by which cascades are named (`aboard.schedule.spans`).
    """

    program: Program
    layout: Layout
    calls: Calls
    aim: Aim
    nodes: tuple[Node, ...] = ()

    @property
    def graph_of_file(self) -> Graph:
        """The graph with its nodes in the order of the file."""
        return replace(self.program.graph, nodes=list(self.nodes))

    @property
    def flash(self) -> int:
        """Predicted bytes of flash; 0 if devices compute a part of the model."""
        return self.program.flash(self.calls.target) or 0

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


def fit(graph: Graph, target: Target, tuning: Tuning = DEFAULTS) -> Scheduled:
    """Returns the schedule of a graph for a target.

    Args:
        graph: A partitioned graph, in the order of the file. It is not changed.
        target: The target.
        tuning: Chooses the points of the host's nodes. Where the model does not fit with recorded points, it has none.

    Raises:
        CapacityError: The model does not fit the arenas (`-arena`), or needs more than `-ram-max` or `-flash-max`. For
            `-ram-max` its `least_bytes` is the smallest limit with which the model fits.
    """
    try:
        return _fit(graph, target, tuning)
    except CapacityError:
        if tuning.is_binding or not tunable.may_tune(target, tuning):
            raise
    return _fit(graph, target, DEFAULTS)


def _fit(graph: Graph, target: Target, tuning: Tuning) -> Scheduled:
    if target.opt == "size":
        return _smallest(graph, target, tuning)
    return _within_ram(graph, target, search.aim(target), tuning)


def sources(target: Target) -> list[Target]:
    """Returns the targets whose kernels are tried: the target, and with `-opt=size` also the target with `balanced`."""
    return [target, _balanced(target)] if target.opt == "size" else [target]


def least(graph: Graph, source: Target) -> Scheduled:
    """Returns the schedule with the least RAM that is found with a target's kernels, whatever its `-ram-max` is.

    If `-ram-max` is the RAM of this schedule for one of a target's `sources`, `fit` succeeds.

    Args:
        graph: As for `fit`.
        source: One of the targets that `sources` returns.

    Raises:
        CapacityError: The schedule does not fit the arenas, or the model needs more than `-flash-max`.
    """
    return _within_flash(graph, source, Aim.LEAST, DEFAULTS)


def _balanced(target: Target) -> Target:
    return target.overridden({"opt": "balanced"})


def _smallest(graph: Graph, target: Target, tuning: Tuning) -> Scheduled:
    """Returns the first schedule for `-opt=size` that certainly needs no more than the schedule for `-opt=balanced`.

    Where `-opt=balanced` has no cascades, it certainly needs no more than the kernels of `-opt=balanced` in cascades.
    """
    balanced, bar, errors = _balanced(target), None, []
    try:
        bar = _fit(graph, balanced, tuning)
        if search.aim(balanced) is Aim.PLAIN:
            # Less RAM may cost the flash that the code of cascades takes.
            cascaded = _within_ram(graph, balanced, Aim.NEAR_LEAST, tuning)
            bar = min(bar, cascaded, key=lambda each: each.layout.ram)
    except CapacityError as error:
        errors.append(error)
    for aim in dict.fromkeys((Aim.LEAST, search.aim(balanced), Aim.PLAIN)):
        try:
            found = _within_ram(graph, target, aim, tuning)
        except CapacityError as error:
            errors.append(error)
            continue
        if bar is None or found.needs_no_more_than(bar):
            return found
    if bar is not None:
        return bar
    # If both fail, the error is about `-opt=size`, the user's choice; more RAM helps if it helps either.
    raise min(errors[1:] + errors[:1], key=lambda error: error.least_bytes or math.inf)


def _within_ram(graph: Graph, target: Target, aim: Aim, tuning: Tuning) -> Scheduled:
    """Returns the schedule for an objective, or one with less RAM if the first exceeds `-ram-max`."""
    limit = target.ram_max
    if limit is None:
        return _within_flash(graph, target, aim, tuning)
    needed, problem = math.inf, None
    # Searches are not exhaustive: the search with slack sometimes needs less RAM than the search for the least.
    for each in dict.fromkeys((aim, Aim.LEAST, Aim.NEAR_LEAST)):
        try:
            found = _within_flash(graph, target, each, tuning)
        except CapacityError as error:
            problem = error
            continue
        if found.layout.ram <= limit:
            return found
        # Aim.WITHIN depends on the limit, so its peak is not a limit that is sure to succeed.
        if each is not Aim.WITHIN:
            needed = min(needed, found.layout.ram)
    if problem is not None and needed == math.inf:
        raise problem
    raise too_little_ram(graph.name, limit, int(needed))


def too_little_ram(name: str, limit: int | None, needed: int, other: str = "take a smaller model") -> CapacityError:
    """Returns the error for a model that cannot keep to `-ram-max`.

    Args:
        name: Name of the model.
        limit: The `-ram-max`, in bytes.
        needed: The smallest `-ram-max`, in bytes, with which the model compiles.
        other: What helps besides a larger `-ram-max`; completes "Raise -ram-max, or ...".
    """
    return CapacityError(
        f"{name}: needs more RAM than -ram-max allows, got {limit} bytes, expected at least {needed}. "
        f"Raise -ram-max, or {other}",
        needed,
    )


def _within_flash(graph: Graph, target: Target, aim: Aim, tuning: Tuning) -> Scheduled:
    """Returns the first schedule within `-flash-max`, as predicted, from choices of less and less flash."""
    limit, size, beside = target.flash_max, 0, 0
    for attempt in range(_FLASH_ATTEMPTS):
        last = attempt == _FLASH_ATTEMPTS - 1
        choices = strategy.choose_all(graph, target, None if limit is None else 0 if last else limit - beside)
        best = {node: choice.implementation for node, choice in choices.items()}
        chosen = tunable.tuned(best, target, tuning)
        cascades, code_in_ram = _given(graph, target, tuning)
        bodies = _with_bodies(graph, chosen, target, aim)
        calls = Calls(bodies, target, cascades=cascades, code_in_ram=code_in_ram)
        found = replace(_scheduled(graph, calls, aim), nodes=tuple(graph.nodes))
        size = found.flash
        if limit is None or size <= limit:
            return found
        # The choice did not include the code of cascades.
        beside = size - model_bytes([(node, calls.whole(node)) for node in graph.nodes], 0, target)
    smaller = "compile with -opt=size, " if target.opt != "size" else ""
    raise CapacityError(
        f"{graph.name}: needs more flash than -flash-max allows, got {size} bytes as predicted, expected at most "
        f"{limit}: {size - (limit or 0)} too many. Raise -flash-max, {smaller}or take a smaller model"
    )


def _given(graph: Graph, target: Target, tuning: Tuning) -> tuple[GivenCascades | None, bool]:
    """Returns the cascades that a tuning gives, None to search them; and whether code is copied to RAM."""
    if not tunable.may_tune(target, tuning):
        return None, False
    found, code_in_ram = spans.chosen(graph, target, tuning)
    if found is None:
        return None, code_in_ram
    ends = tuple((graph.nodes[span.first], graph.nodes[span.last], span) for span in found)
    return GivenCascades(ends, tuning.is_binding), code_in_ram


def _with_bodies(
    graph: Graph, chosen: Mapping[Node, Implementation], target: Target, aim: Aim
) -> Mapping[Node, Implementation]:
    """Returns the implementations of all nodes; those of IF and WHILE with the graphs inside them compiled."""
    found = dict(chosen)
    for index, node in enumerate(graph.nodes):
        implementation = chosen[node]
        if isinstance(implementation, ControlFlow):
            inside = tuple(_body(body, target, aim) for body in bodies(node).values())
            found[node] = implementation.compiled(f"{graph.name}_{node.op}_{index}", inside)
    return found


@lru_cache(maxsize=1024)
def _body(graph: Graph, target: Target, aim: Aim) -> control.CompiledBody:
    """Returns a graph inside a node, compiled for one arena without a limit: the limits hold for the whole model."""
    kept = {name: value for name, value in target.host.attrs.items() if name not in _OF_MODEL}
    inner = Target({"kind": target.host.kind.name, **kept})
    found = _within_flash(graph, inner, Aim.LEAST if aim is Aim.WITHIN else aim, DEFAULTS)
    return control.compiled(found.program, found.layout, inner)


def _scheduled(graph: Graph, calls: Calls, aim: Aim) -> Scheduled:
    """Returns the schedule in the order of the file, or in a better order if it needs less RAM."""
    found, errors = [], []
    for nodes in _distinct(graph.nodes, order.best(graph, calls.implementations)):
        try:
            found.append(_rolled(replace(graph, nodes=nodes), calls, aim))
        except CapacityError as error:
            errors.append(error)
    if not found:
        raise errors[-1]
    return min(found, key=lambda each: each.layout.ram)


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


def _distinct(*orders: list[Node]) -> list[list[Node]]:
    return [nodes for index, nodes in enumerate(orders) if nodes not in orders[:index]]


def _in_order(graph: Graph, calls: Calls, aim: Aim) -> Scheduled:
    """Returns the first schedule within `-ram-max` if there is one, else the last.

    Rows of its cascades lie in rolling buffers, or in blocks where that saves RAM. Which cascades are best depends on
    it, so the best for blocks are tried too.
    """
    limit = calls.target.ram_max
    found = _until(_laid_out(graph, calls, aim), limit)
    last = found[-1]
    may_help = bool(last.program.assignment.cascades) and last.aim is not Aim.TUNED and not graph.states
    if may_help:
        found += _until(_laid_out(graph, calls, aim, search.IN_BLOCKS, known=found), limit)
        nearest = min(found, key=lambda each: each.layout.ram).layout
        if aim is Aim.NEAR_LEAST and nearest.peak > search.SLACK * nearest.bound:
            # Memory is in pieces that nothing fits: another schedule may be nearer to its bound.
            found += _until(_laid_out(graph, calls, aim, search.LEAST_IN_BLOCKS, known=found), limit)
    if limit is not None:
        within = [each for each in found if each.layout.ram <= limit]
        return min(within, key=_stripes) if within else min(found, key=lambda each: each.layout.ram)
    if aim is not Aim.NEAR_LEAST:
        return min(found, key=lambda each: each.layout.ram)
    most = search.SLACK * min(each.layout.ram for each in found)
    return min((each for each in found if each.layout.ram <= most), key=_stripes)


def _until(found: Iterable[Scheduled], limit: int | None) -> list[Scheduled]:
    """Returns schedules up to the first within a limit; all of them without a limit."""
    taken = []
    for each in found:
        taken.append(each)
        if limit is not None and each.layout.ram <= limit:
            break
    return taken


def _cascades(assignment: BufferAssignment) -> list[tuple[object, ...]]:
    return [(each.nodes, each.stripes, each.minimise_ram) for each in assignment.cascades]


def _stripes(scheduled: Scheduled) -> int:
    return sum(len(cascade.stripes) for cascade in scheduled.program.assignment.cascades)


def _laid_out(
    graph: Graph,
    calls: Calls,
    aim: Aim,
    memory: search.RowPlacement = search.IN_RINGS,
    known: Iterable[Scheduled] = (),
) -> Iterator[Scheduled]:
    """Yields the schedules of a search with their memory plans, without those that are known.

    Other arguments are as for `search.schedules`.
    """
    seen = [_cascades(each.program.assignment) for each in known]
    for assignment in search.schedules(graph, calls, aim, memory):
        if _cascades(assignment) in seen:
            continue
        program = lower(graph, assignment, calls)
        progress.report("memory plan")
        regions = _arenas(program, calls.target)
        made = _planned(program, calls, search.taken(aim, calls, assignment), regions)
        layout = made.layout.with_state(program.state_bytes, calls.target.state_mode, regions, graph.name)
        yield replace(made, layout=layout)


def _planned(program: Program, calls: Calls, aim: Aim, regions: Sequence[ArenaRegion]) -> Scheduled:
    """Returns a schedule with its memory plan, with rows in blocks if they save enough.

    What saves enough beside the bound of rolling buffers saves enough beside their plan, whose exact search may take
    seconds. A limit keeps rolling buffers that are within it.
    """
    limit, bound = calls.target.ram_max, lower_bound(program.live_ranges, program.overlaps)
    if limit is None and len(regions) < 2:
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
