"""RNN, GRU and LSTM layers, in both directions."""

from __future__ import annotations

import math

import numpy as np

from aboard.importers.onnx.builder import Builder
from aboard.importers.onnx.operator import Operator, reads
from aboard.importers.onnx.operators.movement import pick
from aboard.ir import DType, Tensor
from aboard.ops.recurrent import Cell, Function, RecurrentAttributes

_DIRECTIONS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}


@reads("GRU", "LSTM", "RNN")
def layer(source: Operator, make: Builder) -> list[Tensor]:
    """Results: all hidden states, the last one, and the last cell state of an LSTM.

    Raises:
        ModelError: Sequences of different lengths, functions of other names, or unknown directions.
    """
    x = source.input(0)
    batch_first = bool(source.options.get("layout", 0))
    if batch_first:
        x = make.transpose(x, (1, 0, 2))
    cell = Cell[source.kind]
    _check_lengths(source, x)
    directions = _DIRECTIONS.get(str(source.options["direction"]))
    if directions is None or int(source.options.get("input_forget", 0)):
        raise source.unsupported(
            f"direction {source.options['direction']!r} and input_forget {source.options.get('input_forget', 0)}, "
            "expected forward, reverse or bidirectional, and 0. Export the model with torch.nn's layers"
        )
    made = [_direction(source, make, x, cell, place, reverse) for place, reverse in enumerate(directions)]
    results = []
    for place in range(len(made[0])):
        parts = [make.reshape(each[place], _with_direction(each[place].shape)) for each in made]
        whole = make.join(parts, len(parts[0].shape) - 3) if len(parts) > 1 else parts[0]
        if batch_first:
            whole = make.transpose(whole, (2, 0, 1, 3) if place == 0 else (1, 0, 2))
        results.append(whole)
    return results


def _with_direction(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Returns a shape with an axis of directions before batch and units."""
    return (*shape[:-2], 1, *shape[-2:])


def _check_lengths(source: Operator, x: Tensor) -> None:
    if source.optional(4) is None:
        return
    lengths = source.integers(4)
    if any(length != x.shape[0] for length in lengths):
        raise source.unsupported(
            f"sequence_lens, got {lengths}, expected {x.shape[0]} for each, all steps. Export the model with "
            "sequences of one length"
        )


def _direction(source: Operator, make: Builder, x: Tensor, cell: Cell, place: int, reverse: bool) -> list[Tensor]:
    """Adds the layer of one direction."""
    units, batch, gates = int(source.input(2).shape[2]), x.shape[1], cell.value
    weights, recurrent = (_part(source, make, index, place) for index in (1, 2))
    bias = _part(source, make, 3, place) if source.optional(3) is not None else None
    zeros = make.array(np.zeros((batch, units)))
    inputs: list[Tensor | None] = [
        x,
        weights,
        recurrent,
        make.array(np.zeros(2 * gates * units)) if bias is None else bias,
        _state(source, make, 5, place) or zeros,
    ]
    if cell is Cell.LSTM:
        inputs.append(_state(source, make, 6, place) or zeros)
        inputs += [_part(source, make, 7, place)] if source.optional(7) is not None else []
    attrs = RecurrentAttributes(
        cell,
        _functions(source, cell, place),
        reverse,
        bool(source.options.get("linear_before_reset", 0)),
        float(source.options.get("clip") or math.inf),
    )
    count = 3 if cell is Cell.LSTM else 2
    return make.multiple("recurrent", inputs, attrs, [(DType.FLOAT32, None)] * count)


def _part(source: Operator, make: Builder, index: int, place: int) -> Tensor:
    """Returns weights of one direction, which must be constant."""
    source.constant(index)
    tensor = source.input(index)
    return make.reshape(pick(make, tensor, 0, np.array([place])), tensor.shape[1:])


def _state(source: Operator, make: Builder, index: int, place: int) -> Tensor | None:
    """Returns a state of one direction, [batch, units]; None for one of zeros."""
    tensor = source.optional(index)
    if tensor is None:
        return None
    axis = 1 if source.options.get("layout", 0) else 0
    shape = (*tensor.shape[:axis], *tensor.shape[axis + 1 :])
    return make.reshape(pick(make, tensor, axis, np.array([place])), shape)


def _functions(source: Operator, cell: Cell, place: int) -> tuple[Function, Function, Function]:
    count = {Cell.RNN: 1, Cell.GRU: 2, Cell.LSTM: 3}[cell]
    default = ["Tanh"] if cell is Cell.RNN else ["Sigmoid", "Tanh", "Tanh"]
    given = [str(name) for name in source.options.get("activations") or []]
    chosen = given[count * place : count * (place + 1)] or default[:count]
    names = [name.upper() for name in [*chosen, "Tanh", "Tanh"][:3]]
    unknown = [name for name in names if name not in Function.__members__]
    if unknown:
        raise source.unsupported(
            f"activations, got {chosen}, expected Sigmoid, Tanh or Relu. Export the model with one of these"
        )
    first, second, third = (Function[name] for name in names)
    return first, second, third
