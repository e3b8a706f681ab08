"""Models of a dilated convolution as converters write it: SPACE_TO_BATCH_ND, a convolution, BATCH_TO_SPACE_ND."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st

from support.tflite_builder import ModelBuilder

_QUANT = {"scale": 0.05, "zero_point": -7}
_RESULT = {"scale": 0.4, "zero_point": 11}

_Pair = tuple[int, int]


@dataclass(frozen=True)
class Dilated:
    """One model.

    Attributes:
        size: Height and width of the image; the height is 1 where `line` is true.
        block: Block of each axis.
        pads: Padding of each axis; with the size a multiple of the block.
        crops: What is cropped of each axis.
        window: Taps of each axis.
        dilation: Dilation that the convolution itself has.
        same: Whether the convolution pads.
        stride: Stride of the convolution.
        channels: Of the image.
        filters: Of the result; for a depthwise convolution the multiplier.
        batch: Images in a batch.
        line: Whether the model's tensors are lines [batch, width, channels], as those of Conv1D are.
        depthwise: Whether the convolution is depthwise.
        dtype: Element type, int8 or float32.
        free: Whether the file leaves the batch free and states 1 behind each operator; only for one image.
    """

    size: _Pair = (1, 12)
    block: _Pair = (1, 2)
    pads: tuple[_Pair, _Pair] = ((0, 0), (0, 0))
    crops: tuple[_Pair, _Pair] = ((0, 0), (0, 0))
    window: _Pair = (1, 3)
    dilation: _Pair = (1, 1)
    same: bool = False
    stride: int = 1
    channels: int = 2
    filters: int = 3
    batch: int = 1
    line: bool = True
    depthwise: bool = False
    dtype: type = np.int8
    free: bool = False

    @property
    def blocks_out(self) -> _Pair:
        """Height and width of the convolution's result, in one of the batches."""
        inner = self.blocks_in
        if self.same:
            return -(-inner[0] // self.stride), -(-inner[1] // self.stride)
        reach = [(taps - 1) * step + 1 for taps, step in zip(self.window, self.dilation, strict=True)]
        return (inner[0] - reach[0]) // self.stride + 1, (inner[1] - reach[1]) // self.stride + 1

    @property
    def blocks_in(self) -> _Pair:
        """Height and width of the convolution's operand, in one of the batches."""
        padded = [size + sum(pads) for size, pads in zip(self.size, self.pads, strict=True)]
        return padded[0] // self.block[0], padded[1] // self.block[1]

    @property
    def size_out(self) -> _Pair:
        """Height and width of the model's result."""
        pairs = zip(self.blocks_out, self.block, self.crops, strict=True)
        height, width = (size * block - sum(crops) for size, block, crops in pairs)
        return height, width

    @property
    def is_sound(self) -> bool:
        """True where all sizes are whole and something is left."""
        padded = [size + sum(pads) for size, pads in zip(self.size, self.pads, strict=True)]
        whole = all(size % block == 0 for size, block in zip(padded, self.block, strict=True))
        return whole and min(*self.blocks_out, *self.size_out) >= 1

    def image(self, seed: int = 0) -> np.ndarray:
        """Returns values for the input."""
        rng, shape = np.random.default_rng(seed), self._shape(self.batch, self.size, self.channels)
        if self.dtype is np.float32:
            return rng.integers(-8, 9, shape).astype(np.float32)
        return rng.integers(-128, 128, shape).astype(np.int8)

    def model(self) -> bytes:
        """Returns the file."""
        return self.builder().build(["x"], ["y"])

    def builder(self) -> ModelBuilder:
        """Returns the file before it is written: tensors x, blocks, conv, y."""
        m, rng = ModelBuilder(), np.random.default_rng(5)
        quant, result = ({}, {}) if self.dtype is np.float32 else (_QUANT, _RESULT)
        count = self.batch * self.block[0] * self.block[1]
        filters = self.filters * self.channels if self.depthwise else self.filters
        self._tensor(m, "x", self.batch, self.size, self.channels, quant)
        self._tensor(m, "blocks", count, self.blocks_in, self.channels, quant)
        self._tensor(m, "sums", count, self.blocks_out, filters, result)
        self._tensor(m, "y", self.batch, self.size_out, filters, result)
        axes = slice(1, 2) if self.line else slice(0, 2)
        spatial = len(self.block[axes])
        for name, values in (("block", self.block), ("pads", self.pads), ("crops", self.crops)):
            shape = (spatial,) if name == "block" else (spatial, 2)
            m.tensor(name, shape, np.int32, data=values[axes])
        shape = (1, *self.window, filters) if self.depthwise else (filters, *self.window, self.channels)
        weights = rng.integers(-9, 10, shape)
        m.tensor("w", shape, self.dtype, data=weights, **({} if self.dtype is np.float32 else {"scale": 0.1}))
        bias, sums = rng.integers(-50, 50, (filters,)), np.float32 if self.dtype is np.float32 else np.int32
        m.tensor("b", (filters,), sums, data=bias, **({} if self.dtype is np.float32 else {"scale": 0.005}))
        m.op("SPACE_TO_BATCH_ND", ["x", "block", "pads"], ["blocks"], {})
        self._convolution(m, count, filters, quant, result)
        return m.op("BATCH_TO_SPACE_ND", ["sums", "block", "crops"], ["y"], {})

    def _convolution(self, m: ModelBuilder, count: int, filters: int, quant: dict, result: dict) -> None:
        options = {
            "StrideH": self.stride,
            "StrideW": self.stride,
            "DilationHFactor": self.dilation[0],
            "DilationWFactor": self.dilation[1],
            "Padding": "SAME" if self.same else "VALID",
            **({"DepthMultiplier": self.filters} if self.depthwise else {}),
        }
        kind = "DEPTHWISE_CONV_2D" if self.depthwise else "CONV_2D"
        if not self.line:
            m.op(kind, ["blocks", "w", "b"], ["sums"], options)
            return
        image = replace(self, line=False)
        image._tensor(m, "rows", count, self.blocks_in, self.channels, quant)
        image._tensor(m, "conv", count, self.blocks_out, filters, result)
        m.tensor("axis", (), np.int32, data=[1]).op("EXPAND_DIMS", ["blocks", "axis"], ["rows"], {})
        m.op(kind, ["rows", "w", "b"], ["conv"], options)
        m.tensor("shape", (3,), np.int32, data=[-1, self.blocks_out[1], filters])
        m.op("RESHAPE", ["conv", "shape"], ["sums"], {})

    def _shape(self, batch: int, size: _Pair, channels: int) -> tuple[int, ...]:
        return (batch, size[1], channels) if self.line else (batch, *size, channels)

    def _tensor(self, m: ModelBuilder, name: str, batch: int, size: _Pair, channels: int, quant: dict) -> None:
        shape = self._shape(1 if self.free else batch, size, channels)
        m.tensor(name, shape, self.dtype, signature=(-1, *shape[1:]) if self.free else None, **quant)


@st.composite
def dilated(draw: st.DrawFn) -> Dilated:
    """Draws sound models whose convolution has no stride; some cannot be one dilated convolution."""
    line, small = draw(st.booleans()), st.integers(0, 3)
    rows = 1 if line else draw(st.integers(1, 6))
    block = (1 if line else draw(st.integers(1, 3)), draw(st.integers(1, 4)))
    size = (rows, draw(st.integers(1, 12)))
    pads = []
    for axis in range(2):
        before, after = (0, 0) if line and axis == 0 else (draw(small), draw(small))
        pads.append((before, after + -(size[axis] + before + after) % block[axis]))
    crops = tuple((0, 0) if line and axis == 0 else (draw(small), draw(small)) for axis in range(2))
    free = draw(st.booleans())
    case = Dilated(
        size,
        block,
        (pads[0], pads[1]),
        (crops[0], crops[1]),
        window=(1 if line else draw(st.integers(1, 3)), draw(st.integers(1, 3))),
        dilation=draw(st.sampled_from([(1, 1), (1, 2)])),
        same=draw(st.booleans()),
        channels=draw(st.integers(1, 3)),
        filters=draw(st.integers(1, 3)),
        batch=1 if free else draw(st.integers(1, 2)),
        line=line,
        depthwise=draw(st.booleans()),
        dtype=draw(st.sampled_from([np.int8, np.float32])),
        free=free,
    )
    return case if case.is_sound else replace(case, crops=((0, 0), (0, 0)), window=(1, 1), dilation=(1, 1))
