"""Operators that compute each element of the result from one element of each operand: arithmetic, logic, functions."""

from __future__ import annotations

from functools import reduce

import numpy as np

from aboard.importers.onnx.builder import Builder
from aboard.importers.onnx.operator import Operator, reads
from aboard.ir import DType, Tensor
from aboard.ops.broadcasting import WHOLE

#: Functions of float32, and of bool.
_UNARY = {
    "Acos": "acos",
    "Acosh": "acosh",
    "Asin": "asin",
    "Asinh": "asinh",
    "Atan": "atan",
    "Atanh": "atanh",
    "Ceil": "ceil",
    "Cos": "cos",
    "Cosh": "cosh",
    "Erf": "erf",
    "Exp": "exp",
    "Floor": "floor",
    "Log": "log",
    "Not": "logical_not",
    "Round": "round",
    "Sin": "sin",
    "Sinh": "sinh",
    "Sqrt": "sqrt",
    "Tan": "tan",
    "BitwiseNot": "bitwise_not",
}

_BINARY = {
    "Add": "add",
    "Div": "div",
    "Mul": "mul",
    "Sub": "sub",
    "BitwiseAnd": "bitwise_and",
    "BitwiseOr": "bitwise_or",
    "BitwiseXor": "bitwise_xor",
}

_LOGIC = {
    "And": "logical_and",
    "Equal": "equal",
    "Greater": "greater",
    "GreaterOrEqual": "greater_equal",
    "Less": "less",
    "LessOrEqual": "less_equal",
    "Or": "logical_or",
    "Xor": "not_equal",
}

_MANY = {"Max": "maximum", "Min": "minimum", "Sum": "add", "Mean": "add"}

#: Types to convert to, by their names in the format.
_TYPES = {"float": DType.FLOAT32, **{each.value: each for each in (*WHOLE, DType.BOOL)}}

#: Thresholds of integers are below this.
_LARGEST_THRESHOLD = 2.0**31

#: Exponents up to this are products.
_MOST_PRODUCTS = 4


@reads(*_UNARY)
def unary(source: Operator, make: Builder) -> Tensor:
    """One operand."""
    return make.op(_UNARY[source.kind], [source.input(0)])


@reads(*_BINARY)
def binary(source: Operator, make: Builder) -> Tensor:
    """Two operands of one type, broadcast together; before version 7 the second one from an axis on."""
    return make.op(_BINARY[source.kind], [source.input(0), source.input(1)])


@reads(*_LOGIC)
def logic(source: Operator, make: Builder) -> Tensor:
    """Two operands of one type, broadcast together, to bool."""
    return make.op(_LOGIC[source.kind], [source.input(0), source.input(1)], dtype=DType.BOOL)


@reads(*_MANY)
def many(source: Operator, make: Builder) -> Tensor:
    """Any number of operands, broadcast together, one after the other."""
    operands = [source.input(index) for index in range(len(source.inputs))]
    kind = _MANY[source.kind]
    total = reduce(lambda a, b: extreme(make, kind, a, b) if kind != "add" else make.op("add", [a, b]), operands)
    if source.kind != "Mean" or len(operands) == 1:
        return total
    return make.op("mul", [total, make.scalar(1 / len(operands))])


def extreme(make: Builder, op: str, a: Tensor, b: Tensor) -> Tensor:
    """Returns `maximum` or `minimum` of two tensors; NaN where either is.

    Where neither element is above the other, the op takes the second one: a constant without NaN is the first operand.
    """
    if b.data is not None:
        a, b = b, a
    if not a.dtype.is_float or (a.data is not None and not np.isnan(a.data).any()):
        return make.op(op, [a, b])
    return make.op(f"ieee_{op}", [a, b])


@reads("Abs", "Neg", "Sign")
def signs(source: Operator, make: Builder) -> Tensor:
    """Of float32 functions; of integers from comparisons with 0 and differences, which wrap."""
    x = source.input(0)
    if x.dtype.is_float:
        return make.op(source.kind.lower(), [x])
    zero = make.scalar(0, x.dtype)
    if source.kind == "Sign":
        bounded = make.op("minimum", [x, make.scalar(1, x.dtype)])
        low = make.scalar(0 if x.dtype.numpy.kind == "u" else -1, x.dtype)
        return make.op("maximum", [bounded, low])
    if source.kind == "Abs" and x.dtype.numpy.kind == "u":
        return x
    negative = make.op("sub", [zero, x])
    return negative if source.kind == "Neg" else make.op("maximum", [x, negative])


@reads("Reciprocal")
def reciprocal(source: Operator, make: Builder) -> Tensor:
    """1 / x."""
    return make.op("div", [make.scalar(1), source.input(0)])


@reads("Mod")
def mod(source: Operator, make: Builder) -> Tensor:
    """The remainder, with the sign of the first operand where `fmod` is set, else of the second."""
    op = "remainder" if source.options["fmod"] else "floor_mod"
    return make.op(op, [source.input(0), source.input(1)])


@reads("BitShift")
def bit_shift(source: Operator, make: Builder) -> Tensor:
    """Moves bits to higher or lower places."""
    op = "shift_left" if source.options["direction"] == "LEFT" else "shift_right"
    return make.op(op, [source.input(0), source.input(1)])


@reads("Pow")
def power(source: Operator, make: Builder) -> Tensor:
    """Constant exponents that are small become products and roots."""
    x, exponent = source.input(0), source.input(1)
    value = float(exponent.data.reshape(-1)[0]) if exponent.data is not None and exponent.type.elements == 1 else np.nan
    if len(exponent.shape) <= len(x.shape) and value in range(1, _MOST_PRODUCTS + 1):
        return reduce(lambda a, b: make.op("mul", [a, b]), [x] * int(value))
    if not x.dtype.is_float and not exponent.dtype.is_float:
        return make.op("pow", [x, make.cast(exponent, x.dtype)])
    if not x.dtype.is_float:
        return make.cast(make.op("pow", [make.cast(x, DType.FLOAT32), exponent]), x.dtype)
    if value == 0.5 and len(exponent.shape) <= len(x.shape):
        return make.op("sqrt", [x])
    return make.op("pow", [x, make.cast(exponent, DType.FLOAT32)])


@reads("Where")
def where(source: Operator, make: Builder) -> Tensor:
    """The second operand where the first is true, else the third."""
    condition, yes, no = (source.input(index) for index in range(3))
    return make.op("select", [condition, yes, no], dtype=yes.dtype)


@reads("Cast", "CastLike")
def cast(source: Operator, make: Builder) -> Tensor:
    """Converts elements to another type; numbers too large for an integer become its largest."""
    wanted = source.input(1).dtype if source.kind == "CastLike" else _type(source)
    return make.cast(source.input(0), wanted)


def _type(source: Operator) -> DType:
    import onnx

    name = onnx.TensorProto.DataType.Name(int(source.options["to"])).lower()
    found = _TYPES.get(name)
    if found is None:
        raise source.unsupported(
            f"element type to convert to, got {name}, expected one of float32, bool and integers. Export the model in "
            "float32"
        )
    return found


@reads("BitCast")
def bit_cast(source: Operator, make: Builder) -> Tensor:
    """The same bits as a number of another type; between integers that is a conversion, which wraps.

    Raises:
        ModelError: The type has another size, or is bool, of which most bits are not defined.
    """
    x, wanted = source.input(0), _type(source)
    if x.dtype.bytes != wanted.bytes or (wanted is DType.BOOL and x.dtype is not DType.BOOL):
        raise source.unsupported(
            f"element type to convert to, got {wanted.value}, expected a number of {8 * x.dtype.bytes} bits as "
            f"{x.dtype.value}. Use Cast"
        )
    if x.dtype.is_float == wanted.is_float:
        return make.cast(x, wanted)
    return make.op("bit_cast", [x], dtype=wanted)


@reads("ai.onnx.ml.Binarizer")
def binarizer(source: Operator, make: Builder) -> Tensor:
    """1 where an element is above the threshold, else 0, in the type of the operand."""
    x = source.input(0)
    limit = float(source.options["threshold"])
    if not x.dtype.is_float:
        if not abs(limit) < _LARGEST_THRESHOLD:
            raise source.unsupported(
                f"threshold, got {limit:g}, expected less than 2^31 for {x.dtype.value}. Export the model in float32"
            )
        # Integers are above a number if they are above the integer below it.
        limit = np.floor(limit)
    return make.cast(make.op("greater", [x, make.scalar(limit, x.dtype)], dtype=DType.BOOL), x.dtype)


@reads("IsNaN")
def is_nan(source: Operator, make: Builder) -> Tensor:
    """True for what is no number."""
    return make.op("is_nan", [source.input(0)], dtype=DType.BOOL)


@reads("IsInf")
def is_infinite(source: Operator, make: Builder) -> Tensor:
    """True for infinities, of one sign where the other is not asked for."""
    x = source.input(0)
    found = [
        make.op("equal", [x, make.scalar(value)], dtype=DType.BOOL)
        for value, wanted in ((np.inf, "detect_positive"), (-np.inf, "detect_negative"))
        if source.options[wanted]
    ]
    if not found:
        return make.op("not_equal", [make.cast(x, DType.BOOL)] * 2, dtype=DType.BOOL)
    return reduce(lambda a, b: make.op("logical_or", [a, b]), found)


@reads("Identity")
def identity(source: Operator, _make: Builder) -> Tensor:
    """The operand itself."""
    return source.input(0)


@reads("Dropout")
def dropout(source: Operator, make: Builder) -> list[Tensor]:
    """The operand itself, and a mask of true elements: nothing is dropped in inference.

    Raises:
        ModelError: The node is in training mode with a ratio above 0.
    """
    x, training = source.input(0), source.optional(2)
    if training is not None and bool(source.constant(2)):
        ratio = float(source.constant(1)) if source.optional(1) is not None else 0.5
        if ratio != 0:
            raise source.unsupported("training mode, got true, expected false. Export the model with `model.eval()`")
    mask = make.array(np.ones((1,) * len(x.shape), np.bool_), DType.BOOL)
    wanted = len(source.results) > 1 and source.results[1] != ""
    return [x, make.broadcast(mask, x.shape)] if wanted else [x]
