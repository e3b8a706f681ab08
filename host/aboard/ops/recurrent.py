"""recurrent: RNN, GRU and LSTM layers of float32 with constant weights, as ONNX defines them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import cast

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from aboard.ir import Array, Attributes, DType, Node, TensorType
from aboard.ops.registry import Op, register, require

_Float64 = npt.NDArray[np.float64]

#: Places of the operands.
X, WEIGHTS, RECURRENT, BIAS, HIDDEN, CELL, PEEPHOLES = range(7)


class Cell(Enum):
    """Kind of a layer; the value is its number of gates."""

    RNN = 1
    GRU = 3
    LSTM = 4


class Function(Enum):
    """Activation of a gate; the value is its number in `recurrent.h`. Some have parameters alpha and beta."""

    SIGMOID = 0
    TANH = 1
    RELU = 2
    HARDSIGMOID = 3
    LEAKYRELU = 4
    SOFTSIGN = 5


#: A function for each of the three places, and a parameter.
Functions = tuple[Function, Function, Function]
Parameters = tuple[float, float, float]


@dataclass(frozen=True)
class RecurrentAttributes(Attributes):
    """Attributes of `recurrent`.

    Attributes:
        cell: Kind of the layer.
        functions: Of the gates, of the candidate, and of the cell's state in the result (LSTM).
        alpha: Parameters of the functions.
        beta: Further parameters of the functions.
        is_reverse: True if steps run from the last to the first.
        resets_product: True if the reset gate of a GRU multiplies the product of the hidden state and not the state.
        is_coupled: True if an LSTM forgets what its input gate leaves, instead of having a gate for that.
        clip: Limit of what the functions of gates and candidate are applied to; infinite for none.
    """

    cell: Cell = Cell.LSTM
    functions: Functions = (Function.SIGMOID, Function.TANH, Function.TANH)
    alpha: Parameters = (0.0, 0.0, 0.0)
    beta: Parameters = (0.0, 0.0, 0.0)
    is_reverse: bool = False
    resets_product: bool = False
    is_coupled: bool = False
    clip: float = math.inf


@register
class Recurrent(Op):
    """Operands: x [steps, batch, inputs], weights [gates * units, inputs], recurrent weights [gates * units, units].

    Also bias [2 * gates * units] of inputs and of the hidden state, hidden state [batch, units], cell state [batch,
    units] (LSTM), and peepholes [3 * units] (LSTM, optional). Gates stand in the order of ONNX: update, reset, hidden
    of a GRU; input, output, forget, cell of an LSTM. Results: [steps, batch, units], and both states at the end.
    """

    name = "recurrent"
    attributes = RecurrentAttributes
    types = (DType.FLOAT32,)

    @override
    def infer(self, node: Node) -> list[TensorType]:
        steps, batch, units = *node.input(X).shape[:2], node.input(RECURRENT).shape[-1]
        state = TensorType((batch, units), DType.FLOAT32)
        count = 2 if attributes(node).cell is Cell.LSTM else 1
        return [TensorType((steps, batch, units), DType.FLOAT32), *[state] * count]

    @override
    def verify(self, node: Node) -> None:
        """Checks types and shapes.

        Raises:
            VerifyError: A tensor has another type or shape than described.
        """
        attrs = attributes(node)
        require(len(node.input(X).shape) == 3, node, f"input, got shape {node.input(X).shape}, expected three axes")
        _, batch, inputs = node.input(X).shape
        gates, units = attrs.cell.value, node.input(RECURRENT).shape[-1]
        wanted: list[tuple[int, ...]] = [node.input(X).shape, (gates * units, inputs), (gates * units, units)]
        wanted += [(2 * gates * units,), (batch, units), (batch, units), (3 * units,)]
        for index, operand in enumerate(node.inputs):
            if operand is None:
                continue
            fits = operand.shape == wanted[index] and operand.dtype is DType.FLOAT32
            require(fits, node, f"operand {index}, got {operand.type}, expected float32 {list(wanted[index])}")

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        """Computes steps in double precision."""
        given = [None if each is None else np.asarray(each, np.float64) for each in [*operands, None, None]]
        x, attrs = np.asarray(given[X]), attributes(node)
        step = {Cell.RNN: _rnn, Cell.GRU: _gru, Cell.LSTM: _lstm}[attrs.cell]
        states = [np.asarray(given[HIDDEN])]
        if attrs.cell is Cell.LSTM:
            states.append(np.asarray(given[CELL]))
        result = np.zeros(node.outputs[0].shape)
        with np.errstate(all="ignore"):
            for time in reversed(range(len(x))) if attrs.is_reverse else range(len(x)):
                states = step(attrs, given, x[time], states)
                result[time] = states[0]
        return [each.astype(np.float32) for each in (result, *states)]

    @override
    def macs(self, node: Node) -> int:
        steps, batch, inputs = node.input(X).shape
        rows, units = node.input(RECURRENT).shape
        return steps * batch * rows * (inputs + units)


def _parts(given: Sequence[_Float64 | None], count: int) -> list[tuple[_Float64, _Float64, _Float64, _Float64]]:
    """Returns weights, recurrent weights and the two biases of each gate."""
    arrays = [np.asarray(given[index]) for index in (WEIGHTS, RECURRENT)]
    biases = np.split(np.asarray(given[BIAS]), 2)
    split = [np.split(each, count) for each in (*arrays, *biases)]
    return list(zip(*split, strict=True))


def _sums(part: tuple[_Float64, ...], x: _Float64, hidden: _Float64) -> _Float64:
    weights, recurrent, first, second = part
    return np.asarray(x @ weights.T + hidden @ recurrent.T + first + second)


def _applied(attrs: RecurrentAttributes, place: int, x: _Float64) -> _Float64:
    return _activated(attrs, place, np.clip(x, -attrs.clip, attrs.clip))


def _activated(attrs: RecurrentAttributes, place: int, x: _Float64) -> _Float64:
    alpha, beta = attrs.alpha[place], attrs.beta[place]
    functions: dict[Function, Callable[[], object]] = {
        Function.SIGMOID: lambda: 1 / (1 + np.exp(-x)),
        Function.TANH: lambda: np.tanh(x),
        Function.RELU: lambda: np.maximum(x, 0),
        Function.HARDSIGMOID: lambda: np.clip(alpha * x + beta, 0, 1),
        Function.LEAKYRELU: lambda: np.where(x < 0, alpha * x, x),
        Function.SOFTSIGN: lambda: x / (1 + np.abs(x)),
    }
    return np.asarray(functions[attrs.functions[place]]())


def _rnn(
    attrs: RecurrentAttributes, given: Sequence[_Float64 | None], x: _Float64, states: list[_Float64]
) -> list[_Float64]:
    (part,) = _parts(given, 1)
    return [_applied(attrs, 0, _sums(part, x, states[0]))]


def _gru(
    attrs: RecurrentAttributes, given: Sequence[_Float64 | None], x: _Float64, states: list[_Float64]
) -> list[_Float64]:
    (hidden,), (update_part, reset_part, part) = states, _parts(given, 3)
    update, reset = (_applied(attrs, 0, _sums(each, x, hidden)) for each in (update_part, reset_part))
    weights, recurrent, first, second = part
    own = reset * (hidden @ recurrent.T + second) if attrs.resets_product else (reset * hidden) @ recurrent.T + second
    candidate = _applied(attrs, 1, x @ weights.T + first + own)
    return [(1 - update) * candidate + update * hidden]


def _lstm(
    attrs: RecurrentAttributes, given: Sequence[_Float64 | None], x: _Float64, states: list[_Float64]
) -> list[_Float64]:
    hidden, cell = states
    holes = given[PEEPHOLES]
    into, out, kept = np.zeros((3, hidden.shape[-1])) if holes is None else np.split(holes, 3)
    sums = [_sums(each, x, hidden) for each in _parts(given, 4)]
    entered = _applied(attrs, 0, sums[0] + into * cell)
    forgot = 1 - entered if attrs.is_coupled else _applied(attrs, 0, sums[2] + kept * cell)
    cell = forgot * cell + entered * _applied(attrs, 1, sums[3])
    shown = _applied(attrs, 0, sums[1] + out * cell)
    return [shown * _activated(attrs, 2, cell), cell]


def attributes(node: Node) -> RecurrentAttributes:
    """Returns the attributes of a `recurrent` node."""
    return cast(RecurrentAttributes, node.attrs)
