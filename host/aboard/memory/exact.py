"""Exact search: places buffers within a capacity, or proves that no plan does.

Every plan that fits has a lowest form, in which no buffer could start lower while all others stay. The search builds
lowest plans from the bottom up. For each partial plan it chooses a buffer that no other unplaced buffer can precede,
and looks at two cases:

- The buffer starts at its lowest free offset.
- It does not; it *waits*. Then an unplaced buffer must be in its way, and it starts above that buffer. The nearest such
  buffer gives a new least offset; without one, the case is closed. So a waiting buffer raises other waiting buffers,
  and a gap counts as soon as it is left open.

A partial plan is given up if in some clique the least offset of the unplaced buffers and the sum of their sizes exceed
the capacity. If the unplaced buffers fall apart in time, the parts are searched separately. Partial plans without a
solution are remembered by the free offsets and the buffers that wait; other ways to build the same partial plan end
there.

The choice of the buffer decides whether a plan is found early, and no rule is good for all problems. So several rules
are tried one after another with growing limits, and a partial plan that one rule has closed stays closed for the
others. Limits are counted in partial plans, never in seconds: the same problem gives the same plan on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise

import numpy as np

from aboard.memory.interference import FAR, InterferenceGraph, Ints

#: Rules that choose a buffer: the buffers considered, and the order in which ties are broken: by the fullest clique of
#: a buffer (T), its duration (W), and its area (A).
RULES = (
    ("lowest", "TWA"),
    ("tightest", "WAT"),
    ("banded", "TAW"),
    ("lowest", "TAW"),
    ("tightest", "TWA"),
    ("banded", "WAT"),
)
#: Partial plans for the first attempt of each rule, times the number of buffers.
FIRST_LIMIT = 2
#: Bands of the capacity whose starts the rule `banded` treats as equal.
BANDS = 16


@dataclass(frozen=True)
class Answer:
    """The answer to the question whether a plan fits.

    Attributes:
        offsets: For each buffer, bytes from the start of the arena; None if no plan was found.
        states: Partial plans that were examined.
        closed: False if the budget ended before the question was answered.
    """

    offsets: tuple[int, ...] | None
    states: int
    closed: bool


def fit(graph: InterferenceGraph, capacity: int, budget: int) -> Answer:
    """Searches a plan within a capacity.

    Args:
        graph: The problem.
        capacity: Bytes of the arena.
        budget: Partial plans to examine before the search gives up.

    Returns:
        A plan, or the proof that there is none (`closed`), or neither.
    """
    search = _ExactSearch(graph, capacity)
    limit = FIRST_LIMIT * len(graph.sizes)
    while True:
        for rule, ties in RULES:
            found = search.attempt(rule, ties, min(limit, budget - search.states))
            if found is not None:
                offsets = tuple(int(at) * graph.unit for at in search.at) if found else None
                return Answer(offsets, search.states, closed=True)
            if search.states >= budget:
                return Answer(None, search.states, closed=False)
        limit *= 2


class _PartialPlan:
    """Buffers of one part of a problem, some of them placed.

    Attributes:
        low: Least offset of each buffer above the placed ones; FAR for a placed buffer or one of another part.
        least: As `low`, but raised over unplaced buffers that must be below it.
        waits: True for a buffer that does not start at `low`.
        load: Unplaced units in each clique.
        cuts: Unplaced buffers that are live on both sides of the border between each clique and the next.
        cliques: First clique, and one past the last.
        chosen: The buffer whose two cases are examined.
        key: Digest under which the partial plan is remembered.
    """

    __slots__ = ("chosen", "cliques", "cuts", "key", "least", "load", "low", "waits")

    low: Ints
    least: Ints
    waits: np.ndarray[tuple[int], np.dtype[np.bool_]]
    load: Ints
    cuts: Ints
    cliques: tuple[int, int]
    chosen: int
    key: bytes

    def copy(self) -> _PartialPlan:
        state = _PartialPlan()
        state.low, state.least, state.waits = self.low.copy(), self.least.copy(), self.waits.copy()
        state.load, state.cuts, state.cliques = self.load.copy(), self.cuts.copy(), self.cliques
        return state

    def part(self, first: int, last: int, inside: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> _PartialPlan:
        """Returns the partial plan of the buffers inside some cliques."""
        state = self.copy()
        state.low[~inside] = FAR
        state.least[~inside] = FAR
        state.waits[~inside] = False
        state.cliques = first, last
        return state

    def remember(self) -> bytes:
        self.key = blake2b((2 * self.low + self.waits).tobytes(), digest_size=16).digest()
        return self.key


class _ExactSearch:
    def __init__(self, graph: InterferenceGraph, capacity: int) -> None:
        self.graph = graph
        self.room = (capacity - graph.bytes) // graph.unit
        self.ceiling = -(-capacity // graph.unit)
        self.aligned = bool((graph.aligns == 1).all())
        self.band = max(self.ceiling // BANDS, 1)
        self.at = np.zeros(len(graph.sizes), np.int64)
        self.closed: set[bytes] = set()
        self.states = 0
        self.limit = 0
        self.rule = self.ties = ""

    def attempt(self, rule: str, ties: str, limit: int) -> bool | None:
        """Searches with one rule; returns True with a plan in `at`, False if there is none, None at the limit."""
        self.rule, self.ties, self.limit = rule, ties, self.states + limit
        whole = self._whole()
        if (self.room < 0).any() or not self._possible(whole):
            return False
        return self._fit(self._parts(whole))

    def _whole(self) -> _PartialPlan:
        graph, state = self.graph, _PartialPlan()
        count, cliques = len(graph.sizes), len(graph.load)
        state.low, state.least = np.zeros(count, np.int64), np.zeros(count, np.int64)
        state.waits, state.load = np.zeros(count, np.bool_), graph.load.copy()
        state.cuts, state.cliques = np.zeros(cliques, np.int64), (0, cliques)
        for begin, end in zip(graph.first_clique, graph.end_clique, strict=True):
            state.cuts[begin : end - 1] += 1
        return state

    def _parts(self, state: _PartialPlan) -> list[_PartialPlan]:
        """Returns the parts of a partial plan that share no clique; places the buffer of each part with only one."""
        graph, (first, last) = self.graph, state.cliques
        borders = [first, *(first + 1 + np.flatnonzero(state.cuts[first : last - 1] == 0)).tolist(), last]
        left = state.low < FAR
        parts = []
        for begin, end in pairwise(borders):
            inside = left & (graph.first_clique >= begin) & (graph.end_clique <= end)
            members = np.flatnonzero(inside)
            if len(members) == 1:
                self.at[members] = state.low[members]
            elif len(members):
                parts.append(state.part(begin, end, inside))
        return parts

    def _fit(self, parts: Sequence[_PartialPlan]) -> bool | None:
        for part in parts:
            found = self._search(part)
            if not found:
                return found
        return True

    def _search(self, state: _PartialPlan) -> bool | None:
        """Examines a partial plan and all that extend it; returns as `attempt` does."""
        if state.remember() in self.closed:
            return False
        ranks = self._ranks(state)
        path = [state]
        while path:
            if self.states >= self.limit:
                return None
            self.states += 1
            state = path[-1]
            state.chosen = self._choose(state, ranks)
            placed = self._placed(state)
            if self._possible(placed):
                begin, end = self.graph.first_clique[state.chosen], self.graph.end_clique[state.chosen]
                if not np.count_nonzero(placed.cuts[begin : end - 1] <= 0):
                    if not np.count_nonzero(placed.low < FAR):
                        return True
                    if placed.remember() not in self.closed:
                        path.append(placed)
                        continue
                else:
                    found = self._fit(self._parts(placed))
                    if found is not False:
                        return found
            while path and not self._postponed(path[-1]):
                self.closed.add(path.pop().key)
        return False

    def _placed(self, state: _PartialPlan) -> _PartialPlan:
        """Returns the partial plan in which the chosen buffer starts at its lowest free offset."""
        graph, i = self.graph, state.chosen
        start = state.low[i]
        self.at[i] = start
        placed = state.copy()
        low = np.maximum(state.low, graph.separation[i] + start)
        if not self.aligned:
            low = np.where(state.low < FAR, -(-low // graph.aligns) * graph.aligns, FAR)
        placed.waits &= low == state.low
        low[i] = FAR
        placed.waits[i] = False
        placed.least = np.maximum(state.least, low)
        placed.low = low
        begin, end = graph.first_clique[i], graph.end_clique[i]
        placed.load[begin:end] -= graph.sizes[i]
        for j, first, last, units in graph.overlaps_of[i]:
            if state.low[j] < FAR:
                placed.load[first:last] += units
        placed.cuts[begin : end - 1] -= 1
        return placed

    def _postponed(self, state: _PartialPlan) -> bool:
        """Lets the chosen buffer and all interchangeable ones wait; returns False if then there is no plan."""
        state.waits[state.chosen] = True
        for other in self.graph.interchangeable[state.chosen]:
            if state.low[other] < FAR:
                state.waits[other] = True
        return self._possible(state)

    def _possible(self, state: _PartialPlan) -> bool:
        """Raises waiting buffers over those that can be in their way; returns False if that rules out every plan."""
        if not self._holds(state):
            return False
        (waiting,) = state.waits.nonzero()
        if not len(waiting):
            return True
        raised = self._raised(state, waiting)
        return raised is not None and (not raised or self._holds(state))

    def _holds(self, state: _PartialPlan) -> bool:
        """True if the least offsets and the loads of the cliques leave room for all unplaced buffers."""
        graph, least = self.graph, state.least
        first, last = state.cliques
        starts = graph.starts[first : last + 1]
        floors = np.minimum.reduceat(least[graph.members[starts[0] : starts[-1]]], starts[:-1] - starts[0])
        over = floors + state.load[first:last] > self.ceiling
        if np.count_nonzero(over) and np.count_nonzero(over & (floors < FAR)):
            return False
        return not np.count_nonzero((least > self.room) & (least < FAR))

    def _raised(self, state: _PartialPlan, waiting: Ints) -> bool | None:
        """Raises waiting buffers; returns whether any rose, or None if one of them has no buffer in its way."""
        graph, least, rose = self.graph, state.least, False
        low = state.low[waiting]
        # Placed buffers are in nobody's way.
        (left,) = (state.low < FAR).nonzero()
        pairs = waiting[:, None], left
        reach, tops = low[:, None] + graph.separation[pairs], graph.separation_below[pairs]
        while True:
            below = least[left]
            raised = np.maximum(np.where(below < reach, below + tops, FAR).min(axis=1), low + 1)
            if not self.aligned:
                raised = -(-raised // graph.aligns[waiting]) * graph.aligns[waiting]
            if np.count_nonzero(raised >= FAR):
                return None
            risen = np.maximum(raised, least[waiting])
            if not np.count_nonzero(risen > least[waiting]):
                return rose
            least[waiting] = risen
            rose = True

    def _choose(self, state: _PartialPlan, ranks: Ints) -> int:
        """Returns a buffer that does not wait and that no other unplaced buffer can precede."""
        graph = self.graph
        order = state.least * graph.scale + graph.shift
        order[state.waits] = FAR * graph.scale
        if self.rule == "lowest":
            return int(np.argmin(order * len(ranks) + ranks))
        if self.rule == "banded":
            return next(self._first_of_band(state, order, ranks))
        lowest = np.flatnonzero(order == order.min())
        return int(
            min(lowest, key=lambda i: (-state.load[graph.first_clique[i] : graph.end_clique[i]].max(), ranks[i]))
        )

    def _first_of_band(self, state: _PartialPlan, order: Ints, ranks: Ints) -> Iterator[int]:
        graph = self.graph
        bands = order // (self.band * graph.scale)
        chosen = np.flatnonzero(bands == bands.min())
        every = state.least * graph.scale + graph.shift
        for i in chosen[np.argsort(ranks[chosen])]:
            if every[graph.separation[i] > -FAR].min(initial=FAR * graph.scale) >= order[i]:
                yield int(i)

    def _ranks(self, state: _PartialPlan) -> Ints:
        graph, left = self.graph, np.flatnonzero(state.low < FAR)
        full = np.array([state.load[graph.first_clique[i] : graph.end_clique[i]].max() for i in left])
        keys = {"T": full, "W": graph.durations[left], "A": graph.durations[left] * graph.sizes[left]}
        ranks = np.zeros(len(graph.sizes), np.int64)
        ranks[left[np.lexsort([left, *(-keys[tie] for tie in reversed(self.ties))])]] = np.arange(len(left))
        return ranks
