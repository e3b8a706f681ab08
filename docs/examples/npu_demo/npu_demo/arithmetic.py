"""What the accelerator computes, number by number, without numpy: the reference for `fast`, and what Renode runs.

Runs in CPython 3 and in Renode's IronPython 2.7: types stand in comments.
"""

# ruff: noqa: F401, PYI024, UP035 - rules for Python 3 alone, and names in comments with types

from collections import namedtuple
from operator import mul

MYPY = False
if MYPY:
    from typing import List, Sequence

#: A convolution: images are height x width x channels, padding is top, bottom, left, right. With `depthwise`, weights
#: are window x channels; else outputs x window x channels; with `transposed`, channels x outputs (a 1x1 window).
Conv = namedtuple(
    "Conv", "depthwise transposed rows cols channels out_rows out_cols outputs window strides padding zeros limits"
)

#: Bytes of the parameters of an output channel: bias, multiplier, shift, as 32-bit words.
PARAMETER_BYTES = 12


def macs(conv):
    # type: (Conv) -> int
    """Returns the multiply-accumulates of a convolution, padding counted."""
    taps = int(conv.window[0] * conv.window[1]) * (1 if conv.depthwise else conv.channels)
    return int(conv.out_rows * conv.out_cols * conv.outputs) * taps


def sizes(conv):
    # type: (Conv) -> List[int]
    """Returns the bytes of input, weights, parameters and result."""
    taps = conv.window[0] * conv.window[1]
    weights = taps * conv.channels * (1 if conv.depthwise else conv.outputs)
    result = conv.out_rows * conv.out_cols * conv.outputs
    return [conv.rows * conv.cols * conv.channels, weights, conv.outputs * PARAMETER_BYTES, result]


def signed(data):
    # type: (Sequence[int]) -> List[int]
    """Returns bytes as int8."""
    return [value - 256 if value > 127 else value for value in bytearray(data)]


def word(data, at):
    # type: (Sequence[int], int) -> int
    """Returns 32 bits, lowest byte first, without sign."""
    return data[at] | data[at + 1] << 8 | data[at + 2] << 16 | data[at + 3] << 24


def wrapped(value):
    # type: (int) -> int
    """Returns an integer as the 32 bits with sign that are kept of it."""
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def requantized(total, multiplier, shift):
    # type: (int, int, int) -> int
    """Returns total * multiplier * 2 ** (shift - 31), rounded twice, as the reference kernels of TFLite do."""
    left, right = max(shift, 0), max(-shift, 0)
    high = (wrapped(total << left) * multiplier + (1 << 30)) >> 31
    mask = (1 << right) - 1
    return (high >> right) + (1 if high & mask > (mask >> 1) + (1 if high < 0 else 0) else 0)


def compute(conv, x, weights, parameters):
    # type: (Conv, bytes, bytes, bytes) -> bytes
    """Returns the result of a convolution, as bytes."""
    image, taps, params = signed(x), _taps(conv, signed(weights)), bytearray(parameters)
    scale = [
        [wrapped(word(params, at + 4 * part)) for part in range(3)] for at in range(0, len(params), PARAMETER_BYTES)
    ]
    low, high = conv.limits
    result = bytearray()
    for row in range(conv.out_rows):
        for col in range(conv.out_cols):
            pixels = _window(conv, image, row, col)
            for output in range(conv.outputs):
                seen = pixels[output :: conv.outputs] if conv.depthwise else pixels
                bias, multiplier, shift = scale[output]
                total = wrapped(sum(map(mul, seen, taps[output])) + bias)
                value = requantized(total, multiplier, shift) + conv.zeros[1]
                result.append(min(max(value, low), high) & 0xFF)
    return bytes(result)


def _taps(conv, weights):
    # type: (Conv, List[int]) -> List[List[int]]
    """Returns the weights of each output in the order in which `_window` has the pixels."""
    if conv.depthwise or conv.transposed:
        return [weights[output :: conv.outputs] for output in range(conv.outputs)]
    each = len(weights) // conv.outputs
    return [weights[start : start + each] for start in range(0, len(weights), each)]


def _window(conv, image, row, col):
    # type: (Conv, List[int], int, int) -> List[int]
    """Returns what a window sees, less the zero point."""
    pixels = []  # type: List[int]
    zero = conv.zeros[0]
    for down in range(conv.window[0]):
        y = row * conv.strides[0] - conv.padding[0] + down
        for right in range(conv.window[1]):
            x = col * conv.strides[1] - conv.padding[2] + right
            if 0 <= y < conv.rows and 0 <= x < conv.cols:
                start = (y * conv.cols + x) * conv.channels
                pixels += [value - zero for value in image[start : start + conv.channels]]
            else:
                pixels += [0] * conv.channels
    return pixels
