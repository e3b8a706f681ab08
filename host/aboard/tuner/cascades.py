"""Tunes the schedule: which nodes are cascades, where these are cut, and how high their stripes are.

The cost of a cascade depends on its neighbours and on the memory plan, so each candidate is an image of its own, and
what counts is the whole run. The search climbs: it tries what differs in one step from the best so far, those first
that the cost model predicts to be quicker, and goes on from the best of them while it gains. No candidate may need more
RAM than the default schedule, or than `-ram-max`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from aboard.compiler.pipeline import Module
from aboard.errors import CapacityError
from aboard.schedule import spans
from aboard.schedule.spans import Span
from aboard.tuner import parts

#: Heights of stripes that are tried.
_HEIGHTS = 1, 2, 4, 8

#: Candidates of a step that are run: the best predicted.
_RUN = 8

#: Compiles the model with cascades.
Compile = Callable[[Sequence[Span]], Module]


@dataclass(frozen=True)
class Candidate:
    """A schedule that needs no more RAM than allowed.

    Attributes:
        spans: Its cascades.
        module: The model compiled with them.
        predicted: Instructions of the host, predicted.
    """

    spans: tuple[Span, ...]
    module: Module
    predicted: int


def of(module: Module) -> tuple[Span, ...]:
    """Returns the cascades of a module that was compiled in this process."""
    found = module.schedule()
    return spans.of(found.program.assignment, found.nodes)


def candidates(
    best: Sequence[Span], nodes: int, ram_bytes: int | None, compile_with: Compile, known: set[str]
) -> list[Candidate]:
    """Returns the schedules one step from the best so far, those with the lowest prediction first.

    Args:
        best: Cascades of the best so far.
        nodes: Number of nodes.
        ram_bytes: Largest RAM; None for no limit.
        compile_with: Compiles the model with cascades.
        known: Texts of cascades that were candidates before; extended.
    """
    found = []
    for changed in _steps(best, nodes):
        text = spans.text_of(changed)
        if text in known:
            continue
        known.add(text)
        try:
            module = compile_with(changed)
        except CapacityError:
            continue
        if ram_bytes is None or parts.ram_bytes(module) <= ram_bytes:
            predicted = sum(node.estimated_instructions or 0 for node in module.manifest.nodes)
            found.append(Candidate(changed, module, predicted))
    return sorted(found, key=lambda candidate: candidate.predicted)[:_RUN]


def _steps(best: Sequence[Span], nodes: int) -> Iterator[tuple[Span, ...]]:
    """Yields cascades that differ in one: gone, of other height, cut in two, or a node longer or shorter at an end."""
    for index, span in enumerate(best):
        for changed in _changed(span):
            new = sorted([*best[:index], *changed, *best[index + 1 :]], key=lambda each: each.first)
            apart = all(a.last < b.first for a, b in itertools.pairwise(new))
            if apart and all(0 <= each.first < each.last < nodes for each in new):
                yield tuple(new)


def _changed(span: Span) -> Iterator[tuple[Span, ...]]:
    yield ()
    for rows in _HEIGHTS:
        yield (replace(span, rows=rows, minimise_ram=False),)
    yield (replace(span, rows=None, minimise_ram=not span.minimise_ram),)
    for cut in range(span.first + 1, span.last + 1):
        yield tuple(part for part in (replace(span, last=cut - 1), replace(span, first=cut)) if part.first < part.last)
    for first, last in ((-1, 0), (1, 0), (0, -1), (0, 1)):
        yield (replace(span, first=span.first + first, last=span.last + last),)
