"""The common part of conv2d, depthwise_conv2d and fully_connected: element types, scales per channel, the epilogue.

Their operands are input, weights and an optional bias; the weights have one axis of output channels. There are four
forms:

    INT8     int8 input, weights and result; int32 bias; scales of the weights per tensor or per output channel
    INT16    int16 input and result with zero point 0; weights as in INT8; int64 or int32 bias, whose type selects
             the width of sums and their requantisation (`has_wide_sums`)
    FLOAT    float32 throughout
    HYBRID   float32 input, bias and result; int8 weights, used as `scale * integer` (weight-only quantisation)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from functools import lru_cache
from typing import cast

import numpy as np
import numpy.typing as npt

from aboard.ir import Array, DType, Node, Quantization, Rounding, Tensor, TensorType
from aboard.ir.numerics import (
    MOST_EXACT_SHIFT,
    multiply_by_quantized_multiplier,
    multiply_exactly,
    multiply_wide_by_quantized_multiplier,
    quantize_multiplier,
    wrap32,
)
from aboard.ops.activation import Activation
from aboard.ops.box import Box
from aboard.ops.registry import SourceNode

Float64 = npt.NDArray[np.float64]
Int64 = npt.NDArray[np.int64]

INPUT, WEIGHTS, BIAS = 0, 1, 2

#: Number of int32 in the TFLite schema (`TensorType`).
_TFLITE_INT32 = 2

#: Limit of the absolute value of 64-bit sums, and their largest left shift in bits.
_WIDE_SUM_LIMIT, _WIDE_MOST_SHIFT = 1 << 47, 7

#: Largest left shift of a 32-bit sum, in bits.
_MOST_SHIFT = 30


class Precision(Enum):
    """Element types of an op with weights."""

    INT8 = "int8"
    INT16 = "int16 with int8 weights"
    FLOAT = "float32"
    HYBRID = "float32 with int8 weights"


def element_types() -> tuple[str, ...]:
    """Returns the element types of an op with weights in words (`Op.element_types`)."""
    return tuple(precision.value for precision in Precision)


_FORMS = {
    (DType.INT8, DType.INT8, DType.INT8): Precision.INT8,
    (DType.INT16, DType.INT8, DType.INT16): Precision.INT16,
    (DType.FLOAT32, DType.FLOAT32, DType.FLOAT32): Precision.FLOAT,
    (DType.FLOAT32, DType.INT8, DType.FLOAT32): Precision.HYBRID,
}


def form(node: Node) -> Precision | None:
    """Returns the form of a node, or None if no form has its element types."""
    return _FORMS.get((node.input(INPUT).dtype, node.input(WEIGHTS).dtype, node.output.dtype))


_BIASES = {
    Precision.INT8: (DType.INT32,),
    Precision.INT16: (DType.INT64, DType.INT32),
    Precision.FLOAT: (DType.FLOAT32,),
    Precision.HYBRID: (DType.FLOAT32,),
}


def has_wide_sums(node: Node) -> bool:
    """True for an INT16 node whose sums have 64 bits and are rescaled by 15 bits of the multiplier, rounded once.

    With an int32 bias, sums have 32 bits and are rescaled like those of INT8 nodes.
    """
    bias = node.optional_input(BIAS)
    return form(node) is Precision.INT16 and (bias is None or bias.dtype is not DType.INT32)


def with_bias_type(source: SourceNode, node: Node) -> Node:
    """Returns an imported node; an INT16 node with 32-bit sums and without bias gets a bias of zeros.

    Args:
        source: The operator, with the option `QuantizedBiasType`.
        node: The imported node.
    """
    wanted = int(source.options["QuantizedBiasType"])
    if form(node) is not Precision.INT16 or node.optional_input(BIAS) is not None or wanted != _TFLITE_INT32:
        return node
    channels = node.output.shape[-1] if node.output.shape else 1
    zeros = Tensor(f"{node.output.name}/zero_bias", TensorType((channels,), DType.INT32), np.zeros(channels, np.int32))
    node.inputs = [*node.inputs[:BIAS], zeros]
    return node


def problem(node: Node, axis: int, *, narrow: bool = True) -> str | None:
    """Returns the error in element types, bias or quantisation of a node as text, or None.

    Args:
        node: A node with weights and checked shapes.
        axis: Axis of the output channels in the weights.
        narrow: True if an INT16 node may have an int32 bias.
    """
    kind = form(node)
    weights = node.input(WEIGHTS)
    if kind is None:
        got = ", ".join(t.dtype.value for t in (node.input(INPUT), weights, node.output))
        return f"element types of input, weights and result, got {got}, expected {_known_forms()}"
    biases = _BIASES[kind] if narrow else _BIASES[kind][:1]
    wrong = _bias_problem(node.optional_input(BIAS), weights.shape[axis], biases)
    if wrong is None and kind is not Precision.FLOAT:
        wrong = _weights_problem(weights, axis)
    if wrong is None and kind in (Precision.INT8, Precision.INT16):
        wrong = _tensor_problem(node.input(INPUT)) or _tensor_problem(node.output)
        wrong = wrong or _rescaling_problem(node, axis)
    if wrong is not None or kind in (Precision.FLOAT, Precision.HYBRID):
        return wrong
    return _wide_problem(node, axis) if has_wide_sums(node) else _narrow_problem(node, axis)


def _narrow_problem(node: Node, axis: int) -> str | None:
    """Returns why the left shift may overflow a 32-bit sum, which the reference does not define, or None."""
    shift = multipliers(node, axis)[1]
    if not (shift > 0).any():
        return None
    weights, bias = node.input(WEIGHTS), node.optional_input(BIAS)
    info = np.iinfo(node.input(INPUT).dtype.value)
    zero_point = node.input(INPUT).quant.zero_point
    most = max(int(info.max) - zero_point, zero_point - int(info.min))
    taps = weights.type.elements // weights.shape[axis]
    sums = np.full(weights.shape[axis], taps * 128, np.float64)
    if weights.data is not None:
        others = tuple(a for a in range(len(weights.shape)) if a != axis)
        sums = np.abs(weights.data.astype(np.int64)).sum(axis=others).astype(np.float64)
    sums *= most
    if bias is not None and bias.data is not None:
        sums += np.abs(bias.data.reshape(-1).astype(np.float64))
    outside = np.flatnonzero((shift > 0) & (sums * 2.0**shift >= 2.0**31))
    if not outside.size:
        return None
    channel = int(outside[0])
    ratio = node.input(INPUT).quant.scale * channel_scales(node, axis)[channel] / node.output.quant.scale
    return (
        f"scales of input and weights by that of the result, got {ratio:g} for sums of up to {sums[channel]:.0f} in "
        f"channel {channel}, expected less than 2^31 for their product. Quantise the model again"
    )


def _rescaling_problem(node: Node, axis: int) -> str | None:
    """Returns why a ratio of scales is outside the range of the reference's rescaling, or None."""
    most = _WIDE_MOST_SHIFT if has_wide_sums(node) else _MOST_SHIFT
    if int(multipliers(node, axis)[1].max()) <= most:
        return None
    return (
        f"scale of the result, got {node.output.quant.scale:g}, expected more than 2^-{most} times the "
        "product of the scales of input and weights. Quantise the model again"
    )


def _wide_problem(node: Node, axis: int) -> str | None:
    """Returns why 64-bit sums would exceed the range of the reference's rescaling, or None."""
    weights, bias = node.input(WEIGHTS), node.optional_input(BIAS)
    most = 0 if bias is None or bias.data is None else max(abs(int(value)) for value in bias.data.reshape(-1).tolist())
    taps = weights.type.elements // weights.shape[axis]
    if most + taps * (1 << 22) >= _WIDE_SUM_LIMIT:
        return f"bias of up to {most} with {taps} products, expected sums of less than 2^47. Quantise the model again"
    return None


def _known_forms() -> str:
    return " or ".join(", ".join(dtype.value for dtype in key) for key in _FORMS)


def _bias_problem(bias: Tensor | None, channels: int, expected: tuple[DType, ...]) -> str | None:
    if bias is None:
        return None
    if bias.dtype not in expected:
        known = " or ".join(dtype.value for dtype in expected)
        return f"bias {bias.name}, got {bias.dtype.value}, expected {known}"
    if bias.type.elements != channels:
        return f"bias {bias.name}, got {bias.type.elements} values, expected {channels}, one for each output channel"
    return None


def _weights_problem(weights: Tensor, axis: int) -> str | None:
    quant = weights.type.quant
    if quant is None:
        return f"weights {weights.name}, got no quantisation, expected scales"
    if any(quant.zero_points):
        return f"weights {weights.name}, got a zero point that is not 0, expected symmetric quantisation"
    channels = weights.shape[axis]
    if quant.per_channel and (quant.axis not in (axis, None) or len(quant.scales) != channels):
        return (
            f"weights {weights.name}, got {len(quant.scales)} scales on axis {quant.axis}, "
            f"expected 1, or {channels} on axis {axis}"
        )
    # Weights with a scale of 0 are 0: their sums are multiplied by 0.
    return _scales_problem(weights.name, quant, zero_allowed=True)


def _tensor_problem(tensor: Tensor) -> str | None:
    quant = tensor.type.quant
    if quant is None or quant.per_channel:
        got = "no quantisation" if quant is None else f"{len(quant.scales)} scales"
        return f"tensor {tensor.name}, got {got}, expected one scale and zero point"
    if tensor.dtype is DType.INT16 and quant.zero_point != 0:
        return f"tensor {tensor.name}, got a zero point of {quant.zero_point}, expected 0 for int16"
    return _scales_problem(tensor.name, quant)


def _scales_problem(name: str, quant: Quantization, *, zero_allowed: bool = False) -> str | None:
    unfit = (scale for scale in quant.scales if not math.isfinite(scale) or scale < 0 or not (scale or zero_allowed))
    wrong = next(unfit, None)
    return None if wrong is None else f"tensor {name}, got a scale of {wrong}, expected a positive number"


def channel_scales(node: Node, axis: int) -> tuple[float, ...]:
    """Returns the scale of the weights of each output channel."""
    weights = node.input(WEIGHTS)
    scales = weights.quant.scales
    return scales if len(scales) > 1 else scales * weights.shape[axis]


def multipliers(node: Node, axis: int) -> tuple[Int64, Int64]:
    """Returns multiplier and shift of each output channel of an INT8 or INT16 node.

    Products of scales are in double precision, as in TFLite.
    """
    scale_in, scale_out = node.input(INPUT).quant.scale, node.output.quant.scale
    multiplier, shift = _multipliers(scale_in, channel_scales(node, axis), scale_out).T
    return multiplier.copy(), shift.copy()


@lru_cache(maxsize=1024)
def _multipliers(scale_in: float, scales: tuple[float, ...], scale_out: float) -> Int64:
    """Returns multipliers and shifts; cached, because passes ask for the same layer many times."""
    return np.array([quantize_multiplier(scale_in * scale / scale_out) for scale in scales], np.int64)


def boxes_by_channel(node: Node, axis: int, box: Box) -> list[Box | None]:
    """Returns the weights and the part of the bias on which a part of the result depends.

    Args:
        node: A node with weights.
        axis: Axis of the output channels in the weights.
        box: Part of the result; its last axis is the output channels.
    """
    weights, bias = node.input(WEIGHTS), node.optional_input(BIAS)
    boxes: list[Box | None] = [Box.whole(weights.shape).on(axis, box.start[-1], box.stop[-1])]
    if bias is not None:
        whole = Box.whole(bias.shape)
        cut = bias.shape and bias.shape[-1] == weights.shape[axis]
        boxes.append(whole.on(-1, box.start[-1], box.stop[-1]) if cut else whole)
    return boxes + [None] * (len(node.inputs) - 1 - len(boxes))


def values(operands: Sequence[Array | None]) -> tuple[Array, Array, Array | None]:
    """Returns the values of input, weights and bias (None if absent).

    Raises:
        ValueError: Input or weights are absent.
    """
    x, weights, bias = [*operands, None][:3]
    if x is None or weights is None:
        raise ValueError("input and weights must have values")
    return x, weights, bias


def real_weights(node: Node, weights: Array, axis: int) -> Float64:
    """Returns weights as real numbers: the weights of a HYBRID node times their scales, others unchanged."""
    if form(node) is not Precision.HYBRID:
        return weights.astype(np.float64)
    shape = [1] * weights.ndim
    shape[axis] = -1
    real: Float64 = weights.astype(np.float64) * np.array(channel_scales(node, axis)).reshape(shape)
    return real


def centered(node: Node, x: Array) -> Float64:
    """Returns the input minus the zero point of an INT8 node; other forms have no zero point."""
    zero_point = node.input(INPUT).quant.zero_point if form(node) is Precision.INT8 else 0
    real: Float64 = x.astype(np.float64) - zero_point
    return real


def finish(node: Node, sums: Float64, bias: Array | None, activation: Activation, axis: int) -> Array:
    """Returns the result of a node from its sums of products: bias, requantisation, activation.

    Args:
        node: The node.
        sums: Sums of products, exact integers in an INT8 or INT16 node; output channels last.
        bias: Values of the bias, or None.
        activation: The fused activation.
        axis: Axis of the output channels in the weights.
    """
    if form(node) not in (Precision.INT8, Precision.INT16):
        low, high = activation.float_range()
        result = sums if bias is None else sums + bias.astype(np.float64).reshape(-1)
        return np.clip(result, low, high).astype(np.float32)
    total = sums.astype(np.int64)
    if bias is not None:
        total = total + bias.astype(np.int64).reshape(-1)
    scaled = rescaled(node, total, axis)
    limits = activation.range(node.output.quant, node.output.dtype)
    return np.clip(scaled + node.output.quant.zero_point, *limits).astype(node.output.dtype.numpy)


def rescaled(node: Node, sums: Int64, axis: int) -> Int64:
    """Returns sums in units of the result, as the rounding of an INT8 or INT16 node has it.

    Args:
        node: The node.
        sums: Sums of products with the bias; output channels last. Sums of 32 bits wrap.
        axis: Axis of the output channels in the weights.
    """
    if node.attrs.rounding is Rounding.EXACT:
        return multiply_exactly(sums, *multipliers(node, axis))
    if has_wide_sums(node):
        return multiply_wide_by_quantized_multiplier(sums, *multipliers(node, axis))
    return multiply_by_quantized_multiplier(wrap32(sums), *multipliers(node, axis))


def is_exact(node: Node, axis: int) -> bool:
    """True if a node of these types and scales can be rounded exactly: no sum wraps, and no limit is a tie.

    Args:
        node: A node without an error (`problem`).
        axis: Axis of the output channels in the weights.
    """
    weights, bias = node.input(WEIGHTS), node.optional_input(BIAS)
    if form(node) not in (Precision.INT8, Precision.INT16) or weights.data is None:
        return False
    if bias is not None and bias.data is None:
        return False
    if int(multipliers(node, axis)[1].max()) > MOST_EXACT_SHIFT or _activation(node).is_tie(node.output.quant.scale):
        return False
    largest = 1 << 15 if form(node) is Precision.INT16 else 1 << 8
    others = tuple(other for other in range(len(weights.shape)) if other != axis)
    sums = np.abs(weights.data.astype(np.int64)).sum(axis=others) * largest
    if bias is not None and bias.data is not None:
        sums = sums + np.abs(bias.data.astype(np.int64).reshape(-1))
    return int(sums.max(initial=0)) < (_WIDE_SUM_LIMIT if has_wide_sums(node) else 1 << 31)


def _activation(node: Node) -> Activation:
    return cast(Activation, getattr(node.attrs, "activation", Activation.NONE))
