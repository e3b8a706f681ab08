"""lstm: a layer of long short-term memory over a sequence, with its state.

Operands: input [batch, time, inputs]; for each of the gates input, forget, cell and output the weights of the input
[units, inputs], then for each those of the hidden state [units, units], then for each the bias [units]; hidden state
[batch, units]; cell state of as many elements. Results: the hidden states of all steps [batch, time, units], the next
hidden state, the next cell state. With `time_major` input and first result begin with the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Attributes, DType, Node, Tensor, TensorType
from aboard.ops import lstm_steps
from aboard.ops.lstm_steps import BIASES, CELL, GATES, HIDDEN, INPUT, INPUT_WEIGHTS, RECURRENT_WEIGHTS, Scaling
from aboard.ops.registry import Op, SourceNode, register, require

#: Element types of input, weights, bias, hidden state, cell state and result.
_FORMS = (
    (DType.INT8, DType.INT8, DType.INT32, DType.INT8, DType.INT16, DType.INT8),
    (DType.INT16, DType.INT8, DType.INT64, DType.INT16, DType.INT16, DType.INT16),
    (DType.FLOAT32,) * 6,
)

#: Operands of the TFLite operator that become operands of the node, in its order; and what the others are for.
TFLITE_OPERANDS = 24
TAKEN = (*range(9), *range(12, 16), 18, 19)
_VARIANTS = {"peephole connections": (9, 10, 11), "a projection": (16, 17), "layer normalisation": (20, 21, 22, 23)}

#: Operands without which input and forget gate are coupled.
_INPUT_GATE = (1, 5, 12)

#: Number of the hyperbolic tangent in the TFLite schema (`ActivationFunctionType`).
TANH = 4

#: Most bits by which sums are moved up: of 32 bits, and of 64.
_MOST_SHIFT, _WIDE_MOST_SHIFT = 30, 7

#: Scales of the cell state, as powers of two, for which the reference's arithmetic is defined.
_POWERS = range(-43, 3)

#: Sums of 64 bits are less than this, in absolute value.
_WIDE_SUM_LIMIT = 1 << 47


@dataclass(frozen=True)
class LstmAttributes(Attributes):
    """Attributes of `lstm`.

    Attributes:
        time_major: True when the first dimension of input and result is the time, not the batch.
        cell_clip: Limit of the cell state as a real number, a float32; 0 for none.
    """

    time_major: bool = False
    cell_clip: float = 0.0


@dataclass(frozen=True)
class Extents:
    """Sizes of a node."""

    batch: int
    steps: int
    inputs: int
    units: int


def attributes(node: Node) -> LstmAttributes:
    """Returns the attributes of a lstm."""
    return cast(LstmAttributes, node.attrs)


def extents(node: Node) -> Extents:
    """Returns the sizes of a node."""
    first, second, inputs = node.input(INPUT).shape
    batch, steps = (second, first) if attributes(node).time_major else (first, second)
    return Extents(batch, steps, inputs, node.input(HIDDEN).shape[1])


def scaling(node: Node) -> Scaling:
    """Returns how a quantised node rescales."""
    return lstm_steps.scaling(node, attributes(node).cell_clip)


@register
class Lstm(Op):
    """A sequence of steps of a layer of long short-term memory."""

    name = "lstm"
    attributes = LstmAttributes
    tflite = ("UNIDIRECTIONAL_SEQUENCE_LSTM",)
    tflite_updates = (18, 19)

    @override
    def element_types(self) -> tuple[str, ...]:
        return tuple(x.value if x is weight else f"{x.value} with {weight.value} weights" for x, weight, *_ in _FORMS)

    @override
    def from_tflite(self, source: SourceNode) -> Node:
        """Returns the node.

        Raises:
            ModelError: The operator is of a kind that tflite-micro refuses, or its operands do not fit.
        """
        wrong = _variant_problem(source)
        if wrong is not None:
            raise source.unsupported(wrong)
        attrs = LstmAttributes(bool(source.options["TimeMajor"]), max(float(source.options["CellClip"]), 0.0))
        node = source.node(self.name, [source.input(index) for index in TAKEN], attrs)
        wrong = self.problem(node)
        if wrong is not None:
            raise source.unsupported(f"{wrong}. Convert the model again with TFLite's converter")
        return node

    def problem(self, node: Node) -> str | None:
        """Returns what is wrong with shapes, types or quantisation, or None."""
        wrong = _shape_problem(node) or _type_problem(node)
        if wrong is not None or node.input(INPUT).dtype.is_float:
            return wrong
        return _quantization_problem(node) or _range_problem(node)

    @override
    def infer(self, node: Node) -> list[TensorType]:
        shape, result = node.input(INPUT).shape, node.outputs[0]
        sequence = TensorType((*shape[:2], extents(node).units), result.dtype, result.type.quant)
        return [sequence, node.input(HIDDEN).type, node.input(CELL).type]

    @override
    def verify(self, node: Node) -> None:
        """Checks operands, shapes, types and quantisation."""
        require(len(node.operands) == CELL + 1, node, f"operands, got {len(node.operands)}, expected {CELL + 1}")
        wrong = self.problem(node)
        require(wrong is None, node, wrong or "")

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        """Computes all steps; float32 sums in doubles."""
        values, sizes = [np.asarray(value) for value in operands], extents(node)
        x = values[INPUT] if attributes(node).time_major else values[INPUT].swapaxes(0, 1)
        h, c = (values[index].reshape(sizes.batch, sizes.units) for index in (HIDDEN, CELL))
        scales = None if node.input(INPUT).dtype.is_float else scaling(node)
        found = []
        for at_step in x:
            if scales is None:
                h, c = lstm_steps.float_step(values, attributes(node).cell_clip, at_step, h, c)
            else:
                h, c = lstm_steps.integer_step(node, scales, values, at_step, h, c)
            found.append(h)
        sequence = np.stack(found, axis=0 if attributes(node).time_major else 1)
        return [sequence, h.reshape(node.input(HIDDEN).shape), c.reshape(node.input(CELL).shape)]

    @override
    def macs(self, node: Node) -> int:
        """Returns the products of one run: those of the gates."""
        sizes = extents(node)
        return len(GATES) * sizes.batch * sizes.steps * sizes.units * (sizes.inputs + sizes.units)


def _variant_problem(source: SourceNode) -> str | None:
    """Returns why tflite-micro refuses an operator whatever its operands are, or None."""
    count, present = len(source.inputs), [tensor is not None for tensor in source.inputs]
    if count != TFLITE_OPERANDS or len(source.outputs) != 3:
        return (
            f"operands and results, got {count} and {len(source.outputs) - 2}, expected {TFLITE_OPERANDS} and 1. "
            "Convert the model again with TFLite's converter"
        )
    for what, indices in _VARIANTS.items():
        if any(present[index] for index in indices):
            return f"has {what}, which tflite-micro refuses. Use a plain LSTM layer"
    if not all(present[index] for index in _INPUT_GATE):
        return "couples input and forget gate, which tflite-micro refuses. Use a plain LSTM layer"
    activation = int(source.options["FusedActivationFunction"])
    if activation != TANH:
        return f"activation, got number {activation}, expected {TANH} (TANH). Use a plain LSTM layer"
    return None


def _weights(node: Node) -> list[Tensor]:
    return [node.input(index) for index in range(INPUT_WEIGHTS, BIASES)]


def _biases(node: Node) -> list[Tensor]:
    return [node.input(index) for index in range(BIASES, HIDDEN)]


def _shape_problem(node: Node) -> str | None:
    for index, what, rank in ((INPUT, "input", 3), (HIDDEN, "hidden state", 2)):
        if len(node.input(index).shape) != rank:
            return f"{what}, got shape {node.input(index).shape}, expected {rank} dimensions"
    sizes = extents(node)
    for number, gate in enumerate(GATES):
        wanted = {
            INPUT_WEIGHTS: (f"input weights of the {gate} gate", (sizes.units, sizes.inputs)),
            RECURRENT_WEIGHTS: (f"recurrent weights of the {gate} gate", (sizes.units, sizes.units)),
            BIASES: (f"bias of the {gate} gate", (sizes.units,)),
        }
        for first, (what, shape) in wanted.items():
            if node.input(first + number).shape != shape:
                return f"{what}, got shape {node.input(first + number).shape}, expected {shape}"
    for index, what in ((HIDDEN, "hidden state"), (CELL, "cell state")):
        if node.input(index).type.elements != sizes.batch * sizes.units:
            return f"{what}, got shape {node.input(index).shape}, expected {sizes.batch * sizes.units} elements"
    return None


def _type_problem(node: Node) -> str | None:
    weights, biases = ({tensor.dtype for tensor in tensors} for tensors in (_weights(node), _biases(node)))
    others = [node.input(index).dtype for index in (INPUT, HIDDEN, CELL)] + [node.outputs[0].dtype]
    for x, weight, bias, hidden, cell, result in _FORMS:
        if (weights, biases, others) == ({weight}, {bias}, [x, hidden, cell, result]):
            return None
    given = [{others[0]}, weights, biases, *({dtype} for dtype in others[1:])]
    got = ", ".join("/".join(sorted(dtype.value for dtype in each)) for each in given)
    known = "; or ".join(", ".join(dtype.value for dtype in form) for form in _FORMS)
    return f"element types of input, weights, bias, hidden state, cell state and result, got {got}, expected {known}"


def _quantization_problem(node: Node) -> str | None:
    for tensor in [node.input(INPUT), *_weights(node), node.input(HIDDEN), node.input(CELL)]:
        quant = tensor.type.quant
        if quant is None or quant.per_channel or not quant.scale > 0:
            return f"quantisation of {tensor.name}, got {tensor.type}, expected one scale above 0"
    wrong = next((tensor for tensor in _weights(node) if tensor.quant.zero_point), None)
    return None if wrong is None else f"zero point of {wrong.name}, got {wrong.quant.zero_point}, expected 0"


def _range_problem(node: Node) -> str | None:
    """Returns why the reference's arithmetic is not defined for the scales or biases of a node, or None."""
    power, scale = lstm_steps.cell_power(node), node.input(CELL).quant.scale
    if power not in _POWERS:
        return f"scale of the cell state, got {scale:g}, expected one from 2^{_POWERS[0]} to 2^{_POWERS[-1]}"
    found, is_wide = scaling(node), node.input(INPUT).dtype is DType.INT16
    most = _WIDE_MOST_SHIFT if is_wide else _MOST_SHIFT
    if max(shift for _, shift in (*found.input, *found.recurrent)) > most:
        return f"scales of input, hidden state and weights, got products of 2^{most - 12} and more, expected less"
    if max(found.update[1], found.output[1]) > 0:
        return "scales of hidden and cell state, got less than 2^-30, expected more"
    largest = max(
        (int(np.abs(b.data.astype(np.float64)).max()) for b in _biases(node) if b.data is not None), default=0
    )
    taps = max(extents(node).inputs, extents(node).units)
    if is_wide and largest + taps * (1 << 23) >= _WIDE_SUM_LIMIT:
        return f"biases of up to {largest}, expected sums of less than 2^47"
    return None
