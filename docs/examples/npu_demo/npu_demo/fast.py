"""What the accelerator computes, with numpy: the same as `arithmetic.compute`, for emulators that run in CPython."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from npu_demo.arithmetic import Conv

Float64 = npt.NDArray[np.float64]
Int64 = npt.NDArray[np.int64]


def compute(conv: Conv, x: bytes, weights: bytes, parameters: bytes) -> bytes:
    """Returns the result of a convolution, as bytes; sums of products are exact in doubles."""
    image = np.frombuffer(x, np.int8).reshape(conv.rows, conv.cols, conv.channels).astype(np.float64) - conv.zeros[0]
    top, bottom, left, right = conv.padding
    padded = np.pad(image, ((top, bottom), (left, right), (0, 0)))
    sums = _sums(conv, padded, np.frombuffer(weights, np.int8).astype(np.float64))
    bias, multiplier, shift = np.frombuffer(parameters, "<i4").astype(np.int64).reshape(-1, 3).T
    scaled = _requantized(_wrapped(sums.astype(np.int64) + bias), multiplier, shift)
    result: bytes = np.clip(scaled + conv.zeros[1], *conv.limits).astype(np.int8).tobytes()
    return result


def _sums(conv: Conv, padded: Float64, weights: Float64) -> Float64:
    height, width = conv.window
    taps: Float64
    if conv.transposed:
        taps = weights.reshape(1, conv.channels, conv.outputs)
    elif conv.depthwise:
        taps = weights.reshape(height * width, conv.outputs)
    else:
        taps = weights.reshape(conv.outputs, height * width, conv.channels).transpose(1, 2, 0)
    sums = np.zeros((conv.out_rows, conv.out_cols, conv.outputs))
    for number, tap in enumerate(taps):
        down, right = divmod(number, width)
        rows = slice(down, down + (conv.out_rows - 1) * conv.strides[0] + 1, conv.strides[0])
        cols = slice(right, right + (conv.out_cols - 1) * conv.strides[1] + 1, conv.strides[1])
        sums += padded[rows, cols] * tap if conv.depthwise else padded[rows, cols] @ tap
    return sums


def _wrapped(values: Int64) -> Int64:
    return (values + (1 << 31)) % (1 << 32) - (1 << 31)


def _requantized(total: Int64, multiplier: Int64, shift: Int64) -> Int64:
    left, right = np.maximum(shift, 0), np.maximum(-shift, 0)
    high = (_wrapped(total << left) * multiplier + (1 << 30)) >> 31
    mask = (1 << right) - 1
    result: Int64 = (high >> right) + ((high & mask) > (mask >> 1) + (high < 0))
    return result
