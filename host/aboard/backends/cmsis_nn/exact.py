"""Conditions under which the paths of CMSIS-NN's wrappers are exact, and another path if they are not."""

from __future__ import annotations

from aboard.backends.cmsis_nn.geometry import Size, Unit, WindowedLayer
from aboard.backends.cmsis_nn.sizes import becomes_convolution, ends_of_line, is_3x3


def convolve_wrapper_is_exact(window: WindowedLayer, unit: Unit) -> bool:
    """True if `arm_convolve_wrapper_s8` is exact; otherwise `arm_convolve_s8` is called."""
    return unit is not Unit.MVE or not window.is_1xn or _line_is_exact(window)


def depthwise_wrapper_is_exact(window: WindowedLayer, unit: Unit) -> bool:
    """True if `arm_depthwise_conv_wrapper_s8` is exact; otherwise `arm_depthwise_conv_s8` is called."""
    if unit is Unit.MVE:
        return not becomes_convolution(window) or convolve_wrapper_is_exact(window, unit)
    by_channel = window.channels == window.outputs and window.batch == 1 and window.dilation == Size(1, 1)
    if not by_channel or not is_3x3(window):
        return True
    # Its function for 3x3 reads the middle column of every window without checking that it is in the image.
    last = (window.result.w - 1) * window.stride.w - window.padding.w
    return last + 1 < window.image.w


def _line_is_exact(window: WindowedLayer) -> bool:
    """Models `arm_convolve_1_x_n_s8` with Helium: the pixel that it multiplies with each tap.

    The function copies the ends of a line with their padding, as many pixels at each end as padding with a stride of 1
    needs. With other strides, or if no window contains the last pixels of the image, the copy differs from the windows,
    or the function reads beyond the image.
    """
    ends, stride, taps, pad = ends_of_line(window), window.stride.w, window.taps.w, window.padding.w
    if not ends.padding_fits:
        return False
    if not ends.add_up:
        return True
    first_of_middle, first_of_right = stride * ends.left - pad, stride * (ends.left + ends.middle) - pad
    inside = range(window.image.w)
    copied = [*range(taps), *range(first_of_right, first_of_right + taps - 1)]
    if first_of_middle < 0 or any(pixel not in inside for pixel in copied):
        return False
    left = [*[None] * pad, *range(taps)]
    right = [*range(first_of_right, first_of_right + taps - 1), *[None] * ends.pad_right]
    parts = (
        (ends.left, 0, left),
        (ends.middle, ends.left, list(range(first_of_middle, window.image.w))),
        (ends.right, ends.left + ends.middle, right),
    )
    return all(
        line[index * stride : index * stride + taps] == _seen(window, first + index)
        for count, first, line in parts
        for index in range(count)
    )


def _seen(window: WindowedLayer, column: int) -> list[int | None]:
    """Returns the pixels in the window of a column of the result; None for padding."""
    start = column * window.stride.w - window.padding.w
    covered = range(start, start + window.taps.w)
    return [pixel if 0 <= pixel < window.image.w else None for pixel in covered]
