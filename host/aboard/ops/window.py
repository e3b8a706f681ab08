"""Geometry of a window that slides over an image: padding, extent, output size. Sizes are (height, width) in pixels."""

from __future__ import annotations

from dataclasses import dataclass

from aboard.ops.box import Box
from aboard.ops.registry import SourceNode

_SAME, _VALID = 0, 1

#: Limit of strides, dilations and padding, which the reference stores in 16 bits.
_MOST = 32767


@dataclass(frozen=True)
class Padding:
    """Pixels around an image, on each side."""

    top: int = 0
    left: int = 0
    bottom: int = 0
    right: int = 0

    @property
    def any(self) -> bool:
        """True if there is padding on at least one side."""
        return bool(self.top or self.left or self.bottom or self.right)

    @property
    def sides(self) -> tuple[int, int, int, int]:
        """Pixels above, below, left and right."""
        return self.top, self.bottom, self.left, self.right


def reach(window: int, dilation: int) -> int:
    """Returns the pixels that a dilated window spans in one direction."""
    return (window - 1) * dilation + 1


def same(
    size: tuple[int, int], window: tuple[int, int], strides: tuple[int, int], dilations: tuple[int, int] = (1, 1)
) -> Padding:
    """Returns the padding with which the output has ceil(size / stride) pixels; the odd pixel goes below and right."""
    before_after = []
    for pixels, taps, stride, dilation in zip(size, window, strides, dilations, strict=True):
        outputs = -(-pixels // stride)
        total = max((outputs - 1) * stride + reach(taps, dilation) - pixels, 0)
        before_after.append((total // 2, total - total // 2))
    (top, bottom), (left, right) = before_after
    return Padding(top, left, bottom, right)


def valid() -> Padding:
    """Returns no padding: only windows inside the image count."""
    return Padding()


def output_size(
    size: tuple[int, int],
    window: tuple[int, int],
    strides: tuple[int, int],
    padding: Padding,
    dilations: tuple[int, int] = (1, 1),
) -> tuple[int, int]:
    """Returns the number of windows in each direction; 0 or less if no window fits."""
    height = size[0] + padding.top + padding.bottom - reach(window[0], dilations[0])
    width = size[1] + padding.left + padding.right - reach(window[1], dilations[1])
    return height // strides[0] + 1, width // strides[1] + 1


def seen(
    box: Box,
    size: tuple[int, int],
    window: tuple[int, int],
    strides: tuple[int, int],
    padding: Padding,
    dilations: tuple[int, int] = (1, 1),
) -> tuple[Box, Padding] | None:
    """Returns the pixels of an image in the receptive field of a part of the result.

    Args:
        box: Part of the result, [batch, rows, columns, channels].
        size: Size of the image.
        window: Size of the window.
        strides: Pixels from one window to the next.
        padding: Padding around the image.
        dilations: Pixels from one tap to the next.

    Returns:
        The box of the image, with the part's batch and channels, and the padding around it; None if the windows cover
        only padding.
    """
    before_after: list[tuple[int, int]] = []
    for axis, before in ((1, padding.top), (2, padding.left)):
        direction = axis - 1
        first = box.start[axis] * strides[direction] - before
        last = (box.stop[axis] - 1) * strides[direction] - before
        end = last + reach(window[direction], dilations[direction])
        start, stop = max(first, 0), min(end, size[direction])
        if start >= stop:
            return None
        before_after.append((start - first, end - stop))
        box = box.on(axis, start, stop)
    (top, bottom), (left, right) = before_after
    return box, Padding(top, left, bottom, right)


def padding_from_tflite(
    source: SourceNode,
    size: tuple[int, int],
    window: tuple[int, int],
    strides: tuple[int, int],
    dilations: tuple[int, int] = (1, 1),
) -> Padding:
    """Returns the padding of an operator of a TFLite file, from its option `Padding`.

    Raises:
        ModelError: The number is not in the schema; a stride, dilation or padding is out of range; or no window fits.
    """
    if min(*strides, *dilations, *window) < 1 or max(*strides, *dilations) > _MOST:
        raise source.unsupported(
            f"strides, dilations and window, got {strides}, {dilations} and {window}, expected at least 1 each, and "
            f"strides and dilations of at most {_MOST}. Export the model again"
        )
    mode = int(source.options["Padding"])
    if mode not in (_SAME, _VALID):
        raise source.unsupported(
            f"padding, got {mode}, expected {_SAME} (SAME) or {_VALID} (VALID). Export the model again"
        )
    padding = same(size, window, strides, dilations) if mode == _SAME else valid()
    if min(output_size(size, window, strides, padding, dilations)) < 1:
        raise source.unsupported(
            f"window of {window[0]}x{window[1]} with dilation {dilations[0]}x{dilations[1]}, got an image of "
            f"{size[0]}x{size[1]}, expected a larger image. Use SAME padding or a smaller window"
        )
    if max(padding.sides) > _MOST:
        raise source.unsupported(
            f"window of {window[0]}x{window[1]} with dilation {dilations[0]}x{dilations[1]}, got padding of "
            f"{max(padding.sides)} pixels for an image of {size[0]}x{size[1]}, expected at most {_MOST}. "
            "Use a smaller window"
        )
    return padding
