"""Linear models: a product with weights, labels of classes."""

from __future__ import annotations

from aboard.importers.onnx.builder import Builder
from aboard.importers.onnx.operator import Operator, reads
from aboard.importers.onnx.scores import MOST_TARGETS, Classes, both, reals, samples, transformation, transformed
from aboard.ir import Tensor
from aboard.ops.fully_connected import FullyConnectedAttributes


def weighted_sums(make: Builder, x: Tensor, weights: Tensor, bias: Tensor | None) -> Tensor:
    """Returns x * transposed weights + bias: [samples, outputs]."""
    return make.op("fully_connected", [x, weights, *([] if bias is None else [bias])], FullyConnectedAttributes())


def _scores(source: Operator, make: Builder, outputs: int) -> Tensor:
    """Returns the scores [samples, outputs] of coefficients and intercepts of a node."""
    x = samples(source, make)
    weights = reals(source, "coefficients", outputs * x.shape[1]).reshape(outputs, -1)
    bias = reals(source, "intercepts", outputs) if "intercepts" in source.options else None
    return weighted_sums(make, x, make.array(weights), None if bias is None else make.array(bias))


@reads("ai.onnx.ml.LinearRegressor")
def regressor(source: Operator, make: Builder) -> Tensor:
    """Sums for each target."""
    targets = int(source.options["targets"])
    if not 1 <= targets <= MOST_TARGETS:
        raise source.unsupported(f"targets, got {targets:,}, expected 1 to {MOST_TARGETS:,}. Export the model again")
    return transformed(make, _scores(source, make, targets), transformation(source))


@reads("ai.onnx.ml.LinearClassifier")
def classifier(source: Operator, make: Builder) -> list[Tensor]:
    """The label, and a score for each class; of two classes one may have all weights."""
    classes, kind = Classes(source, make, "classlabels_ints"), transformation(source)
    rows = len(reals(source, "intercepts"))
    if rows != classes.count and (rows, classes.count) != (1, 2):
        raise source.unsupported(
            f"intercepts, got {rows} numbers, expected {classes.count}, one for each class. Export the model again"
        )
    scores = _scores(source, make, rows)
    if rows == 1 and classes.count == 2:
        return [classes.of_two(scores, 0, *classes.values), both(source, make, scores, kind, is_positive=True)]
    return [classes.largest(scores), transformed(make, scores, kind)]
