"""Which value of B is which value of A: by name, producer, shape, and by what the samples make of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from aboard.check.compare.real_graph import Part, RealGraph, Value, is_layer
from aboard.check.compare.real_numbers import Reals
from aboard.check.compare.recording import Recording
from aboard.ops import registry

#: Scores of two values that may be the same.
_NAME, _OP, _LAYERS, _ALIKE, _BOTH_ENDS, _ONE_END = 4.0, 1.5, 1.0, 3.0, 1.0, -10.0

#: Correlation of two values that are alike, and elements that it is taken of.
_CORRELATED, _ELEMENTS = 0.95, 4096

#: Samples that correlation is taken of.
_SAMPLES = 2

#: Orders of axes in which another format may hold an image or a sequence, preferred ones first.
_ORDERS = {4: ((0, 1, 2, 3), (0, 2, 3, 1), (0, 3, 1, 2)), 3: ((0, 1, 2), (0, 2, 1))}


@dataclass(frozen=True)
class Pair:
    """A value of A and the value of B that is the same.

    Attributes:
        a: Key in A.
        b: Key in B.
        order: For each axis of A's value, the axis of B's behind `shape`.
        shape: Shape of A's value.
    """

    a: str
    b: str
    order: tuple[int, ...]
    shape: tuple[int, ...]

    def in_a(self, value: Reals) -> Reals:
        """Returns a value of B with the axes of A."""
        moved = value.transpose(self.order) if len(self.order) == value.ndim else value
        return moved.reshape(self.shape)


@dataclass(frozen=True)
class Alignment:
    """All pairs, in B's order of execution.

    Attributes:
        pairs: The pairs of computed values.
        entries: Pairs of inputs, and of states.
        misshapen: Pairs of results of the same operator that have different shapes.
    """

    pairs: tuple[Pair, ...]
    entries: tuple[Pair, ...] = ()
    misshapen: tuple[tuple[str, str], ...] = ()

    def without(self, key: str) -> Alignment:
        """Returns the same without the pair of a value of A."""
        return replace(self, pairs=tuple(pair for pair in self.pairs if pair.a != key))

    def of(self, key: str) -> Pair | None:
        """Returns the pair of a value of A; None if it has none."""
        return next((pair for pair in self.pairs if pair.a == key), None)


def align(a: Recording, b: Recording) -> Alignment:
    """Returns which values of two sides are the same.

    Models with the same sequence of operators are paired operator by operator.
    """
    entries = _entries(a, b)
    if _sequence(a.network) == _sequence(b.network):
        places = {value.key: place for place, value in enumerate(b.network.computed())}
        both = [(value, b.network.computed()[place]) for place, value in enumerate(a.network.computed())]
        both = [(one, other) for one, other in both if a.known(one.key) and b.known(other.key)]
        pairs = [
            Pair(one.key, other.key, tuple(range(len(one.shape))), one.shape)
            for one, other in both
            if one.shape == other.shape
        ]
        misshapen = [(one.key, other.key) for one, other in both if one.shape != other.shape]
        return Alignment(tuple(sorted(pairs, key=lambda pair: places[pair.b])), entries, tuple(misshapen))
    return Alignment(tuple(_followed(a, b, entries)), entries)


def same_axes(ours: Sequence[int], theirs: Sequence[int]) -> tuple[int, ...] | None:
    """Returns for each axis of one shape the axis of another that holds the same; None if the shapes do not fit.

    Axes of one element do not count, nor does the order in which formats hold channels.
    """
    return next(iter(_orders(tuple(ours), tuple(theirs))), None)


def _entries(a: Recording, b: Recording) -> tuple[Pair, ...]:
    """Returns the pairs of inputs and states, in the order of the model files."""
    pairs = []
    for one, other in zip(a.network.graph.entries, b.network.graph.entries, strict=False):
        order = same_axes(one.shape, other.shape)
        if order is not None and a.known(one.name) and b.known(other.name):
            pairs.append(Pair(one.name, other.name, order, one.shape))
    return tuple(pairs)


def _computed(side: Recording) -> list[Value]:
    return [value for value in side.network.computed() if side.known(value.key)]


def _sequence(network: RealGraph) -> list[tuple[str, int]]:
    return [(node.op, len(node.inputs)) for node in network.nodes]


def _followed(a: Recording, b: Recording, entries: Sequence[Pair]) -> list[Pair]:
    """Returns the pairs that B's order of execution leads to.

    A value of B may be one of A if operators compute both from the same aligned values, with as many layers between.
    """
    pairs = list[Pair]()
    ours, theirs = _computed(a), _computed(b)
    for other in theirs:
        known = [*entries, *pairs]
        part = b.network.part(other.key, {pair.b for pair in known})
        if part is None:
            continue
        edges = {pair.b: pair.a for pair in known}
        free = [one for one in ours if all(pair.a != one.key for pair in pairs)]
        found = [
            choice
            for one in free
            if (choice := _choice(a, b, one, other, part, {edges[edge] for edge in part.edges}, known)) is not None
        ]
        best = max(found, key=lambda each: each[0], default=(0.0, None))
        if best[1] is not None:
            pairs.append(best[1])
    return pairs


def _choice(
    a: Recording, b: Recording, one: Value, other: Value, theirs: Part, edges: set[str], known: Sequence[Pair]
) -> tuple[float, Pair] | None:
    """Returns the score of two values, and their pair; None if they cannot be the same."""
    orders = _orders(one.shape, other.shape)
    if not orders:
        return None
    part = a.network.part(one.key, {pair.a for pair in known})
    if part is None or part.edges != edges or len(part.layers) != len(theirs.layers):
        return None
    expected = [
        a.network.run(part, {pair.a: pair.in_a(sample[pair.b]) for pair in known}) for sample in b.samples[:_SAMPLES]
    ]
    pairs = [Pair(one.key, other.key, order, one.shape) for order in orders]
    alike = [round(_correlation(expected, b, pair), 3) for pair in pairs]
    best = int(np.argmax(alike))
    score = _score(a, b, one, other, (part, theirs), alike[best])
    moves = any(each.only_moves for each in (part, theirs))
    return None if score <= 0 or (moves and alike[best] <= _CORRELATED) else (score, pairs[best])


def _orders(ours: tuple[int, ...], theirs: tuple[int, ...]) -> list[tuple[int, ...]]:
    known = _ORDERS.get(len(theirs), (tuple(range(len(theirs))),))
    return [order for order in known if _extents([theirs[axis] for axis in order]) == _extents(ours)]


def _extents(shape: Sequence[int]) -> list[int]:
    return [extent for extent in shape if extent != 1]


def _correlation(expected: Sequence[Reals], b: Recording, pair: Pair) -> float:
    """Returns the correlation of a value of B with what is expected, 0 for values that do not vary."""
    ours, theirs = (
        np.concatenate([each.reshape(-1)[:_ELEMENTS] for each in values])
        for values in (expected, [pair.in_a(sample[pair.b]) for sample in b.samples[: len(expected)]])
    )
    ours, theirs = ours - ours.mean(), theirs - theirs.mean()
    size = float(np.sqrt((ours**2).sum() * (theirs**2).sum()))
    return float((ours * theirs).sum() / size) if size > 0 and np.isfinite(size) else 0.0


def _score(a: Recording, b: Recording, one: Value, other: Value, parts: tuple[Part, Part], correlation: float) -> float:
    ends = [_is_end(side.network, value) for side, value in ((a, one), (b, other))]
    mains = [part.main for part in parts]
    return (
        _NAME * bool(one.names & other.names)
        + _OP * (mains[0].op == mains[1].op)
        + _LAYERS * all(is_layer(node) for node in mains)
        + _ALIKE * (correlation > _CORRELATED)
        + (_BOTH_ENDS if all(ends) else _ONE_END if any(ends) else 0.0)
    )


def _is_end(network: RealGraph, value: Value) -> bool:
    """True unless the only reader changes each element by itself, as an activation behind a layer does."""
    readers = network.readers(value.key)
    if len(readers) != 1:
        return True
    computed = [key for key in readers[0].inputs if key is not None and network.values[key].constant is None]
    moves = registry.get(readers[0].op).moves_data
    return moves or len(computed) != 1 or not registry.get(readers[0].op).elementwise
