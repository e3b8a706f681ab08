"""Windows over any number of axes: their attributes, and tensors as images of two axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aboard.importers.onnx.builder import Builder
from aboard.importers.onnx.operator import Operator
from aboard.ir import Tensor


@dataclass(frozen=True)
class Window:
    """A window, with one number for each axis behind batch and channels.

    Attributes:
        size: Taps.
        strides: Pixels from one window to the next.
        dilations: Pixels from one tap to the next.
        before: Pixels of padding before the operand.
        after: Likewise behind it.
        overhang: Further pixels behind it that the last window covers, where sizes are rounded up.
    """

    size: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    overhang: tuple[int, ...]

    def axes(self, first: int, last: int) -> Window:
        """Returns the window on some of its axes."""
        fields = (self.size, self.strides, self.dilations, self.before, self.after, self.overhang)
        return Window(*(field[first:last] for field in fields))


def window(source: Operator, extents: Sequence[int], size: Sequence[int]) -> Window:
    """Reads the window of a node.

    Args:
        source: The node.
        extents: Of the operand, without batch and channels.
        size: Taps on each of these axes.

    Raises:
        ModelError: An attribute has another length, is out of range, or no window fits.
    """
    count = len(extents)
    strides = _numbers(source, "strides", count, 1)
    dilations = _numbers(source, "dilations", count, 1)
    pads = _numbers(source, "pads", 2 * count, 0)
    if len(size) != count or min((*size, *strides, *dilations), default=1) < 1 or min(pads, default=0) < 0:
        raise source.unsupported(
            f"window {list(size)}, strides {list(strides)}, dilations {list(dilations)} and pads {list(pads)}, "
            f"expected {count} numbers from 1 each, and pads from 0. Export the model again"
        )
    reach = [(taps - 1) * dilation + 1 for taps, dilation in zip(size, dilations, strict=True)]
    before, after = list(pads[:count]), list(pads[count:])
    mode = str(source.options.get("auto_pad", "NOTSET"))
    if mode == "VALID":
        before, after = [0] * count, [0] * count
    elif mode.startswith("SAME"):
        needed = [max((-(-e // s) - 1) * s + r - e, 0) for e, s, r in zip(extents, strides, reach, strict=True)]
        upper = mode == "SAME_UPPER"
        before = [n // 2 if upper else n - n // 2 for n in needed]
        after = [n - b for n, b in zip(needed, before, strict=True)]
    overhang = [0] * count
    for axis, extent in enumerate(extents):
        left = extent + before[axis] + after[axis] - reach[axis]
        if left < 0:
            raise source.unsupported(
                f"window of {reach[axis]} pixels on axis {axis + 2}, got {extent} pixels with padding of "
                f"{before[axis]} and {after[axis]}, expected more. Export the model with a larger input"
            )
        if source.options.get("ceil_mode", 0) and not mode.startswith("SAME"):
            windows = -(-left // strides[axis])
            # The last window begins in the operand or in the padding before it.
            windows -= windows * strides[axis] >= extent + before[axis]
            overhang[axis] = max(windows * strides[axis] - left, 0)
    return Window(tuple(size), strides, dilations, tuple(before), tuple(after), tuple(overhang))


def _numbers(source: Operator, name: str, count: int, default: int) -> tuple[int, ...]:
    given = [int(value) for value in source.options.get(name) or []] or [default] * count
    if len(given) != count:
        raise source.unsupported(f"{name}, got {given}, expected {count} numbers. Export the model again")
    return tuple(given)


def channels_last(make: Builder, tensor: Tensor) -> Tensor:
    """Returns [batch, ...pixels, channels] for [batch, channels, ...pixels]."""
    rank = len(tensor.shape)
    return make.transpose(tensor, (0, *range(2, rank), 1))


def channels_first(make: Builder, tensor: Tensor) -> Tensor:
    """Returns [batch, channels, ...pixels] for [batch, ...pixels, channels]."""
    rank = len(tensor.shape)
    return make.transpose(tensor, (0, rank - 1, *range(1, rank - 1)))


def as_image(make: Builder, tensor: Tensor) -> Tensor:
    """Returns [batch, 1, pixels, channels] for a sequence [batch, pixels, channels]; images as they are."""
    shape = tensor.shape
    return make.reshape(tensor, (shape[0], 1, *shape[1:])) if len(shape) == 3 else tensor


def as_sequence(make: Builder, image: Tensor, rank: int) -> Tensor:
    """Undoes `as_image` for a tensor that had so many axes."""
    shape = image.shape
    return make.reshape(image, (shape[0], *shape[2:])) if rank == 3 else image
