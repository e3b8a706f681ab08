"""Windows that loads gather into im2col columns, for conv2d with Helium: the units that fit, and their offsets.

A row of a window with few channels has few bytes, as has a tap of a dilated or grouped window. A copy takes a load and
a store for each of these runs; a load that gathers takes units of 1, 2 or 4 bytes from all of them. Units must be at
multiples of their size, and offsets are numbers of that size too; or bytes have offsets of 16 bits, and a load has
eight.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from aboard.ir import Array, Node
from aboard.kernels.arm_mve import loops
from aboard.kernels.arm_mve.line_buffer import dilations, scattered
from aboard.kernels.view import View
from aboard.kernels.weights import padded
from aboard.kernels.windowed import groups
from aboard.ops import conv2d as op

#: Pixels computed at once, and the largest distance that an instruction adds to an address.
PIXELS, MAX_ADVANCE = 4, 4095

#: Bytes of a vector, and sizes of a unit, the preferred first.
CHUNK, _UNITS = 16, (4, 2, 1)

#: ABOARD_FOUR_PIXELS_FAR: `unit` of bytes with offsets of 16 bits.
_FAR = 3

#: Most chunks of far bytes, whose stores of eight reach 127 bytes, and instructions of a chunk of them.
_MOST_FAR, _FAR_CHUNK = 7, 5


@dataclass(frozen=True)
class Gather:
    """Units of a window.

    Attributes:
        unit: Bytes of a unit.
        rows: Rows of the window.
        run: Bytes that follow each other: of a row, or of each of its taps.
        stride: Bytes from a row to the next.
        taps: Runs of a row.
        apart: Bytes from a run of a row to the next.
        far: True for bytes with offsets of 16 bits.
    """

    unit: int
    rows: int
    run: int
    stride: int
    taps: int = 1
    apart: int = 0
    far: bool = False

    @property
    def form(self) -> int:
        """`unit` of `aboard_conv2d_four_pixels_mve_t`."""
        return _FAR if self.far else self.unit

    @property
    def of_run(self) -> int:
        """Units of a run; the last one may exceed it."""
        return -(-self.run // self.unit)

    @property
    def chunks(self) -> int:
        """Vectors of a window."""
        return -(-self.rows * self.taps * self.of_run * self.unit // CHUNK)

    @property
    def furthest(self) -> int:
        """The largest offset."""
        return (self.rows - 1) * self.stride + (self.taps - 1) * self.apart + (self.of_run - 1) * self.unit

    def offsets(self) -> Array:
        """Returns the offsets of all units from the first byte of the window; units without a tap repeat the first."""
        runs = np.arange(self.rows)[:, None] * self.stride + np.arange(self.taps) * self.apart
        found = runs.reshape(-1, 1) + np.arange(self.of_run) * self.unit
        full = np.zeros(self.chunks * CHUNK // self.unit, f"<u{2 if self.far else self.unit}")
        full[: found.size] = found.reshape(-1)
        return full.view(np.int8)

    def spread(self, matrix: Array) -> Array:
        """Returns weights [channels, taps] at the bytes of their units."""
        runs = matrix.reshape(len(matrix) * self.rows * self.taps, self.run)
        spread: Array = padded(runs.T, self.unit).T.reshape(len(matrix), -1)
        return spread


def gather_of(node: Node, x: View, y: View, cols: int) -> Gather | None:
    """Returns how the windows of a convolution are gathered; None if they are copied.

    Args:
        node: The convolution.
        x: View of its operand.
        y: View of its result.
        cols: Pixels of a row of the line buffer; 0 if windows are read from the operand.
    """
    (height, width), stride = op.window(node), op.attributes(node).strides[1]
    if cols == 0:
        found = possible(height, width * x.channels, stride * x.pixel_stride, (x.row_stride,), beyond=False)
        return next((each for each in found if x.offset % each.unit == 0), None)
    # A pixel more makes the length of rows even.
    step, strides = stride * x.channels, tuple((cols + more) * x.channels for more in range(2))
    if not scattered(node):
        return next(possible(height, width * x.channels, step, strides, beyond=True), None)
    if y.cols < PIXELS or step > MAX_ADVANCE:
        return None
    depth, apart = x.channels // groups(node), dilations(node)[1] * x.channels
    return next(possible_taps((height, width), depth, step, apart, strides), None)


def possible(rows: int, run: int, step: int, strides: tuple[int, ...], *, beyond: bool) -> Iterator[Gather]:
    """Yields the units that take fewer loads than copies of rows do.

    Args:
        rows: Rows of a window.
        run: Bytes of a row of it.
        step: Bytes from a window to the next.
        strides: Bytes from a row to the next; further ones if memory can have them instead.
        beyond: True if loads may exceed the rows of windows.
    """
    for stride in strides:
        found = (Gather(unit, rows, run, stride) for unit in _UNITS)
        yield from (each for each in found if _fits(each, step) and (beyond or run % each.unit == 0))
    far = Gather(1, rows, run, strides[0], far=True)
    copied = rows * (loops.copied_and_more(run) if beyond else loops.copied(run) + 2)
    if rows > 1 and far.chunks <= _MOST_FAR and far.furthest < 1 << 16 and _FAR_CHUNK * far.chunks < copied:
        yield far


def possible_taps(
    window: tuple[int, int], run: int, step: int, apart: int, strides: tuple[int, ...]
) -> Iterator[Gather]:
    """Yields the units that take fewer loads than copies of each tap do.

    Args:
        window: Rows of a window, and taps of a row.
        run: Bytes of a tap.
        step: Bytes from a window to the next.
        apart: Bytes from a tap to the next.
        strides: Bytes from a row to the next; further ones if memory can have them instead.
    """
    rows, taps = window
    for stride in strides:
        found = (Gather(unit, rows, run, stride, taps, apart) for unit in _UNITS)
        # The taps of further groups begin behind those of the first one.
        yield from (each for each in found if _fits(each, step) and run % each.unit == 0)


def _fits(found: Gather, step: int) -> bool:
    """True if units are at multiples of their size, and offsets are small; and if they take fewer loads than copies."""
    apart = all(distance % found.unit == 0 for distance in (step, found.stride, found.apart))
    runs = found.rows * found.taps
    few = found.chunks <= -(-runs * found.run // CHUNK) and found.chunks < runs * -(-found.run // CHUNK)
    return apart and few and found.furthest < 1 << 8 * found.unit
