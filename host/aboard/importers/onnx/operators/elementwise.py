"""Operators that compute each element of the result from one element of each operand."""

from __future__ import annotations

from aboard.importers.onnx.builder import Builder
from aboard.importers.onnx.operator import Operator, reads
from aboard.ir import Tensor

_UNARY = {
    "Abs": "abs",
    "Ceil": "ceil",
    "Cos": "cos",
    "Exp": "exp",
    "Floor": "floor",
    "Log": "log",
    "Neg": "neg",
    "Not": "logical_not",
    "Relu": "relu",
    "Round": "round",
    "Sigmoid": "logistic",
    "Sin": "sin",
    "Sqrt": "sqrt",
    "Tanh": "tanh",
}

_BINARY = {"Add": "add", "Div": "div", "Mul": "mul", "Sub": "sub"}


@reads(*_UNARY)
def unary(source: Operator, make: Builder) -> Tensor:
    """One operand."""
    return make.op(_UNARY[source.kind], [source.input(0)])


@reads(*_BINARY)
def binary(source: Operator, make: Builder) -> Tensor:
    """Two operands of one type, broadcast together."""
    return make.op(_BINARY[source.kind], [source.input(0), source.input(1)])


@reads("Identity")
def identity(source: Operator, _make: Builder) -> Tensor:
    """The operand itself."""
    return source.input(0)
