"""RNN, GRU and LSTM layers, in both directions."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from aboard.importers.onnx.builder import Builder
from aboard.importers.onnx.operator import Operator, reads
from aboard.importers.onnx.operators.movement import pick
from aboard.ir import DType, Tensor
from aboard.ops.recurrent import Cell, Function, RecurrentAttributes
from aboard.ops.strided_slice import AxisSlice

_DIRECTIONS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}

#: Functions of the gates unless the file names others.
_FUNCTIONS = {Cell.RNN: ("Tanh",), Cell.GRU: ("Sigmoid", "Tanh"), Cell.LSTM: ("Sigmoid", "Tanh", "Tanh")}

#: Parameters alpha and beta of functions that have them, by the standard's defaults.
_PARAMETERS = {
    Function.HARDSIGMOID: (0.2, 0.5),
    Function.LEAKYRELU: (0.01,),
}


@reads("GRU", "LSTM", "RNN")
def layer(source: Operator, make: Builder) -> list[Tensor]:
    """Results: all hidden states, the last one, and the last cell state of an LSTM.

    Raises:
        ModelError: Shapes that do not fit, functions of other names, or unknown directions.
    """
    directions = _DIRECTIONS.get(str(source.options["direction"]))
    if directions is None:
        raise source.unsupported(
            f"direction, got {source.options['direction']!r}, expected forward, reverse or bidirectional. Export again"
        )
    x, cell, batch_first = source.input(0), Cell[source.kind], bool(source.options.get("layout", 0))
    _check_shapes(source, cell, len(directions))
    if batch_first:
        x = make.transpose(x, (1, 0, 2))
    lengths = _lengths(source, x)
    made = []
    for place, is_reverse in enumerate(directions):
        attrs = _attributes(source, cell, place, len(directions), is_reverse)
        operands = _operands(source, make, x, cell, place)
        made.append(_cut_direction(make, attrs, operands, lengths))
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


def _check_shapes(source: Operator, cell: Cell, directions: int) -> None:
    """Raises for operands whose shapes contradict each other."""
    x, recurrent = source.input(0).shape, source.input(2).shape
    units = recurrent[-1] if recurrent else 0
    inputs = x[-1] if x else 0
    batch_first = bool(source.options.get("layout", 0))
    batch = x[0 if batch_first else 1] if len(x) == 3 else 0
    state = (batch, directions, units) if batch_first else (directions, batch, units)
    rows = cell.value * units
    wanted = {1: (directions, rows, inputs), 2: (directions, rows, units), 3: (directions, 2 * rows), 4: (batch,)}
    wanted |= {5: state, 6: state, 7: (directions, 3 * units)}
    found = {index: source.optional(index) for index in wanted}
    wrong = {index: each for index, each in found.items() if each is not None and each.shape != wanted[index]}
    if len(x) != 3 or wrong:
        index, got = next(((index, each.shape) for index, each in wrong.items()), (0, x))
        expected = list(wanted[index]) if wrong and len(x) == 3 else "three axes"
        raise source.unsupported(f"operand {index}, got shape {list(got)}, expected {expected}. Export the model again")


def _lengths(source: Operator, x: Tensor) -> list[int]:
    """Returns how many steps each sequence of the batch has."""
    steps, batch = x.shape[:2]
    if source.optional(4) is None:
        return [steps] * batch
    lengths = source.integers(4)
    if not all(1 <= length <= steps for length in lengths):
        raise source.unsupported(
            f"sequence_lens, got {lengths}, expected numbers in [1, {steps}]. Export the model with sequences of one "
            "length"
        )
    return lengths


def _operands(source: Operator, make: Builder, x: Tensor, cell: Cell, place: int) -> list[Tensor | None]:
    """Returns the operands of the layer of one direction."""
    units, batch = int(source.input(2).shape[2]), x.shape[1]
    bias = _part(source, make, 3, place) if source.optional(3) is not None else None
    zeros = make.array(np.zeros((batch, units)))
    inputs: list[Tensor | None] = [
        x,
        _part(source, make, 1, place),
        _part(source, make, 2, place),
        make.array(np.zeros(2 * cell.value * units)) if bias is None else bias,
        _state(source, make, 5, place) or zeros,
    ]
    if cell is Cell.LSTM:
        inputs.append(_state(source, make, 6, place) or zeros)
        inputs += [_part(source, make, 7, place)] if source.optional(7) is not None else []
    return inputs


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


def _cut_direction(
    make: Builder, attrs: RecurrentAttributes, operands: Sequence[Tensor | None], lengths: list[int]
) -> list[Tensor]:
    """Adds the layer of one direction; one for each sequence of the batch where these differ in length."""
    if len(set(lengths)) == 1:
        return _short_direction(make, attrs, operands, lengths[0])
    parts = []
    for number, length in enumerate(lengths):
        own = list(operands)
        for index, axis in {0: 1, 4: 0, 5: 0}.items():
            if index < len(own) and (whole := own[index]) is not None:
                own[index] = pick(make, whole, axis, np.array([number]))
        parts.append(_short_direction(make, attrs, own, length))
    return [make.join(column, len(column[0].shape) - 2) for column in zip(*parts, strict=True)]


def _short_direction(
    make: Builder, attrs: RecurrentAttributes, operands: Sequence[Tensor | None], length: int
) -> list[Tensor]:
    """Adds a layer for the first steps; results behind them are zeros."""
    x, *others = operands
    if x is None:
        return []
    steps = x.shape[0]
    cut = make.take(x, [AxisSlice(0, 1, length), *(AxisSlice(0, 1, extent) for extent in x.shape[1:])])
    count = 3 if attrs.cell is Cell.LSTM else 2
    every, *states = make.multiple("recurrent", [cut, *others], attrs, [(DType.FLOAT32, None)] * count)
    return [make.pad(every, [(0, steps - length), (0, 0), (0, 0)], 0), *states]


def _attributes(source: Operator, cell: Cell, place: int, directions: int, is_reverse: bool) -> RecurrentAttributes:
    defaults = _FUNCTIONS[cell]
    names = [str(name) for name in source.options.get("activations") or defaults * directions]
    if len(names) != len(defaults) * directions and source.kind == "RNN":
        names = names[:1] * directions  # the default has two names, whatever the direction
    known = {function.name: function for function in Function}
    unknown = [name for name in names if name.upper() not in known]
    if unknown or len(names) != len(defaults) * directions:
        raise source.unsupported(
            f"activations, got {names}, expected {len(defaults) * directions} of Sigmoid, Tanh, Relu, HardSigmoid, "
            "LeakyRelu and Softsign. Export the model with these"
        )
    functions = [known[name.upper()] for name in names]
    pairs = list(zip(functions, *_parameters(source, functions), strict=True))
    own = pairs[len(defaults) * place : len(defaults) * (place + 1)] + [(Function.TANH, 0.0, 0.0)] * 2
    first, second, third = own[:3]
    return RecurrentAttributes(
        cell,
        (first[0], second[0], third[0]),
        (first[1], second[1], third[1]),
        (first[2], second[2], third[2]),
        is_reverse,
        bool(source.options.get("linear_before_reset", 0)),
        bool(source.options.get("input_forget", 0)),
        float(source.options.get("clip") or math.inf),
    )


def _parameters(source: Operator, functions: list[Function]) -> tuple[list[float], list[float]]:
    """Returns alpha and beta of each function; the file has numbers for those alone that have such a parameter."""
    found = []
    for place, name in enumerate(("activation_alpha", "activation_beta")):
        given = iter([float(number) for number in source.options.get(name) or []])
        defaults = [(*_PARAMETERS.get(function, ()), None, None)[place] for function in functions]
        found.append([0.0 if default is None else next(given, default) for default in defaults])
    return found[0], found[1]
