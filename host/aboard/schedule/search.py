"""Which steps to compute as cascades: as few as keep the memory low.

What a step needs depends on the cascade that it is part of, and on nothing else of the schedule. So the best division
of the steps into single ones and cascades is found by dynamic programming: first the one that needs least, then, of all
that need hardly more, the one that takes the fewest turns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from aboard.ir import Graph, Node
from aboard.kernels.contract import RowWise, Scratch, View
from aboard.memory.problem import load
from aboard.schedule.cascade import Cascade, Windows, form
from aboard.schedule.feed import fed_input
from aboard.schedule.lowering import Calls
from aboard.schedule.requests import collect, views
from aboard.schedule.storage import Storage, assign
from aboard.target import Target

#: How much more memory than the least a schedule may need to save turns, as a factor.
SLACK = 1.05

#: To which part of `-ram-max` the steps of schedules are held, one schedule after another.
_PARTS = (1.0, 0.95, 0.9, 0.0)


class Aim(Enum):
    """What a schedule is chosen for.

    Attributes:
        LEAST: The least memory that is found, however many turns it takes.
        NEAR_LEAST: The fewest turns among those that need hardly more memory than the least (`SLACK`).
        WITHIN: The fewest turns within `-ram-max`.
        PLAIN: Steps one after another, which is fastest.
    """

    LEAST = auto()
    NEAR_LEAST = auto()
    WITHIN = auto()
    PLAIN = auto()


@dataclass(frozen=True)
class Candidate:
    """Neighbouring steps computed together.

    Attributes:
        first: Index of the first step.
        cascade: The cascade; None for a single step.
        load: Bytes that are alive while it is computed, at most.
    """

    first: int
    cascade: Cascade | None
    load: int

    @property
    def end(self) -> int:
        """One past the index of the last step."""
        return self.first + (1 if self.cascade is None else len(self.cascade.nodes))

    @property
    def turns(self) -> int:
        """How many calls it takes beyond one for each step."""
        return 0 if self.cascade is None else len(self.cascade.turns) - self.cascade.feeds - len(self.cascade.nodes)


def aim(target: Target) -> Aim:
    """Returns what schedules for a target are chosen for; with `-opt=size` what is tried first."""
    if target.opt == "size":
        return Aim.LEAST
    if target.ram_max is not None:
        return Aim.WITHIN
    if target.opt == "speed":
        return Aim.PLAIN
    if target.input_mode == "rows":
        return Aim.LEAST
    return Aim.PLAIN if "arm_mve" in target.keys else Aim.NEAR_LEAST


def choose(graph: Graph, calls: Calls) -> Storage:
    """Returns the storage of the schedule that suits the target: the first of `schedules`."""
    return next(schedules(graph, calls, aim(calls.target)))


def schedules(graph: Graph, calls: Calls, wanted: Aim) -> Iterator[Storage]:
    """Yields the storage of the schedule that is wanted.

    `Aim.WITHIN` yields several: that with the fewest turns whose steps keep to `-ram-max`, then such that keep to less,
    for a plan may need more than any of its steps.

    Args:
        graph: Verified; in execution order.
        calls: Of its nodes.
        wanted: What it is chosen for. `Aim.WITHIN` needs a target with `-ram-max`.
    """
    sparing = wanted in (Aim.LEAST, Aim.WITHIN) or calls.target.input_mode == "rows"
    search = _Search(graph, calls, sparing=sparing)
    limit = calls.target.ram_max
    if wanted is Aim.PLAIN or not search.singles:
        yield search.plain
    elif wanted is Aim.WITHIN and limit is not None:
        for part in _PARTS:
            yield search.storage(search.division(int(limit * part), 1.0))
    else:
        yield search.storage(search.division(0, SLACK if wanted is Aim.NEAR_LEAST else 1.0))


def rule(target: Target, taken: Aim | None = None) -> str:
    """Returns by which rule a schedule was chosen, in words.

    Args:
        target: Where it will run.
        taken: What it was chosen for; None for what comes first on the target.
    """
    first = aim(target)
    taken = taken or first
    words = {
        Aim.LEAST: "the least memory found",
        Aim.NEAR_LEAST: f"the fewest turns within {100 * (SLACK - 1):.0f} % of the least memory found",
        Aim.WITHIN: f"the fewest turns within -ram-max={target.ram_max}",
        Aim.PLAIN: "steps one after another, which is fastest",
    }[taken]
    if taken is not first:
        return f"{words} (as with -opt=balanced, since less memory would take more flash)"
    if taken is Aim.WITHIN:
        return words
    why = "-input=rows" if taken is Aim.LEAST and target.opt != "size" else f"-opt={target.opt}"
    helium = " on a core with Helium" if taken is Aim.PLAIN and target.opt == "balanced" else ""
    return f"{words} ({why}{helium})"


def front(graph: Graph, calls: Calls) -> Iterator[Storage]:
    """Yields the storages of all schedules that are the best for some memory: those with the fewest turns within it.

    The first is the fastest; each further one needs less memory and more turns.

    Args:
        graph: Verified; in execution order.
        calls: Of its nodes.
    """
    search = _Search(graph, calls, sparing=True)
    if not search.singles:
        yield search.plain
        return
    limit = sum(candidate.load for candidate in search.singles)
    division = search.division(limit, 1.0)
    while (peak := max(candidate.load for candidate in division)) <= limit:
        yield search.storage(division)
        limit = peak - 1
        division = search.division(limit, 1.0)


class _Search:
    """The candidates for a graph, made as they are asked for."""

    def __init__(self, graph: Graph, calls: Calls, *, sparing: bool) -> None:
        """Prepares it.

        Args:
            graph: Verified; in execution order.
            calls: Of its nodes.
            sparing: Whether steps may also take a row at a time, and write in place, where kernels would like more.
        """
        self.graph = graph
        self.calls = calls
        self.implementations = calls.implementations
        self.keep_inputs = calls.target.input_mode == "kept"
        self.fed = fed_input(graph, calls.target)
        self.plain = self._assign([])
        self._scratch: dict[tuple[Node, tuple[bool, ...], int], Sequence[Scratch]] = {}
        self._windows: Windows = {}
        steps = self._loads(self.plain)
        self.singles = [Candidate(index, None, steps[index]) for index in range(len(self.plain.steps))]
        self.cascades: dict[tuple[int, int, bool], Candidate] = {}
        self.gears = (False, True) if sparing else (False,)

    def division(self, enough: int, slack: float) -> list[Candidate]:
        """Returns the division into candidates that takes the fewest turns.

        Args:
            enough: Bytes that it may need.
            slack: What it may need where that is more, as a factor of the least.
        """
        hot: set[int] = set()
        while True:
            least = _shortest(self._known(), lambda so_far, c: max(so_far, c.load))
            peak = max(candidate.load for candidate in least)
            limit = max(int(peak * slack), enough)
            wanted = {c.first for c in least if c.cascade is None and c.load == peak > enough}
            wanted |= {c.first for c in self.singles if c.load > limit} if limit > peak else set()
            if wanted <= hot:
                break
            hot |= wanted
            self._add_cascades(hot)
        within = [candidate for candidate in self._known() if candidate.load <= limit]
        return _shortest(within, lambda so_far, c: so_far + c.turns)

    def storage(self, division: Sequence[Candidate]) -> Storage:
        """Returns the storage of a division."""
        return self._assign([candidate.cascade for candidate in division if candidate.cascade is not None])

    def _known(self) -> list[Candidate]:
        return [*self.singles, *self.cascades.values()]

    def _assign(self, cascades: Sequence[Cascade]) -> Storage:
        return assign(self.graph, self.implementations, keep_inputs=self.keep_inputs, cascades=cascades, fed=self.fed)

    def _add_cascades(self, steps: set[int]) -> None:
        """Adds all cascades that contain one of some steps."""
        for step in sorted(steps):
            for first in range(step, -1, -1):
                if not self._fits(first):
                    break
                shortest = first if self.fed is not None and first == 0 else first + 1
                for last in range(max(step, shortest), len(self.plain.steps)):
                    if not self._fits(last):
                        break
                    for sparing in self.gears:
                        self._add_cascade(first, last, sparing=sparing)

    def _fits(self, step: int) -> bool:
        node = self.plain.steps[step]
        return self.implementations[node].row_wise(node) is not None

    def _add_cascade(self, first: int, last: int, *, sparing: bool) -> None:
        if (first, last, sparing) in self.cascades:
            return
        nodes = self.plain.steps[first : last + 1]
        cascade = self._form(nodes, sparing=sparing)
        if cascade is not None and self.plain.alone.issuperset(cascade.depths):
            loaded = self._loads(self._assign([cascade]))
            self.cascades[first, last, sparing] = Candidate(first, cascade, max(loaded[first : last + 1]))

    def _form(self, nodes: Sequence[Node], *, sparing: bool) -> Cascade | None:
        """Returns the cascade of some steps: fed where they are all that read the fed input."""

        def row_wise(node: Node) -> RowWise | None:
            return self.implementations[node].row_wise(node)

        if self.fed is not None and any(self.fed in node.operands for node in nodes):
            cascade = form(self.graph, nodes, row_wise, self.fed, self._windows, sparing=sparing)
            if cascade is not None or len(nodes) < 2:
                return cascade
        return form(self.graph, nodes, row_wise, None, self._windows, sparing=sparing)

    def _loads(self, stored: Storage) -> list[int]:
        """Returns the bytes that are alive during each step."""
        scratch = [self._scratch_of(node, *views(node, stored)) for node in stored.steps]
        needs = collect(self.graph, stored, self.implementations, scratch, keep_inputs=self.keep_inputs)
        return [load(needs.requests, needs.overlaps, step) for step in range(len(stored.steps))]

    def _scratch_of(self, node: Node, inputs: tuple[View | None, ...], outputs: tuple[View, ...]) -> Sequence[Scratch]:
        """Returns the scratch of a node, which depends on whether views are rings, but not on how deep they are."""
        rings = tuple(view is not None and view.depth < view.rows for view in (*inputs, *outputs))
        key = node, rings, outputs[0].step
        if key not in self._scratch:
            self._scratch[key] = self.calls.of(node, inputs, outputs).scratch
        return self._scratch[key]


def _shortest(candidates: Sequence[Candidate], longer: Callable[[int, Candidate], int]) -> list[Candidate]:
    """Returns the candidates that cover all steps, each once, and whose length is least.

    Args:
        candidates: Enough to cover all steps.
        longer: Returns the length of a cover from that of all but its last candidate, and that one.
    """
    best: dict[int, tuple[int, list[Candidate]]] = {0: (0, [])}
    for candidate in sorted(candidates, key=lambda c: (c.end, c.end - c.first)):
        if candidate.first not in best:
            continue
        length, cover = best[candidate.first]
        length = longer(length, candidate)
        if candidate.end not in best or length < best[candidate.end][0]:
            best[candidate.end] = length, [*cover, candidate]
    return best[max(best)][1]
