"""Layers that the NPU computes bit for bit like the reference: conditions that Vela states, and narrower ones.

What Vela accepts and the reference computes otherwise is not claimed. Vela itself has the last word: if it refuses a
region, the code generator reports why.
"""

from __future__ import annotations

from aboard.ir import DType
from aboard.partition.pattern import (
    DevicePattern,
    NodePredicate,
    OpPattern,
    Pattern,
    any_tensor,
    chain,
    constant,
    constant_or_absent,
    either,
    op,
)
from aboard.target import Target
from aboard_ethos_u import conditions, elements, movements, phases, sums
from aboard_ethos_u.borders import FIRST, POINTERS


def patterns(_target: Target) -> tuple[DevicePattern, ...]:
    """Returns the patterns; they are the same for every target."""
    return (
        _pattern("convolution", _weighted("conv2d", conditions.convolution)),
        _pattern("depthwise", _weighted("depthwise_conv2d", conditions.depthwise)),
        _pattern("product", _after_reshape(_weighted("fully_connected", conditions.product))),
        _pattern("average", _plain("average_pool2d", conditions.pooling)),
        _pattern("maximum", _plain("max_pool2d", conditions.pooling)),
        _pattern("softmax", _after_reshape(_plain("softmax", conditions.common))),
        _pattern("add", _wide("add", elements.total)),
        _pattern("mul", _wide("mul", elements.product)),
        _pattern("sub", _wide("sub", elements.total)),
        _pattern("extreme", _plain("minimum", "maximum", movements.extremes)),
        _pattern("conversion", _wide("quantize", movements.conversion)),
        _pattern("swish", _plain("hard_swish", elements.swish)),
        _pattern("leaky", _plain("leaky_relu", elements.leaky)),
        _pattern("curve", _plain("logistic", "tanh", elements.curve)),
        _pattern("clamp", _plain("relu", "relu6", elements.clamp)),
        _pattern("concatenation", _plain("concatenation", conditions.concatenation)),
        _pattern("pad", _plain("pad", conditions.common)),
        _pattern("slice", _plain("strided_slice", movements.piece)),
        _pattern("split", _plain("split", movements.parts)),
        _pattern("transpose", _plain("transpose", movements.turn)),
        _pattern("interleaving", _interleaving()),
        _pattern("total", _plain("mean", "sum", sums.total)),
        _pattern("place", _wide("arg_max", movements.place)),
        _pattern("resize", _plain("resize_bilinear", "resize_nearest_neighbor", movements.resize)),
    )


def _pattern(name: str, pattern: Pattern) -> DevicePattern:
    return DevicePattern(name, pattern, merge=True, borders=POINTERS - FIRST)


def _weighted(name: str, where: NodePredicate) -> OpPattern:
    operands = (any_tensor(), constant(DType.INT8), constant_or_absent(DType.INT32))
    return op(name, *operands, dtype=DType.INT8, where=where, name="layer")


def _plain(*names_and_condition: str | NodePredicate) -> OpPattern:
    """Returns the pattern of int8 nodes, from the names of their ops and their condition."""
    names = [part for part in names_and_condition if isinstance(part, str)]
    (condition,) = (part for part in names_and_condition if not isinstance(part, str))
    return op(*names, dtype=DType.INT8, where=condition, name="layer")


def _wide(name: str, where: NodePredicate) -> OpPattern:
    """Returns the pattern of nodes whose condition looks at element types."""
    return op(name, where=where, name="layer")


def _interleaving() -> Pattern:
    """Returns the pattern of pixels that become channels, or channels pixels: the end of a transposed convolution."""
    image = op("reshape", dtype=DType.INT8, where=movements.image)
    turned = op("transpose", dtype=DType.INT8, where=phases.interleaving)
    return chain(image, turned, op("reshape", dtype=DType.INT8, where=movements.image))


def _after_reshape(layer: OpPattern) -> Pattern:
    """Returns the pattern of a layer with the reshape before it, which costs the NPU nothing."""
    return either(chain(op("reshape", dtype=DType.INT8), layer), layer)
