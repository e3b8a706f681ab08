"""Resize and Upsample: every axis by itself, as interpolations are separable."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from aboard.importers.onnx.builder import Builder
from aboard.importers.onnx.operator import Operator, reads
from aboard.importers.onnx.operators.movement import pick
from aboard.importers.onnx.operators.resampling import COORDINATES, MODES, NEAREST, Axis, Interpolation, banded, weights
from aboard.importers.onnx.operators.windows import channels_first, channels_last
from aboard.ir import Attributes, DType, Node, Tensor, TensorType
from aboard.ops import get
from aboard.ops.resample import ResampleAttributes
from aboard.ops.resize_bilinear import ResizeBilinearAttributes
from aboard.ops.resize_nearest_neighbor import ResizeNearestNeighborAttributes

_Float64 = npt.NDArray[np.float64]
_Map = tuple[_Float64, _Float64]

#: Elements of a matrix of weights at most.
_MOST = 1 << 22


@reads("Resize", "Upsample")
def resize(source: Operator, make: Builder) -> Tensor:
    """Weighted sums along each axis that changes.

    Raises:
        ModelError: Scales or sizes are computed at run time or do not fit, or the element type is not supported.
    """
    x, how, axes = source.input(0), _interpolation(source), _axes(source)
    maps = [_map(source, how, place, axis) for place, axis in enumerate(axes)]
    as_image = _image(make, x, maps, axes)
    if as_image is not None:
        return as_image
    # Axes that shrink come first, so that fewer elements are left for the others.
    for place in sorted(range(len(axes)), key=lambda place: axes[place].size / axes[place].extent):
        each = maps[place]
        x = x if each is None else _along(source, make, x, place, *each)
    return x


def _interpolation(source: Operator) -> Interpolation:
    """Returns the attributes; before version 11 there was only `mode`."""
    options = source.options
    mode = str(options["mode"])
    coordinates = str(options.get("coordinate_transformation_mode", "asymmetric"))
    nearest = str(options.get("nearest_mode", "floor"))
    if mode not in MODES or coordinates not in COORDINATES or nearest not in NEAREST:
        raise source.unsupported(
            f"modes, got {mode}, {coordinates} and {nearest}, expected those of the standard. Export the model again"
        )
    return Interpolation(
        mode,
        coordinates,
        nearest,
        float(options.get("cubic_coeff_a", -0.75)),
        bool(options.get("exclude_outside", 0)),
        bool(options.get("antialias", 0)) and mode != "nearest",
        float(options.get("extrapolation_value", 0.0)),
    )


def _axes(source: Operator) -> list[Axis]:
    """Returns sizes and scales of all axes."""
    shape = source.input(0).shape
    rank = len(shape)
    scales, sizes = _given(source)
    axes = [source.axis(int(axis), rank) for axis in source.options.get("axes") or range(rank)]
    given = scales if scales is not None else sizes
    if given is None or len(given) != len(axes) or not all(0 < value < _MOST for value in given):
        raise source.unsupported(f"scales or sizes, got {given}, expected a number above 0 for each axis. Export again")
    found = [Axis(extent, extent, 1.0) for extent in shape]
    policy = str(source.options.get("keep_aspect_ratio_policy", "stretch"))
    ratios = [size / shape[axis] for size, axis in zip(given, axes, strict=True)]
    kept = {"not_larger": min, "not_smaller": max}.get(policy)
    for place, (axis, value, ratio) in enumerate(zip(axes, given, ratios, strict=True)):
        extent, region = shape[axis], _region(source, place, len(axes))
        if scales is not None:
            found[axis] = Axis(extent, math.floor(extent * value), value, region)
        elif kept is None:
            found[axis] = Axis(extent, int(value), ratio, region)
        else:
            found[axis] = Axis(extent, math.floor(extent * kept(ratios) + 0.5), kept(ratios), region)
    if min(axis.size for axis in found) < 1:
        raise source.unsupported(f"sizes, got {[axis.size for axis in found]}, expected at least 1. Export again")
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


def _region(source: Operator, place: int, count: int) -> tuple[float, float]:
    """Returns start and end of the region along the axis at a place among those that are resized."""
    if source.options.get("coordinate_transformation_mode") != "tf_crop_and_resize":
        return 0.0, 1.0
    values = [] if source.optional(1) is None else source.constant(1).reshape(-1).tolist()
    if len(values) != 2 * count or not all(map(math.isfinite, values)):
        raise source.unsupported(
            f"roi, got {values[:8]}, expected starts and ends of {count} axes. Export the model again"
        )
    return float(values[place]), float(values[place + count])


def _map(source: Operator, how: Interpolation, place: int, axis: Axis) -> _Map | None:
    """Returns weights and summands of one axis; None for an axis that stays."""
    if axis.size == axis.extent and math.isclose(axis.scale, 1) and axis.region == (0.0, 1.0):
        return None
    if axis.size * axis.extent > _MOST:
        raise source.unsupported(
            f"axis {place}, got {axis.extent} to {axis.size} elements, expected fewer. Resize the model's input"
        )
    return weights(how, axis)


def _along(source: Operator, make: Builder, x: Tensor, axis: int, matrix: _Float64, summands: _Float64) -> Tensor:
    """Applies weights along one axis; those that pick elements are a gather."""
    picks = np.all((matrix == 0) | (matrix == 1)) and np.all(matrix.sum(axis=1) == 1) and not summands.any()
    if picks:
        return pick(make, x, axis, matrix.argmax(axis=1))
    if x.dtype is not DType.FLOAT32:
        raise source.unsupported(
            f"element type, got {x.dtype.value}, expected float32 for this mode. Export in float32"
        )
    starts, taps = banded(matrix)
    result = make.op("resample", [x, make.array(starts, DType.INT32), make.array(taps)], ResampleAttributes(axis))
    if not summands.any():
        return result
    shape = [-1 if other == axis else 1 for other in range(len(x.shape))]
    return make.op("add", [result, make.array(summands.reshape(shape))])


def _image(make: Builder, x: Tensor, maps: Sequence[_Map | None], axes: Sequence[Axis]) -> Tensor | None:
    """Returns the result of an operator for images, if one computes the same."""
    if len(x.shape) != 4 or maps[0] is not None or maps[1] is not None or maps[2:] == [None, None]:
        return None
    if any(each is not None and each[1].any() for each in maps):
        return None
    size = axes[2].size, axes[3].size
    wanted = [np.eye(extent) if each is None else each[0] for extent, each in zip(x.shape[2:], maps[2:], strict=True)]
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


def _matrix(op: str, extent: int, size: int, corners: bool, centres: bool) -> _Float64:
    """Returns the weights of an operator for images along one axis."""
    image = Tensor("x", TensorType((1, extent, 1, extent), DType.FLOAT32))
    result = Tensor("y", TensorType((1, size, 1, extent), DType.FLOAT32))
    node = Node(op, "y", [image], [result], _attributes(op, (size, 1), corners, centres))
    unit = np.eye(extent, dtype=np.float32).reshape(1, extent, 1, extent)
    return np.asarray(get(op).evaluate(node, [unit])[0], np.float64).reshape(size, extent)
