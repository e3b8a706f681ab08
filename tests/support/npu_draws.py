"""Draws of operators that move, compare or convert data, as the NPU Ethos-U55 may take them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from support.moves import Case

Rng = np.random.Generator
Quant = dict[str, Any]


def quant(rng: Rng) -> Quant:
    """Draws a scale and a zero point of int8."""
    return {"scale": float(np.float32(2.0 ** rng.uniform(-8, 1))), "zero_point": int(rng.integers(-128, 128))}


def related(rng: Rng, other: Quant) -> Quant:
    """Draws a quantisation whose scale is near another's; sometimes the same one."""
    if rng.random() < 0.2:
        return other
    return quant(rng) | {"scale": float(np.float32(other["scale"] * 2.0 ** rng.uniform(-3, 3)))}


def image(rng: Rng, most: int = 20) -> tuple[int, ...]:
    """Draws the shape of an image of one sample."""
    return (1, *(int(extent) for extent in rng.integers(1, most, 2)), int(rng.integers(1, 36)))


def filled(rng: Rng, shape: tuple[int, ...]) -> np.ndarray:
    """Draws values of the whole range."""
    return rng.integers(-128, 128, shape).astype(np.int8)


def extremes(rng: Rng) -> Case:
    shape, same = image(rng), quant(rng)
    kind = str(rng.choice(["MINIMUM", "MAXIMUM"]))
    values = [filled(rng, shape), filled(rng, shape)]
    return Case(kind, [shape, shape], [shape], quant=[same] * 3, values=values)


def slices(rng: Rng) -> Case:
    shape, same = image(rng), quant(rng)
    begin = [int(rng.integers(extent)) for extent in shape]
    end = [int(rng.integers(first, extent)) + 1 for first, extent in zip(begin, shape, strict=True)]
    cut = tuple(last - first for first, last in zip(begin, end, strict=True))
    operands = [shape, begin, end, [1, 1, 1, 1]]
    return Case("STRIDED_SLICE", operands, [cut], quant=[same] * 2, values=[filled(rng, shape)])


def parts(rng: Rng) -> Case:
    count, axis = int(rng.integers(2, 5)), int(rng.integers(1, 4))
    part, same = image(rng, 9), quant(rng)
    shape = tuple(extent * count if index == axis else extent for index, extent in enumerate(part))
    quants = [same] * (count + 1)
    options = {"NumSplits": count}
    return Case("SPLIT", [axis, shape], [part] * count, options, quant=quants)


def transposed(rng: Rng) -> Case:
    shape, same = image(rng), quant(rng)
    order = [0, *(int(axis) for axis in 1 + rng.permutation(3))]
    turned = tuple(shape[axis] for axis in order)
    return Case("TRANSPOSE", [shape, order], [turned], quant=[same] * 2, values=[filled(rng, shape)])


def converted(rng: Rng) -> Case:
    shape, before = image(rng), quant(rng)
    return Case("QUANTIZE", [shape], [shape], quant=[before, related(rng, before)], values=[filled(rng, shape)])


def resized(rng: Rng) -> Case:
    shape, same = image(rng, 9), quant(rng)
    kind = str(rng.choice(["RESIZE_NEAREST_NEIGHBOR", "RESIZE_BILINEAR"]))
    factor, corners = int(rng.choice([2, 4, 8])), bool(rng.integers(2))
    centres = not corners and factor == 2 and bool(rng.integers(2))
    size = [(extent - 1) * factor + 1 if corners else extent * factor for extent in shape[1:3]]
    options = {"AlignCorners": corners, "HalfPixelCenters": centres}
    result = (1, *size, shape[3])
    return Case(kind, [shape, size], [result], options, quant=[same] * 2, values=[filled(rng, shape)])


#: Draws by the name of their pattern.
DRAWS: Mapping[str, Callable[[Rng], Case]] = {
    "extreme": extremes,
    "slice": slices,
    "split": parts,
    "transpose": transposed,
    "conversion": converted,
    "resize": resized,
}
