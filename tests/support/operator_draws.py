"""Operators drawn with their shapes, types and quantisation: many in one model, compared with the reference at once."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

import aboard
from support import one_op, oracle, sanitized, scale_draws
from support.element_models import Value, random
from support.scale_draws import Draw

#: Values of a drawn operand; None for random ones.
Values = Callable[[np.random.Generator, Value], np.ndarray]


def shape(rng: np.random.Generator, rank: int = 5) -> tuple[int, ...]:
    """Draws a shape of 1 to `rank` axes."""
    return tuple(int(extent) for extent in rng.integers(1, 5, rng.integers(1, rank + 1)))


def shapes(rng: np.random.Generator, count: int, rank: int = 5) -> list[tuple[int, ...]]:
    """Draws shapes of at most `rank` axes that broadcast together; half of the time all are equal."""
    whole = shape(rng, rank)
    if rng.random() < 0.5:
        return [whole] * count
    drawn = [tuple(1 if rng.random() < 0.3 else extent for extent in whole) for _ in range(count)]
    return [drawn[0], *(each[int(rng.integers(0, len(whole))) :] for each in drawn[1:])]


def value(rng: np.random.Generator, extents: Sequence[int], dtype: type, scale: tuple[float, float]) -> Value:
    """Draws a tensor: int8 and int16 have a scale, log-uniform between two, int8 a zero point too."""
    if dtype not in (np.int8, np.int16):
        return Value(tuple(extents), dtype)
    low, high = np.log(scale)
    zero_point = int(rng.choice([-128, 127, 0, int(rng.integers(-128, 128))])) if dtype is np.int8 else 0
    return Value(tuple(extents), dtype, float(np.float32(np.exp(rng.uniform(low, high)))), zero_point)


def whole(values: Sequence[Value]) -> tuple[int, ...]:
    """Returns the shape that tensors have together."""
    return np.broadcast_shapes(*(each.shape for each in values))


def drawn_values(rng: np.random.Generator, draws: Sequence[Draw], special: Values = random) -> list[list[np.ndarray]]:
    """Draws the values of all operands that are inputs."""
    return [[special(rng, operand) for operand in draw.operands if operand.data is None] for draw in draws]


def check(draws: Sequence[Draw], values: Sequence[Sequence[np.ndarray]], relative: float = 0.0) -> None:
    """Fails unless `evaluate` and the generated C, in a sanitized process, give the reference's results.

    Args:
        draws: Operators that are accepted.
        values: Of the operands of each that are inputs.
        relative: Of float results, the largest relative error; 0 for equality.
    """
    data, feed = scale_draws.model(draws), [x for each in values for x in each]
    expected = oracle.tflm(data, *feed)
    module = aboard.compile(data, target=one_op.HOST, name="model")
    named = {record.name: x for record, x in zip(module.manifest.inputs, feed, strict=True)}
    with tempfile.TemporaryDirectory() as folder:
        compiled = sanitized.run(module, named, Path(folder))
    ways = {
        "evaluate": one_op.evaluate(data, *feed),
        "C": [compiled[record.name] for record in module.manifest.outputs],
    }
    for way, results in ways.items():
        for draw, given, got, wanted in zip(draws, values, results, expected, strict=True):
            assert got.dtype == wanted.dtype, f"{way}: {draw}"
            exact = relative == 0.0 or got.dtype != np.float32
            same = (
                (got == wanted) | (got != got) & (wanted != wanted)
                if exact
                else np.isclose(got, wanted, rtol=relative, atol=1e-37, equal_nan=True)
            )
            if not same.all():
                at = np.flatnonzero(~same.ravel())[0]
                of = [np.broadcast_to(x, wanted.shape).ravel()[at] for x in given] if len(given) < 3 else given
                raise AssertionError(f"{way}: {draw}: got {got.ravel()[at]!r} of {of}, expected {wanted.ravel()[at]!r}")
