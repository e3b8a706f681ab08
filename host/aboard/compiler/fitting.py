"""Fits a model to a target: its kernels, schedule and memory plan, within `-ram-max` and `-flash-max`.

With `-opt=size` a model never needs more RAM or more flash than with `-opt=balanced` and otherwise the same options.
Less RAM may cost flash (cascades add code), and some kernels are not smaller with `-Os`. Therefore the needs with
`-opt=balanced` are computed first, and the smallest schedules are compared with them. Flash is predicted: a schedule
is accepted only if half of the predicted saving covers the error of predictions (`code_size.doubt`). If no schedule
is accepted, the code is the code for `-opt=balanced`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace

from aboard.compiler import budgets, recompute, scheduled
from aboard.compiler.scheduled import Scheduled
from aboard.errors import CapacityError
from aboard.ir import Graph
from aboard.kernels import tunable
from aboard.kernels.select import strategy
from aboard.schedule import aims
from aboard.schedule.aims import Aim
from aboard.schedule.lowering import Calls
from aboard.target import Target
from aboard.tuning.choice import DEFAULTS, Tuning

#: Number of limits of RAM that are tried between a schedule that takes too long and one that does not.
_LIMITS = 4


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
        other = budgets.mixed(graph, target, aims.aim(target), tuning)
        return first if other is None or first.instructions <= other.instructions else other
    try:
        return _fit_stored(graph, target, tuning)
    except CapacityError as error:
        found = None if tuning.is_binding or error.least_bytes is None else first or _recomputed(graph, target)
        if found is None:
            raise
        limit = target.ram_max or 0
        if found.layout.ram <= limit:
            return found
        raise budgets.too_little_ram(graph.name, limit, min(found.layout.ram, error.least_bytes or 0)) from error


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
    return Calls(budgets.with_bodies(graph, best, target, Aim.LEAST), target)


def _fit(graph: Graph, target: Target, tuning: Tuning) -> Scheduled:
    if target.opt == "size":
        return _smallest(graph, target, tuning)
    return budgets.within_ram(graph, target, aims.aim(target), tuning)


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
    found = budgets.within_flash(graph, source, Aim.LEAST, DEFAULTS)
    if not budgets.has_less_scratch(graph, source, DEFAULTS):
        return found
    other = budgets.within_flash(graph, source, Aim.LEAST, DEFAULTS, less_scratch=graph.nodes)
    return min(found, other, key=lambda each: each.layout.ram)


def _balanced(target: Target) -> Target:
    return target.overridden({"opt": "balanced"})


def _smallest(graph: Graph, target: Target, tuning: Tuning) -> Scheduled:
    """Returns the first schedule for `-opt=size` that certainly needs no more than the schedule for `-opt=balanced`.

    On cores where `-opt=balanced` has no cascades, it does not take much longer than the kernels of `-opt=balanced`
    within the same `-ram-max`; without one, it certainly needs no more than these kernels in cascades, or with less
    scratch, if these do not take much longer.
    """
    balanced, bar, errors, most = _balanced(target), None, [], math.inf
    try:
        bar = _fit(graph, balanced, tuning)
        if aims.is_plain_by_default(target):
            most = aims.MOST_INSTRUCTIONS * bar.instructions
        if aims.aim(balanced) is Aim.PLAIN:
            # Less RAM may cost the flash that the code of cascades takes.
            others = list(_with_less_ram(graph, balanced, tuning))
            bar = _limited(graph, balanced, tuning, others, _near_least(bar, others, most), most)
    except CapacityError as error:
        errors.append(error)
    if bar is not None and _is_slow(graph, target, tuning, most):
        return bar
    for aim in dict.fromkeys((aims.aim(target), aims.aim(balanced), Aim.PLAIN)):
        try:
            found = budgets.within_ram(graph, target, aim, tuning)
        except CapacityError as error:
            errors.append(error)
            continue
        if bar is None or (found.instructions <= most and found.needs_no_more_than(bar)):
            return found
    if bar is not None:
        return bar
    # If both fail, the error is about `-opt=size`, the user's choice; more RAM helps if it helps either.
    raise min(errors[1:] + errors[:1], key=lambda error: error.least_bytes or math.inf)


def _is_slow(graph: Graph, target: Target, tuning: Tuning, most: float) -> bool:
    """True if the kernels of a target take more than `most` instructions in whatever schedule."""
    with suppress(CapacityError):
        return math.isfinite(most) and budgets.within_flash(graph, target, Aim.PLAIN, tuning).instructions > most
    return False


def _with_less_ram(graph: Graph, target: Target, tuning: Tuning) -> Iterator[Scheduled]:
    """Yields schedules in cascades, of high and of low stripes; with kernels that need less scratch; with both; mixed.

    Kernels need less scratch everywhere, or where the schedule before has no room. Those that do not fit are left out.
    """
    other = budgets.mixed(graph, target, Aim.PLAIN, tuning)
    if other is not None:
        yield other
    forms = ((), graph.nodes) if budgets.has_less_scratch(graph, target, tuning) else ((),)
    for less_scratch in forms:
        if less_scratch:
            with suppress(CapacityError):
                yield budgets.within_flash(graph, target, Aim.PLAIN, tuning, less_scratch=less_scratch)
        with suppress(CapacityError):
            high = budgets.within_flash(graph, target, Aim.NEAR_LEAST, tuning, less_scratch=less_scratch)
            yield high
            if graph.states or scheduled.may_fit(graph, high.calls, int(high.layout.ram / aims.SLACK)):
                low = budgets.within_flash(graph, target, Aim.LEAST, tuning, less_scratch=less_scratch)
                yield low
                if less_scratch:
                    needed = budgets.where_needed(graph, low, tuning)
                    yield budgets.within_flash(graph, target, Aim.LEAST, tuning, less_scratch=needed)


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


def _limited(
    graph: Graph, target: Target, tuning: Tuning, others: Iterable[Scheduled], best: Scheduled, most: float
) -> Scheduled:
    """Returns the schedule with the least RAM that is found between others, with at most `most` instructions.

    Args:
        graph: As for `fit`.
        target: The target, without `-ram-max`.
        tuning: As for `fit`.
        others: Schedules, of which some may take too long.
        best: The best of those that do not.
        most: Instructions.
    """
    low = min((each.layout.ram for each in others), default=best.layout.ram)
    for _ in range(_LIMITS):
        if best.layout.ram <= aims.SLACK * low:
            break
        limit = round((low * best.layout.ram) ** 0.5)
        try:
            found = budgets.within_ram(graph, target.overridden({"ram-max": str(limit)}), Aim.WITHIN, tuning)
        except CapacityError:
            low = limit
            continue
        # Kernels of many kinds add code: a byte of RAM is worth a byte of flash.
        saves = best.layout.ram - found.layout.ram >= found.flash - best.flash
        if found.instructions <= most and (saves or found.aim is not Aim.MIXED):
            best = replace(found, aim=Aim.LIMITED, calls=found.calls.for_target(target))
        else:
            low = limit
    return best
