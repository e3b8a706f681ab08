"""Windows that loads gather into im2col columns, for conv2d with Helium: the units that fit, and their offsets.

A row of a window with few channels has few bytes. A copy takes a load and a store for each row; a load that gathers
takes units of 1, 2 or 4 bytes from all rows. Units must be at multiples of their size, and offsets are numbers of that
size too; or bytes have offsets of 16 bits, and a load has eight.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from aboard.ir import Array
from aboard.kernels.arm_mve import loops
from aboard.kernels.weights import padded

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
        run: Bytes of a row.
        stride: Bytes from a row to the next.
        far: True for bytes with offsets of 16 bits.
    """

    unit: int
    rows: int
    run: int
    stride: int
    far: bool = False

    @property
    def form(self) -> int:
        """`unit` of `aboard_conv2d_four_pixels_mve_t`."""
        return _FAR if self.far else self.unit

    @property
    def of_row(self) -> int:
        """Units of a row; the last one may exceed it."""
        return -(-self.run // self.unit)

    @property
    def chunks(self) -> int:
        """Vectors of a window."""
        return -(-self.rows * self.of_row * self.unit // CHUNK)

    @property
    def furthest(self) -> int:
        """The largest offset."""
        return (self.rows - 1) * self.stride + (self.of_row - 1) * self.unit

    def offsets(self) -> Array:
        """Returns the offsets of all units from the first byte of the window; units without a tap repeat the first."""
        found = np.arange(self.rows)[:, None] * self.stride + np.arange(self.of_row) * self.unit
        full = np.zeros(self.chunks * CHUNK // self.unit, f"<u{2 if self.far else self.unit}")
        full[: found.size] = found.reshape(-1)
        return full.view(np.int8)

    def spread(self, matrix: Array) -> Array:
        """Returns weights [channels, taps] at the bytes of their units."""
        rows = matrix.reshape(len(matrix) * self.rows, self.run)
        spread: Array = padded(rows.T, self.unit).T.reshape(len(matrix), -1)
        return spread


def possible(rows: int, run: int, step: int, strides: tuple[int, ...], *, beyond: bool) -> Iterator[Gather]:
    """Yields the units that take fewer loads than copies of rows do.

    Args:
        rows: Rows of a window.
        run: Bytes of a row of it.
        step: Bytes from a window to the next.
        strides: Bytes from a row to the next; further ones if memory can have them instead.
        beyond: True if loads may exceed the rows of windows.
    """
    copies = rows * -(-run // CHUNK)
    for stride in strides:
        for unit in _UNITS:
            found = Gather(unit, rows, run, stride)
            apart = step % unit == 0 and stride % unit == 0 and (beyond or run % unit == 0)
            fits = found.furthest < 1 << 8 * unit and found.chunks <= -(-rows * run // CHUNK)
            if apart and fits and found.chunks < copies:
                yield found
    far = Gather(1, rows, run, strides[0], far=True)
    copied = rows * (loops.copied_and_more(run) if beyond else loops.copied(run) + 2)
    if rows > 1 and far.chunks <= _MOST_FAR and far.furthest < 1 << 16 and _FAR_CHUNK * far.chunks < copied:
        yield far
