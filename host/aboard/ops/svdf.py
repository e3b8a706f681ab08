"""svdf: a matrix product of rank one or more, filtered over time. Its state has the features of the last steps.

Operands: input [batch, inputs], feature weights [filters, inputs], time weights [filters, memory], optional bias
[units], state [batch, filters * memory]. A filter's features are consecutive in the state, the oldest first. A unit
sums `rank` consecutive filters. Results: [batch, units], and the next state.

Source: TFLite Micro's `svdf_common.cc`. The built tflite-micro multiplies and divides scales in doubles, although that
file says float32. Quantised results are never clamped to the fused activation, and the zero point of an int8 state
is added to a feature after saturation, in 8 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Attributes, DType, Node, Tensor, TensorType
from aboard.ir.numerics import Int64, multiply_by_quantized_multiplier, quantize_multiplier, wrap32
from aboard.ops.activation import Activation
from aboard.ops.registry import Op, SourceNode, register, require

INPUT, FEATURE_WEIGHTS, TIME_WEIGHTS, BIAS, STATE = range(5)

#: Element types of input, feature weights, time weights, bias, state and result; time weights and state are alike.
_FORMS = (
    (DType.INT8, DType.INT8, DType.INT16, DType.INT32, DType.INT16, DType.INT8),
    (DType.INT8, DType.INT8, DType.INT8, DType.INT32, DType.INT8, DType.INT8),
    (DType.FLOAT32,) * 6,
)

#: Activations that are nodes behind one of float32, by their number in the schema (`ActivationFunctionType`).
_BEHIND = {4: "TANH", 5: "SIGN_BIT"}

#: Most bits by which a sum of 32 bits is moved up.
_MOST_SHIFT = 30

#: How far the scale of the bias may be from that of the sums, as in the reference.
_BIAS_TOLERANCE = 1e-5


@dataclass(frozen=True)
class SvdfAttributes(Attributes):
    """Attributes of `svdf`.

    Attributes:
        rank: Filters that a unit sums; at least 1.
        activation: Applied to float32 results.
    """

    rank: int
    activation: Activation = Activation.NONE


@dataclass(frozen=True)
class Rescaling:
    """Multipliers and shifts of a quantised node: from sums to features, and from sums to results."""

    feature: tuple[int, int]
    result: tuple[int, int]


def attributes(node: Node) -> SvdfAttributes:
    """Returns the attributes of a svdf."""
    return cast(SvdfAttributes, node.attrs)


def memory(node: Node) -> int:
    """Returns how many features of a filter the state has."""
    return node.input(TIME_WEIGHTS).shape[1]


def rescaling(node: Node) -> Rescaling:
    """Returns how a quantised node rescales its sums."""
    x, weights, time, state = (node.input(i).quant.scale for i in (INPUT, FEATURE_WEIGHTS, TIME_WEIGHTS, STATE))
    result = node.outputs[0].quant.scale
    return Rescaling(quantize_multiplier(x * weights / state), quantize_multiplier(state * time / result))


@register
class Svdf(Op):
    """One step of a singular value decomposition filter."""

    name = "svdf"
    attributes = SvdfAttributes
    tflite = ("SVDF",)
    tflite_updates = (STATE,)

    @override
    def element_types(self) -> tuple[str, ...]:
        return tuple(f"{x.value} with {state.value} state" for x, _, _, _, state, _ in _FORMS)

    @override
    def from_tflite(self, source: SourceNode) -> Node:
        """Returns the node.

        Raises:
            ModelError: Operands, rank, types or quantisation are not supported.
        """
        if len(source.inputs) != 5 or len(source.outputs) != 2:
            raise source.unsupported(
                f"operands and results, got {len(source.inputs)} and {len(source.outputs) - 1}, expected 5 and 1. "
                "Export the model again"
            )
        for operand in (INPUT, FEATURE_WEIGHTS, TIME_WEIGHTS, STATE):
            source.input(operand)
        behind = int(source.options["FusedActivationFunction"]) in _BEHIND
        fused = source.input(INPUT).dtype.is_float and not behind
        activation = Activation.from_tflite(source) if fused else Activation.NONE
        attrs = SvdfAttributes(int(source.options["Rank"]), activation)
        node = source.node(self.name, source.inputs, attrs)
        wrong = self.problem(node)
        if wrong is not None:
            raise source.unsupported(f"{wrong}. Convert the model again with TFLite's converter")
        return node

    @override
    def nodes_from_tflite(self, source: SourceNode) -> list[Node]:
        """Returns the node, and behind one of float32 with TANH or SIGN_BIT the nodes of the activation.

        SIGN_BIT is 1 for less than 0, else 0; no sum is -0, and of NaN the reference takes the sign.
        """
        node = self.from_tflite(source)
        activation = _BEHIND.get(int(source.options["FusedActivationFunction"]))
        if activation is None or not node.outputs[0].dtype.is_float:
            return [node]
        result, shape = source.outputs[0], self.infer(node)[0].shape
        sums = Tensor(f"{result.name}/sums", TensorType(shape, DType.FLOAT32))
        node.outputs[0], node.name = sums, sums.name
        if activation == "TANH":
            return [node, source.node("tanh", [sums], outputs=[result])]
        zero = Tensor(f"{result.name}/zero", TensorType((), DType.FLOAT32), np.zeros((), np.float32))
        negative = Tensor(f"{result.name}/negative", TensorType(shape, DType.BOOL))
        compared = source.node("less", [sums, zero], outputs=[negative])
        return [node, compared, source.node("cast", [negative], outputs=[result])]

    def problem(self, node: Node) -> str | None:
        """Returns what is wrong with shapes, types or quantisation, or None."""
        wrong = _shape_problem(node) or _type_problem(node)
        if wrong is not None or node.input(INPUT).dtype.is_float:
            return wrong
        return _quantization_problem(node)

    @override
    def infer(self, node: Node) -> list[TensorType]:
        units = node.input(FEATURE_WEIGHTS).shape[0] // attributes(node).rank
        result = node.outputs[0]
        shape = (node.input(INPUT).shape[0], units)
        return [TensorType(shape, result.dtype, result.type.quant), node.input(STATE).type]

    @override
    def verify(self, node: Node) -> None:
        """Checks operands, shapes, types and quantisation."""
        require(len(node.inputs) == 5, node, f"operands, got {len(node.inputs)}, expected 5")
        wrong = self.problem(node)
        require(wrong is None, node, wrong or "")

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        """Computes a step; float32 sums in doubles."""
        x, weights, time, bias, state = operands
        if x is None or weights is None or time is None or state is None:
            raise ValueError("input, weights and state must have values")
        compute = _float_step if x.dtype == np.float32 else _integer_step
        batch, (filters, steps) = len(x), time.shape
        past = state.reshape(batch, filters, steps)[:, :, 1:]
        offset = np.zeros(filters // attributes(node).rank, x.dtype) if bias is None else bias.reshape(-1)
        result, recent = compute(node, x, weights, time, offset, past)
        return [result, recent.reshape(state.shape)]

    @override
    def macs(self, node: Node) -> int:
        """Returns the products of one step."""
        batch = node.input(INPUT).shape[0]
        return batch * (node.input(FEATURE_WEIGHTS).type.elements + node.input(TIME_WEIGHTS).type.elements)


def _float_step(node: Node, x: Array, weights: Array, time: Array, bias: Array, past: Array) -> tuple[Array, Array]:
    feature = (x.astype(np.float64) @ weights.astype(np.float64).T).astype(np.float32)
    recent = np.concatenate([past, feature[:, :, np.newaxis]], axis=2)
    sums = (
        (recent.astype(np.float64) * time.astype(np.float64)).sum(2).reshape(len(x), -1, attributes(node).rank).sum(2)
    )
    low, high = attributes(node).activation.float_range()
    return np.clip(sums + bias, low, high).astype(np.float32), recent


def _integer_step(node: Node, x: Array, weights: Array, time: Array, bias: Array, past: Array) -> tuple[Array, Array]:
    zero_point, info = node.input(STATE).quant.zero_point, np.iinfo(node.input(STATE).dtype.value)
    scales = rescaling(node)
    centred = x.astype(np.int64) - node.input(INPUT).quant.zero_point
    feature = multiply_by_quantized_multiplier(wrap32(centred @ weights.astype(np.int64).T), *scales.feature)
    stored = (np.clip(feature, info.min, info.max) + zero_point).astype(past.dtype)
    recent = np.concatenate([past, stored[:, :, np.newaxis]], axis=2)
    products: Int64 = (recent.astype(np.int64) - zero_point) * time.astype(np.int64)
    sums = wrap32(products.sum(2).reshape(len(x), -1, attributes(node).rank).sum(2) + bias)
    result = multiply_by_quantized_multiplier(sums, *scales.result) + node.outputs[0].quant.zero_point
    return np.clip(result, -128, 127).astype(np.int8), recent


def _shape_problem(node: Node) -> str | None:
    rank, shapes = attributes(node).rank, [None if t is None else t.shape for t in node.inputs]
    for index, what in ((INPUT, "input"), (FEATURE_WEIGHTS, "feature weights"), (TIME_WEIGHTS, "time weights")):
        if len(node.input(index).shape) != 2:
            return f"{what}, got shape {shapes[index]}, expected two dimensions"
    (batch, inputs), (filters, steps) = node.input(INPUT).shape, node.input(TIME_WEIGHTS).shape
    if rank < 1 or filters % rank:
        return f"rank, got {rank} for {filters} filters, expected a divisor of the filters"
    wanted = {
        FEATURE_WEIGHTS: ("feature weights", (filters, inputs)),
        BIAS: ("bias", (filters // rank,)),
        STATE: ("state", (batch, filters * steps)),
    }
    for index, (what, shape) in wanted.items():
        if shapes[index] not in (shape, None):
            return f"{what}, got shape {shapes[index]}, expected {shape}"
    return None


def _type_problem(node: Node) -> str | None:
    bias = node.optional_input(BIAS)
    given = [None if tensor is None else tensor.dtype for tensor in [*node.inputs, node.outputs[0]]]
    if any(all(one in (wanted, None) for one, wanted in zip(given, form, strict=True)) for form in _FORMS):
        is_float = given[INPUT] is DType.FLOAT32
        return None if is_float or bias is not None else "bias, got none, expected one in a quantised operator"
    got = ", ".join("none" if dtype is None else dtype.value for dtype in given)
    known = "; or ".join(", ".join(dtype.value for dtype in form) for form in _FORMS)
    return f"element types of operands and result, got {got}, expected {known}"


def _quantization_problem(node: Node) -> str | None:
    for tensor in [*(node.input(index) for index in range(STATE + 1) if index != BIAS), node.outputs[0]]:
        quant = tensor.type.quant
        if quant is None or quant.per_channel or not (quant.scale > 0):
            return f"quantisation of {tensor.name}, got {tensor.type}, expected one scale above 0"
    for index in (FEATURE_WEIGHTS, TIME_WEIGHTS):
        if node.input(index).quant.zero_point:
            return f"zero point of {node.input(index).name}, got {node.input(index).quant.zero_point}, expected 0"
    given = node.input(BIAS).type.quant
    bias = given.scales[0] if given is not None else 0.0
    sums = node.input(STATE).quant.scale * node.input(TIME_WEIGHTS).quant.scale
    if abs(bias - sums) >= _BIAS_TOLERANCE:
        return f"scale of the bias, got {bias:g}, expected {sums:g}, that of state and time weights multiplied"
    found = rescaling(node)
    if max(found.feature[1], found.result[1]) > _MOST_SHIFT:
        return f"scales of state and result, got ratios of sums of more than 2^{_MOST_SHIFT}, expected less"
    return None
