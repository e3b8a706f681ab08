"""conv2d of int8 with Helium: the last one to three pixels of windows in place; `arm_mve/four_pixels_last.h`."""

from __future__ import annotations

import math
from dataclasses import replace

from aboard.ir import Node
from aboard.kernels.arm_mve.conv2d_four_pixels import (
    CHUNK,
    INSTRUCTION,
    MAX_OFFSET,
    FourPixels,
    Source,
    run_sums,
)
from aboard.kernels.arm_mve.four_pixels_columns import PIXELS
from aboard.kernels.view import View
from aboard.kernels.windowed import groups

#: Value of `FourPixels.last` if calls have whole groups of four pixels only.
WHOLE = PIXELS

#: Instructions of a result that a loop counted by LR has less than one with a counter of its own.
_COUNTED = 1

#: Instructions of results of two channels and of the loop over them, and of those in words; around all of them; those
#: of copies of four pixels for a chunk, and around these copies.
_RESULTS, _RESULTS_IN_WORDS, _AROUND, _COPIED, _COPIES = 18, 16, 25, 8, 60


def last_of(node: Node, found: FourPixels, x: View, y: View, price: float) -> int:
    """Returns the value of `FourPixels.last`.

    Args:
        node: A convolution.
        found: The source of its windows.
        x: View of the input.
        y: View of the result.
        price: Instructions that a byte of flash must save.
    """
    known = found.joined == 0 or (found.joined == 1 and y.stripe_height == 0 and not (x.table or y.table))
    if found.source is not Source.DIRECT or found.staged or found.exceeds or not known:
        return 0
    pixels = y.cols * (y.rows if found.joined else 1)
    last = pixels % PIXELS
    if last == 0:
        return WHOLE
    near = (last - 1) * found.distance + (found.chunks - 1) * CHUNK <= MAX_OFFSET * found.load // 4
    calls, pairs = 1 if found.joined else y.rows, math.ceil(y.channels // groups(node) / 2)
    saved = calls * (saved_by_last(replace(found, last=last), pairs) + _COPIED * found.chunks + _COPIES)
    results = _RESULTS_IN_WORDS if found.words else _RESULTS
    code = (1 + found.words) * (_sums(found, last) + results) + _AROUND - _COPIES
    return last if near and saved >= price * INSTRUCTION * code else 0


def saved_by_last(found: FourPixels, pairs: int) -> int:
    """Returns the instructions that the last pixels take less than four pixels do.

    Args:
        found: The source of windows.
        pairs: Pairs of channels.
    """
    return 0 if found.last in (0, WHOLE) else pairs * (run_sums(found) - _sums(found, found.last) + _COUNTED)


def _sums(found: FourPixels, pixels: int) -> int:
    """Returns the instructions of the sums of two channels for the last one to three pixels."""
    kept = min(pixels * found.chunks, 3 if found.reads_again else 4)
    return (2 * pixels + 2) * found.chunks + pixels * found.chunks - kept
