"""What quantisation decides: the element type of each node, and the quantisation of each tensor and of weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from aboard.ir import DType, Graph, Node, Quantization, Tensor
from aboard.quantization.groups import Groups

Float64 = npt.NDArray[np.float64]

#: Layers with constant weights.
WEIGHTED = ("conv2d", "depthwise_conv2d", "fully_connected")

#: Least and largest integer that activations have, by their type.
LIMITS = {DType.INT8: (-128, 127), DType.INT16: (-32767, 32767)}

#: How much further than samples do integers of 16 bits reach: they have steps to spare.
_HEADROOM = 1.5

#: Largest absolute value of an integer of weights: TensorFlow Lite's weights are symmetric.
WEIGHT_LIMIT = 127

#: Results whose scale the operator fixes.
_FIXED = {
    "softmax": {DType.INT8: (1 / 256, -128), DType.INT16: (1 / 32768, 0)},
    "logistic": {DType.INT8: (1 / 256, -128), DType.INT16: (1 / 32768, 0)},
    "tanh": {DType.INT8: (1 / 128, 0), DType.INT16: (1 / 32768, 0)},
}


@dataclass(frozen=True)
class Range:
    """The real numbers that a tensor's integers reach.

    Attributes:
        low: Least, at most 0.
        high: Largest, at least 0.
    """

    low: float
    high: float

    def quantization(self, dtype: DType) -> Quantization:
        """Returns the quantisation of integers of 8 bits, asymmetric, or 16 bits, symmetric."""
        low, high = min(self.low, 0.0), max(self.high, 0.0)
        least, most = LIMITS[dtype]
        if dtype is DType.INT16:
            return Quantization((_scale(_HEADROOM * max(high, -low) / most),), (0,))
        scale = _scale((high - low) / (most - least))
        return Quantization((scale,), (int(np.clip(round(least - low / scale), least, most)),))


def _scale(value: float) -> float:
    """Returns a scale as a file holds it, float32; 1 for a tensor that is 0 throughout."""
    return float(np.float32(value)) if value > 1e-30 else 1.0


@dataclass(frozen=True)
class Weights:
    """Weights of a layer as integers.

    Attributes:
        integers: Of the shape of the layer's weights.
        scales: Of each output channel; one for all of them.
        axis: Axis of the output channels.
    """

    integers: npt.NDArray[np.int8]
    scales: Float64
    axis: int

    @property
    def quantization(self) -> Quantization:
        """The quantisation of the tensor."""
        scales = tuple(float(scale) for scale in self.scales)
        return Quantization(scales, (0,) * len(scales), self.axis if len(scales) > 1 else None)

    @property
    def real(self) -> npt.NDArray[np.float32]:
        """The real numbers that the integers stand for."""
        shape = [1] * self.integers.ndim
        if len(self.scales) > 1:
            shape[self.axis] = -1
        return (self.integers * self.scales.reshape(shape)).astype(np.float32)


@dataclass(frozen=True)
class Plan:
    """The decisions for a graph.

    Attributes:
        groups: Tensors that must have the same quantisation.
        types: The element type that each node computes in, by its name: INT8, INT16 or FLOAT32.
        ranges: The range of each group of tensors at 8 bits.
        whole: The range of each group at 16 bits: from its least to its largest value.
        weights: The weights of layers, by the name of the node.
        biases: Corrected biases of layers, by the name of the node.
    """

    groups: Groups
    types: Mapping[str, DType]
    ranges: Mapping[str, Range]
    whole: Mapping[str, Range]
    weights: Mapping[str, Weights]
    biases: Mapping[str, npt.NDArray[np.float32]] = field(default_factory=dict)

    def quantization(self, tensor: Tensor, dtype: DType) -> Quantization:
        """Returns the quantisation of a computed tensor or an input."""
        fixed = self.groups.fixed(tensor)
        if fixed is not None and dtype in _FIXED[fixed]:
            scale, point = _FIXED[fixed][dtype]
            return Quantization((float(np.float32(scale)),), (point,))
        known = self.whole if dtype is DType.INT16 else self.ranges
        return known[self.groups.of(tensor)].quantization(dtype)

    def with_types(self, types: Mapping[str, DType]) -> Plan:
        """Returns the plan with other element types for some nodes."""
        return replace(self, types={**self.types, **types})

    def with_range(self, group: str, value: Range) -> Plan:
        """Returns the plan with another range for one group."""
        return replace(self, ranges={**self.ranges, group: value})

    def with_layer(self, name: str, weights: Weights, bias: npt.NDArray[np.float32] | None) -> Plan:
        """Returns the plan with other weights, and another bias if it is given, for a layer."""
        biases = self.biases if bias is None else {**self.biases, name: bias}
        return replace(self, weights={**self.weights, name: weights}, biases=biases)

    def dtype(self, node: Node) -> DType:
        """Returns the element type that a node computes in."""
        return self.types.get(node.name, DType.FLOAT32)


def quantised_values(values: npt.NDArray[np.float32], quant: Quantization, dtype: DType) -> npt.NDArray[np.int64]:
    """Returns real numbers as integers of a per-tensor quantisation: to the nearest, ties to even."""
    least, most = (-128, 127) if dtype is DType.INT8 else (-32768, 32767)
    steps = np.rint(values / np.float32(quant.scale)) + quant.zero_point
    found: npt.NDArray[np.int64] = np.clip(steps, least, most).astype(np.int64)
    return found


def nodes_of_reals(graph: Graph) -> list[Node]:
    """Returns the nodes that compute real numbers from real numbers."""
    return [
        node
        for node in graph.nodes
        if all(tensor.dtype is DType.FLOAT32 for tensor in node.outputs)
        and any(tensor.dtype is DType.FLOAT32 for tensor in node.operands)
    ]
