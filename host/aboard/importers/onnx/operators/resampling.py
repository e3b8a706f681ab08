"""Interpolations along one axis as the standard defines them: for each element of the result, weights of the operand's.

All arithmetic is in double precision, and places between two pixels are computed in the standard's order, so that
roundings to the nearest pixel are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_Float64 = npt.NDArray[np.float64]

#: Whether the pixel behind a place is taken, given how far the place lies behind the pixel before it.
NEAREST: dict[str, Callable[[_Float64], npt.NDArray[np.bool_]]] = {
    "round_prefer_floor": lambda fraction: fraction > 0.5,
    "round_prefer_ceil": lambda fraction: fraction >= 0.5,
    "floor": lambda fraction: fraction >= 1,
    "ceil": lambda fraction: fraction > 0,
}

COORDINATES = (
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_crop_and_resize",
)

MODES = ("nearest", "linear", "cubic")


@dataclass(frozen=True)
class Interpolation:
    """What all axes have in common: the attributes of the standard.

    Attributes:
        mode: One of `MODES`.
        coordinates: One of `COORDINATES`.
        nearest: Key of `NEAREST`.
        cubic: The coefficient a of cubic weights.
        excludes_outside: True if weights of pixels beside the operand are 0 and the others add up to 1; else those
            pixels equal the nearest one of the operand.
        antialiases: True if filters get wider where the result is smaller.
        extrapolation: Value of places beside the operand, for `tf_crop_and_resize`.
    """

    mode: str = "nearest"
    coordinates: str = "half_pixel"
    nearest: str = "round_prefer_floor"
    cubic: float = -0.75
    excludes_outside: bool = False
    antialiases: bool = False
    extrapolation: float = 0.0


@dataclass(frozen=True)
class Axis:
    """One axis.

    Attributes:
        extent: Elements of the operand.
        size: Elements of the result.
        scale: Their ratio, before the size was rounded.
        region: Start and end of what is resized, as parts of the operand.
    """

    extent: int
    size: int
    scale: float
    region: tuple[float, float] = (0.0, 1.0)


def weights(how: Interpolation, axis: Axis) -> tuple[_Float64, _Float64]:
    """Returns weights [size, extent], and summands [size] of places that are extrapolated."""
    x = _places(how, axis)
    whole = np.floor(x)
    if how.mode == "nearest":
        indices, taps = (whole + NEAREST[how.nearest](x - whole))[:, None], np.ones((axis.size, 1))
    else:
        # Taps reach one pixel to each side of a place for linear weights, two for cubic ones.
        reach, scale = (2 if how.mode == "cubic" else 1), min(axis.scale, 1.0) if how.antialiases else 1.0
        low = int(np.floor(-reach / scale)) + 1
        offsets = np.arange(low, 2 - low)
        indices = whole[:, None] + offsets
        distances = np.abs(offsets - (x - whole)[:, None]) * scale
        taps = _cubic(distances, how.cubic) if how.mode == "cubic" else np.clip(1 - distances, 0, None)
        taps = taps / taps.sum(axis=1, keepdims=True) if how.antialiases else taps
    if how.excludes_outside:
        taps = np.where((indices < 0) | (indices >= axis.extent), 0.0, taps)
        total = taps.sum(axis=1, keepdims=True)
        taps = taps / np.where(total == 0, 1.0, total)
    matrix, rows = np.zeros((axis.size, axis.extent)), np.arange(axis.size)[:, None]
    np.add.at(matrix, (rows, np.clip(indices, 0, axis.extent - 1).astype(np.int64)), taps)
    outside = (x < 0) | (x > axis.extent - 1) if how.coordinates == "tf_crop_and_resize" else np.zeros(len(x), bool)
    matrix[outside] = 0
    # Places that are whole but for rounding errors are whole.
    return np.round(matrix, 12), np.where(outside, how.extrapolation, 0.0)


def _places(how: Interpolation, axis: Axis) -> _Float64:
    """Returns the place in the operand of each element of the result, [size]."""
    y, extent, length = np.arange(axis.size, dtype=np.float64), axis.extent, axis.scale * axis.extent
    if how.coordinates == "asymmetric":
        return np.asarray(y / axis.scale)
    if how.coordinates == "align_corners":
        return np.asarray(y * 0 if length == 1 else y * (extent - 1) / (length - 1))
    if how.coordinates == "tf_crop_and_resize":
        start, end = axis.region
        inside = y * 0 + (end - start) * (extent - 1) / 2
        if length != 1:
            inside = y * (end - start) * (extent - 1) / (length - 1)
        return np.asarray(inside + start * (extent - 1))
    centres = (y + 0.5) / axis.scale - 0.5
    if how.coordinates == "pytorch_half_pixel" and axis.size == 1:
        return np.asarray(y * 0)
    if how.coordinates == "half_pixel_symmetric":
        return np.asarray(extent / 2 * (1 - axis.size / length) + (y + 0.5) / axis.scale - 0.5)
    return np.asarray(centres)


def _cubic(x: _Float64, a: float) -> _Float64:
    """Returns the weights at distances from 0."""
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0.0))


def banded(matrix: _Float64) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
    """Returns for each row of a matrix where its first weight stands, [rows], and the weights from there, [rows, taps].

    Args:
        matrix: Weights [rows, columns].
    """
    used = matrix != 0
    first = np.where(used.any(axis=1), used.argmax(axis=1), 0)
    last = np.where(used.any(axis=1), matrix.shape[1] - 1 - used[:, ::-1].argmax(axis=1), 0)
    taps = int((last - first).max()) + 1
    starts = np.minimum(first, matrix.shape[1] - taps)
    columns = starts[:, None] + np.arange(taps)
    return starts.astype(np.int32), np.take_along_axis(matrix, columns, axis=1).astype(np.float32)
