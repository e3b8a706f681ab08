"""Bytes of scratch, equal to the results of CMSIS-NN's own functions for buffer sizes (release 7.0.0).

They model `arm_*_get_buffer_size` for a core with the given instructions; tests compare them with recorded values, and
with the compiled functions if a source tree is available.
"""

from __future__ import annotations

from dataclasses import dataclass

from aboard.backends.cmsis_nn.geometry import Size, Unit, WindowedLayer

#: Channels that the library's depthwise convolution for Helium computes at once.
_CHANNEL_BLOCK = 124

_INT16, _INT32 = 2, 4


def convolve_wrapper(window: WindowedLayer, unit: Unit) -> int:
    """Returns the size for `arm_convolve_wrapper_s8`."""
    if window.is_1x1:
        return 0
    if window.is_1xn and unit is Unit.MVE:
        return _convolve_1xn(window)
    return convolve(window, unit)


def convolve(window: WindowedLayer, unit: Unit) -> int:
    """Returns the size for `arm_convolve_s8`: a few pixels with their receptive fields."""
    length = window.taps.w * window.taps.h * window.channels
    if unit is Unit.MVE:
        return 4 * -(-length // 16) * 16
    return 2 * -(-length // 4) * 4 * _INT16


def _convolve_1xn(window: WindowedLayer) -> int:
    """Returns the size for `arm_convolve_1_x_n_s8` with Helium: the windows with padding, in one line."""
    ends = ends_of_line(window)
    if not ends.add_up:
        return convolve(window, Unit.MVE)
    left = window.taps.w + window.padding.w
    right = window.taps.w - 1 + ends.pad_right
    return max(left, right) * window.channels


def depthwise_wrapper(window: WindowedLayer, unit: Unit) -> int:
    """Returns the size for `arm_depthwise_conv_wrapper_s8`."""
    if unit is Unit.MVE and becomes_convolution(window):
        weights = window.taps.h * window.taps.w * window.outputs
        return convolve_wrapper(window, unit) + weights
    if window.channels != window.outputs or window.batch != 1 or window.dilation != Size(1, 1):
        return 0
    taps = window.taps.h * window.taps.w
    if unit is Unit.MVE:
        return 4 * _CHANNEL_BLOCK * taps
    return 0 if unit is Unit.C or is_3x3(window) else window.channels * taps * _INT16


def becomes_convolution(window: WindowedLayer) -> bool:
    """True for a depthwise convolution that the library computes as a convolution, with Helium."""
    return window.channels == 1 and window.outputs > 1


def is_3x3(window: WindowedLayer) -> bool:
    """True for a depthwise convolution with its own function, without Helium."""
    return window.taps == Size(3, 3) and window.padding.h <= 1 and window.padding.w <= 1


def average_pool(window: WindowedLayer, unit: Unit) -> int:
    """Returns the size for `arm_avgpool_s8`."""
    return window.channels * _INT32 if unit is Unit.DSP else 0


def fully_connected(outputs: int, unit: Unit) -> int:
    """Returns the size for `arm_fully_connected_wrapper_s8`: the sums of the weights of each output."""
    return outputs * _INT32 if unit is Unit.MVE else 0


@dataclass(frozen=True)
class EndsOfLine:
    """Division of a line by `arm_convolve_1_x_n_s8` with Helium: padding on the left, the middle, padding on the right.

    Attributes:
        left: Pixels of the result that it computes with padding on the left.
        middle: Pixels of the result between left and right.
        right: Pixels of the result that it computes with padding on the right.
        pad_right: Pixels of padding behind the image.
        add_up: True if the three parts are the whole line; if not, the library takes another path.
        padding_fits: True if the padding follows from the sizes; if not, the library reports a failure.
    """

    left: int
    middle: int
    right: int
    pad_right: int
    add_up: bool
    padding_fits: bool


def ends_of_line(window: WindowedLayer) -> EndsOfLine:
    """Returns how a line is divided."""
    pad, stride, columns = window.padding.w, window.stride.w, window.result.w
    total = (columns - 1) * stride + window.taps.w - window.image.w
    # The remainder has the sign of the dividend, as in C: -1 if no window contains the last pixels of the image.
    odd = abs(total) % 2 * (1 if total > 0 else -1)
    right = _reached(pad + odd, stride)
    left = _reached(pad, stride)
    middle = max(columns - left - right, 0)
    return EndsOfLine(
        left, middle, right, right if odd else pad, left + middle + right == columns, 2 * pad + odd == total
    )


def _reached(pad: int, stride: int) -> int:
    """Returns the number of windows with padding, as the library counts them."""
    return max(1, int((pad + stride - 1) / stride)) if pad != 0 else 0
