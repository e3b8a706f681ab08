"""1x1 convolutions whose last one to three pixels have instructions of their own with Helium."""

from __future__ import annotations

from collections.abc import Iterator

from support.weighted_models import Layer

#: Rows, columns, input channels and output channels: one to three last pixels, with groups of four before them and
#: without; whole chunks and a last chunk that begins earlier; loads of words, of halfwords and of bytes; even and odd
#: numbers of channels, and multiples of four.
SHAPES = (
    (3, 1, 64, 12), (5, 1, 64, 6), (2, 5, 128, 8), (7, 37, 16, 16), (1, 7, 128, 5), (3, 5, 128, 16),
    (3, 3, 40, 8), (25, 1, 24, 12), (11, 1, 48, 16), (2, 5, 36, 7), (1, 15, 20, 4), (9, 1, 18, 6),
    (7, 1, 17, 8), (5, 5, 33, 4), (10, 1, 240, 8), (5, 1, 200, 4),
)  # fmt: skip


def layers(spread: float, zero_point_out: int) -> Iterator[Layer]:
    """Yields a layer of each shape.

    Args:
        spread: As for `Layer`: sums of many bits need two roundings.
        zero_point_out: Zero point of the results.
    """
    for seed, (rows, cols, depth, channels) in enumerate(SHAPES):
        yield Layer(
            "CONV_2D", (1, rows, cols, depth), (channels, 1, 1, depth), (1, rows, cols, channels), 0,
            {"Padding": "VALID", "StrideH": 1, "StrideW": 1, "FusedActivationFunction": "NONE"},
            seed=seed, zero_point_in=(-128, 3)[seed % 2], zero_point_out=zero_point_out, spread=spread,
        )  # fmt: skip
