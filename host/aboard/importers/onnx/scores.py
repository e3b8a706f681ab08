"""What the operators of `ai.onnx.ml` that classify or regress have in common: samples, scores, labels.

Results are those of onnxruntime where the standard leaves them open.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from aboard.importers.onnx.builder import Builder
from aboard.importers.onnx.operator import Operator
from aboard.ir import DType, Tensor
from aboard.ops.extremes import PlaceAttributes
from aboard.ops.gather import GatherAttributes
from aboard.ops.reduction import ReductionAttributes
from aboard.ops.strided_slice import AxisSlice

#: Classes or targets at most.
MOST_TARGETS = 65_535

#: Scores that are as good as 0 for SOFTMAX_ZERO.
_ALMOST_ZERO = 1e-7

_TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


def samples(source: Operator, make: Builder) -> Tensor:
    """Returns operand 0 as float32 [samples, features].

    Raises:
        ModelError: It has no axis or more than two.
    """
    x = source.input(0)
    if len(x.shape) not in (1, 2):
        raise source.unsupported(
            f"operand, got shape {list(x.shape)}, expected [samples, features]. Reshape it before this operator"
        )
    return make.cast(make.reshape(x, (1, *x.shape)) if len(x.shape) == 1 else x, DType.FLOAT32)


def numbers(source: Operator, name: str) -> np.ndarray[Any, Any]:
    """Returns an attribute of numbers as an array, float64 or int64; empty if it is absent.

    Raises:
        ModelError: It is a tensor of something else.
    """
    given = np.asarray(source.options.get(name, ()))
    if given.dtype.kind not in "iufb":
        raise source.unsupported(f"{name}, got text, expected numbers. Use numbers in place of text")
    return given.reshape(-1).astype(np.int64 if given.dtype.kind in "iu" else np.float64)


def reals(source: Operator, name: str, count: int | None = None) -> np.ndarray[Any, Any]:
    """Returns an attribute of finite numbers as float32.

    Args:
        source: The node.
        name: Name of the attribute.
        count: How many numbers it must have; None for any number.

    Raises:
        ModelError: It has another number of elements, or one that is not finite.
    """
    values = numbers(source, name).astype(np.float32)
    if count is not None and len(values) != count:
        raise source.unsupported(f"{name}, got {len(values)} numbers, expected {count}. Export the model again")
    if not np.isfinite(values).all():
        raise source.unsupported(
            f"{name}, got a number that is not finite, expected finite ones. Train the model again"
        )
    return values


def choice(source: Operator, name: str, known: Sequence[str]) -> str:
    """Returns an attribute that is one of some words.

    Raises:
        ModelError: It is another one.
    """
    value = str(source.options[name])
    if value not in known:
        raise source.unsupported(
            f"{name}, got {value[:40]!r}, expected one of {', '.join(known)}. Export the model again"
        )
    return value


def transformation(source: Operator) -> str:
    """Returns what becomes of the scores (`post_transform`)."""
    return choice(source, "post_transform", _TRANSFORMS)


def transformed(make: Builder, scores: Tensor, kind: str) -> Tensor:
    """Returns scores [samples, classes] behind the function that `post_transform` names.

    Of one score, onnxruntime applies no function but PROBIT.
    """
    if scores.shape[1] == 1 and kind != "PROBIT":
        return scores
    if kind == "LOGISTIC":
        return make.op("logistic", [scores])
    if kind == "SOFTMAX":
        made = make.op("softmax", [scores])
        make.distributions[id(made)] = made
        return made
    if kind == "PROBIT":
        return _probit(make, scores)
    return _softmax_of_others(make, scores) if kind == "SOFTMAX_ZERO" else scores


def _softmax_of_others(make: Builder, scores: Tensor) -> Tensor:
    """Softmax of scores that are not 0; those that are stay 0."""
    attrs = ReductionAttributes((1,), True)
    largest = make.op("reduce_max", [scores], attrs)
    powers = make.op("exp", [make.op("sub", [scores, largest])])
    small = make.op("less_equal", [make.op("abs", [scores]), make.scalar(_ALMOST_ZERO)], dtype=DType.BOOL)
    kept = make.op("select", [small, make.array(np.zeros((1, 1))), powers], dtype=DType.FLOAT32)
    total = make.op("sum", [kept], attrs)
    scaled = make.op("mul", [scores, make.op("exp", [make.op("neg", [largest])])])
    return make.op("div", [make.op("select", [small, scaled, powers], dtype=DType.FLOAT32), total])


def _probit(make: Builder, scores: Tensor) -> Tensor:
    """The inverse of the normal distribution by Winitzki's approximation of the inverse error function."""
    x = make.op("sub", [make.op("mul", [scores, make.scalar(2)]), make.scalar(1)])
    log = make.op("log", [make.op("mul", [make.op("sub", [make.scalar(1), x]), make.op("add", [x, make.scalar(1)])])])
    factor = 0.147
    half = make.op("add", [make.op("mul", [log, make.scalar(0.5)]), make.scalar(2 / (3.14159 * factor))])
    square = make.op("sub", [make.op("mul", [half, half]), make.op("mul", [log, make.scalar(1 / factor)])])
    root = make.op("sqrt", [make.op("sub", [make.op("sqrt", [square]), half])])
    signed = make.op("select", [_above(make, make.scalar(0), x), make.op("neg", [root]), root], dtype=DType.FLOAT32)
    return make.op("mul", [signed, make.scalar(1.41421356)])


def _above(make: Builder, a: Tensor, b: Tensor) -> Tensor:
    return make.op("greater", [a, b], dtype=DType.BOOL)


class Classes:
    """The classes of a node.

    Attributes:
        count: How many there are.
    """

    def __init__(self, source: Operator, make: Builder, integers: str, text: str = "classlabels_strings") -> None:
        """Reads the names of the classes.

        Args:
            source: The node.
            make: Makes nodes.
            integers: Name of the attribute with integers.
            text: Name of the attribute with text, which has precedence.

        Raises:
            ModelError: There is none, or there are too many.
        """
        self._make = make
        self._text = tuple(str(each) for each in source.options.get(text, ()))
        self._integers = [int(each) for each in source.options.get(integers, ())]
        self.count = len(self._text or self._integers)
        if not 1 <= self.count <= MOST_TARGETS:
            raise source.unsupported(
                f"classes, got {self.count:,}, expected 1 to {MOST_TARGETS:,} in {integers} or {text}. Export again"
            )

    over = ReductionAttributes((1,), False)

    @property
    def values(self) -> list[int]:
        """The integer that the label output has for each class: of text its index."""
        return list(range(self.count)) if self._text else self._integers

    def labels(self, index: Tensor) -> Tensor:
        """Returns the labels of classes that are given by their number [samples]."""
        if self.values == list(range(self.count)):
            made = self._make.cast(index, DType.INT64)
        else:
            table = self._make.array(np.array(self.values, np.int64), DType.INT64)
            made = self._make.op("gather", [table, self._make.cast(index, DType.INT32)], GatherAttributes(0))
        made.text = self._text
        return made

    def largest(self, scores: Tensor) -> Tensor:
        """Returns the labels of the classes with the largest scores [samples, classes], the first among equals."""
        return self.labels(self._make.op("arg_max", [scores], PlaceAttributes(1), DType.INT32))

    def of_two(self, score: Tensor, limit: float, negative: int, positive: int) -> Tensor:
        """Returns the label `positive` where a score [samples, 1] is above a limit, else `negative`."""
        make = self._make
        is_above = _above(make, make.reshape(score, score.shape[:1]), make.scalar(limit))
        pair = [make.array(np.array([value]), DType.INT64) for value in (positive, negative)]
        made = make.op("select", [is_above, *pair], dtype=DType.INT64)
        made.text = self._text
        return made


def column(make: Builder, scores: Tensor, index: int) -> Tensor:
    """Returns one of the scores [samples, classes] as [samples, 1]."""
    return make.take(scores, [AxisSlice(0, 1, scores.shape[0]), AxisSlice(index, 1, 1)])


def plus(make: Builder, scores: Tensor, base: Sequence[float] | np.ndarray[Any, Any]) -> Tensor:
    """Returns scores plus a number for each class, or one for all; those of 0 add nothing."""
    values = np.asarray(base, np.float32)
    return make.op("add", [scores, make.array(values.reshape(1, -1))]) if np.any(values != 0) else scores


def both(source: Operator, make: Builder, score: Tensor, kind: str, *, is_positive: bool) -> Tensor:
    """Returns the scores of two classes from one score.

    Args:
        source: The node.
        make: Makes nodes.
        score: Of class 1, [samples, 1].
        kind: What becomes of the scores (`transformation`), of which LOGISTIC alone is applied.
        is_positive: True where the other score is 1 less this one, False for minus this one.

    Raises:
        ModelError: The function is PROBIT, for which onnxruntime leaves the second score open.
    """
    if kind == "PROBIT":
        raise source.unsupported(
            "post_transform, got PROBIT for one score of two classes, expected another. Export the model again"
        )
    if kind == "LOGISTIC":
        return make.op("logistic", [make.join([make.op("neg", [score]), score], 1)])
    other = make.op("sub", [make.scalar(1), score]) if is_positive else make.op("neg", [score])
    return make.join([other, score], 1)
