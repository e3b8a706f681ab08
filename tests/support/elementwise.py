"""Elementwise operators with quantisation drawn at random, each compared on every value, or pair of values, it can get.

A family is an operator with its element types. `campaign` goes through all of them, as often as it is asked to.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from support import oracle
from support.element_models import ACTIVATIONS, Value, real
from support.examples import either
from support.scale_draws import Draw, Run, accepted, check

Drawing = Callable[[np.random.Generator], Draw]
Values = Callable[[np.random.Generator, Draw], Sequence[np.ndarray]]

#: Draws of operators with 256 values; campaigns (`make fuzz`) draw others.
_MANY = either(1000, 200)

#: Scale and zero point that results of these operators have.
_FIXED = {
    ("LOGISTIC", np.int8): (1 / 256, -128),
    ("TANH", np.int8): (1 / 128, 0),
    ("LOGISTIC", np.int16): (2.0**-15, 0),
    ("TANH", np.int16): (2.0**-15, 0),
}

#: Values of int16 of which every pair is compared.
_CORNERS = (-32768, -32767, -16385, -16384, -257, -256, -129, -128, -2, -1, 0, 1, 2, 127, 128, 255, 256, 16383, 32766)


@dataclass(frozen=True)
class Family:
    """An operator with its element types.

    Attributes:
        draw: Draws its quantisation.
        values: Gives the values that it is computed for.
        count: Draws of a usual test.
        batch: Draws in one model.
        reference: What its results are compared with.
    """

    draw: Drawing
    values: Values
    count: int
    batch: int
    reference: Run = oracle.tflm

    def check(self, seed: int, count: int, run: Run | None = None) -> int:
        """Fails unless draws equal the reference, see `scale_draws.check`; returns how many results were compared."""
        rng, compared = np.random.default_rng(seed), 0
        for first in range(0, count, self.batch):
            draws = accepted(self.draw, rng, min(self.batch, count - first))
            compared += check(draws, [self.values(rng, draw) for draw in draws], self.reference, run)
        return compared


def every(dtype: Any) -> np.ndarray:
    """Returns every value of an integer type of 8 or 16 bits, once."""
    info = np.iinfo(dtype)
    return np.arange(info.min, info.max + 1).astype(dtype).reshape(1, -1)


def _scale(rng: np.random.Generator) -> float:
    """Draws a scale, log-uniform; sometimes it is a power of two, sometimes one that no quantiser chooses."""
    exponent = rng.uniform(-16, 4) if rng.random() < 0.9 else rng.uniform(-26, 24)
    return float(np.float32(2.0 ** (round(exponent) if rng.random() < 0.1 else exponent)))


def _related(rng: np.random.Generator, other: float, low: float = -12.0, high: float = 8.0) -> float:
    """Draws a scale by its ratio to another: equal, nearly equal, a power of two, log-uniform, or far from it."""
    way = rng.choice(["equal", "near", "power", "any", "far"], p=[0.05, 0.05, 0.15, 0.65, 0.1])
    if way == "equal":
        return other
    if way == "near":
        return float(np.float32(other) * np.float32(1 + 2.0**-23 * rng.integers(-3, 4)))
    exponent = rng.uniform(-26, 36) if way == "far" else rng.uniform(low, high)
    return float(np.float32(other * 2.0 ** (round(exponent) if way == "power" else exponent)))


def _value(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any, chosen: float) -> Value:
    """Returns a tensor of a scale, with a zero point drawn where the type has one; often one at an end."""
    if np.dtype(dtype).kind == "f":
        return real(shape)
    info = np.iinfo(dtype)
    anywhere = int(rng.integers(info.min, info.max, endpoint=True))
    zero_point = int(rng.choice([info.min, info.max, 0, anywhere], p=[0.2, 0.05, 0.1, 0.65]))
    return Value(shape, dtype, chosen, 0 if dtype is np.int16 else zero_point)


def unary(kind: str, before: Any, after: Any) -> Drawing:
    """Returns what draws operators of one operand.

    Args:
        kind: Name in the schema's `BuiltinOperator`.
        before: Element type of the operand.
        after: Element type of the result.
    """
    shape = _around_steps(Value((), after, 1.0)).shape if before is np.float32 else every(before).shape

    def draw(rng: np.random.Generator) -> Draw:
        first = _scale(rng)
        operand = _value(rng, shape, before, first)
        result = _value(rng, shape, after, _related(rng, first, -6.9 if kind == "HARD_SWISH" else -12.0))
        if kind == "RELU6":
            result = operand
        if (kind, after) in _FIXED:
            result = Value(shape, after, *_FIXED[kind, after])
        return Draw(kind, (operand,), result, {"Alpha": _slope(rng)} if kind == "LEAKY_RELU" else {})

    return draw


def _slope(rng: np.random.Generator) -> float:
    """Draws a slope below 0: of either sign, small, large, or one that ends a range."""
    if rng.random() < 0.15:
        return float(rng.choice([0.0, 1.0, -1.0, 0.5, 1e-12]))
    return float(np.float32(rng.choice([1, -1], p=[0.8, 0.2]) * 2.0 ** rng.uniform(-10, 2)))


def binary(kind: str, dtype: Any, broadcast: float = 0.3) -> Drawing:
    """Returns what draws sums, differences or products of 65,536 pairs, with any activation.

    Args:
        kind: `ADD`, `SUB` or `MUL`.
        dtype: Element type.
        broadcast: Probability that the pairs are those of 256 values each.
    """

    def draw(rng: np.random.Generator) -> Draw:
        shapes = [(256, 1), (1, 256)] if rng.random() < broadcast else [(256, 256)] * 2
        first = _scale(rng)
        second = _related(rng, first, -10, 10)
        whole, low, high = max(first, second), -10.0, 8.0
        if kind == "MUL":
            whole, low, high = first * second, 0.01 if dtype is np.int16 else -13.5, 16.0
        operands = tuple(_value(rng, shape, dtype, each) for shape, each in zip(shapes, (first, second), strict=True))
        result = _value(rng, (256, 256), dtype, _related(rng, whole, low, high))
        return Draw(kind, operands, result, {"FusedActivationFunction": str(rng.choice(ACTIVATIONS))})

    return draw


def mean(dtype: Any) -> Drawing:
    """Returns what draws means over rows, columns or both, of up to 20 by 20 pixels."""

    def draw(rng: np.random.Generator) -> Draw:
        batch, height, width, channels = 3, *rng.integers(1, 21, 2).tolist(), 5
        axes = [[1, 2], [1], [2]][rng.integers(3)]
        first = _scale(rng)
        operand = _value(rng, (batch, height, width, channels), dtype, first)
        kept = tuple(1 if axis in axes else size for axis, size in enumerate(operand.shape))
        result = _value(rng, kept, dtype, _related(rng, first))
        return Draw("MEAN", (operand, Value((len(axes),), np.int32, data=np.array(axes))), result, {"KeepDims": True})

    return draw


def every_value(rng: np.random.Generator, draw: Draw) -> Sequence[np.ndarray]:
    """Returns every value of the operand."""
    del rng
    return [every(draw.operands[0].dtype)]


def steps(rng: np.random.Generator, draw: Draw) -> Sequence[np.ndarray]:
    """Returns every step of the result as a real number, every tie between two steps, and what is next to a tie."""
    del rng
    return [_around_steps(draw.result)]


def _around_steps(result: Value) -> np.ndarray:
    info = np.iinfo(result.dtype)
    whole = np.arange(info.min - 3, info.max + 4).astype(np.float32) - np.float32(result.zero_point)
    unit = np.float32(result.scale or 1.0)
    tie = (whole + np.float32(0.5)) * unit
    return np.stack([whole * unit, tie, np.nextafter(tie, np.float32(-np.inf)), np.nextafter(tie, np.float32(np.inf))])


def every_pair(rng: np.random.Generator, draw: Draw) -> Sequence[np.ndarray]:
    """Returns every pair of int8, broadcast where the operands are."""
    del rng
    x = np.arange(-128, 128).astype(np.int8)
    if draw.operands[0].shape == (256, 1):
        return [x[:, None], x[None, :]]
    return [np.repeat(x, 256).reshape(256, 256), np.tile(x, 256).reshape(256, 256)]


def pairs(rng: np.random.Generator, draw: Draw) -> Sequence[np.ndarray]:
    """Returns random pairs of int16, and all pairs of values at borders."""
    corners = np.array([*_CORNERS, 32767], np.int16)
    if draw.operands[0].shape == (256, 1):
        drawn = rng.integers(-32768, 32768, (2, 256)).astype(np.int16)
        drawn[:, : corners.size] = corners
        return [drawn[0][:, None], drawn[1][None, :]]
    drawn = rng.integers(-32768, 32768, (2, 65536)).astype(np.int16)
    for row, among in zip(drawn, (np.repeat(corners, corners.size), np.tile(corners, corners.size)), strict=True):
        row[: among.size] = among
    return [row.reshape(draw.operands[0].shape) for row in drawn]


def anything(rng: np.random.Generator, draw: Draw) -> Sequence[np.ndarray]:
    """Returns random values of the first operand; some rows hold one end of the type."""
    operand = draw.operands[0]
    info = np.iinfo(operand.dtype)
    x = rng.integers(info.min, info.max, operand.shape, endpoint=True).astype(operand.dtype)
    x[1], x[2] = info.min, info.max
    return [x]


def _families() -> dict[str, Family]:
    found: dict[str, Family] = {}
    kinds = [
        *((kind, np.int8, np.int8) for kind in ("RELU", "RELU6", "LEAKY_RELU", "HARD_SWISH", "LOGISTIC", "TANH")),
        *((kind, np.int16, np.int16) for kind in ("RELU", "RELU6", "LEAKY_RELU", "LOGISTIC", "TANH")),
        *(("QUANTIZE", np.int8, after) for after in (np.int8, np.int16, np.uint8)),
        *(("QUANTIZE", np.int16, after) for after in (np.int8, np.int16)),
        ("QUANTIZE", np.uint8, np.int8),
        *(("DEQUANTIZE", before, np.float32) for before in (np.int8, np.int16, np.uint8)),
    ]
    for kind, before, after in kinds:
        count, batch = (20, 20) if before is np.int16 else (_MANY, 100)
        name = f"{kind} {np.dtype(before)} to {np.dtype(after)}"
        found[name] = Family(unary(kind, before, after), every_value, count, batch)
    # tflite-micro has no such kernel.
    one = unary("RELU_N1_TO_1", np.int8, np.int8)
    found["RELU_N1_TO_1 int8 to int8"] = Family(one, every_value, _MANY, 100, oracle.litert_ref)
    found["QUANTIZE float32 to int8"] = Family(unary("QUANTIZE", np.float32, np.int8), steps, _MANY, 100)
    found["QUANTIZE float32 to int16"] = Family(unary("QUANTIZE", np.float32, np.int16), steps, 20, 10)
    for kind in ("ADD", "SUB", "MUL"):
        found[f"{kind} int8"] = Family(binary(kind, np.int8), every_pair, 100, 20)
        found[f"{kind} int16"] = Family(binary(kind, np.int16), pairs, 20, 10)
    for dtype in (np.int8, np.int16):
        found[f"MEAN {np.dtype(dtype)}"] = Family(mean(dtype), anything, 100, 50)
    return found


#: Every elementwise operator of integers that is imported, and MEAN, by name.
FAMILIES = _families()


def campaign(seed: int, count: int) -> Counter[str]:
    """Compares draws of all families in turn; fails at the first result that differs and names its operator.

    Args:
        seed: Of all that is drawn.
        count: How many operators are drawn, in batches of one family.

    Returns:
        How many results were compared, by family.
    """
    rng, compared = np.random.default_rng(seed), Counter[str]()
    for name in itertools.cycle(FAMILIES):
        batch = min(FAMILIES[name].batch, count)
        if batch == 0:
            return compared
        compared[name] += FAMILIES[name].check(int(rng.integers(2**32)), batch)
        count -= batch
    raise AssertionError("FAMILIES is empty")
