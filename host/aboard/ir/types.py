"""Tensor types of the intermediate representation: element type, shape, quantisation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.generic]


class DType(Enum):
    """Element type of a tensor; the value is numpy's name."""

    INT8 = "int8"
    UINT8 = "uint8"
    INT16 = "int16"
    INT32 = "int32"
    UINT32 = "uint32"
    INT64 = "int64"
    UINT64 = "uint64"
    BOOL = "bool"
    FLOAT16 = "float16"  # constants only: constant folding converts them to float32 before kernels are chosen
    FLOAT32 = "float32"

    @property
    def numpy(self) -> np.dtype[np.generic]:
        """The same type in numpy."""
        return np.dtype(self.value)

    @property
    def bytes(self) -> int:
        """Bytes of one element."""
        return _BYTES[self.value]

    @property
    def c(self) -> str:
        """The same type in C."""
        return {"float32": "float", "bool": "bool"}.get(self.value, f"{self.value}_t")

    @property
    def is_float(self) -> bool:
        """True for the floating-point type that kernels compute in."""
        return self is DType.FLOAT32


_BYTES = {each.value: np.dtype(each.value).itemsize for each in DType}


class Rounding(Enum):
    """How an op brings its result to the result's scale.

    Attributes:
        TFLITE: As TensorFlow Lite Micro does, often in two steps.
        EXACT: In one step from the real number, to the nearest integer, ties to even.
    """

    TFLITE = "tflite"
    EXACT = "exact"


@dataclass(frozen=True)
class Quantization:
    """Affine quantisation: real = scale * (integer - zero_point).

    Attributes:
        scales: One scale for the tensor, or one per index of `axis`. float32 values held as Python floats.
        zero_points: As many as `scales`.
        axis: The axis of the scales; None with one scale for the whole tensor.
    """

    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    axis: int | None = None

    @property
    def per_channel(self) -> bool:
        """True if there is more than one scale."""
        return len(self.scales) > 1

    @property
    def scale(self) -> float:
        """The one scale of a per-tensor quantisation."""
        return self.scales[0]

    @property
    def zero_point(self) -> int:
        """The one zero point of a per-tensor quantisation."""
        return self.zero_points[0]


@dataclass(frozen=True)
class ChannelMap:
    """The remaining channels of a tensor of the model; a channel is an index on the last axis.

    Attributes:
        kept: For each remaining channel, its index in the model's tensor; ascending.
        of: Number of channels of the model's tensor.
    """

    kept: tuple[int, ...]
    of: int


@dataclass(frozen=True)
class TensorType:
    """The type of a tensor: shape, element type and quantisation.

    Attributes:
        shape: Outermost dimension first; () for a scalar. All dimensions are known and at least 1.
        dtype: Element type.
        quant: Quantisation; None for float tensors and for plain integers (shapes, indices).
    """

    shape: tuple[int, ...]
    dtype: DType
    quant: Quantization | None = None

    def __deepcopy__(self, memo: dict[int, object]) -> TensorType:
        # Copies of graphs share what cannot change.
        return self

    @property
    def elements(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        """Bytes of the tensor if it is stored without gaps."""
        return self.elements * self.dtype.bytes

    def __str__(self) -> str:
        text = f"{self.dtype.value}[{'x'.join(map(str, self.shape))}]"
        if self.quant is None:
            return text
        if self.quant.per_channel:
            return f"{text} q(per axis {self.quant.axis})"
        return f"{text} q({self.quant.scale:.6g}, {self.quant.zero_point})"
