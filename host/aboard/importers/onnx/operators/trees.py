"""Ensembles of decision trees: forests, boosted trees, single trees."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from aboard.importers.onnx import ensembles, tree_files
from aboard.importers.onnx.builder import Builder
from aboard.importers.onnx.operator import Operator, reads
from aboard.importers.onnx.scores import (
    MOST_TARGETS,
    Classes,
    both,
    choice,
    column,
    plus,
    samples,
    transformation,
    transformed,
)
from aboard.ir import DType, Tensor
from aboard.ops.tree_ensemble import Aggregate, TreeEnsembleAttributes, Trees

_AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
_TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
_COMBINED = {"MIN": Aggregate.MINIMUM, "MAX": Aggregate.MAXIMUM}


@reads("ai.onnx.ml.TreeEnsembleRegressor", "ai.onnx.ml.TreeEnsemble")
def regressor(source: Operator, make: Builder) -> Tensor:
    """Weights of leaves combined over all trees, one number for each target."""
    targets = int(source.options.get("n_targets", 0))
    if not 1 <= targets <= MOST_TARGETS:
        raise source.unsupported(f"n_targets, got {targets:,}, expected 1 to {MOST_TARGETS:,}. Export the model again")
    if source.kind == "TreeEnsemble":
        ensemble, base = tree_files.by_indices(source, targets), list[float]()
        aggregate, kind = _of(source, "aggregate_function", _AGGREGATES), _of(source, "post_transform", _TRANSFORMS)
        if kind in ("SOFTMAX", "LOGISTIC") and targets > 1:
            raise source.unsupported(
                f"post_transform, got {source.options['post_transform']}, which is {kind} in the standard and another "
                "function in onnxruntime, expected 0. Use a node behind this one for the function"
            )
    else:
        ensemble, base = tree_files.by_nodes(source, "target", targets), tree_files.base_values(source)
        aggregate, kind = choice(source, "aggregate_function", _AGGREGATES), transformation(source)
    if len(base) not in (0, targets):
        raise source.unsupported(
            f"base_values, got {len(base)} numbers, expected none or {targets}. Export the model again"
        )
    x = samples(source, make)
    trees = ensembles.tables(source, ensemble, x.shape[1])
    scores = _scores(make, x, trees, targets, _COMBINED.get(aggregate, Aggregate.SUM))
    if aggregate == "AVERAGE":
        scores = make.op("div", [scores, make.scalar(len(trees.roots))])
    scores = plus(make, scores, base)
    is_set = _is_set(make, x, trees, targets) if targets > 1 and (base or aggregate in _COMBINED) else None
    if is_set is not None:
        # onnxruntime adds nothing to a target without weights.
        scores = make.op("select", [is_set, scores, make.scalar(0)], dtype=DType.FLOAT32)
    return transformed(make, scores, kind)


def _of(source: Operator, name: str, words: tuple[str, ...]) -> str:
    index = int(source.options[name])
    if not 0 <= index < len(words):
        raise source.unsupported(
            f"{name}, got {index}, expected a number in [0, {len(words) - 1}]. Export the model again"
        )
    return words[index]


def _scores(make: Builder, x: Tensor, trees: Trees, targets: int, aggregate: Aggregate = Aggregate.SUM) -> Tensor:
    """Returns the combined weights [samples, targets]."""
    tables = [make.array(table, DType.FLOAT32 if table.dtype.kind == "f" else DType.INT32) for table in trees.tables]
    return make.op("tree_ensemble", [x, *tables], TreeEnsembleAttributes(targets, aggregate))


@reads("ai.onnx.ml.TreeEnsembleClassifier")
def classifier(source: Operator, make: Builder) -> list[Tensor]:
    """The label, and a score for each class; one or two classes as onnxruntime reads them."""
    classes = Classes(source, make, "classlabels_int64s")
    ensemble, base = tree_files.by_nodes(source, "class", classes.count), tree_files.base_values(source)
    wanted = (0, 1, 2) if classes.count <= 2 else (0, classes.count)
    if len(base) not in wanted[: classes.count + 1]:
        raise source.unsupported(
            f"base_values, got {len(base)} numbers, expected one of {wanted}. Export the model again"
        )
    x = samples(source, make)
    trees = ensembles.tables(source, ensemble, x.shape[1])
    scores, kind = _scores(make, x, trees, classes.count), transformation(source)
    if classes.count <= 2:
        return _one_or_two(source, make, classes, trees, scores, base)
    if base:
        scores = plus(make, scores, base)
        return [classes.largest(scores), transformed(make, scores, kind)]
    return [classes.largest(_without_unscored(make, x, trees, scores)), transformed(make, scores, kind)]


def _without_unscored(make: Builder, x: Tensor, trees: Trees, scores: Tensor) -> Tensor:
    """Returns scores of which those that no leaf has set are below all others, as they win no class."""
    is_set = None if ensembles.is_surely_positive(trees) else _is_set(make, x, trees, scores.shape[1])
    if is_set is None:
        return scores
    lowest = make.scalar(float(np.finfo(np.float32).min))
    return make.op("select", [is_set, scores, lowest], dtype=DType.FLOAT32)


def _is_set(make: Builder, x: Tensor, trees: Trees, targets: int) -> Tensor | None:
    """Returns for which targets of a sample a leaf has a weight; None where one has for each."""
    known = ensembles.coverage(trees, targets)
    if all(known):
        return None
    if None not in known:
        return make.array(np.array([known]), DType.BOOL)
    ones = replace(trees, weights=np.ones_like(trees.weights))
    return make.op("greater", [_scores(make, x, ones, targets), make.scalar(0)], dtype=DType.BOOL)


def _one_or_two(
    source: Operator, make: Builder, classes: Classes, trees: Trees, scores: Tensor, base: list[float]
) -> list[Tensor]:
    """Returns label and scores of one or two classes.

    One of the two may have all weights: then its score is that of class 1, and class 0 has the rest.
    """
    kind = transformation(source)
    if classes.count == 1:
        scores = plus(make, scores, base)
        return [classes.of_two(scores, 0, 0, 1), transformed(make, scores, kind)]
    first, second, has_second = _of_two(source, make, trees, scores, base)
    decisive = second if has_second else first
    is_positive = bool(np.all(trees.weights >= 0))
    if len(set(trees.targets.tolist())) == 1:
        label = classes.of_two(decisive, 0.5 if is_positive else 0, *classes.values)
    else:
        label = classes.of_two(decisive, 0, 0, 1)
    if has_second or len(base) == 2:
        return [label, transformed(make, make.join([first, second], 1), kind)]
    return [label, both(source, make, decisive, kind, is_positive=is_positive)]


def _of_two(
    source: Operator, make: Builder, trees: Trees, scores: Tensor, base: list[float]
) -> tuple[Tensor, Tensor, bool]:
    """Returns the scores of two classes [samples, 1], and whether samples have weights for the second one."""
    first, second = (column(make, scores, index) for index in (0, 1))
    has_first, has_second = ensembles.coverage(trees, 2)
    if has_second is None or (has_first is None and base):
        raise source.unsupported(
            "class_ids, got a class with weights in some leaves of each tree, expected weights in all leaves of a "
            "tree, or in none. Export the model with weights of one class"
        )
    if len(base) == 2 and has_second:
        second = plus(make, first, base[1:])
        first = make.op("neg", [second])
    else:
        first = plus(make, first, base[:1])
    if has_first is False and has_second:
        first = make.array(np.zeros(first.shape))
    return first, second, has_second
