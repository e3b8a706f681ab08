"""Fits a model to a target: its kernels, schedule and memory plan, within `-ram-max` and `-flash-max`.

With `-opt=size` a model never needs more RAM or more flash than with `-opt=balanced` and otherwise the same options.
Less RAM may cost flash (cascades add code), and some kernels are not smaller with `-Os`. Therefore the needs with
`-opt=balanced` are computed first, and the smallest schedules are compared with them. Flash is predicted: a schedule
is accepted only if half of the predicted saving covers the error of predictions (`code_size.doubt`). If no schedule
is accepted, the code is the code for `-opt=balanced`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache

from aboard.compiler import less_scratch as less_scratch_nodes
from aboard.compiler import recompute, scheduled
from aboard.compiler.scheduled import Scheduled
from aboard.errors import CapacityError
from aboard.ir import Graph, Node
from aboard.kernels import tunable
from aboard.kernels.contract import Implementation
from aboard.kernels.control import ControlFlow
from aboard.kernels.select import strategy
from aboard.kernels.select.flash import model_bytes
from aboard.ops.control import bodies
from aboard.schedule import aims, control, spans
from aboard.schedule.aims import Aim
from aboard.schedule.lowering import Calls, GivenCascades
from aboard.target import Target
from aboard.tuning.choice import DEFAULTS, Tuning

#: Attributes of a target that hold for a whole model, and not for a graph inside a node.
_OF_MODEL = ("arena", "flash-max", "input", "ram-max", "state")

#: Largest number of instructions with `-opt=size`, as a factor of those with `-opt=balanced`, as predicted, on cores
#: where the latter has no cascades because they take long (`aims.is_plain_by_default`).
MOST_INSTRUCTIONS = 1.1

#: Number of choices of kernel variants for `-flash-max`: as predicted, with the code of cascades, and the smallest.
_FLASH_ATTEMPTS = 3


def fit(graph: Graph, target: Target, tuning: Tuning = DEFAULTS) -> Scheduled:
    """Returns the schedule of a graph for a target.

    Args:
        graph: A partitioned graph, in the order of the file. It is not changed.
        target: The target.
        tuning: Chooses the points of the host's nodes. Where the model does not fit with recorded points, it has none.

    Raises:
        CapacityError: The model does not fit the arenas (`-arena`), or needs more than `-ram-max` or `-flash-max`. For
            `-ram-max` its `least_bytes` is a limit with which the model fits, the smallest without a longer search.
    """
    first = _recomputed(graph, target) if _is_hopeless(graph, target, tuning) else None
    if first is not None and first.layout.ram <= (target.ram_max or 0):
        return first
    try:
        return _fit_stored(graph, target, tuning)
    except CapacityError as error:
        found = None if tuning.is_binding or error.least_bytes is None else first or _recomputed(graph, target)
        if found is None:
            raise
        limit = target.ram_max or 0
        if found.layout.ram <= limit:
            return found
        raise too_little_ram(graph.name, limit, min(found.layout.ram, error.least_bytes or 0)) from error


def _fit_stored(graph: Graph, target: Target, tuning: Tuning) -> Scheduled:
    """Returns the schedule of a graph as it is, which stores every tensor."""
    try:
        return _fit(graph, target, tuning)
    except CapacityError:
        if tuning.is_binding or not tunable.may_tune(target, tuning):
            raise
    return _fit(graph, target, DEFAULTS)


def _is_hopeless(graph: Graph, target: Target, tuning: Tuning) -> bool:
    """True if no schedule of a graph as it is can be within `-ram-max`: quicker to see than to try."""
    limit = target.ram_max
    if limit is None or target.flash_max is not None or tuning.is_binding or not _may_recompute(graph, target):
        return False
    calls = [_calls(graph, source) for source in sources(target)]
    less = (found for each in calls if (found := each.in_less_scratch()) is not None)
    return not any(scheduled.may_fit(graph, each, limit) for each in (*calls, *less))


def _may_recompute(graph: Graph, target: Target) -> bool:
    """True if expansions of a model can be computed again: rows lie in blocks then, in one arena."""
    return target.ram_max is not None and not graph.states and len(target.arenas()) < 2 and bool(recompute.pairs(graph))


def _recomputed(graph: Graph, target: Target) -> Scheduled | None:
    """Returns a schedule that computes expansions again, within `-ram-max` if there is one, else with the least RAM.

    None if there is none, or none within `-flash-max`.
    """
    if not _may_recompute(graph, target):
        return None
    known = strategy.KnownNodes()
    found = recompute.within(graph, target.ram_max or 0, lambda rewritten: _calls(rewritten, target, known))
    return None if found is None or (target.flash_max and found.flash > target.flash_max) else found


def _calls(graph: Graph, target: Target, known: strategy.KnownNodes | None = None) -> Calls:
    choices = strategy.choose_all(graph, target, target.flash_max, known)
    best = {node: choice.implementation for node, choice in choices.items()}
    return Calls(_with_bodies(graph, best, target, Aim.LEAST), target)


def _fit(graph: Graph, target: Target, tuning: Tuning) -> Scheduled:
    if target.opt == "size":
        return _smallest(graph, target, tuning)
    return _within_ram(graph, target, aims.aim(target), tuning)


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
    found = _within_flash(graph, source, Aim.LEAST, DEFAULTS)
    if not has_less_scratch(graph, source, DEFAULTS):
        return found
    other = _within_flash(graph, source, Aim.LEAST, DEFAULTS, less_scratch=graph.nodes)
    return min(found, other, key=lambda each: each.layout.ram)


def _balanced(target: Target) -> Target:
    return target.overridden({"opt": "balanced"})


def _smallest(graph: Graph, target: Target, tuning: Tuning) -> Scheduled:
    """Returns the first schedule for `-opt=size` that certainly needs no more than the schedule for `-opt=balanced`.

    Where `-opt=balanced` has no cascades, it certainly needs no more than the kernels of `-opt=balanced` in cascades,
    or with less scratch, if these do not take much longer.
    """
    balanced, bar, errors, most = _balanced(target), None, [], math.inf
    try:
        bar = _fit(graph, balanced, tuning)
        if aims.aim(balanced) is Aim.PLAIN:
            most = MOST_INSTRUCTIONS * bar.instructions
            # Less RAM may cost the flash that the code of cascades takes.
            bar = _near_least(bar, _with_less_ram(graph, balanced, tuning), most)
    except CapacityError as error:
        errors.append(error)
    for aim in dict.fromkeys((aims.aim(target), aims.aim(balanced), Aim.PLAIN)):
        try:
            found = _within_ram(graph, target, aim, tuning)
        except CapacityError as error:
            errors.append(error)
            continue
        if bar is None or (found.instructions <= most and found.needs_no_more_than(bar)):
            return found
    if bar is not None:
        return bar
    # If both fail, the error is about `-opt=size`, the user's choice; more RAM helps if it helps either.
    raise min(errors[1:] + errors[:1], key=lambda error: error.least_bytes or math.inf)


def _with_less_ram(graph: Graph, target: Target, tuning: Tuning) -> Iterator[Scheduled]:
    """Yields schedules in cascades, of high and of low stripes; with kernels that need less scratch; and with both.

    Kernels need less scratch everywhere, or where the schedule before has no room. Those that do not fit are left out.
    """
    forms = ((), graph.nodes) if has_less_scratch(graph, target, tuning) else ((),)
    for less_scratch in forms:
        if less_scratch:
            with suppress(CapacityError):
                yield _within_flash(graph, target, Aim.PLAIN, tuning, less_scratch=less_scratch)
        with suppress(CapacityError):
            high = _within_flash(graph, target, Aim.NEAR_LEAST, tuning, less_scratch=less_scratch)
            yield high
            if graph.states or scheduled.may_fit(graph, high.calls, int(high.layout.ram / aims.SLACK)):
                low = _within_flash(graph, target, Aim.LEAST, tuning, less_scratch=less_scratch)
                yield low
                if less_scratch:
                    needed = _where_needed(graph, low, tuning)
                    yield _within_flash(graph, target, Aim.LEAST, tuning, less_scratch=needed)


def _near_least(plain: Scheduled, others: Iterable[Scheduled], most: float) -> Scheduled:
    """Returns the fastest of the schedules whose RAM is near to the least.

    Args:
        plain: A schedule.
        others: Others, of which those count that need less RAM and at most `most` instructions.
        most: Instructions.
    """
    found = [plain, *(o for o in others if o.layout.ram < plain.layout.ram and o.instructions <= most)]
    enough = aims.SLACK * min(each.layout.ram for each in found)
    return min((each for each in found if each.layout.ram <= enough), key=lambda each: each.instructions)


def _where_needed(graph: Graph, found: Scheduled, tuning: Tuning) -> Collection[Node]:
    """Returns the nodes of a schedule that need the forms of kernels with the least scratch, which all of them have."""
    target = found.calls.target
    plain = _with_bodies(graph, _chosen(graph, target, tuning, target.flash_max), target, found.aim)
    return less_scratch_nodes.where_needed(found, Calls(plain, target))


def has_less_scratch(graph: Graph, target: Target, tuning: Tuning) -> bool:
    """True if a kernel of a graph has a form that needs less scratch, which a tuning does not bind."""
    bound = tuning.is_binding and tuning.has_points()
    chosen = {} if bound else _chosen(graph, target, tuning, target.flash_max)
    return any(implementation.in_less_scratch(node) is not None for node, implementation in chosen.items())


def _within_ram(graph: Graph, target: Target, aim: Aim, tuning: Tuning) -> Scheduled:
    """Returns the schedule for an objective, or one with less RAM if the first exceeds `-ram-max`.

    For a limit, kernels with less scratch are taken where they are faster than cascades.
    """
    if target.ram_max is None:
        return _within_flash(graph, target, aim, tuning)
    found, errors = list[Scheduled](), list[CapacityError]()
    for less_scratch in ((), graph.nodes):
        if less_scratch and not has_less_scratch(graph, target, tuning):
            break
        try:
            found.append(_within_limit(graph, target, aim, tuning, less_scratch=less_scratch))
            if less_scratch:
                needed = _where_needed(graph, found[-1], tuning)
                found.append(_within_limit(graph, target, aim, tuning, less_scratch=needed))
        except CapacityError as error:
            errors.append(error)
        if found and not found[0].program.assignment.cascades:
            break
    if found:
        return min(found, key=lambda each: each.instructions)
    raise min(errors, key=lambda error: error.least_bytes or math.inf)


def _within_limit(
    graph: Graph, target: Target, aim: Aim, tuning: Tuning, *, less_scratch: Collection[Node]
) -> Scheduled:
    """Returns the schedule for an objective, or one with less RAM if the first exceeds `-ram-max`."""
    limit = target.ram_max or 0
    needed, problem = math.inf, None
    # Searches are not exhaustive: the search with slack sometimes needs less RAM than the search for the least.
    for each in dict.fromkeys((aim, Aim.LEAST, Aim.NEAR_LEAST)):
        try:
            found = _within_flash(graph, target, each, tuning, less_scratch=less_scratch)
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
        needed: A `-ram-max`, in bytes, with which the model compiles.
        other: What helps besides a larger `-ram-max`; completes "Raise -ram-max, or ...".
    """
    return CapacityError(
        f"{name}: needs more RAM than -ram-max allows, got {limit} bytes, expected at least {needed}. "
        f"Raise -ram-max, or {other}",
        needed,
    )


def _within_flash(
    graph: Graph, target: Target, aim: Aim, tuning: Tuning, *, less_scratch: Collection[Node] = ()
) -> Scheduled:
    """Returns the first schedule within `-flash-max`, as predicted, from choices of less and less flash.

    Args:
        graph: As for `fit`.
        target: Likewise.
        aim: The objective.
        tuning: As for `fit`.
        less_scratch: The nodes with the forms of kernels that need the least scratch.
    """
    limit, size, beside = target.flash_max, 0, 0
    for attempt in range(_FLASH_ATTEMPTS):
        last = attempt == _FLASH_ATTEMPTS - 1
        chosen = _chosen(graph, target, tuning, None if limit is None else 0 if last else limit - beside)
        cascades, code_in_ram = _given(graph, target, tuning)
        bodies = _with_bodies(graph, chosen, target, aim)
        calls = Calls(bodies, target, cascades=cascades, code_in_ram=code_in_ram)
        calls = calls.in_less_scratch(less_scratch) or calls if less_scratch else calls
        found = replace(scheduled.best(graph, calls, aim), nodes=tuple(graph.nodes), less_scratch=bool(less_scratch))
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


def _chosen(graph: Graph, target: Target, tuning: Tuning, flash: int | None) -> dict[Node, Implementation]:
    """Returns the kernels of a graph for some bytes of flash, at the points of a tuning."""
    choices = strategy.choose_all(graph, target, flash)
    return tunable.tuned({node: choice.implementation for node, choice in choices.items()}, target, tuning)


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
