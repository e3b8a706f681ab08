"""TRANSPOSE_CONV as convolutions of stride 1 whose results are interleaved.

A transposed convolution of stride s writes each pixel of the operand, times the window, into the result at s times its
place. Seen from the result, pixel s * q + p is a convolution at q with every s-th tap of the window: there are s phases
p on each axis, and each is an ordinary convolution, with kernels for every core.

    result   0   1   2   3   4   5         s = 2, window of three taps w0 w1 w2, no padding
    phase    0   1   0   1   0   1
    taps    w0  w1  w0  w1  w0  w1         phase 0: w0 at q, w2 at q - 1; phase 1: w1 at q
                    w2      w2

Channels of all phases lie side by side, and a transpose makes them pixels. The phases are one convolution with taps of
0 in between where that is less work, as kernels compute four channels at a time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aboard.ir import Array, DType, Node, Quantization, Tensor, TensorType
from aboard.ops import weighted
from aboard.ops.activation import Activation
from aboard.ops.chain import Chain
from aboard.ops.conv2d import ConvAttributes
from aboard.ops.registry import SourceNode, composes
from aboard.ops.strided_slice import AxisSlice
from aboard.ops.window import Padding, same, valid

#: Channels that kernels compute at once.
_BLOCK = 4


@dataclass(frozen=True)
class Phase:
    """One phase along one axis: a window over the operand.

    Attributes:
        taps: Taps of the weights, in the order in which the window meets them; None for one that is 0.
        low: Where the window of result pixel 0 begins in the operand; may be below 0.
    """

    taps: tuple[int | None, ...]
    low: int

    @property
    def high(self) -> int:
        """One past the end of the window of result pixel 0."""
        return self.low + len(self.taps)

    def widened(self, low: int, high: int) -> Phase:
        """Returns the same phase with taps of 0 at both ends."""
        return Phase((*[None] * (self.low - low), *self.taps, *[None] * (high - self.high)), low)


#: All forms of weights but float32 with int8 weights.
_TYPES = tuple(text for text in weighted.element_types() if text != weighted.Precision.HYBRID.value)


@composes("TRANSPOSE_CONV", bias=3, types=_TYPES, computed_by=("conv2d",))
def transpose_conv(source: SourceNode) -> list[Node]:
    """Reads weights, bias, padding and strides. The result's shape is that of the file, as in the reference.

    Raises:
        ModelError: Types, shapes or quantisation are not supported, or weights are computed at run time.
    """
    weights, operand, result = source.input(1), source.input(2), source.outputs[0]
    ranks = [len(tensor.shape) for tensor in (operand, weights, result)]
    strides = int(source.options["StrideH"]), int(source.options["StrideW"])
    if ranks != [4, 4, 4] or min(strides) < 1:
        raise source.unsupported(
            f"ranks of input, weights and result, and strides, got {ranks} and {strides}, expected 4 axes each, and "
            "strides from 1. Export the model with a fixed input shape"
        )
    if (
        operand.shape[3] != weights.shape[3]
        or result.shape[3] != weights.shape[0]
        or operand.shape[0] != result.shape[0]
    ):
        raise source.unsupported(
            f"shapes of input, weights and result, got {operand.shape}, {weights.shape} and {result.shape}, expected "
            "equal batches and channels. Export the model again"
        )
    layer = _Layer(source, strides)
    wrong = layer.problem()
    if wrong is not None:
        raise source.unsupported(
            f"{wrong}. Convert the model to int8, to int16 with int8 weights, or to float32 throughout"
        )
    return layer.nodes()


class _Layer:
    """One operator: its windows, and the nodes that it becomes."""

    def __init__(self, source: SourceNode, strides: tuple[int, int]) -> None:
        self._chain = Chain(source)
        self._operand, self._weights, self._result = source.input(2), source.input(1), source.outputs[0]
        self._values, self._strides = source.constant(1), strides
        self._bias = _bias(source)
        self._activation = Activation.from_tflite(source)
        size, window = self._result.shape[1:3], self._weights.shape[1:3]
        is_same = int(source.options["Padding"]) == 0
        padding = same((size[0], size[1]), (window[0], window[1]), strides) if is_same else valid()
        self._quotients = tuple(-(-extent // stride) for extent, stride in zip(size, strides, strict=True))
        self._rows = _phases(window[0], strides[0], padding.top, self._operand.shape[1], self._quotients[0])
        self._cols = _phases(window[1], strides[1], padding.left, self._operand.shape[2], self._quotients[1])

    def problem(self) -> str | None:
        """Returns what is wrong with element types or quantisation, or None."""
        bias = [] if self._bias is None else [self._bias]
        probe = Node("conv2d", self._result.name, [self._operand, self._weights, *bias], [self._result])
        wrong = weighted.problem(probe, 0, narrow=False)
        if wrong is None and weighted.form(probe) is weighted.Precision.HYBRID:
            return "element types, got float32 with int8 weights, expected one type. The reference has no such kernel"
        return wrong

    def nodes(self) -> list[Node]:
        """Returns the convolutions, and what interleaves their results."""
        chain, (height, width) = self._chain, self._strides
        batch, rows, cols, channels = self._result.shape
        if self._as_one():
            joined = self._conv(_aligned(self._rows), _aligned(self._cols))
        else:
            joined = chain.join([self._conv([row], [col]) for row in self._rows for col in self._cols], 3)
        if (height, width) != (1, 1):
            high, wide = self._quotients
            split = chain.reshape(joined, (batch, high, wide, height, width, channels))
            moved = chain.transpose(split, (0, 1, 3, 2, 4, 5))
            joined = chain.reshape(moved, (batch, high * height, wide * width, channels))
        whole = [AxisSlice(0, 1, extent) for extent in (batch, rows, cols, channels)]
        return chain.finish(chain.take(joined, whole))

    def _as_one(self) -> bool:
        """True where one convolution of the channels of all phases has no more products than one for each phase."""
        channels = self._result.shape[3]
        apart = sum(len(row.taps) * len(col.taps) for row in self._rows for col in self._cols) * _blocks(channels)
        taps = len(_aligned(self._rows)[0].taps) * len(_aligned(self._cols)[0].taps)
        return taps * _blocks(channels * math.prod(self._strides)) <= apart

    def _conv(self, rows: Sequence[Phase], cols: Sequence[Phase]) -> Tensor:
        """Adds a convolution with the channels of these phases, whose windows begin together; returns its result."""
        chain, count = self._chain, len(rows) * len(cols)
        top, bottom, along_rows = _extent(rows[0], self._operand.shape[1], self._quotients[0])
        left, right, along_cols = _extent(cols[0], self._operand.shape[2], self._quotients[1])
        slices = [AxisSlice(0, 1, self._operand.shape[0]), along_rows, along_cols]
        image = chain.take(self._operand, [*slices, AxisSlice(0, 1, self._operand.shape[3])])
        made = chain.tensor(self._result, (self._result.shape[0], *self._quotients, count * self._result.shape[3]))
        inputs = [image, self._filters(rows, cols)]
        if self._bias is not None and self._bias.data is not None:
            repeated = np.tile(self._bias.data.reshape(-1), count)
            inputs.append(chain.constant(repeated, self._bias.dtype))
        attrs = ConvAttributes((1, 1), Padding(top, left, bottom, right), (1, 1), self._activation)
        chain.add("conv2d", inputs, attrs, [made])
        return made

    def _filters(self, rows: Sequence[Phase], cols: Sequence[Phase]) -> Tensor:
        """Returns the weights of some phases, one after the other in their output channels."""
        values = np.concatenate([_taken(self._values, row.taps, col.taps) for row in rows for col in cols])
        quant = self._weights.type.quant
        if quant is not None and quant.per_channel:
            count = len(rows) * len(cols)
            quant = Quantization(quant.scales * count, quant.zero_points * count, 0)
        return Tensor(self._weights.name, TensorType(values.shape, self._weights.dtype, quant), values)


def _phases(window: int, stride: int, padding: int, extent: int, quotient: int) -> list[Phase]:
    """Returns the phases along an axis.

    Args:
        window: Taps of the weights.
        stride: How many phases there are.
        padding: Pixels that the result is shifted by.
        extent: Pixels of the operand.
        quotient: Pixels of the result of each phase.
    """
    found = []
    for phase in range(stride):
        shift, first = divmod(phase + padding, stride)
        taps = tuple(reversed(range(first, window, stride)))
        low = shift - len(taps) + 1
        reads = taps and low < extent and low + len(taps) + quotient - 1 > 0
        found.append(Phase(taps, low) if reads else Phase((None,), 0))
    return found


def _aligned(phases: Sequence[Phase]) -> list[Phase]:
    low, high = min(phase.low for phase in phases), max(phase.high for phase in phases)
    return [phase.widened(low, high) for phase in phases]


def _extent(phase: Phase, extent: int, quotient: int) -> tuple[int, int, AxisSlice]:
    """Returns the padding before and after what a phase reads along an axis, and the part of the operand it reads."""
    end = phase.high + quotient - 1
    start, stop = max(phase.low, 0), min(end, extent)
    return start - phase.low, end - stop, AxisSlice(start, 1, stop - start)


def _taken(weights: Array, rows: Sequence[int | None], cols: Sequence[int | None]) -> Array:
    """Returns the taps of a phase, [outputs, rows, cols, channels]."""
    taken = np.zeros((weights.shape[0], len(rows), len(cols), weights.shape[3]), weights.dtype)
    for y, row in enumerate(rows):
        for x, col in enumerate(cols):
            if row is not None and col is not None:
                taken[:, y, x] = weights[:, row, col]
    return taken


def _bias(source: SourceNode) -> Tensor | None:
    """Returns the bias; one of int16, which the reference widens, as int64."""
    bias = source.inputs[3] if len(source.inputs) > 3 else None
    if bias is None:
        return None
    values = source.constant(3)
    if bias.dtype is not DType.INT16:
        return bias
    return Tensor(bias.name, TensorType(bias.shape, DType.INT64), values.astype(np.int64))


def _blocks(channels: int) -> int:
    return -(-channels // _BLOCK) * _BLOCK
