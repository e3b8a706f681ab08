"""Schedules of a model within budgets: the RAM of `-ram-max`, the flash of `-flash-max`."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import lru_cache

from aboard.compiler import less_scratch as less_scratch_nodes
from aboard.compiler import mixed as mixed_kernels
from aboard.compiler import scheduled
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

#: Number of choices of kernel variants for `-flash-max`: as predicted, with the code of cascades, and the smallest.
_FLASH_ATTEMPTS = 3


def where_needed(graph: Graph, found: Scheduled, tuning: Tuning) -> Collection[Node]:
    """Returns the nodes of a schedule that need the forms of kernels with the least scratch, which all of them have."""
    target = found.calls.target
    plain = with_bodies(graph, _kernels(graph, target, tuning, target.flash_max), target, found.aim)
    return less_scratch_nodes.where_needed(found, Calls(plain, target))


def has_less_scratch(graph: Graph, target: Target, tuning: Tuning) -> bool:
    """True if a kernel of a graph has a form that needs less scratch, which a tuning does not bind."""
    bound = tuning.is_binding and tuning.has_points()
    chosen = {} if bound else _kernels(graph, target, tuning, target.flash_max)
    return any(implementation.in_less_scratch(node) is not None for node, implementation in chosen.items())


def within_ram(graph: Graph, target: Target, aim: Aim, tuning: Tuning) -> Scheduled:
    """Returns the schedule for an objective, or one with less RAM if the first exceeds `-ram-max`.

    For a limit, kernels with less scratch are taken where they are faster than cascades.
    """
    if target.ram_max is None:
        return within_flash(graph, target, aim, tuning)
    found, errors = list[Scheduled](), list[CapacityError]()
    forms: list[Collection[Node]] = [()]
    if has_less_scratch(graph, target, tuning):
        forms = [(), graph.nodes] if _may_fit(graph, target, aim, tuning) else [graph.nodes]
    for less_scratch in forms:
        try:
            found.append(_within_limit(graph, target, aim, tuning, less_scratch=less_scratch))
            if less_scratch:
                needed = where_needed(graph, found[-1], tuning)
                found.append(_within_limit(graph, target, aim, tuning, less_scratch=needed))
        except CapacityError as error:
            errors.append(error)
        if found and not found[0].program.assignment.cascades:
            break
    other = mixed(graph, target, aim, tuning) if not found or found[0].program.assignment.cascades else None
    found += [] if other is None else [other]
    if found:
        return min(found, key=lambda each: each.instructions)
    raise min(errors, key=lambda error: error.least_bytes or math.inf)


def mixed(graph: Graph, target: Target, aim: Aim, tuning: Tuning) -> Scheduled | None:
    """Returns the schedule of mixed kernels within `-ram-max`, on cores where cascades take long; None without any.

    Without a limit, that of the kernels that need the least.
    """
    given = target.flash_max is not None or tuning.has_points() or strategy.is_forced()
    if given or not aims.is_plain_by_default(target):
        return None
    return mixed_kernels.within(
        graph,
        _kernels(graph, target, tuning, None),
        math.inf if target.ram_max is None else target.ram_max,
        lambda kernels: Calls(with_bodies(graph, kernels, target, aim), target),
    )


def _may_fit(graph: Graph, target: Target, aim: Aim, tuning: Tuning) -> bool:
    """False if no schedule with the preferred forms of kernels is within `-ram-max`: quicker to see than to try."""
    if graph.states or len(target.arenas()) > 1 or tuning.is_binding:
        return True
    chosen = with_bodies(graph, _kernels(graph, target, tuning, target.flash_max), target, aim)
    return scheduled.may_fit(graph, Calls(chosen, target), target.ram_max or 0)


def _within_limit(
    graph: Graph, target: Target, aim: Aim, tuning: Tuning, *, less_scratch: Collection[Node]
) -> Scheduled:
    """Returns the schedule for an objective, or one with less RAM if the first exceeds `-ram-max`."""
    limit = target.ram_max or 0
    needed, problem = math.inf, None
    # Searches are not exhaustive: the search with slack sometimes needs less RAM than the search for the least.
    for each in dict.fromkeys((aim, Aim.LEAST, Aim.NEAR_LEAST)):
        try:
            found = within_flash(graph, target, each, tuning, less_scratch=less_scratch)
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


def within_flash(
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
        chosen = _kernels(graph, target, tuning, None if limit is None else 0 if last else limit - beside)
        cascades, code_in_ram = _given(graph, target, tuning)
        bodies = with_bodies(graph, chosen, target, aim)
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


def _kernels(graph: Graph, target: Target, tuning: Tuning, flash: int | None) -> dict[Node, Implementation]:
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


def with_bodies(
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
    found = within_flash(graph, inner, Aim.LEAST if aim is Aim.WITHIN else aim, DEFAULTS)
    return control.compiled(found.program, found.layout, inner)
