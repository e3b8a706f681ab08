"""The search for the cheapest partition: starts, an estimate that proposes, and trials of whole models that decide.

1. Starts: the host alone, all matches in order for every order of the devices, each device alone, the shortest path of
   the estimate (`Estimate.shortest`), and where descents by the estimate from all of these end.
2. The trials price the starts, and descend from the cheapest two. A move takes a match in place of overlapping ones,
   gives one back, or gives a stretch of nodes to one device or to the host. Moves with low estimates are tried first,
   and in short models two moves at once.

The number of trials is bounded, so that large models do not take minutes; small ones are searched nearly exhaustively.
Ties and orders depend on names of devices and places of nodes only, so the order of devices in a target is no matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import permutations

from aboard.partition.estimate import Estimate, Offer

#: Sets of offers, by their indices in ascending order.
Taken = tuple[int, ...]
#: Price of a set of offers, by trial; less is better.
Price = tuple[int, float]

#: Trials of a descent for each node of the model, at most: a trial takes time in proportion to the nodes.
_NODE_TRIALS = 700
_LEAST_TRIALS = 6
#: Largest number of devices whose orders are all tried.
_PERMUTED = 4
#: Largest number of nodes for which every stretch is a move; in longer models stretches end where the owner changes.
_SHORT = 14
#: Largest number of rounds of a descent by the estimate.
_ROUNDS = 8


def search(estimate: Estimate, devices: Sequence[int], price: Callable[[Taken], Price]) -> Taken:
    """Returns the cheapest set of offers that was found.

    Args:
        estimate: Proposes sets.
        devices: Indices of the devices in the order of their names.
        price: Prices a set by trial; called several times with the same set.
    """
    moves = _Moves(estimate, devices)
    starts = dict.fromkeys(_starts(estimate, devices))
    starts |= dict.fromkeys([_estimated_descent(start, moves, estimate) for start in starts])
    prices = {start: price(start) for start in _likeliest(starts, estimate, len(estimate.nodes))}
    ranked = sorted(prices, key=lambda start: (prices[start], start))
    left = max(_LEAST_TRIALS, _NODE_TRIALS // max(1, len(estimate.nodes)))
    best = ranked[0]
    for start in ranked[:2]:
        end, left = _descent(start, moves, estimate, price, left)
        best = min(best, end, key=lambda taken: (price(taken), taken))
    return best


def _likeliest(starts: Iterable[Taken], estimate: Estimate, nodes: int) -> list[Taken]:
    """Returns the starts to try: the first ones always, of the others those with the least estimates."""
    every = list(starts)
    if nodes <= _SHORT:
        return every
    return sorted(every, key=lambda taken: (estimate.of(taken), taken))[: 2 * _LEAST_TRIALS]


def in_order(offers: Sequence[Offer], order: Iterable[int]) -> Taken:
    """Returns the offers that do not overlap with an earlier one, device by device.

    Args:
        offers: All offers, those of a device in the order in which it prefers them.
        order: Indices of the devices, the first to choose first.
    """
    claimed: set[object] = set()
    taken = []
    for device in order:
        for index, (owner, match) in enumerate(offers):
            if owner == device and claimed.isdisjoint(match.nodes):
                claimed.update(match.nodes)
                taken.append(index)
    return tuple(sorted(taken))


def _starts(estimate: Estimate, devices: Sequence[int]) -> Iterator[Taken]:
    yield ()
    yield tuple(sorted(estimate.shortest()))
    for device in devices:
        yield in_order(estimate.offers, [device])
    orders = permutations(devices) if len(devices) <= _PERMUTED else _rotations(devices)
    for order in orders:
        yield in_order(estimate.offers, order)


def _rotations(devices: Sequence[int]) -> Iterator[tuple[int, ...]]:
    for first in range(len(devices)):
        yield (*devices[first:], *devices[:first])


class _Moves:
    """The sets that one move makes of a set of offers."""

    def __init__(self, estimate: Estimate, devices: Sequence[int]) -> None:
        number = {node: index for index, node in enumerate(estimate.nodes)}
        self._nodes = [frozenset(number[node] for node in match.nodes) for _, match in estimate.offers]
        self._device = [device for device, _ in estimate.offers]
        self._joined = estimate.joined
        self._devices = devices
        self._count = len(estimate.nodes)

    def of(self, taken: Taken) -> Iterator[Taken]:
        """Yields the sets that single offers and stretches of nodes lead to; some are the set itself."""
        for index in range(len(self._nodes)):
            yield self._toggled(taken, index)
        for first, last in self._stretches(taken):
            nodes = frozenset(range(first, last))
            yield tuple(self._without(taken, nodes))
            for device in self._devices:
                offers = self._of_device(device, nodes)
                yield self._given(taken, nodes, offers)
                for region in self._regions(offers):
                    claimed = frozenset(node for index in region for node in self._nodes[index])
                    yield self._given(taken, claimed, region)

    def _toggled(self, taken: Taken, index: int) -> Taken:
        if index in taken:
            return tuple(other for other in taken if other != index)
        return tuple(sorted([*self._without(taken, self._nodes[index]), index]))

    def _without(self, taken: Iterable[int], nodes: frozenset[int]) -> list[int]:
        return [other for other in taken if nodes.isdisjoint(self._nodes[other])]

    def _of_device(self, device: int, nodes: frozenset[int]) -> list[int]:
        """Returns the offers of a device that lie in a set of nodes and do not overlap, in its order."""
        claimed: set[int] = set()
        found = []
        for index, own in enumerate(self._nodes):
            if self._device[index] == device and own <= nodes and claimed.isdisjoint(own):
                claimed |= own
                found.append(index)
        return found

    def _regions(self, offers: Sequence[int]) -> list[list[int]]:
        """Returns the offers that would become one region of several offers, if there are others beside them."""
        regions: list[list[int]] = []
        for index in offers:
            joined = [region for region in regions if any(self._joins(index, other) for other in region)]
            regions = [region for region in regions if region not in joined]
            regions.append([index, *(other for region in joined for other in region)])
        return [region for region in regions if 1 < len(region) < len(offers)]

    def _joins(self, one: int, other: int) -> bool:
        return (one, other) in self._joined or (other, one) in self._joined

    def _given(self, taken: Taken, nodes: frozenset[int], offers: Sequence[int]) -> Taken:
        """Returns a set with some offers, in which the host has the rest of some nodes."""
        claimed = nodes.union(*(self._nodes[index] for index in offers))
        return tuple(sorted([*self._without(taken, claimed), *offers]))

    def _stretches(self, taken: Taken) -> Iterator[tuple[int, int]]:
        """Yields the first node of a stretch and the node behind its last."""
        if self._count <= _SHORT:
            ends = list(range(self._count + 1))
        else:
            owner: list[int | None] = [None] * self._count
            for index in taken:
                for node in self._nodes[index]:
                    owner[node] = self._device[index]
            changes = [place for place in range(1, self._count) if owner[place] != owner[place - 1]]
            ends = [0, *changes, self._count]
        reach = len(ends) if self._count <= _SHORT else 3
        for number, first in enumerate(ends):
            for last in ends[number + 1 : number + 1 + reach]:
                yield first, last


def _estimated_descent(taken: Taken, moves: _Moves, estimate: Estimate) -> Taken:
    """Returns where moves lead that each reduce the estimate most."""
    least = estimate.of(taken)
    for _ in range(_ROUNDS):
        found = min((estimate.of(other), other) for other in moves.of(taken))
        if found[0] >= least:
            break
        least, taken = found
    return taken


def _descent(
    taken: Taken, moves: _Moves, estimate: Estimate, price: Callable[[Taken], Price], left: int
) -> tuple[Taken, int]:
    """Returns where moves lead that reduce the price, and how many trials are left.

    In a short model, two moves at once are tried where no single one helps.
    """
    tried = {taken}
    best = price(taken)
    steps = (1, 2) if len(estimate.nodes) <= _SHORT else (1,)
    depth = 0
    while left > 0 and depth < len(steps):
        before = taken
        for other in _following(taken, moves, estimate, steps[depth], tried)[:left]:
            tried.add(other)
            left -= 1
            if price(other) < best:
                best, taken = price(other), other
                break
        depth = depth + 1 if taken is before else 0
    return taken, left


def _following(taken: Taken, moves: _Moves, estimate: Estimate, steps: int, tried: set[Taken]) -> list[Taken]:
    """Returns the sets that so many moves lead to and that were not tried, those with low estimates first."""
    found = dict.fromkeys(moves.of(taken))
    for _ in range(steps - 1):
        found = dict.fromkeys(further for other in found for further in moves.of(other))
    following = [other for other in found if other not in tried]
    return sorted(following, key=lambda other: (estimate.of(other), other))
