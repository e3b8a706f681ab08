"""Support vector machines: kernels of samples and support vectors, and weighted sums of these."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from aboard.importers.onnx.builder import Builder
from aboard.importers.onnx.operator import Operator, reads
from aboard.importers.onnx.operators.linear import weighted_sums
from aboard.importers.onnx.operators.movement import pick
from aboard.importers.onnx.scores import (
    Classes,
    both,
    choice,
    numbers,
    plus,
    reals,
    samples,
    transformation,
    transformed,
)
from aboard.ir import DType, Tensor
from aboard.ops.pairwise_coupling import CouplingAttributes

Float32 = npt.NDArray[np.float32]

_KERNELS = ("LINEAR", "POLY", "RBF", "SIGMOID")

#: Classes up to which coefficients of all pairs are one matrix; of more, most of its elements would be 0.
_FEW_CLASSES = 3

#: Distance of probabilities of pairs from 0 and 1, at least.
_LEAST_PROBABILITY = 1e-7

#: Classes at most: there is a classifier for each pair.
_MOST_CLASSES = 256


@reads("ai.onnx.ml.SVMRegressor")
def regressor(source: Operator, make: Builder) -> Tensor:
    """The weighted sum of kernels, [samples, 1]; with `one_class` its sign. Functions of it are not applied."""
    x, count = samples(source, make), int(source.options["n_supports"])
    transformation(source)
    if count < 0:
        raise source.unsupported(f"n_supports, got {count}, expected at least 0. Export the model again")
    rho = reals(source, "rho", 1)
    if count == 0:
        made = _sums(make, x, reals(source, "coefficients", x.shape[1]).reshape(1, -1), rho)
    else:
        weights = reals(source, "coefficients", count).reshape(1, -1)
        made = _weighted(source, make, x, weights, rho)
    if not source.options["one_class"]:
        return made
    is_inside = make.op("greater", [made, make.scalar(0)], dtype=DType.BOOL)
    return make.op("select", [is_inside, make.scalar(1), make.scalar(-1)], dtype=DType.FLOAT32)


def _sums(make: Builder, x: Tensor, weights: Float32, bias: Float32) -> Tensor:
    return weighted_sums(make, x, make.array(weights), make.array(bias))


def _weighted(source: Operator, make: Builder, x: Tensor, weights: Float32, bias: Float32) -> Tensor:
    """Returns weighted sums [samples, rows] of kernels of samples and all support vectors; weights [rows, vectors]."""
    if str(source.options["kernel_type"]) == "LINEAR":
        # Sums of products with vectors are products with sums of vectors.
        points = _points(source, x, weights.shape[1]).astype(np.float64)
        return _sums(make, x, (weights.astype(np.float64) @ points).astype(np.float32), bias)
    return _sums(make, _vectors(source, make, x, weights.shape[1]), weights, bias)


def _points(source: Operator, x: Tensor, count: int) -> Float32:
    """Returns the support vectors [vectors, features]."""
    return np.asarray(reals(source, "support_vectors", count * x.shape[1]).reshape(count, -1), np.float32)


def _vectors(source: Operator, make: Builder, x: Tensor, count: int) -> Tensor:
    """Returns the kernels of samples and support vectors, [samples, vectors]."""
    kind = choice(source, "kernel_type", _KERNELS)
    points = _points(source, x, count)
    given = reals(source, "kernel_params")
    if len(given) not in (0, 3):
        raise source.unsupported(
            f"kernel_params, got {len(given)} numbers, expected gamma, coef0 and degree. Export the model again"
        )
    gamma, summand, degree = (float(each) for each in (given if len(given) else np.zeros(3)))
    if kind == "RBF":
        distances = make.op("squared_distance", [x, make.array(points)])
        return make.op("exp", [make.op("mul", [distances, make.scalar(-gamma)])])
    scaled = make.array((np.float32(gamma) * points).astype(np.float32))
    products = weighted_sums(make, x, scaled, make.array(np.full(count, summand)) if summand else None)
    if kind == "SIGMOID":
        return make.op("tanh", [products])
    return _power(make, products, degree)


def _power(make: Builder, x: Tensor, degree: float) -> Tensor:
    if degree not in (1, 2, 3):
        return make.op("pow", [x, make.scalar(degree)])
    result = x
    for _ in range(int(degree) - 1):
        result = make.op("mul", [result, x])
    return result


@reads("ai.onnx.ml.SVMClassifier")
def classifier(source: Operator, make: Builder) -> list[Tensor]:
    """The label, and probabilities of classes, or scores of pairs of classes."""
    classes, x = Classes(source, make, "classlabels_ints"), samples(source, make)
    counts = [int(count) for count in numbers(source, "vectors_per_class")]
    if not sum(counts):
        return _linear(source, make, classes, x)
    if len(counts) != classes.count or min(counts) < 0 or not 2 <= classes.count <= _MOST_CLASSES:
        raise source.unsupported(
            f"vectors_per_class, got {counts[:8]} for {classes.count} classes, expected a number for each of 2 to "
            f"{_MOST_CLASSES} classes. Export the model again"
        )
    kind = transformation(source)
    scores = _pairs(source, make, x, counts)
    label = _voted(make, classes, scores)
    if "prob_a" in source.options or "prob_b" in source.options:
        return [label, transformed(make, _probabilities(source, make, scores, classes.count), kind)]
    if classes.count > 2:
        return [label, transformed(make, scores, kind)]
    return [label, both(source, make, scores, kind, is_positive=kind != "NONE")]


def _linear(source: Operator, make: Builder, classes: Classes, x: Tensor) -> list[Tensor]:
    """Returns label and scores of a machine without support vectors, whose coefficients are weights of features."""
    weights = reals(source, "coefficients", classes.count * x.shape[1]).reshape(classes.count, -1)
    rho, kind = reals(source, "rho"), transformation(source)
    if not len(rho):
        raise source.unsupported("rho, got 0 numbers, expected 1. Export the model again")
    scores = _sums(make, x, weights, np.full(classes.count, rho[0]))
    label = classes.largest(scores)
    if classes.count == 2 and "prob_a" not in source.options:
        # A largest score that is high enough is that of class 1, as onnxruntime reads it.
        is_positive = bool(np.all(weights >= 0))
        high = make.op("reduce_max", [scores], classes.over)
        is_high = make.op(
            "greater_equal" if is_positive else "greater",
            [high, make.scalar(0.5 if is_positive else 0)],
            dtype=DType.BOOL,
        )
        second = make.array(np.array([classes.values[1]]), DType.INT64)
        text = label.text
        label = make.op("select", [make.reshape(is_high, label.shape), second, label], dtype=DType.INT64)
        label.text = text
    return [label, transformed(make, scores, kind)]


def _pairs(source: Operator, make: Builder, x: Tensor, counts: Sequence[int]) -> Tensor:
    """Returns the score of each pair of classes, [samples, pairs], by kernels of the support vectors of all classes."""
    count, total = len(counts), sum(counts)
    pairs = list(combinations(range(count), 2))
    rho = reals(source, "rho", len(pairs))
    # Row r has for vectors of class c the coefficients against class r if r < c, else against class r + 1.
    rows = reals(source, "coefficients", (count - 1) * total).reshape(count - 1, total)
    starts = np.cumsum([0, *counts])
    kind = choice(source, "kernel_type", _KERNELS)
    if count <= _FEW_CLASSES or kind == "LINEAR":
        matrix = np.zeros((len(pairs), total), np.float32)
        for place, (i, j) in enumerate(pairs):
            for own, row in ((i, j - 1), (j, i)):
                part = slice(starts[own], starts[own + 1])
                matrix[place, part] = rows[row, part]
        return _weighted(source, make, x, matrix, rho)
    vectors = _vectors(source, make, x, total)
    parts = [_part(make, vectors, rows, int(begin), size) for begin, size in zip(starts, counts, strict=False)]
    sums = make.join(parts, 1)
    first, second = (
        pick(make, sums, 1, np.array([own * (count - 1) + row for own, row in places]))
        for places in ([(i, j - 1) for i, j in pairs], [(j, i) for i, j in pairs])
    )
    return plus(make, make.op("add", [first, second]), rho)


def _part(make: Builder, vectors: Tensor, rows: Float32, begin: int, size: int) -> Tensor:
    """Returns the sums of the vectors of a class, one for each other class."""
    if size == 0:
        return make.broadcast(make.array(np.zeros((1, len(rows)))), (vectors.shape[0], len(rows)))
    chosen = pick(make, vectors, 1, np.arange(begin, begin + size))
    return weighted_sums(make, chosen, make.array(rows[:, begin : begin + size]), None)


def _voted(make: Builder, classes: Classes, scores: Tensor) -> Tensor:
    """Returns the label of the class that wins most pairs, the first among equals.

    Of a pair, the first class wins with a score above 0, else the second.
    """
    pairs = list(combinations(range(classes.count), 2))
    wins = make.cast(make.op("greater", [scores, make.scalar(0)], dtype=DType.BOOL), DType.FLOAT32)
    votes, lost = np.zeros((classes.count, len(pairs)), np.float32), np.zeros(classes.count, np.float32)
    for place, (i, j) in enumerate(pairs):
        votes[i, place], votes[j, place] = 1, -1
        lost[j] += 1
    return classes.largest(_sums(make, wins, votes, lost))


def _probabilities(source: Operator, make: Builder, scores: Tensor, count: int) -> Tensor:
    """Returns the probability of each class: Platt's for each pair, coupled."""
    pairs = count * (count - 1) // 2
    slopes, offsets = (reals(source, name, pairs) for name in ("prob_a", "prob_b"))
    scaled = plus(make, make.op("mul", [scores, make.array(slopes.reshape(1, -1))]), offsets)
    of_first = make.op("sub", [make.scalar(1), make.op("logistic", [scaled])])
    bounded = make.op("maximum", [make.scalar(_LEAST_PROBABILITY), of_first])
    bounded = make.op("minimum", [make.scalar(1 - _LEAST_PROBABILITY), bounded])
    return make.op("pairwise_coupling", [bounded], CouplingAttributes(count))
