"""The arithmetic of lstm: how a quantised node rescales, and one step of it in numpy.

Source: TFLite Micro's `lstm_eval.h` and `lstm_eval_common.cc`. A gate adds the products with the input and those with
the hidden state after each of them is rescaled to int16 in units of 2^-12.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from aboard.ir import Array, DType, Node, Tensor
from aboard.ir.numerics import (
    Int64,
    multiply_by_quantized_multiplier,
    multiply_wide_by_quantized_multiplier,
    quantize_multiplier,
    wrap32,
)
from aboard.ops import sigmoid_wide
from aboard.ops.sigmoid_wide import Argument

Float32 = npt.NDArray[np.float32]

#: Operands of a node; of each kind of weights, and of biases, there is one for each of `GATES`, in this order.
INPUT, INPUT_WEIGHTS, RECURRENT_WEIGHTS, BIASES, HIDDEN, CELL = 0, 1, 5, 9, 13, 14
GATES = ("input", "forget", "cell", "output")

#: Scales of what goes into a gate's function, and of what comes out.
_GATE_INPUT, _GATE_OUTPUT = 2.0**-12, 2.0**-15

#: What goes into a gate's function becomes the argument of the table.
GATE_ARGUMENT = Argument(3, 0)

_INT16 = np.iinfo(np.int16)


@dataclass(frozen=True)
class Scaling:
    """Multipliers and shifts of a quantised node.

    Attributes:
        input: Of the products with the input, for each gate.
        recurrent: Of the products with the hidden state, for each gate.
        forget: Of forget gate times cell state.
        update: Of input gate times cell gate.
        output: Of output gate times the function of the cell state.
        cell: How the cell state becomes the argument of the table of the hyperbolic tangent.
        clip: Limit of the cell state; 0 for none.
    """

    input: tuple[tuple[int, int], ...]
    recurrent: tuple[tuple[int, int], ...]
    forget: tuple[int, int]
    update: tuple[int, int]
    output: tuple[int, int]
    cell: Argument
    clip: int


def scaling(node: Node, cell_clip: float) -> Scaling:
    """Returns how a quantised node rescales."""
    hidden, cell = node.input(HIDDEN), node.input(CELL).quant.scale
    clip = int(min(max(cell_clip / cell, -32768.0), 32767.0)) if cell_clip > 0 else 0
    power = cell_power(node) + 12
    return Scaling(
        tuple(_of_products(node.input(INPUT), node.input(INPUT_WEIGHTS + gate)) for gate in range(4)),
        tuple(_of_products(hidden, node.input(RECURRENT_WEIGHTS + gate)) for gate in range(4)),
        quantize_multiplier(_GATE_OUTPUT * cell / cell),
        quantize_multiplier(_GATE_OUTPUT * _GATE_OUTPUT / cell),
        quantize_multiplier(_GATE_OUTPUT * _GATE_OUTPUT / hidden.quant.scale),
        Argument(3 << power, 0) if power >= 0 else Argument(3, -power),
        clip,
    )


def _of_products(operand: Tensor, weights: Tensor) -> tuple[int, int]:
    """Returns multiplier and shift of a product with weights."""
    return quantize_multiplier(operand.quant.scale * weights.quant.scale / _GATE_INPUT)


def cell_power(node: Node) -> int:
    """Returns the power of two that the scale of the cell state is taken for."""
    bits = np.log(np.float32(node.input(CELL).quant.scale)) * (np.float32(1) / np.log(np.float32(2)))
    return math.floor(float(bits) + 0.5)


def integer_step(node: Node, scales: Scaling, operands: Sequence[Array], x: Array, h: Array, c: Array) -> list[Array]:
    """Returns the hidden and the cell state after a step.

    Args:
        node: A quantised node.
        scales: How it rescales.
        operands: Values of its operands.
        x: Input of the step, [batch, inputs].
        h: Hidden state, [batch, units].
        c: Cell state, likewise.
    """
    hidden = node.input(HIDDEN)
    rescale = _wide if hidden.dtype is DType.INT16 else _narrow
    centred = [x.astype(np.int64) - node.input(INPUT).quant.zero_point, h.astype(np.int64) - hidden.quant.zero_point]

    def gate(number: int, function: Callable[[Int64], Int64]) -> Int64:
        fresh = centred[0] @ operands[INPUT_WEIGHTS + number].astype(np.int64).T + operands[BIASES + number]
        past = centred[1] @ operands[RECURRENT_WEIGHTS + number].astype(np.int64).T
        both = _saturated(rescale(fresh, *scales.input[number])) + _saturated(rescale(past, *scales.recurrent[number]))
        return _saturated(function(GATE_ARGUMENT.of(_saturated(both))))

    i, f, g, o = (gate(n, sigmoid_wide.tanh if n == 2 else sigmoid_wide.logistic) for n in range(4))
    kept = _saturated(multiply_by_quantized_multiplier(f * c.astype(np.int64), *scales.forget))
    cell = _saturated(kept + _saturated(multiply_by_quantized_multiplier(i * g, *scales.update)))
    if scales.clip:
        cell = np.clip(cell, -scales.clip, scales.clip)
    squashed = _saturated(sigmoid_wide.tanh(scales.cell.of(cell)))
    output = multiply_by_quantized_multiplier(squashed * o, *scales.output) + hidden.quant.zero_point
    info = np.iinfo(hidden.dtype.value)
    return [np.clip(output, info.min, info.max).astype(h.dtype), cell.astype(c.dtype)]


def _narrow(sums: Int64, multiplier: int, shift: int) -> Int64:
    return multiply_by_quantized_multiplier(wrap32(sums), multiplier, shift)


def _wide(sums: Int64, multiplier: int, shift: int) -> Int64:
    return multiply_wide_by_quantized_multiplier(sums, multiplier, shift)


def _saturated(x: Int64) -> Int64:
    clipped: Int64 = np.clip(x, _INT16.min, _INT16.max)
    return clipped


def float_step(operands: Sequence[Array], clip: float, x: Array, h: Array, c: Array) -> list[Array]:
    """Returns the hidden and the cell state of a float32 node after a step; arguments as for `integer_step`."""

    def gate(number: int) -> Float32:
        fresh = x.astype(np.float64) @ operands[INPUT_WEIGHTS + number].astype(np.float64).T
        past = h.astype(np.float64) @ operands[RECURRENT_WEIGHTS + number].astype(np.float64).T
        both: Float32 = (fresh + operands[BIASES + number] + past).astype(np.float32)
        return both

    i, f, g, o = (np.tanh(gate(n)) if n == 2 else _logistic(gate(n)) for n in range(4))
    cell: Float32 = (f * c.astype(np.float32) + i * g).astype(np.float32)
    if clip > 0:
        cell = np.clip(cell, -np.float32(clip), np.float32(clip))
    return [(np.tanh(cell) * o).astype(np.float32), cell.astype(np.float32)]


def _logistic(x: Float32) -> Float32:
    with np.errstate(over="ignore"):
        result: Float32 = np.float32(1) / (np.float32(1) + np.exp(-x))
    return result
