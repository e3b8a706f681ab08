"""The minimum in-place offset of a sliding window: bytes from the start of the result to the start of its operand.

If no later node reads an operand, the layer's result may overwrite it from below: the first rows of the operand are
consumed when the first rows of the result are written. The offset is computed from the geometry of the window and
from the order in which the kernel reads and writes.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from aboard.kernels.view import View
from aboard.ops.window import Padding, reach


class Reads(Enum):
    """The time of a kernel's last read of a pixel's window; rows of the result are written in order."""

    FIRST = "first"  #: Before the first element of the pixel is written: the window was copied.
    PIXEL = "pixel"  #: When the last element of the pixel is written.
    PAIR = "pair"  #: When the last element of the pixel and of the one after it is written.
    FOUR = "four"  #: When the last element of the pixel and of the three after it is written.
    ROW = "row"  #: When the last pixel of the row is written.
    STAGED = "staged"  #: Before the first pixel of the row is written: all rows up to the window's last are copied.


#: Pixels after a pixel that are written before its last read.
_LATER = {Reads.PAIR: 1, Reads.FOUR: 3}


@dataclass(frozen=True)
class SlidingWindow:
    """A window that slides over images. Sizes are (height, width) in pixels.

    Attributes:
        size: Taps.
        strides: Pixels between windows.
        padding: Pixels around the image.
        images: Number of images in the tensors.
        dilations: Pixels between taps.
    """

    size: tuple[int, int]
    strides: tuple[int, int]
    padding: Padding
    images: int
    dilations: tuple[int, int] = (1, 1)


@lru_cache(maxsize=1 << 12)
def distance(window: SlidingWindow, x: View, y: View, reads: Reads) -> int | None:
    """Returns the minimum in-place offset in bytes; None if operand and result must not share memory.

    Args:
        window: The window.
        x: View of the operand.
        y: View of the result.
        reads: The time of the kernel's last read of a window.

    Returns:
        At least 0. With a smaller offset, a byte might be written before it is read.
    """
    if not (x.buffer_rows >= x.rows and x.pixel_stride == x.channels * x.element_bytes and y.contiguous):
        return None
    if reads is Reads.STAGED:
        return _largest(_row_ends(y), _rows_staged(window, x, y) * x.row_stride)
    needed = _first_reads(window, x, y)
    if reads is Reads.ROW:
        return _largest(_row_ends(y), needed.reshape(y.rows, y.cols).min(axis=1))
    ends = np.arange(1, y.rows * y.cols + 1) * y.pixel_stride
    if reads is Reads.FIRST:
        return _largest(ends[:-1], needed[1:])
    later = _LATER.get(reads, 0)
    ends = np.append(ends[later:], np.repeat(ends[-1:], min(later, len(ends))))
    return _largest(ends, needed)


def _largest(written: npt.NDArray[np.int64], needed: npt.NDArray[np.int64]) -> int:
    """Returns how far the end of the written bytes passes the start of the needed bytes, at most; at least 0."""
    return int(max(0, *(written - needed).tolist())) if written.size else 0


def _row_ends(y: View) -> npt.NDArray[np.int64]:
    return np.arange(1, y.rows + 1) * y.row_stride


def _image_rows(window: SlidingWindow, y: View) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Returns, for each row of the result, its image and its line in the image."""
    rows = np.arange(y.rows)
    height = y.rows // window.images
    return rows // height, rows % height


def _rows_staged(window: SlidingWindow, x: View, y: View) -> npt.NDArray[np.int64]:
    """Returns, for each row of the result, the rows of the operand that are copied when its first pixel is written."""
    image, line = _image_rows(window, y)
    height = x.rows // window.images
    bottom = line * window.strides[0] - window.padding.top + reach(window.size[0], window.dilations[0])
    return image * height + np.clip(bottom, 0, height)


def _first_reads(window: SlidingWindow, x: View, y: View) -> npt.NDArray[np.int64]:
    """Returns, for each pixel of the result, the lowest byte of the operand that it or a later pixel reads."""
    image, line = _image_rows(window, y)
    height = x.rows // window.images
    top = image * height + np.clip(line * window.strides[0] - window.padding.top, 0, height)
    left = np.clip(np.arange(y.cols) * window.strides[1] - window.padding.left, 0, x.cols)
    first = (top[:, np.newaxis] * x.row_stride + left[np.newaxis, :] * x.pixel_stride).reshape(-1)
    return np.minimum.accumulate(first[::-1])[::-1]
