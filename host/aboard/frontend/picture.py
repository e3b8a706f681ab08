"""Crops and resizes pictures, as `firmware/frontend/picture.h` does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from aboard.errors import InputError

#: Fractional bits of positions; both dimensions together leave 2 bits of 32 and the 8 of a pixel.
BITS = 11
_LARGEST = 4096

Pixels = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class PictureFit:
    """Fits a part of a picture to the size that a model takes.

    Attributes:
        left: First column of the crop.
        top: First row of the crop.
        width: Columns of the crop.
        height: Rows of the crop.
        out_width: Columns of the result.
        out_height: Rows of the result.
    """

    left: int
    top: int
    width: int
    height: int
    out_width: int
    out_height: int

    def __post_init__(self) -> None:
        """Checks the sizes.

        Raises:
            InputError: A size is out of range, or the crop begins outside of the picture.
        """
        sizes = (self.width, self.height, self.out_width, self.out_height)
        if not all(1 <= size <= _LARGEST for size in sizes) or min(self.left, self.top) < 0:
            raise InputError(
                f"picture, got a crop of {self.width} x {self.height} at ({self.left}, {self.top}) for "
                f"{self.out_width} x {self.out_height}, expected sizes of 1 to {_LARGEST} and a place from 0. Change it"
            )

    def nearest(self, pictures: Pixels) -> Pixels:
        """Returns the nearest pixels of pictures [..., rows, columns, channels].

        Raises:
            InputError: The crop does not fit into the pictures.
        """
        crop = self._crop(pictures)
        rows, columns = (
            (2 * np.arange(count) + 1) * size // (2 * count)
            for size, count in ((self.height, self.out_height), (self.width, self.out_width))
        )
        return crop[..., rows[:, None], columns[None, :], :]

    def bilinear(self, pictures: Pixels) -> Pixels:
        """Returns pictures [..., rows, columns, channels] in the new size by bilinear interpolation.

        Raises:
            InputError: The crop does not fit into the pictures.
        """
        crop, one = self._crop(pictures).astype(np.int32), 1 << BITS
        y, x = positions(self.height, self.out_height), positions(self.width, self.out_width)
        left, right = x >> BITS, np.minimum((x >> BITS) + 1, self.width - 1)
        fraction = (x & one - 1)[:, None]
        across = crop[..., left, :] * (one - fraction) + crop[..., right, :] * fraction
        upper, lower = y >> BITS, np.minimum((y >> BITS) + 1, self.height - 1)
        weight = (y & one - 1)[:, None, None]
        sums = across[..., upper, :, :] * (one - weight) + across[..., lower, :, :] * weight
        found: Pixels = ((sums + (1 << 2 * BITS - 1)) >> 2 * BITS).astype(np.uint8)
        return found

    def _crop(self, pictures: Pixels) -> Pixels:
        right, bottom = self.left + self.width, self.top + self.height
        if pictures.dtype != np.uint8 or pictures.ndim < 3 or pictures.shape[-3] < bottom or pictures.shape[-2] < right:
            raise InputError(
                f"pictures, got {pictures.dtype}{list(pictures.shape)}, expected uint8 [..., rows, columns, channels] "
                f"with at least {bottom} rows and {right} columns. Change the crop, or add an axis for the channels"
            )
        return pictures[..., self.top : bottom, self.left : right, :]


def positions(size: int, out_size: int) -> npt.NDArray[np.int32]:
    """Returns where the centres of output pixels are in the crop, with `BITS` fractional bits, rounded down."""
    half = 1 << BITS - 1
    found = (2 * np.arange(out_size, dtype=np.int64) + 1) * size * half // out_size - half
    clipped: npt.NDArray[np.int32] = found.clip(0, (size - 1) << BITS).astype(np.int32)
    return clipped
