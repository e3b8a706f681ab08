"""Chooses which layers keep more than 8 bits: those that gain most for what they cost, within bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from aboard.errors import InputError
from aboard.ir import DType
from aboard.quantization.accuracy import Accuracy
from aboard.quantization.costs import Costs
from aboard.quantization.plan import Plan
from aboard.quantization.sensitivity import Sensitivity


@dataclass(frozen=True)
class Limits:
    """What quantisation may cost.

    Attributes:
        drop: Points of accuracy that may be lost, from 0 to 100: against labels, else in samples whose largest output
            is another than that of the model of real numbers. None for int8 whatever it loses.
        ram_bytes: Bytes of the arenas at most; None without a bound.
        seconds: Estimated time of a run at most; None without a bound.
    """

    drop: float | None = None
    ram_bytes: int | None = None
    seconds: float | None = None


def choose(
    plan: Plan,
    known: Mapping[str, Sensitivity],
    limits: Limits,
    measured: Callable[[Plan], Accuracy],
    costs: Callable[[Plan], Costs],
) -> Plan:
    """Returns the plan with wider layers, as few as the accuracy needs.

    Args:
        plan: The plan with 8 bits throughout.
        known: The sensitivity of each layer, by its name.
        limits: The limits.
        measured: Measures the accuracy of a plan.
        costs: Returns what a plan costs on the target.

    Raises:
        InputError: No choice keeps the limits; the message says how far it got.
    """
    _check(limits, costs(plan) if limits.ram_bytes is not None or limits.seconds is not None else None)
    if limits.drop is None:
        return plan
    lost = _lost(measured(plan))
    for types in _steps(known):
        if lost <= limits.drop:
            return plan
        tried = plan.with_types(types)
        if tried.types == plan.types or not _fits(limits, costs, tried):
            continue
        plan, lost = tried, _lost(measured(tried))
    if lost > limits.drop:
        wide = sum(plan.types[name] is not DType.INT8 for name in known)
        raise InputError(
            f"quantize: {lost:.1f} points of accuracy lost, expected at most {limits.drop:g}, with {wide} of "
            f"{len(known)} layers at more than 8 bits. Raise --drop, --ram or --ms, or give more samples"
        )
    return plan


def _steps(known: Mapping[str, Sensitivity]) -> Iterator[Mapping[str, DType]]:
    """Yields types of further nodes: more bits for each layer, those that gain most first, then real numbers."""
    order = sorted(known, key=lambda each: known[each].wide)
    yield from (known[name].wider for name in order)
    yield from (dict.fromkeys(known[name].wider, DType.FLOAT32) for name in order)


def _lost(found: Accuracy) -> float:
    if found.lost is None:
        raise InputError(
            "quantize: a limit of accuracy for a model without scores of classes, which has none. Leave --drop out"
        )
    return found.lost


def _fits(limits: Limits, costs: Callable[[Plan], Costs], plan: Plan) -> bool:
    if limits.ram_bytes is None and limits.seconds is None:
        return True
    found = costs(plan)
    return _problem(limits, found) is None


def _check(limits: Limits, found: Costs | None) -> None:
    problem = None if found is None else _problem(limits, found)
    if problem is not None:
        raise InputError(f"quantize: {problem} with 8 bits throughout. Raise the limit, or choose a smaller model")


def _problem(limits: Limits, found: Costs) -> str | None:
    if limits.ram_bytes is not None and found.ram_bytes > limits.ram_bytes:
        return f"RAM, got {found.ram_bytes:,} bytes, expected at most {limits.ram_bytes:,}"
    if limits.seconds is None:
        return None
    if found.seconds is None:
        raise InputError("quantize: --ms for a target without a clock, expected a board. Give --board")
    if found.seconds > limits.seconds:
        return f"time, got {1000 * found.seconds:.3g} ms, expected at most {1000 * limits.seconds:g} ms"
    return None
