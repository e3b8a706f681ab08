"""Exact search: places requests within a capacity, or shows that no plan does.

Every plan that fits has a lowest one, in which no request could begin lower with all others where they are. The search
builds lowest plans from the bottom up. In each state it takes a request before which nothing that is left can come,
and looks at two cases:

- It begins at the lowest offset that is free for it.
- It does not; it *waits*. Then one of the requests that are left must be in its way, and it begins above that one. The
  nearest of those gives it a new least offset; where there is none, the case is closed. So what waits moves others
  that wait, and a gap left open is paid for at once.

A state is given up when in some section the least offset of what is left and the sizes of what is left exceed the
capacity. When the requests left fall apart in time, the parts are searched by themselves. States without a plan are
remembered by the offsets that are free and by who waits; other ways to build the same state end there.

Which request to take decides whether a plan is found early, and no rule is good for all problems. So rules take turns
with limits that grow: a limit cuts losses, and what one rule has closed stays closed for the others. Limits are counted
in states, never in seconds: the same problem gives the same plan on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise

import numpy as np

from aboard.memory.geometry import FAR, Geometry, Ints

#: What takes turns: which requests are considered, and the order in which ties among them are broken, by the fullest
#: section that a request is in (T), by length of life (W), and by area (A).
TURNS = (
    ("lowest", "TWA"),
    ("tightest", "WAT"),
    ("banded", "TAW"),
    ("lowest", "TAW"),
    ("tightest", "TWA"),
    ("banded", "WAT"),
)
#: States of the first turns, for each request.
FIRST_TURN = 2
#: Bands of the capacity within which the rule `banded` takes starts for equal.
BANDS = 16


@dataclass(frozen=True)
class Answer:
    """What a search found.

    Attributes:
        offsets: For each request, bytes from the start of the arena; none where no plan was found.
        states: States that were looked at.
        closed: False when the budget ended before the question was answered.
    """

    offsets: tuple[int, ...] | None
    states: int
    closed: bool


def fit(geometry: Geometry, capacity: int, budget: int) -> Answer:
    """Searches a plan within a capacity.

    Args:
        geometry: The problem.
        capacity: Bytes of the arena.
        budget: States to look at before the search gives up.

    Returns:
        A plan; or that there is none (`closed`); or nothing.
    """
    search = _Search(geometry, capacity)
    limit = FIRST_TURN * len(geometry.sizes)
    while True:
        for rule, ties in TURNS:
            found = search.turn(rule, ties, min(limit, budget - search.states))
            if found is not None:
                offsets = tuple(int(at) * geometry.unit for at in search.at) if found else None
                return Answer(offsets, search.states, closed=True)
            if search.states >= budget:
                return Answer(None, search.states, closed=False)
        limit *= 2


class _State:
    """Requests of one part of a problem, some of them placed.

    Attributes:
        low: Least offset of each request, by those that are placed; FAR for those that are placed or of another part.
        least: The same, by what must be below it too.
        waits: True for requests that do not begin at `low`.
        load: Units left in each section.
        cuts: Requests left that live across the border of each section and the next.
        sections: First section, and the one behind the last.
        taken: The request whose cases are looked at.
        key: What the state is remembered by.
    """

    __slots__ = ("cuts", "key", "least", "load", "low", "sections", "taken", "waits")

    low: Ints
    least: Ints
    waits: np.ndarray[tuple[int], np.dtype[np.bool_]]
    load: Ints
    cuts: Ints
    sections: tuple[int, int]
    taken: int
    key: bytes

    def copy(self) -> _State:
        state = _State()
        state.low, state.least, state.waits = self.low.copy(), self.least.copy(), self.waits.copy()
        state.load, state.cuts, state.sections = self.load.copy(), self.cuts.copy(), self.sections
        return state

    def part(self, first: int, last: int, inside: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> _State:
        """Returns the state of the requests inside some sections."""
        state = self.copy()
        state.low[~inside] = FAR
        state.least[~inside] = FAR
        state.waits[~inside] = False
        state.sections = first, last
        return state

    def remember(self) -> bytes:
        self.key = blake2b((2 * self.low + self.waits).tobytes(), digest_size=16).digest()
        return self.key


class _Search:
    def __init__(self, geometry: Geometry, capacity: int) -> None:
        self.geometry = geometry
        self.room = (capacity - geometry.bytes) // geometry.unit
        self.ceiling = -(-capacity // geometry.unit)
        self.aligned = bool((geometry.aligns == 1).all())
        self.band = max(self.ceiling // BANDS, 1)
        self.at = np.zeros(len(geometry.sizes), np.int64)
        self.closed: set[bytes] = set()
        self.states = 0
        self.limit = 0
        self.rule = self.ties = ""

    def turn(self, rule: str, ties: str, limit: int) -> bool | None:
        """Searches with one rule; returns True with a plan in `at`, False where there is none, None at the limit."""
        self.rule, self.ties, self.limit = rule, ties, self.states + limit
        whole = self._whole()
        if (self.room < 0).any() or not self._possible(whole):
            return False
        return self._fit(self._parts(whole))

    def _whole(self) -> _State:
        geometry, state = self.geometry, _State()
        count, sections = len(geometry.sizes), len(geometry.load)
        state.low, state.least = np.zeros(count, np.int64), np.zeros(count, np.int64)
        state.waits, state.load = np.zeros(count, np.bool_), geometry.load.copy()
        state.cuts, state.sections = np.zeros(sections, np.int64), (0, sections)
        for begin, end in zip(geometry.begin, geometry.end, strict=True):
            state.cuts[begin : end - 1] += 1
        return state

    def _parts(self, state: _State) -> list[_State]:
        """Returns what a state falls apart into, but for parts of one request, which are placed."""
        geometry, (first, last) = self.geometry, state.sections
        borders = [first, *(first + 1 + np.flatnonzero(state.cuts[first : last - 1] == 0)).tolist(), last]
        left = state.low < FAR
        parts = []
        for begin, end in pairwise(borders):
            inside = left & (geometry.begin >= begin) & (geometry.end <= end)
            members = np.flatnonzero(inside)
            if len(members) == 1:
                self.at[members] = state.low[members]
            elif len(members):
                parts.append(state.part(begin, end, inside))
        return parts

    def _fit(self, parts: Sequence[_State]) -> bool | None:
        for part in parts:
            found = self._search(part)
            if not found:
                return found
        return True

    def _search(self, state: _State) -> bool | None:
        """Looks at all states below one; returns as `turn` does."""
        if state.remember() in self.closed:
            return False
        ranks = self._ranks(state)
        path = [state]
        while path:
            if self.states >= self.limit:
                return None
            self.states += 1
            state = path[-1]
            state.taken = self._choice(state, ranks)
            placed = self._placed(state)
            if self._possible(placed):
                begin, end = self.geometry.begin[state.taken], self.geometry.end[state.taken]
                if (placed.cuts[begin : end - 1] > 0).all():
                    if not (placed.low < FAR).any():
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

    def _placed(self, state: _State) -> _State:
        """Returns the state in which the request taken begins where it can."""
        geometry, i = self.geometry, state.taken
        start = state.low[i]
        self.at[i] = start
        placed = state.copy()
        low = np.maximum(state.low, geometry.above[i] + start)
        if not self.aligned:
            low = np.where(state.low < FAR, -(-low // geometry.aligns) * geometry.aligns, FAR)
        placed.waits &= low == state.low
        low[i] = FAR
        placed.waits[i] = False
        placed.least = np.maximum(state.least, low)
        placed.low = low
        begin, end = geometry.begin[i], geometry.end[i]
        placed.load[begin:end] -= geometry.sizes[i]
        for j, first, last, units in geometry.shares[i]:
            if state.low[j] < FAR:
                placed.load[first:last] += units
        placed.cuts[begin : end - 1] -= 1
        return placed

    def _postponed(self, state: _State) -> bool:
        """Lets the request taken wait, and all that are like it; returns False where there is no plan then."""
        state.waits[state.taken] = True
        for twin in self.geometry.twins[state.taken]:
            if state.low[twin] < FAR:
                state.waits[twin] = True
        return self._possible(state)

    def _possible(self, state: _State) -> bool:
        """Raises what waits over what can be in its way; returns False where that shows that there is no plan."""
        if not self._holds(state):
            return False
        waiting = np.flatnonzero(state.waits)
        if not len(waiting):
            return True
        raised = self._raised(state, waiting)
        return raised is not None and (not raised or self._holds(state))

    def _holds(self, state: _State) -> bool:
        """True where all requests left can still end within the capacity, by their least offsets and the sections."""
        geometry, least = self.geometry, state.least
        first, last = state.sections
        starts = geometry.starts[first : last + 1]
        floors = np.minimum.reduceat(least[geometry.members[starts[0] : starts[-1]]], starts[:-1] - starts[0])
        over = floors + state.load[first:last] > self.ceiling
        if over.any() and (over & (floors < FAR)).any():
            return False
        return not ((least > self.room) & (least < FAR)).any()

    def _raised(self, state: _State, waiting: Ints) -> bool | None:
        """Raises the offsets of what waits; returns whether any rose, or None where one has nothing in its way."""
        geometry, least, rose = self.geometry, state.least, False
        low = state.low[waiting]
        reach, tops = low[:, None] + geometry.above[waiting], geometry.below[waiting]
        while True:
            raised = np.where(least < reach, least + tops, FAR).min(axis=1)
            raised = np.maximum(raised, low + 1)
            if not self.aligned:
                raised = -(-raised // geometry.aligns[waiting]) * geometry.aligns[waiting]
            if raised.max() >= FAR:
                return None
            if (raised <= least[waiting]).all():
                return rose
            least[waiting] = np.maximum(raised, least[waiting])
            rose = True

    def _choice(self, state: _State, ranks: Ints) -> int:
        """Returns a request that does not wait and that nothing left can come before."""
        geometry = self.geometry
        order = state.least * geometry.scale + geometry.shift
        order[state.waits] = FAR * geometry.scale
        if self.rule == "lowest":
            return int(np.argmin(order * len(ranks) + ranks))
        if self.rule == "banded":
            return next(self._first_of_band(state, order, ranks))
        lowest = np.flatnonzero(order == order.min())
        return int(min(lowest, key=lambda i: (-state.load[geometry.begin[i] : geometry.end[i]].max(), ranks[i])))

    def _first_of_band(self, state: _State, order: Ints, ranks: Ints) -> Iterator[int]:
        geometry = self.geometry
        bands = order // (self.band * geometry.scale)
        chosen = np.flatnonzero(bands == bands.min())
        every = state.least * geometry.scale + geometry.shift
        for i in chosen[np.argsort(ranks[chosen])]:
            if every[geometry.above[i] > -FAR].min(initial=FAR * geometry.scale) >= order[i]:
                yield int(i)

    def _ranks(self, state: _State) -> Ints:
        geometry, left = self.geometry, np.flatnonzero(state.low < FAR)
        full = np.array([state.load[geometry.begin[i] : geometry.end[i]].max() for i in left])
        keys = {"T": full, "W": geometry.lives[left], "A": geometry.lives[left] * geometry.sizes[left]}
        ranks = np.zeros(len(geometry.sizes), np.int64)
        ranks[left[np.lexsort([left, *(-keys[tie] for tie in reversed(self.ties))])]] = np.arange(len(left))
        return ranks
