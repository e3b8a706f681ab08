"""Resize in all modes: along each axis, elements of the result are weighted sums of those of the operand.

The standard's definition of each mode is computed once, by the package `onnx`, for the columns of a unit matrix: these
are the weights. Where they are those of an operator for images, that is used.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from aboard.importers.onnx import folding
from aboard.importers.onnx.builder import Builder
from aboard.importers.onnx.operator import Operator, reads
from aboard.importers.onnx.operators.movement import pick
from aboard.importers.onnx.operators.windows import channels_first, channels_last
from aboard.ir import Array, Attributes, DType, Node, Tensor, TensorType
from aboard.ops import get
from aboard.ops.resize_bilinear import ResizeBilinearAttributes
from aboard.ops.resize_nearest_neighbor import ResizeNearestNeighborAttributes

_Weights = npt.NDArray[np.float64]

#: Elements of a matrix of weights at most.
_MOST = 1 << 22

_VERSION = 19


@reads("Resize", "Upsample")
def resize(source: Operator, make: Builder) -> Tensor:
    """Axes in their order, each by a matrix and a summand.

    Raises:
        ModelError: Scales or sizes are computed at run time or do not fit, or the element type is not supported.
    """
    x = source.input(0)
    factors = _factors(source)
    if all(extent == size and factor == 1 for extent, (size, factor) in zip(x.shape, factors, strict=True)):
        return x
    maps = [_weights(source, axis, x.shape[axis], *factors[axis]) for axis in range(len(x.shape))]
    as_image = _image(source, make, maps, factors)
    if as_image is not None:
        return as_image
    for axis, each in enumerate(maps):
        if each is not None:
            x = _along(source, make, x, axis, *each)
    return x


def _factors(source: Operator) -> list[tuple[int, float]]:
    """Returns size and scale of each axis."""
    x = source.input(0)
    rank = len(x.shape)
    scales, sizes = _given(source)
    axes = [source.axis(int(axis), rank) for axis in source.options.get("axes") or range(rank)]
    given = scales if scales is not None else sizes
    if given is None or len(given) != len(axes) or min(given, default=1) <= 0:
        raise source.unsupported(f"scales or sizes, got {given}, expected a number above 0 for each axis. Export again")
    found = [(extent, 1.0) for extent in x.shape]
    policy = str(source.options.get("keep_aspect_ratio_policy", "stretch"))
    ratios = [size / x.shape[axis] for size, axis in zip(given, axes, strict=True)]
    kept = {"not_larger": min, "not_smaller": max}.get(policy)
    for axis, value, ratio in zip(axes, given, ratios, strict=True):
        extent = x.shape[axis]
        if scales is not None:
            found[axis] = (math.floor(extent * value), value)
        elif kept is None:
            found[axis] = (int(value), ratio)
        else:
            scale = kept(ratios)
            found[axis] = (math.floor(extent * scale + 0.5), scale)
    if min(size for size, _ in found) < 1:
        raise source.unsupported(f"sizes, got {[size for size, _ in found]}, expected at least 1. Export again")
    return found


def _given(source: Operator) -> tuple[list[float] | None, list[float] | None]:
    """Returns scales and sizes; one of them is None."""
    if source.kind == "Upsample" and source.since < 9:
        return [float(value) for value in source.options["scales"]], None
    first = 1 if source.since < 11 else 2
    for index in (first, first + 1):
        if source.optional(index) is not None and source.constant(index).size:
            values = [float(value) for value in source.constant(index).reshape(-1)]
            return (values, None) if index == first else (None, values)
    return None, None


def _weights(source: Operator, axis: int, extent: int, size: int, scale: float) -> tuple[_Weights, _Weights] | None:
    """Returns matrix and summand of one axis; None for an axis that stays."""
    from onnx import helper

    cropped = str(source.options.get("coordinate_transformation_mode", "")) == "tf_crop_and_resize"
    if size == extent and scale == 1 and not cropped:
        return None
    if max(size, extent) ** 2 > _MOST:
        raise source.unsupported(
            f"axis {axis}, got {extent} to {size} elements, expected fewer. Resize the model's input"
        )
    options = {name: source.options[name] for name in _OPTIONS if name in source.options}
    if source.since < 11:
        options = {**options, "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    node = helper.make_node("Resize", ["x", "roi", "scales"], ["y"], axes=[0], **options)
    # A scale that gives another size than the standard's rounding is asked for as a size.
    region = _region(source, axis) if cropped else np.zeros(0, np.float32)
    unit = np.eye(extent, dtype=np.float32)
    operands: list[Array | None] = [unit, region, np.array([scale], np.float32)]
    if math.floor(extent * np.float64(np.float32(scale))) != size:
        node = helper.make_node("Resize", ["x", "roi", "", "sizes"], ["y"], axes=[0], **options)
        operands = [unit, region, None, np.array([size], np.int64)]
    results = [folding.fold(node, [each, *operands[1:]], {"": _VERSION})[0] for each in (unit, unit * 0)]
    matrix, summand = (np.asarray(result, np.float64) for result in results)
    return matrix - summand, summand[:, 0]


_OPTIONS = (
    "antialias",
    "coordinate_transformation_mode",
    "cubic_coeff_a",
    "exclude_outside",
    "extrapolation_value",
    "mode",
    "nearest_mode",
)


def _region(source: Operator, axis: int) -> npt.NDArray[np.float32]:
    """Returns start and end of the region along one axis."""
    rank = len(source.input(0).shape)
    axes = [source.axis(int(each), rank) for each in source.options.get("axes") or range(rank)]
    values = source.constant(1).reshape(-1)
    if axis not in axes:
        return np.array([0, 1], np.float32)
    place = axes.index(axis)
    return np.array([values[place], values[place + len(axes)]], np.float32)


def _along(source: Operator, make: Builder, x: Tensor, axis: int, matrix: _Weights, summand: _Weights) -> Tensor:
    """Applies a matrix along one axis; one that picks elements is a gather."""
    picks = np.all((matrix == 0) | (matrix == 1)) and np.all(matrix.sum(axis=1) == 1) and not summand.any()
    if picks:
        return pick(make, x, axis, matrix.argmax(axis=1))
    if x.dtype is not DType.FLOAT32:
        raise source.unsupported(
            f"element type, got {x.dtype.value}, expected float32 for this mode. Export in float32"
        )
    order = [other for other in range(len(x.shape)) if other != axis] + [axis]
    moved = make.transpose(x, order)
    flat = make.reshape(moved, (math.prod(moved.shape[:-1]), moved.shape[-1]))
    inputs = [flat, make.array(matrix), *([make.array(summand)] if summand.any() else [])]
    product = make.op("fully_connected", inputs, None, DType.FLOAT32)
    wide = make.reshape(product, (*moved.shape[:-1], matrix.shape[0]))
    return make.transpose(wide, tuple(int(place) for place in np.argsort(order)))


def _image(
    source: Operator,
    make: Builder,
    maps: Sequence[tuple[_Weights, _Weights] | None],
    factors: Sequence[tuple[int, float]],
) -> Tensor | None:
    """Returns the result of an operator for images, if one computes the same."""
    x = source.input(0)
    if len(x.shape) != 4 or maps[0] is not None or maps[1] is not None:
        return None
    size = factors[2][0], factors[3][0]
    wanted = [np.eye(extent) if each is None else each[0] for extent, each in zip(x.shape[2:], maps[2:], strict=True)]
    if any(each is not None and each[1].any() for each in maps):
        return None
    for corners, centres in ((False, False), (False, True), (True, False)):
        for op in ("resize_nearest_neighbor", "resize_bilinear"):
            attrs = _attributes(op, size, corners, centres)
            if op == "resize_bilinear" and x.dtype is not DType.FLOAT32:
                continue
            got = [_matrix(op, extent, n, corners, centres) for extent, n in zip(x.shape[2:], size, strict=True)]
            if all(np.allclose(a, b, atol=1e-6) for a, b in zip(got, wanted, strict=True)):
                return channels_first(make, make.op(op, [channels_last(make, x)], attrs))
    return None


def _attributes(op: str, size: tuple[int, int], corners: bool, centres: bool) -> Attributes:
    """Returns the attributes of an operator for images; the two flags are those of TFLite."""
    if op == "resize_bilinear":
        return ResizeBilinearAttributes(size, corners, centres)
    return ResizeNearestNeighborAttributes(size, corners, centres)


def _matrix(op: str, extent: int, size: int, corners: bool, centres: bool) -> _Weights:
    """Returns the weights of an operator for images along one axis."""
    image = Tensor("x", TensorType((1, extent, 1, extent), DType.FLOAT32))
    result = Tensor("y", TensorType((1, size, 1, extent), DType.FLOAT32))
    node = Node(op, "y", [image], [result], _attributes(op, (size, 1), corners, centres))
    unit = np.eye(extent, dtype=np.float32).reshape(1, extent, 1, extent)
    return np.asarray(get(op).evaluate(node, [unit])[0], np.float64).reshape(size, extent)
