"""A layer of B beside A's on the same operands, and whether it differs by more than rounding explains.

What rounding explains is the spread of results within a step of B's integers, and of weights within a step of theirs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aboard.check.compare.alignment import Pair
from aboard.check.compare.causes import Observation
from aboard.check.compare.real_graph import Part, RealNode
from aboard.check.compare.real_numbers import Reals
from aboard.check.compare.segments import Segments
from aboard.check.compare.types import State

#: A channel is wrong if it differs by more than this many times the spread that rounding explains.
_SPREADS = 3.5

#: What sums of float32 in another order may differ by, of the spread of the results.
_FLOAT = 2e-4

#: Kernels of integers round twice: a further step, at most.
_KERNEL_STEPS = 0.5


@dataclass
class Judged:
    """A layer of B beside A's on the same operands; arrays are [samples, *shape], those by channel [channels].

    An input has no part of A.
    """

    pair: Pair
    part: Part | None
    expected: Reals
    got: Reals
    own: Reals
    spread: Reals
    limits: tuple[float, float]
    step: float

    @property
    def wrong(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which channels differ by more than rounding."""
        return np.asarray(~(_by_channel(self.got - self.expected) <= _SPREADS * self.spread))

    @property
    def only_limits(self) -> bool:
        """True if the range of B's integers explains the difference."""
        cut = np.clip(self.expected, *self.limits)
        return bool((_by_channel(self.got - cut) <= _SPREADS * self.spread).all())

    @property
    def cut(self) -> float:
        """The share of the power of the values that the range of B's integers cuts off."""
        rest = self.expected - np.clip(self.expected, *self.limits)
        return float((rest**2).sum() / max((self.expected**2).sum(), 1e-30))

    @property
    def state(self) -> State:
        """How the layers differ."""
        if np.array_equal(self.own, self.got):
            return State.EQUAL
        if not self.wrong.any():
            return State.ROUNDING
        return State.LIMITS if self.only_limits else State.DEFECT

    def observation(self, segments: Segments) -> Observation:
        """Returns what the cause is looked for with."""
        return Observation(segments, self.part, self.expected, self.got, self.spread, self.limits, self.step)

    @property
    def nodes(self) -> tuple[RealNode, ...]:
        """The operators of A, in execution order."""
        return () if self.part is None else self.part.nodes


def _by_channel(values: Reals) -> Reals:
    """Returns the root of the mean square of [samples, *shape] for each index of the last axis."""
    flat = values.reshape(-1, _channels(values))
    return np.asarray(np.sqrt((flat**2).mean(0)))


def judged_layer(segments: Segments, pair: Pair) -> Judged | None:
    """Returns a layer beside A's; None if a value in front of it is unknown, as a state may be."""
    part = segments.part(pair.a)
    if part is None:
        return None
    samples = range(len(segments.b.samples))
    expected = np.stack([segments.computed(part, sample) for sample in samples])
    noise = np.stack([segments.noise(part, sample) for sample in samples])
    return _made(segments, pair, part, expected, _by_channel(noise))


def input_beside(segments: Segments, pair: Pair) -> Judged:
    """Returns an input beside A's."""
    expected = np.stack([sample[pair.a] for sample in segments.a.samples])
    step = segments.a.network.values[pair.a].step
    return _made(segments, pair, None, expected, np.full(_channels(expected), step / np.sqrt(12)))


def _made(segments: Segments, pair: Pair, part: Part | None, expected: Reals, noise: Reals) -> Judged:
    value = segments.b.network.values[pair.b]
    got = np.stack([pair.in_a(sample[pair.b]) for sample in segments.b.samples])
    expected, got = without_nan(expected, got)
    fixed = _FLOAT * np.sqrt((expected**2).mean()) + value.step * np.sqrt(1 / 12 + _KERNEL_STEPS**2)
    return Judged(
        pair=pair,
        part=part,
        expected=expected,
        got=got,
        own=np.stack([sample[pair.a] for sample in segments.a.samples]),
        spread=np.sqrt(noise**2 + fixed**2) + 1e-12,
        limits=value.range,
        step=value.step,
    )


def without_nan(right: Reals, values: Reals) -> tuple[Reals, Reals]:
    """Returns two arrays with 0 wherever both are infinite or no numbers: there they agree."""
    both = ~np.isfinite(right) & ~np.isfinite(values)
    return np.where(both, 0.0, right), np.where(both, 0.0, values)


def _channels(values: Reals) -> int:
    return values.shape[-1] if values.ndim > 1 else 1
