"""Arithmetic on shapes: operators of a TFLite file whose results are known when the file is read.

Converters write the computation of a shape as operators: SHAPE, STRIDED_SLICE, PACK and a RESHAPE are what Keras'
Flatten becomes. Shapes are static here, so the importer computes such operators and keeps their results as constants.
Operands and results have no quantisation, and no operand but the value of FILL is a float. Integers wrap around as they
do on a device.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from aboard.ir import Array, DType, Tensor

#: Elements of an operand or result at most. Larger constants are no shapes.
_MOST = 1 << 14

#: Operators whose results are always known.
ALWAYS = ("RANK", "SHAPE")

_Options = Mapping[str, Any]
_Fold = Callable[[Sequence[Array], _Options, Tensor], Array]


def fold(kind: str, operands: Sequence[Tensor | None], options: _Options, results: Sequence[Tensor]) -> Array | None:
    """Returns the result of an operator; None where it is no arithmetic on shapes.

    Args:
        kind: Name of the operator in the schema.
        operands: None where one is absent.
        options: Its options by their name in the schema.
        results: As the file states them.

    Raises:
        ValueError: The operands do not fit each other or the result.
    """
    if len(results) != 1 or not operands or not _is_small(results[0]):
        return None
    result, first = results[0], operands[0]
    if kind in ALWAYS and first is not None:
        return _checked(np.array(first.shape if kind == "SHAPE" else len(first.shape)), result)
    known = [tensor.data for tensor in operands if tensor is not None and _is_small(tensor) and tensor.data is not None]
    if kind not in _FOLDS or len(known) != len(operands):
        return None
    if kind != "FILL" and any(values.dtype.kind == "f" for values in known):
        return None
    try:
        with np.errstate(all="ignore"):
            return _checked(np.asarray(_FOLDS[kind](known, options, result)), result)
    except (ArithmeticError, IndexError, TypeError) as error:
        raise ValueError(f"{error}") from error


def kinds() -> tuple[str, ...]:
    """Returns the names of the operators that `fold` can compute."""
    return (*ALWAYS, *_FOLDS)


def knows(kind: str) -> bool:
    """True for operators that `fold` can compute."""
    return kind in kinds()


def _is_small(tensor: Tensor) -> bool:
    return tensor.type.quant is None and tensor.type.elements <= _MOST and tensor.dtype is not DType.FLOAT16


def _checked(values: Array, result: Tensor) -> Array:
    if values.shape != result.shape:
        raise ValueError(f"got a result of shape {list(values.shape)}, expected {list(result.shape)} as stated")
    return values.astype(result.dtype.numpy)


def _integers(values: Array) -> list[int]:
    if values.dtype.kind not in "iu":
        raise TypeError(f"got {values.dtype.name}, expected integers")
    return [int(value) for value in values.ravel()]


def _strided_slice(given: Sequence[Array], options: _Options, _: Tensor) -> Array:
    values, begin, end, strides = given[0], *(_integers(each) for each in given[1:4])
    masks = {name: int(options[f"{name}Mask"]) for name in ("Begin", "End", "Ellipsis", "NewAxis", "ShrinkAxis")}
    index: list[Any] = []
    for i, (first, last, stride) in enumerate(zip(begin, end, strides, strict=True)):
        if masks["Ellipsis"] >> i & 1:
            index.append(...)
        elif masks["NewAxis"] >> i & 1:
            index.append(None)
        elif masks["ShrinkAxis"] >> i & 1:
            index.append(first)
        else:
            start = None if masks["Begin"] >> i & 1 else first
            index.append(slice(start, None if masks["End"] >> i & 1 else last, stride))
    return np.asarray(values[tuple(index)])


def _slice(given: Sequence[Array], _options: _Options, _result: Tensor) -> Array:
    begin, size = _integers(given[1]), _integers(given[2])
    taken = [slice(b, None if s < 0 else b + s) for b, s in zip(begin, size, strict=True)]
    return np.asarray(given[0][tuple(taken)])


def _gather(given: Sequence[Array], options: _Options, _: Tensor) -> Array:
    if int(options["BatchDims"]) != 0:
        raise TypeError("got batch dimensions, expected none")
    return np.take(given[0], given[1].astype(np.int64), int(options["Axis"]))


def _fill(given: Sequence[Array], _: _Options, result: Tensor) -> Array:
    if tuple(_integers(given[0])) != result.shape:
        raise ValueError(f"got a result of shape {_integers(given[0])}, expected {list(result.shape)} as stated")
    return np.full(result.shape, given[1].reshape(()))


def _range(given: Sequence[Array], _: _Options, result: Tensor) -> Array:
    start, limit, delta = (each.reshape(()).item() for each in given)
    if math.ceil((limit - start) / delta) != result.type.elements:
        raise ValueError(f"got {start} to {limit} by {delta}, expected {result.type.elements} values as stated")
    return np.arange(start, limit, delta)


def _reshape(given: Sequence[Array], _: _Options, result: Tensor) -> Array:
    return given[0].reshape(result.shape)


def _cast(given: Sequence[Array], _: _Options, result: Tensor) -> Array:
    return given[0].astype(result.dtype.numpy)


def _pair(function: Callable[[Any, Any], Any]) -> _Fold:
    """Returns the fold of an elementwise operator of two operands."""
    return lambda given, _options, _result: np.asarray(function(given[0], given[1]))


def _reduction(function: np.ufunc) -> _Fold:
    """Returns the fold of an operator that reduces axes by an operation on two elements."""

    def run(given: Sequence[Array], options: _Options, _: Tensor) -> Array:
        axes, values = tuple(_integers(given[1])), given[0]
        return np.asarray(function.reduce(values, axis=axes, keepdims=bool(options["KeepDims"]), dtype=values.dtype))

    return run


def _truncated(a: Any, b: Any) -> Any:
    """Divides as C does: towards 0."""
    if not np.all(b):
        raise ZeroDivisionError("division by 0")
    quotient = np.abs(a.astype(np.int64)) // np.abs(b.astype(np.int64))
    return np.where((a < 0) != (b < 0), -quotient, quotient)


_FOLDS: dict[str, _Fold] = {
    "ADD": _pair(np.add),
    "CAST": _cast,
    "CONCATENATION": lambda given, options, _: np.concatenate(given, int(options["Axis"])),
    "DIV": _pair(_truncated),
    "EQUAL": _pair(np.equal),
    "EXPAND_DIMS": _reshape,
    "FILL": _fill,
    "FLOOR_DIV": _pair(np.floor_divide),
    "FLOOR_MOD": _pair(np.mod),
    "GATHER": _gather,
    "GREATER": _pair(np.greater),
    "LESS": _pair(np.less),
    "MAXIMUM": _pair(np.maximum),
    "MINIMUM": _pair(np.minimum),
    "MUL": _pair(np.multiply),
    "NOT_EQUAL": _pair(np.not_equal),
    "PACK": lambda given, options, _: np.stack(given, int(options["Axis"])),
    "RANGE": _range,
    "REDUCE_MAX": _reduction(np.maximum),
    "REDUCE_MIN": _reduction(np.minimum),
    "REDUCE_PROD": _reduction(np.multiply),
    "RESHAPE": _reshape,
    "SELECT_V2": lambda given, _, __: np.where(given[0], given[1], given[2]),
    "SLICE": _slice,
    "SQUEEZE": _reshape,
    "STRIDED_SLICE": _strided_slice,
    "SUB": _pair(np.subtract),
    "SUM": _reduction(np.add),
}
