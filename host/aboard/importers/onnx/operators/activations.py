"""Activation functions of float32."""

from __future__ import annotations

import numpy as np

from aboard.importers.onnx.builder import Builder
from aboard.importers.onnx.operator import Operator, reads
from aboard.importers.onnx.operators.elementwise import extreme
from aboard.ir import DType, Tensor
from aboard.ops.relu import LeakyReluAttributes

_NAMES = {"Mish": "mish", "Sigmoid": "logistic", "Softplus": "softplus", "Tanh": "tanh"}


@reads(*_NAMES)
def named(source: Operator, make: Builder) -> Tensor:
    """Functions that are operators of their own."""
    return make.op(_NAMES[source.kind], [source.input(0)])


@reads("Relu")
def relu(source: Operator, make: Builder) -> Tensor:
    """max(x, 0), of integers too."""
    x = source.input(0)
    return make.op("relu", [x]) if x.dtype.is_float else make.op("maximum", [x, make.scalar(0, x.dtype)])


@reads("LeakyRelu")
def leaky_relu(source: Operator, make: Builder) -> Tensor:
    """X where x is above 0, else alpha times x."""
    return make.op("leaky_relu", [source.input(0)], LeakyReluAttributes(float(source.options["alpha"])))


@reads("PRelu")
def prelu(source: Operator, make: Builder) -> Tensor:
    """X where x is at least 0, else x times a slope."""
    x, slope = source.input(0), source.input(1)
    if x.dtype.is_float:
        return make.op("prelu", [x, slope])
    below = make.op("less", [x, make.scalar(0, x.dtype)], dtype=DType.BOOL)
    return make.op("select", [below, make.op("mul", [x, slope]), x], dtype=x.dtype)


@reads("Elu", "Selu", "Celu")
def exponential(source: Operator, make: Builder) -> Tensor:
    """X where it is above 0, else alpha * (e^x - 1), or alpha * (e^(x / alpha) - 1); times gamma."""
    x, alpha = source.input(0), float(source.options["alpha"])
    gamma = float(source.options.get("gamma", 1.0))
    if alpha == 1 and gamma == 1:
        return make.op("elu", [x])
    below = make.op("minimum", [x, make.scalar(0)])
    inner = make.op("div", [below, make.scalar(alpha)]) if source.kind == "Celu" else below
    scaled = make.op("mul", [make.op("elu", [inner]), make.scalar(alpha)])
    total = make.op("add", [make.op("relu", [x]), scaled])
    return total if gamma == 1 else make.op("mul", [total, make.scalar(gamma)])


@reads("Gelu")
def gelu(source: Operator, make: Builder) -> Tensor:
    """X times the probability that a normal variable is smaller, or its approximation by tanh."""
    return make.op("gelu_tanh" if source.options["approximate"] == "tanh" else "gelu", [source.input(0)])


@reads("HardSigmoid")
def hard_sigmoid(source: Operator, make: Builder) -> Tensor:
    """A line between 0 and 1."""
    return _line(source.input(0), float(source.options["alpha"]), float(source.options["beta"]), make)


def _line(x: Tensor, alpha: float, beta: float, make: Builder) -> Tensor:
    line = make.op("add", [make.op("mul", [x, make.scalar(alpha)]), make.scalar(beta)])
    return make.op("minimum", [make.op("maximum", [line, make.scalar(0)]), make.scalar(1)])


@reads("HardSwish")
def hard_swish(source: Operator, make: Builder) -> Tensor:
    """X times a line from 0 at -3 to 1 at 3."""
    return make.op("hard_swish", [source.input(0)])


@reads("Softsign")
def softsign(source: Operator, make: Builder) -> Tensor:
    """X / (1 + |x|)."""
    x = source.input(0)
    return make.op("div", [x, make.op("add", [make.op("abs", [x]), make.scalar(1)])])


@reads("Swish")
def swish(source: Operator, make: Builder) -> Tensor:
    """X times the logistic function of alpha times x."""
    x, alpha = source.input(0), float(source.options["alpha"])
    inner = x if alpha == 1 else make.op("mul", [x, make.scalar(alpha)])
    return make.op("mul", [x, make.op("logistic", [inner])])


@reads("ThresholdedRelu")
def thresholded(source: Operator, make: Builder) -> Tensor:
    """X where it is above alpha, else 0."""
    x = source.input(0)
    above = make.op("greater", [x, make.scalar(float(source.options["alpha"]))], dtype=DType.BOOL)
    return make.op("select", [above, x, make.scalar(0)], dtype=x.dtype)


@reads("Shrink")
def shrink(source: Operator, make: Builder) -> Tensor:
    """Moves what is beyond a limit toward 0 by a bias; the rest becomes 0."""
    x, limit, bias = source.input(0), float(source.options["lambd"]), float(source.options["bias"])
    high = make.op("greater", [x, make.scalar(limit)], dtype=DType.BOOL)
    low = make.op("less", [x, make.scalar(-limit)], dtype=DType.BOOL)
    inner = make.op("select", [low, make.op("add", [x, make.scalar(bias)]), make.scalar(0)], dtype=x.dtype)
    return make.op("select", [high, make.op("sub", [x, make.scalar(bias)]), inner], dtype=x.dtype)


@reads("Clip")
def clip(source: Operator, make: Builder) -> Tensor:
    """Keeps elements between two limits, which are attributes before version 11.

    Limits of 0 and 6 are those of relu6, and 0 alone that of relu.
    """
    x = source.input(0)
    low, high = (_limit(source, index, make) for index in (1, 2))
    if (
        x.dtype.is_float
        and _value(low) == 0
        and _value(high) in (None, np.inf, 6.0)
        and (high is None or _is_known(high))
    ):
        return make.op("relu6" if _value(high) == 6 else "relu", [x])
    raised = x if low is None else extreme(make, "maximum", x, low)
    return raised if high is None else extreme(make, "minimum", raised, high)


def _limit(source: Operator, index: int, make: Builder) -> Tensor | None:
    if source.since >= 11:
        return source.optional(index)
    value = source.options.get(("min", "max")[index - 1])
    return None if value is None or abs(float(value)) > 3.4e38 else make.scalar(float(value))


def _is_known(limit: Tensor) -> bool:
    return limit.data is not None


def _value(limit: Tensor | None) -> float | None:
    return None if limit is None or limit.data is None else float(limit.data.reshape(-1)[0])
