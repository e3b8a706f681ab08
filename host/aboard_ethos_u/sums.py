"""Means and sums: depthwise convolutions by equal weights, for Vela.

Vela multiplies the sum of a mean with one rounding, the reference with two. A convolution is rounded as in the
reference, and its multiplier follows from the scale of its weights, which is free here. The result of a mean depends
on nothing but the sum of its elements: so all sums that there can be are compared, and a node for which no scale makes
all of them right stays with the CPU.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from aboard.importers.free_names import FreeNames
from aboard.ir import DType, Node, Quantization, Tensor, TensorType
from aboard.ir.numerics import multiply_by_quantized_multiplier, quantize_multiplier
from aboard.ops import mean, reduction
from aboard.ops.conv2d import ConvAttributes
from aboard.ops.reshape import ReshapeAttributes
from aboard_ethos_u import conditions

#: Weights that are tried: the larger they are, the finer is the first of the two roundings.
_WEIGHTS = (1, 2, 8, 64)
#: Scales of the weights that are tried: the nearest one, and its neighbours in float32.
_NEIGHBOURS = (0, -1, 1, -2, 2)


@dataclass(frozen=True)
class _Layout:
    """A reduction as a window: the operand as an image of one sample, and the window's height and width."""

    image: tuple[int, int, int, int]
    window: tuple[int, int]

    @property
    def result(self) -> tuple[int, int, int, int]:
        """Shape of the result of the window."""
        _, height, width, channels = self.image
        return 1, height - self.window[0] + 1, width - self.window[1] + 1, channels


def total(node: Node) -> str | None:
    """Takes sums along neighbouring axes if all sums that there can be are right."""
    layout = _layout(node)
    if layout is None:
        axes, shape = reduction.attributes(node).axes, node.input(0).shape
        size = f"{conditions.WINDOW}x{conditions.WINDOW}"
        return f"axes {axes} of {shape}, expected one window of at most {size} in an image"
    problem = conditions.common(node)
    if problem is not None or max(layout.image) > conditions.EXTENT:
        return problem or f"image, got {layout.image}, expected extents of at most {conditions.EXTENT}"
    found = _found(_key(node))
    return None if found.wrong == 0 else f"{found.wrong} of {found.sums} sums differ from the reference"


def as_depthwise(node: Node, names: FreeNames) -> list[Node]:
    """Returns the convolution that computes a node which `total` takes, between reshapes."""
    layout, operand, result = _layout(node), node.input(0), node.output
    if layout is None:
        raise ValueError(f"{node.name}: no window has these axes")
    image = Tensor(names.take(f"{operand.name}/image"), replace(operand.type, shape=layout.image))
    summed = Tensor(names.take(f"{result.name}/image"), replace(result.type, shape=layout.result))
    found = _found(_key(node))
    values = np.full((1, *layout.window, layout.image[3]), found.weight, np.int8)
    quant = Quantization((found.scale,), (0,), None)
    weights = Tensor(names.take(f"{result.name}/weights"), TensorType(values.shape, DType.INT8, quant), values)
    return [
        Node("reshape", f"{node.name}/image", [operand], [image], ReshapeAttributes(image.shape)),
        Node("depthwise_conv2d", node.name, [image, weights], [summed], ConvAttributes(), node.sources),
        Node("reshape", f"{node.name}/result", [summed], [result], ReshapeAttributes(result.shape)),
    ]


def _layout(node: Node) -> _Layout | None:
    axes, shape = reduction.attributes(node).axes, node.input(0).shape
    extents = [(extent, axis in axes) for axis, extent in enumerate(shape) if extent != 1]
    runs = [
        (reduced, [extent for extent, _ in run]) for reduced, run in itertools.groupby(extents, lambda each: each[1])
    ]
    reduced = [number for number, (is_reduced, _) in enumerate(runs) if is_reduced]
    if not reduced:
        return _Layout((1, math.prod(shape), 1, 1), (1, 1))
    if len(reduced) != 1:
        return None
    place = reduced[0]
    before, after = (math.prod(math.prod(run) for _, run in part) for part in (runs[:place], runs[place + 1 :]))
    count = math.prod(runs[place][1])
    if count <= conditions.WINDOW:
        return _Layout((1, before, count, after), (1, count))
    window = _window(runs[place][1]) if before == 1 else None
    return None if window is None else _Layout((1, *window, after), window)


def _window(extents: list[int]) -> tuple[int, int] | None:
    """Returns height and width of a window of so many elements: those of an image, if possible."""
    count = math.prod(extents)
    if len(extents) == 2 and max(extents) <= conditions.WINDOW:
        return extents[0], extents[1]
    widths = (width for width in range(conditions.WINDOW, 0, -1) if count % width == 0)
    return next(((count // width, width) for width in widths if count // width <= conditions.WINDOW), None)


@dataclass(frozen=True)
class _Key:
    """Everything that the result for a sum depends on: divisor, elements, scales, zero points, the reference's form."""

    divisor: int
    count: int
    scales: tuple[float, float]
    zero_points: tuple[int, int]
    reference: tuple[int, int]


@dataclass(frozen=True)
class _Found:
    """The weight and its scale with the fewest wrong sums, and how many sums there can be."""

    weight: int
    scale: float
    wrong: int
    sums: int


def _key(node: Node) -> _Key:
    before, after = node.input(0).quant, node.output.quant
    scales, zero_points = (before.scale, after.scale), (before.zero_point, after.zero_point)
    return _Key(mean.divisor(node), reduction.count(node), scales, zero_points, mean.scaling(node))


@lru_cache(maxsize=1024)
def _found(key: _Key) -> _Found:
    lowest, highest = ((end - key.zero_points[0]) * key.count for end in (-128, 127))
    sums = np.arange(lowest, highest + 1, dtype=np.int64)
    expected = _results(sums, key.reference, key.zero_points[1])
    best = _Found(1, 1.0, sums.size, sums.size)
    for weight, steps in itertools.product(_WEIGHTS, _NEIGHBOURS):
        nearest = np.float32(1 / (key.divisor * weight))
        scale = float((nearest.view(np.int32) + np.int32(steps)).view(np.float32))
        multiplier = quantize_multiplier(key.scales[0] * scale / key.scales[1])
        wrong = int((_results(sums * weight, multiplier, key.zero_points[1]) != expected).sum())
        best = min(best, _Found(weight, scale, wrong, sums.size), key=lambda found: found.wrong)
        if wrong == 0:
            break
    return best


def _results(sums: np.ndarray, multiplier: tuple[int, int], zero_point: int) -> np.ndarray:
    scaled = multiply_by_quantized_multiplier(sums, *multiplier)
    return np.clip(scaled + zero_point, -128, 127)
