"""Layers of real numbers: weights and bias of the layer that computes the same together with factors and summands."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from aboard import ops
from aboard.ir import DType, Node, Tensor
from aboard.ops.activation import Activation
from aboard.ops.weighted import BIAS, INPUT, WEIGHTS

Float64 = npt.NDArray[np.float64]
Float32 = npt.NDArray[np.float32]

_LAYERS = ("conv2d", "depthwise_conv2d", "fully_connected")


@dataclass(frozen=True)
class Parameters:
    """New weights and bias of a layer; None for those that stay."""

    weights: Float32 | None
    bias: Float32 | None


@dataclass(frozen=True)
class FloatLayer:
    """A convolution or a product with weights, without activation; its bias is constant or absent."""

    node: Node

    @property
    def channels(self) -> int:
        """Channels of the result, which is its last axis."""
        return self.node.output.shape[-1]

    @property
    def columns(self) -> int:
        """Channels of the operand, which is its last axis; of a `fully_connected`, elements of a sample."""
        if self.node.op == "fully_connected":
            return self.node.input(WEIGHTS).shape[1]
        return self.node.input(INPUT).shape[-1]

    def rescaled(self, factor: Float64, summand: Float64) -> Parameters | None:
        """Returns what makes the result the one of today times a factor plus a summand, for each of its channels."""
        axis = ops.get(self.node.op).weights_axis
        shape = [-1 if place == axis else 1 for place in range(len(self.node.input(WEIGHTS).shape))]
        bias = self.node.optional_input(BIAS)
        weights = values = None
        if np.any(factor != 1):
            weights = self._weights(factor.reshape(shape))
            if weights is None:
                return None
        if np.any(summand != 0) or (bias is not None and weights is not None):
            given = float_constant(bias)
            values = _finite(summand if given is None else given.reshape(-1) * factor + summand)
            if values is None:
                return None
        return Parameters(weights, values)

    def for_operand_without(self, factor: Float64) -> Parameters | None:
        """Returns what keeps the result where the operand is no longer multiplied by a factor of each of its channels.

        For a `fully_connected`, columns have factors.
        """
        shape = self.node.input(WEIGHTS).shape
        if self.node.op == "depthwise_conv2d":
            factor = np.repeat(factor, shape[3] // len(factor))
        elif self.node.op == "conv2d":
            groups = factor.reshape(-1, shape[3])
            factor = np.repeat(groups, shape[0] // len(groups), 0)[:, None, None]
        weights = self._weights(factor)
        return None if weights is None else Parameters(weights, None)

    def _weights(self, factor: Float64) -> Float32 | None:
        weights = float_constant(self.node.input(WEIGHTS))
        return None if weights is None else _finite(weights * factor)


def of_node(node: Node) -> FloatLayer | None:
    """Returns a node as a layer; None for any other node, and for one with an activation or a computed bias."""
    if node.op not in _LAYERS or node.output.dtype is not DType.FLOAT32:
        return None
    bias = node.optional_input(BIAS)
    activation = getattr(node.attrs, "activation", None)
    fixed = bias is None or float_constant(bias) is not None
    return FloatLayer(node) if fixed and activation is Activation.NONE else None


def float_constant(tensor: Tensor | None) -> Float32 | None:
    """Returns the values of a constant of float32; None for any other tensor."""
    if tensor is None or tensor.data is None or tensor.dtype is not DType.FLOAT32:
        return None
    return np.asarray(tensor.data, np.float32)


def _finite(values: Float64) -> Float32 | None:
    with np.errstate(all="ignore"):
        rounded = values.astype(np.float32)
    return rounded if np.isfinite(rounded).all() else None
