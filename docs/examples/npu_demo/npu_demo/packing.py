"""Weights and parameters as the device wants them, and what a layer asks for beside its operands."""

from __future__ import annotations

import numpy as np

from aboard import ops
from aboard.ir import Array, Node
from aboard.kernels.contract import PackedConstant
from aboard.ops import conv2d, fully_connected, weighted
from aboard.ops.activation import Activation
from aboard.ops.subgraph import Matched

#: Alignment of what the device reads.
ALIGN = 16
#: What ops that may follow a layer do.
_FOLLOWING = {"relu": Activation.RELU, "relu6": Activation.RELU6}


def layer_of(matched: Matched) -> Node:
    """Returns the node of a match that has the weights."""
    return matched.named["layer"]


def weights(matched: Matched, *, transposed: bool) -> PackedConstant:
    """Returns the weights: in the order of the model, or with the outputs last."""
    data = _known(layer_of(matched).input(1).data)
    if transposed:
        data = data.reshape(data.shape[0], -1).T
    return PackedConstant("weights", np.ascontiguousarray(data).reshape(-1), ALIGN)


def parameters(matched: Matched) -> PackedConstant:
    """Returns bias, multiplier and shift of each output channel, side by side as 32-bit words."""
    node = layer_of(matched)
    axis = ops.get(node.op).weights_axis
    multiplier, shift = weighted.multipliers(node, 0 if axis is None else axis)
    bias = node.optional_input(weighted.BIAS)
    sums = np.zeros(multiplier.size, np.int64) if bias is None else _known(bias.data).astype(np.int64).reshape(-1)
    packed = np.stack([sums, multiplier, shift], axis=1).astype(np.int32).reshape(-1)
    return PackedConstant("parameters", packed, ALIGN)


def zero_points(matched: Matched) -> tuple[int, int]:
    """Returns the zero points of operand and result."""
    return layer_of(matched).input(0).quant.zero_point, matched.nodes[-1].output.quant.zero_point


def limits(matched: Matched) -> tuple[int, int]:
    """Returns between what the result is kept: by the activation of the layer, and by one that follows it."""
    node = layer_of(matched)
    quant = node.output.quant
    ranges = [activation(node).range(quant)]
    after = matched.named.get("activation")
    if after is not None:
        ranges.append(_FOLLOWING[after.op].range(quant))
    return max(low for low, _ in ranges), min(high for _, high in ranges)


def activation(node: Node) -> Activation:
    """Returns the activation of a layer."""
    if node.op == "fully_connected":
        return fully_connected.attributes(node).activation
    return conv2d.attributes(node).activation


def _known(data: Array | None) -> Array:
    if data is None:
        raise ValueError("patterns ask for constant weights and biases")
    return data
