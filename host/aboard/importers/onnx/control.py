"""If, Loop and Scan: known branches are read in place of the node, loops of known length are unrolled.

If a condition is computed at run time, both branches are computed and one result is selected: branches of ONNX have no
side effects.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from aboard.errors import ModelError
from aboard.importers.onnx import distances
from aboard.importers.onnx.builder import Builder
from aboard.importers.onnx.operator import Operator
from aboard.ir import Array, Tensor
from aboard.ops.strided_slice import AxisSlice

if TYPE_CHECKING:
    import onnx

Value = Tensor | Array | None

#: Reads the nodes of an inner graph with these operands, and returns its results.
ReadBody = Callable[["onnx.GraphProto", Sequence[Value]], list[Value]]

#: Nodes that an unrolled loop has at most: each becomes code.
_MOST_NODES = 4096


def results(source: Operator, make: Builder, operands: Sequence[Value], read: ReadBody) -> list[Value]:
    """Returns the results of an `If`, `Loop` or `Scan`.

    Args:
        source: The node; it needs no operands.
        make: Makes nodes; its list also gets those that `read` makes.
        operands: Values of its operands.
        read: Reads inner graphs.

    Raises:
        ModelError: The number of iterations is unknown or large, or results of branches differ in shape or type.
    """
    kinds = {"If": _branch, "Loop": _loop, "Scan": _scan}
    return kinds[source.kind](source, make, operands, read)


#: Operators that `results` reads.
KINDS = ("If", "Loop", "Scan")


def _branch(source: Operator, make: Builder, operands: Sequence[Value], read: ReadBody) -> list[Value]:
    condition = _known(operands[0])
    graphs = [source.options["then_branch"], source.options["else_branch"]]
    if condition is not None:
        return read(graphs[0] if _truth(source, condition) else graphs[1], [])
    pairs = zip(*(read(graph, []) for graph in graphs), strict=False)
    return [_either(source, make, operands[0], *pair) for pair in pairs]


def _either(source: Operator, make: Builder, condition: Value, *values: Value) -> Tensor:
    first, second = (_tensor(source, make, value) for value in values)
    if first.type != second.type:
        raise source.unsupported(
            f"results of branches, got {first.type} and {second.type}, expected one shape and type. Export the model "
            "with branches of one shape, or with a constant condition"
        )
    flag = make.reshape(_tensor(source, make, condition), ())
    return make.op("select", [flag, first, second], dtype=first.dtype)


def _loop(source: Operator, make: Builder, operands: Sequence[Value], read: ReadBody) -> list[Value]:
    body = source.options["body"]
    bounds = [*operands, None, None][:2]
    count, condition = (_known(each) for each in bounds)
    if any(given is not None and known is None for given, known in zip(bounds, (count, condition), strict=True)):
        raise _unknown(source)
    most = _MOST_NODES + 1 if count is None else _number(source, count)
    goes_on = condition is None or _truth(source, condition)
    states, rows, done = list(operands[2:]), list[list[Value]](), 0
    while goes_on and done < most:
        _limit(source, body, done + 1 if count is None else most)
        made = read(body, [np.array(done, np.int64), np.array(True), *states])
        flag = _known(made[0]) if made else None
        if flag is None:
            raise _unknown(source)
        states, row = made[1 : 1 + len(states)], made[1 + len(states) :]
        rows.append(row)
        goes_on, done = _truth(source, flag), done + 1
    outputs = len(body.output) - 1 - len(states)
    return states + [_stacked(source, make, [row[place] for row in rows], 0) for place in range(outputs)]


def _unknown(source: Operator) -> ModelError:
    return source.unsupported(
        "iterations, got a number or condition that is computed at run time, expected a constant. Export the model "
        "with a loop of fixed length"
    )


def _scan(source: Operator, make: Builder, operands: Sequence[Value], read: ReadBody) -> list[Value]:
    if source.since < 9:
        raise source.unsupported("version, got a Scan of opset 8, expected 9 or later. Export with a newer opset")
    known = distances.squared(source, make, operands)
    if known is not None:
        return known
    body, count = source.options["body"], int(source.options["num_scan_inputs"])
    states, scanned = list(operands[: len(operands) - count]), operands[len(operands) - count :]
    outputs = len(body.output) - len(states)
    if not 0 < count <= len(operands) or outputs < 0:
        raise source.unsupported(f"num_scan_inputs, got {count}, expected operands and results for them. Export again")
    axes = [
        source.axis(axis, len(_shape(source, each)))
        for axis, each in zip(_each(source, "scan_input_axes", count), scanned, strict=True)
    ]
    lengths = {_shape(source, each)[axis] for each, axis in zip(scanned, axes, strict=True)}
    if len(lengths) != 1:
        raise source.unsupported(
            f"steps of scanned operands, got {sorted(lengths)}, expected one number. Export the model again"
        )
    steps, rows = lengths.pop(), list[list[Value]]()
    _limit(source, body, steps)
    reverse = _each(source, "scan_input_directions", count)
    for step in range(steps):
        places = [steps - 1 - step if backward else step for backward in reverse]
        pieces = [
            _piece(make, *each) for each in zip((_given(source, one) for one in scanned), axes, places, strict=True)
        ]
        made = read(body, [*states, *pieces])
        states, row = made[: len(states)], made[len(states) :]
        rows.append(row)
    found = list(states)
    kinds = zip(
        _each(source, "scan_output_axes", outputs), _each(source, "scan_output_directions", outputs), strict=True
    )
    for place, (axis, backward) in enumerate(kinds):
        column = [row[place] for row in rows]
        found.append(_stacked(source, make, column[::-1] if backward else column, axis))
    return found


def _each(source: Operator, name: str, count: int) -> list[int]:
    """Returns an attribute with a number for each of some values; 0 where it is absent."""
    given = [int(number) for number in source.options.get(name) or [0] * count]
    if len(given) != count:
        raise source.unsupported(f"{name}, got {given}, expected {count} numbers. Export the model again")
    return given


def _limit(source: Operator, body: onnx.GraphProto, steps: int) -> None:
    nodes = max(len(body.node), 1)
    if steps * nodes > _MOST_NODES:
        raise source.unsupported(
            f"iterations, got {steps:,} of {nodes} nodes, expected at most {_MOST_NODES // nodes:,}, as each becomes "
            "code of its own. Export the model for shorter sequences"
        )


def _known(value: Value) -> Array | None:
    return value.data if isinstance(value, Tensor) else value


def _number(source: Operator, value: Array) -> int:
    if value.size != 1 or value.dtype.kind not in "iub":
        raise source.unsupported(
            f"number of iterations or condition, got {value.dtype} {list(value.shape)}, expected one integer or bool. "
            "Export the model again"
        )
    return int(value.reshape(()))


def _truth(source: Operator, value: Array) -> bool:
    return bool(_number(source, value))


def _given(source: Operator, value: Value) -> Tensor | Array:
    if value is None:
        raise source.unsupported("an operand or result of the inner graph is absent. Export the model again")
    return value


def _shape(source: Operator, value: Value) -> tuple[int, ...]:
    return tuple(_given(source, value).shape)


def _tensor(source: Operator, make: Builder, value: Value) -> Tensor:
    return make.value(_given(source, value))


def _piece(make: Builder, value: Tensor | Array, axis: int, index: int) -> Tensor | Array:
    """Returns the elements at one index of an axis, without the axis."""
    if not isinstance(value, Tensor):
        return np.asarray(np.take(value, index, axis))
    slices = [AxisSlice(0, 1, extent) for extent in value.shape]
    slices[axis] = AxisSlice(index, 1, 1)
    return make.reshape(make.take(value, slices), value.shape[:axis] + value.shape[axis + 1 :])


def _stacked(source: Operator, make: Builder, values: Sequence[Value], axis: int) -> Tensor | Array:
    """Joins the rows of a loop along a new axis."""
    given = [_given(source, value) for value in values]
    shapes = {tuple(value.shape) for value in given}
    if len(shapes) != 1:
        raise source.unsupported(
            f"rows of a loop's result, got shapes {sorted(shapes)}, expected one shape for all. Export the model with "
            "fixed shapes and at least one iteration"
        )
    (shape,) = shapes
    place = source.axis(axis, len(shape) + 1)
    if not any(isinstance(value, Tensor) for value in given):
        return np.stack([np.asarray(value) for value in given], place)
    single = (*shape[:place], 1, *shape[place:])
    rows = [make.reshape(make.value(value), single) for value in given]
    return rows[0] if len(rows) == 1 else make.join(rows, place)
