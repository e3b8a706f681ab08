"""The likely cause of a defect: the way of being wrong that gives B's numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from aboard.check.compare import hypotheses
from aboard.check.compare.real_graph import Part, weighted
from aboard.check.compare.real_numbers import Reals
from aboard.check.compare.segments import Segments, sums_of_weights, weights_of, with_bias, with_weights
from aboard.check.compare.types import Cause, Explanation
from aboard.ops.weighted import BIAS

Mask = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]

#: Share of the power of a difference that may remain if a reason explains it.
_EXPLAINED = 0.15

#: A way with further numbers to choose must leave this many times less than one without.
_SIMPLER = 2.0

#: Share of the elements that must be neither at a limit nor beyond it for a factor to be seen.
_FREE = 0.02

#: A factor or a shift counts as one if it differs from none by this share, or by this many steps.
_CHANGE, _STEPS = 0.04, 1.5


@dataclass(frozen=True)
class Observation:
    """A layer that is wrong.

    Attributes:
        segments: The sides.
        part: The operators of A; None for an input.
        expected: What A gives, [samples, *shape].
        got: What B gives.
        noise: The spread that rounding explains, for each channel.
        limits: The least and the largest number that B's integers hold.
        step: Step of B's integers; 0 for float32.
    """

    segments: Segments
    part: Part | None
    expected: Reals
    got: Reals
    noise: Reals
    limits: tuple[float, float]
    step: float

    def rest(self, values: Reals) -> float:
        """Returns the power of what B's results differ by from some values, beyond rounding."""
        difference = (np.clip(values, *self.limits) - self.got) ** 2
        return float(np.maximum(difference.mean(tuple(range(difference.ndim - 1))) - self.noise**2, 0).mean())


def explain(seen: Observation) -> Explanation:
    """Returns the likely cause: the way that leaves least of the difference, or UNKNOWN if none leaves little."""
    if not np.isfinite(seen.got).all():
        return Explanation(Cause.OVERFLOW, "results are infinite or no numbers")
    all_of = seen.rest(seen.expected)
    found = [(rest, explanation) for rest, explanation in _tried(seen)]
    found += [(_SIMPLER * rest, explanation) for rest, explanation in _fitted(seen)]
    found += _wrapped(seen)
    best = min(found, key=lambda each: each[0], default=None)
    unknown = Explanation(Cause.UNKNOWN, "no known way of being wrong gives B's numbers")
    known = best[1] if best is not None and best[0] <= _EXPLAINED * all_of else _at_border(seen) or unknown
    layers = [] if seen.part is None else [node.node.name for node in seen.part.nodes if weighted(node)]
    return known if known.node is not None or len(layers) != 1 else replace(known, node=layers[0])


def _tried(seen: Observation) -> Iterator[tuple[float, Explanation]]:
    if seen.part is None:
        return
    for hypothesis in hypotheses.all_of(seen.part):
        values = [hypothesis.value(seen.segments, seen.part, sample) for sample in range(len(seen.got))]
        yield seen.rest(np.stack(values)), hypothesis.explanation


def _fitted(seen: Observation) -> Iterator[tuple[float, Explanation]]:
    """Yields what factors on the products, and numbers added to the results, leave."""
    products, base, low, high = _parts(seen)
    free = _free(seen, products + base, low, high)
    for by_channel in (False, True):
        factor = _factor(products, seen.got - base, free, by_channel)
        values = np.clip(factor * products + base, low, high)
        if np.abs(factor - 1).max() > _CHANGE:
            yield seen.rest(values), Explanation(Cause.SCALE, _factors(factor))
    shift = float(np.median((seen.got - products - base)[free])) if free.any() else 0.0
    if abs(shift) > _STEPS * seen.step:
        values = np.clip(products + base, low, high) if seen.step else products + base
        steps = f", {shift / seen.step:.1f} steps" if seen.step else ""
        yield seen.rest(values + shift), Explanation(Cause.ZERO_POINT, f"results are {shift:.4g} larger in B{steps}")
    yield from _scaled_results(seen, np.clip(products + base, low, high))
    yield from _bent(seen, products + base)
    yield from _moved_input(seen, products + base, free, (low, high))


def _moved_input(
    seen: Observation, linear: Reals, free: Mask, limits: tuple[float, float]
) -> Iterator[tuple[float, Explanation]]:
    """Yields what a bias leaves that is right for an input with another zero point: the sums of the weights count."""
    layers = [] if seen.part is None else [node.real for node in seen.part.nodes if weighted(node)]
    if seen.part is None or len(layers) != 1 or layers[0] is None or layers[0].optional_input(BIAS) is None:
        return
    changed = hypotheses.linear(seen.part)
    layer = changed.get(layers[0].name, layers[0])
    silent = with_weights(layer, 0 * weights_of(layer))
    values = [
        seen.segments.computed(seen.part, 0, {**changed, layer.name: with_bias(silent, bias)})
        for bias in (sums_of_weights(layer), 0 * sums_of_weights(layer))
    ]
    field = np.broadcast_to(values[0] - values[1], linear.shape)
    shift = float(_factor(field, seen.got - linear, free, by_channel=False).max())
    text = f"the bias is that of an input which is {shift:.4g} larger than A's"
    yield seen.rest(np.clip(linear + shift * field, *limits)), Explanation(Cause.ZERO_POINT, text)


def _bent(seen: Observation, linear: Reals) -> Iterator[tuple[float, Explanation]]:
    """Yields what another activation leaves: limits where B's results end, and a slope below 0."""
    low, high = float(seen.got.min()), float(seen.got.max())
    negative = (linear < 0) & (seen.got > low) & (seen.got < high)
    slope = float(_factor(linear, seen.got, negative, by_channel=False).max()) if negative.any() else 1.0
    values = np.clip(np.where(linear < 0, slope * linear, linear), low, high)
    text = f"B's results are between {low:.4g} and {high:.4g}, below 0 with a slope of {slope:.4g}"
    yield seen.rest(values), Explanation(Cause.ACTIVATION, text)


def _scaled_results(seen: Observation, expected: Reals) -> Iterator[tuple[float, Explanation]]:
    factor = _factor(expected, seen.got, np.ones(expected.shape, bool), by_channel=False)
    if np.abs(factor - 1).max() > _CHANGE:
        yield seen.rest(factor * expected), Explanation(Cause.SCALE, _factors(factor, "results"))


def _parts(seen: Observation) -> tuple[Reals, Reals, float, float]:
    """Returns what depends on the weights, what does not, and the limits of activations behind them."""
    if seen.part is None:
        return seen.expected, np.zeros(1), -np.inf, np.inf
    changed, samples = hypotheses.linear(seen.part), range(len(seen.got))
    whole = np.stack([seen.segments.computed(seen.part, sample, changed) for sample in samples])
    layers = [node.real for node in seen.part.nodes if weighted(node) and node.real is not None]
    base = np.zeros(1)
    if len(layers) == 1:
        (layer,) = layers
        without = with_weights(changed.get(layer.name, layer), 0 * weights_of(layer))
        base = np.stack(
            [seen.segments.computed(seen.part, sample, {**changed, layer.name: without}) for sample in samples]
        )
    low, high = -np.inf, np.inf
    for node in seen.part.nodes:
        activation = hypotheses.activation_of(node)
        least, most = activation.limits
        low, high = max(low, -np.inf if least is None else least), min(high, np.inf if most is None else most)
    return whole - base, base, low, high


def _free(seen: Observation, linear: Reals, low: float, high: float) -> Mask:
    """Returns which elements are at no limit on either side."""
    least, most = max(low, seen.limits[0]), min(high, seen.limits[1])
    span = 1e-6 + seen.step
    free = (seen.got > least + span) & (seen.got < most - span) & (linear > low) & (linear < high)
    return free if free.mean() > _FREE else np.ones(seen.got.shape, bool)


def _factor(values: Reals, wanted: Reals, free: Mask, by_channel: bool) -> Reals:
    """Returns the factors that bring values nearest to others; 1 where nothing tells."""
    axes = tuple(range(values.ndim - int(by_channel)))
    with np.errstate(all="ignore"):
        factor = (values * wanted * free).sum(axes, keepdims=True) / (values**2 * free).sum(axes, keepdims=True)
    return np.asarray(np.where(np.isfinite(factor), factor, 1.0))


def _factors(factor: Reals, what: str = "products with the weights") -> str:
    changed = factor[np.abs(factor - 1) > _CHANGE]
    where = "" if factor.size == 1 else f" in {changed.size} of {factor.size} channels"
    return f"{what} are {changed.min():.4g} to {changed.max():.4g} times as large in B{where}"


def _wrapped(seen: Observation) -> Sequence[tuple[float, Explanation]]:
    """Returns what numbers that wrap at the end of B's integers leave, if any do."""
    span = seen.limits[1] - seen.limits[0] + seen.step
    if not np.isfinite(span):
        return []
    wraps = np.rint((seen.expected - seen.got) / span)
    if not wraps.any():
        return []
    text = f"results beyond the range of the integers come out at its other end: {int((wraps != 0).sum())} elements"
    difference = (seen.expected - wraps * span - seen.got) ** 2
    return [(float(difference.mean()), Explanation(Cause.OVERFLOW, text))]


def _at_border(seen: Observation) -> Explanation | None:
    """Returns that results differ at the border of the image only, or None."""
    if seen.got.ndim != 5 or min(seen.got.shape[2:4]) < 3:  # samples, batch, rows, columns, channels
        return None
    difference = ((seen.expected - seen.got) ** 2).mean((0, 1, 4))
    inner = difference[1:-1, 1:-1].sum()
    if inner > _EXPLAINED * difference.sum():
        return None
    return Explanation(Cause.PADDING, "results differ at the border of the image only")
