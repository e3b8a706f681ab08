"""How right a quantised model is: against labels, and against the model of real numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from aboard.base import classifiers
from aboard.ir import Array, DType, Graph
from aboard.ops import interpreter
from aboard.quantization.samples import Inputs, Labels


@dataclass(frozen=True)
class Accuracy:
    """Figures over test samples.

    Attributes:
        samples: Their number.
        snr: Power of the outputs over that of their error: a ratio, not dB.
        agreement: Share of samples whose largest output is that of the model of real numbers; None for a model without
            scores of classes.
        before: Share of samples whose largest output is their label, in real numbers; None without labels.
        after: The same for the quantised model.
    """

    samples: int
    snr: float
    agreement: float | None
    before: float | None
    after: float | None

    @property
    def lost(self) -> float | None:
        """Points of accuracy lost, from 0 to 100: against labels, else against the model of real numbers."""
        if self.before is not None and self.after is not None:
            return 100 * (self.before - self.after)
        return None if self.agreement is None else 100 * (1 - self.agreement)


def outputs(graph: Graph, inputs: Sequence[Inputs], on_sample: Callable[[], None] = lambda: None) -> list[list[Array]]:
    """Returns the outputs of a graph for samples, as real numbers where they stand for such."""
    found = []
    for given in inputs:
        results = interpreter.run(graph, _fitted(graph, given))
        found.append([_real(graph, number, value) for number, value in enumerate(results.values())])
        on_sample()
    return found


def compare(exact: Sequence[Sequence[Array]], got: Sequence[Sequence[Array]], labels: Labels | None) -> Accuracy:
    """Returns the figures of a quantised model.

    Args:
        exact: The outputs of the model of real numbers, for each sample.
        got: Those of the quantised model.
        labels: The label of each sample.
    """
    error = signal = 0.0
    for right, mine in zip(exact, got, strict=True):
        for first, second in zip(right, mine, strict=True):
            if first.dtype.kind == "f":
                wide = first.astype(np.float64)
                error += float(np.sum((second.astype(np.float64) - wide) ** 2))
                signal += float(np.sum(wide**2))
    snr = signal / error if error > 0 else np.inf
    at = classifiers.scores_at([output.size for output in exact[0]])
    if at is None:
        return Accuracy(len(exact), snr, None, None, None)
    chosen = [np.array([int(np.argmax(each[at])) for each in part]) for part in (exact, got)]
    before, after = (None if labels is None else float(np.mean(each == labels)) for each in chosen)
    return Accuracy(len(exact), snr, float(np.mean(chosen[0] == chosen[1])), before, after)


def _fitted(graph: Graph, values: Inputs) -> Inputs:
    """Returns inputs as the graph has them: integers where it takes them instead of real numbers."""
    found = dict(values)
    for tensor in graph.inputs:
        value, quant = values[tensor.name], tensor.type.quant
        if quant is not None and value.dtype.kind == "f":
            info = np.iinfo(tensor.dtype.value)
            steps = np.rint(value / np.float32(quant.scale)) + quant.zero_point
            found[tensor.name] = np.clip(steps, info.min, info.max).astype(tensor.dtype.numpy)
    return found


def _real(graph: Graph, number: int, value: Array) -> Array:
    tensor = graph.outputs[number]
    if tensor.type.quant is None or tensor.dtype is DType.FLOAT32:
        return value
    steps = value.astype(np.int32) - tensor.quant.zero_point
    real: Array = (np.float32(tensor.quant.scale) * steps).astype(np.float32)
    return real
