"""The rules of the ops."""

from __future__ import annotations

from collections.abc import Mapping

from aboard.ir import Node, Tensor
from aboard.passes.channels.channelwise import Binary, Mapped, Mean, Pool, Same
from aboard.passes.channels.contract import Rule, is_followed
from aboard.passes.channels.moves import Concatenation, Pad, Reshape, Split
from aboard.passes.channels.weighted import Conv2d, DepthwiseConv2d, FullyConnected, is_weighted

_MAPPED = (
    "relu", "relu6", "relu_n1_to_1", "leaky_relu", "hard_swish", "logistic", "tanh", "quantize",
    "abs", "rsqrt", "elu",
)  # fmt: skip

_RULES: Mapping[str, Rule] = {
    "conv2d": Conv2d(),
    "depthwise_conv2d": DepthwiseConv2d(),
    "fully_connected": FullyConnected(),
    "average_pool2d": Pool(),
    "max_pool2d": Pool(),
    "mean": Mean(),
    "resize_nearest_neighbor": Same(),
    "pad": Pad(),
    "reshape": Reshape(),
    "concatenation": Concatenation(),
    "split": Split(),
    **dict.fromkeys(("add", "sub", "mul", "maximum", "minimum"), Binary()),
    **dict.fromkeys(_MAPPED, Mapped()),
}


def rule(node: Node) -> Rule | None:
    """Returns the rule of a node; None for a barrier."""
    found = _RULES.get(node.op)
    if found is None or not all(map(is_followed, node.outputs)):
        return None
    return found if all(map(is_followed, followed(node))) and found.accepts(node) else None


def followed(node: Node) -> list[Tensor]:
    """Returns the operands that the analyses follow: all except weights and biases."""
    return [node.input(0)] if is_weighted(node) else node.operands
