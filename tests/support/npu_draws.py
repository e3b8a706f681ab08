"""Draws of operators that move, compare or convert data, as the NPU Ethos-U55 may take them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import tflite

from support.element_models import Value
from support.moves import Case
from support.scale_draws import Draw

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


def repeated(rng: Rng, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Draws the shape of an operand that is repeated to a shape: its last axes, each whole or of one element."""
    kept = [extent if rng.random() < 0.5 else 1 for extent in shape]
    return tuple(kept[int(rng.integers(len(shape))) :]) if rng.random() < 0.5 else tuple(kept)


def pairs(rng: Rng) -> tuple[Draw, list[np.ndarray]]:
    """Draws two operands, of which one may be repeated, one constant; returns the operator and what is no constant."""
    shape, same, kind = image(rng), quant(rng), str(rng.choice(["ADD", "SUB", "MUL", "MINIMUM", "MAXIMUM"]))
    shapes, number = [shape, shape], int(rng.integers(2))
    shapes[number] = repeated(rng, shape) if rng.random() < 0.5 else shape
    drawn = [filled(rng, each) for each in shapes]
    constant = number if rng.random() < 0.5 else None
    quants, options = [same] * 3, {}
    if kind in ("ADD", "SUB", "MUL"):
        scale = same["scale"] * 2.0 ** rng.uniform(-3, 3)
        product = (
            same["scale"] * scale * 2.0 ** rng.uniform(4, 8) if kind == "MUL" else scale * 2.0 ** rng.uniform(-1, 2)
        )
        quants = [same, *(quant(rng) | {"scale": float(np.float32(each))} for each in (scale, product))]
        options = {"FusedActivationFunction": str(rng.choice(["NONE", "RELU", "RELU6"]))}
    operands = tuple(
        Value(each, np.int8, **given, data=x if index == constant else None)
        for index, (each, given, x) in enumerate(zip(shapes, quants, drawn, strict=False))
    )
    result = Value(shape, np.int8, **quants[2])
    return Draw(kind, operands, result, options), [x for index, x in enumerate(drawn) if index != constant]


def slices(rng: Rng) -> Case:
    shape, same = image(rng), quant(rng)
    begin = [int(rng.integers(extent)) for extent in shape]
    end = [int(rng.integers(first, extent)) + 1 for first, extent in zip(begin, shape, strict=True)]
    steps = [1, *(int(step) for step in rng.choice([1, 1, 2, 3], 2)), 1]
    cut = tuple(-(-(last - first) // step) for first, last, step in zip(begin, end, steps, strict=True))
    operands = [shape, begin, end, steps]
    return Case("STRIDED_SLICE", operands, [cut], quant=[same] * 2, values=[filled(rng, shape)])


def places(rng: Rng) -> Case:
    """Draws the search for the largest channel; many channels are equally large."""
    shape, same = image(rng), quant(rng)
    values = (filled(rng, shape) // rng.choice([1, 16, 64])).astype(np.int8)
    options, axis = {"OutputType": tflite.TensorType.INT32}, np.array(3, np.int32)
    return Case("ARG_MAX", [shape, axis], [shape[:3]], options, np.int8, np.int32, [same, {}], [values])


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


def totals(rng: Rng) -> Case:
    """Draws a mean or a sum along rows, columns, both, or channels."""
    shape, axes = image(rng, 12), [[1, 2], [1], [2], [3], [2, 3]][rng.integers(5)]
    kept, kind = bool(rng.integers(2)), str(rng.choice(["MEAN", "SUM"]))
    result = tuple(1 if axis in axes else extent for axis, extent in enumerate(shape) if kept or axis not in axes)
    before = quant(rng)
    after = before if rng.random() < 0.3 else quant(rng) | {"scale": before["scale"] * float(2.0 ** rng.uniform(-2, 4))}
    after = after | {"scale": float(np.float32(after["scale"]))}
    values = filled(rng, shape)
    values[:, : shape[1] // 2] = rng.choice([-128, 127])
    return Case(kind, [shape, axes], [result], {"KeepDims": kept}, quant=[before, after], values=[values])


def interleaved(rng: Rng) -> Case:
    """Draws a move between pixels and channels."""
    size, (height, width, channels) = int(rng.integers(2, 4)), (int(each) for each in rng.integers(1, 9, 3))
    deep, large = (1, height, width, size * size * channels), (1, height * size, width * size, channels)
    kind, before, after = [("DEPTH_TO_SPACE", deep, large), ("SPACE_TO_DEPTH", large, deep)][rng.integers(2)]
    return Case(kind, [before], [after], {"BlockSize": size}, quant=[quant(rng)] * 2, values=[filled(rng, before)])


#: Draws by the name of their pattern.
DRAWS: Mapping[str, Callable[[Rng], Case]] = {
    "total": totals,
    "place": places,
    "interleaving": interleaved,
    "slice": slices,
    "split": parts,
    "transpose": transposed,
    "conversion": converted,
    "resize": resized,
}
