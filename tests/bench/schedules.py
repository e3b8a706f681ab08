"""Schedules that the code of kernels is measured in: those of the least memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from aboard.compiler import budgets, fitting
from aboard.compiler.scheduled import Scheduled
from aboard.errors import CapacityError
from aboard.ir import Graph
from aboard.target import Target
from aboard.tuning.choice import DEFAULTS, Tuning


@contextmanager
def least_memory() -> Iterator[None]:
    """Makes the schedule with -opt=size that of the least memory, whatever -opt=balanced needs."""
    fit = fitting.fit

    def smallest(graph: Graph, target: Target, tuning: Tuning = DEFAULTS) -> Scheduled:
        return fitting.least(graph, target) if target.opt == "size" else fit(graph, target, tuning)

    with _fitted(smallest):
        yield


@contextmanager
def least_scratch() -> Iterator[None]:
    """Makes the schedule that of the least memory; models without kernels of less scratch are refused.

    On a core with Helium, -opt=size takes such schedules with the code of -opt=balanced.
    """

    def smallest(graph: Graph, target: Target, tuning: Tuning = DEFAULTS) -> Scheduled:
        if not budgets.has_less_scratch(graph, target, tuning):
            raise CapacityError(f"{graph.name}: no kernel has a form of less scratch")
        return fitting.least(graph, target)

    with _fitted(smallest):
        yield


@contextmanager
def _fitted(by: Callable[..., Scheduled]) -> Iterator[None]:
    fit, fitting.fit = fitting.fit, by
    try:
        yield
    finally:
        fitting.fit = fit
