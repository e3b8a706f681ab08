"""Bisection of the passes: the first one after which the graph no longer computes the results of the reference.

The graph is evaluated on the host, in numpy, before the first pass and after each one. `Bisection.first_wrong` is the
first pass with wrong results, `import` if the importer or an op's evaluation is wrong, or None if the fault is after
the passes: in kernels, schedule or build.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from aboard.base import extensions
from aboard.check.reference import Reference
from aboard.check.verify import differs
from aboard.device.input_files import Named
from aboard.importers import load
from aboard.ir import Array, Graph, Tensor
from aboard.ir.printer import dump
from aboard.ops.axes import inverse
from aboard.ops.interpreter import initial_states, next_states, run_all
from aboard.partition import pipeline as pipelines
from aboard.target import Target


@dataclass(frozen=True)
class StepCheck:
    """The evaluation of the graph after one step.

    Attributes:
        step: Name of the step; `import` for the graph before any pass.
        changed: True if the step changed the graph.
        differing: Elements of all outputs that differ from the reference.
    """

    step: str
    changed: bool
    differing: int


@dataclass(frozen=True)
class Bisection:
    """The steps of a pipeline up to the first one after which results differ.

    Attributes:
        passes: The pipeline as text.
        checks: The steps, evaluated.
        first_wrong: Name of the first step after which results differ; None if they never differ.
        tensor: The first tensor, in execution order, whose value this step changed; None if there is none.
    """

    passes: str
    checks: tuple[StepCheck, ...]
    first_wrong: str | None
    tensor: str | None


@extensions.blamed()
def bisect(
    model: str | Path | bytes, target: Target, reference: Reference, inputs: Sequence[Named], passes: str | None = None
) -> Bisection:
    """Looks for the first pass after which the results of a model differ from the reference.

    Floats may differ by the tolerance of `aboard.check.verify.differs`.

    Args:
        model: A TFLite file: its path, or its bytes.
        target: The target whose pipeline runs.
        reference: The reference for the same model.
        inputs: Inputs by tensor name. A model with state runs them in sequence, from its initial state on.
        passes: The pipeline as text; None for the target's default.

    Raises:
        AboardError: The model cannot be read, or the pipeline fails.
    """
    pipeline = pipelines.pipeline_of(target, passes)
    reference.reset()
    search = _Search(reference, inputs, [reference.run(feed) for feed in inputs])
    pipelines.run(load(model), target, search.visit, passes=pipeline)
    found = search.first_wrong
    return Bisection(str(pipeline), tuple(search.checks), None if found is None else found.step, search.tensor)


@dataclass(frozen=True)
class _Evaluated:
    """A graph and, for each input, the value of each of its tensors by name."""

    text: str
    values: Sequence[Mapping[str, Array]]
    kept: Mapping[str, tuple[int, ...]]


@dataclass
class _Search:
    """Evaluates the graph between passes until its outputs differ from the expected outputs."""

    reference: Reference
    inputs: Sequence[Named]
    expected: Sequence[Named]
    checks: list[StepCheck] = field(default_factory=list)
    tensor: str | None = None
    _last: _Evaluated | None = None

    @property
    def first_wrong(self) -> StepCheck | None:
        return next((check for check in self.checks if check.differing), None)

    def visit(self, graph: Graph, done: str, _following: str | None) -> None:
        """Evaluates the graph after a step; see `aboard.partition.pipeline.OnStep`."""
        if self.first_wrong is not None:
            return
        text = dump(graph)
        if self._last is not None and self._last.text == text:
            self.checks.append(StepCheck(done, changed=False, differing=0))
            return
        values = _evaluated(graph, [self.reference.inputs_of(graph, feed) for feed in self.inputs])
        counts = [self._differing(graph, got, wanted) for got, wanted in zip(values, self.expected, strict=True)]
        self.checks.append(StepCheck(done, changed=self._last is not None, differing=sum(counts)))
        values = [_in_order_of_file(graph, each) for each in values]
        if any(counts) and self._last is not None:
            self.tensor = _first_changed(graph, values, self._last)
        kept = {tensor.name: tensor.channel_map.kept for tensor in graph.tensors() if tensor.channel_map is not None}
        self._last = _Evaluated(text, values, kept)

    def _differing(self, graph: Graph, values: Mapping[str, Array], expected: Named) -> int:
        got = self.reference.outputs_of(graph, values)
        allowed = {name: self.reference.allowed(wanted, name) for name, wanted in expected.items()}
        return sum(int(differs(got[name], wanted, allowed[name]).sum()) for name, wanted in expected.items())


def _evaluated(graph: Graph, inputs: Sequence[Mapping[str, Array]]) -> list[Mapping[str, Array]]:
    """Returns the value of each tensor for each of some inputs that are run in sequence."""
    states, found = initial_states(graph), list[Mapping[str, Array]]()
    for feed in inputs:
        found.append(run_all(graph, feed, states))
        states = next_states(graph, found[-1])
    return found


def _in_order_of_file(graph: Graph, values: Mapping[str, Array]) -> Mapping[str, Array]:
    """Returns values with the axes of each tensor in the order of the model file."""
    moved = {tensor.name: inverse(tensor.order) for tensor in graph.tensors() if tensor.order is not None}
    return {name: value.transpose(moved[name]) if name in moved else value for name, value in values.items()}


def _first_changed(graph: Graph, values: Sequence[Mapping[str, Array]], before: _Evaluated) -> str | None:
    """Returns the first computed tensor that existed before a step of the pipeline and has another value after it."""
    for got, earlier in zip(values, before.values, strict=True):
        for tensor in (tensor for node in graph.nodes for tensor in node.outputs):
            if tensor.name in earlier and _changed(tensor, got[tensor.name], earlier[tensor.name], before):
                return tensor.name
    return None


def _changed(tensor: Tensor, value: Array, earlier: Array, before: _Evaluated) -> bool:
    """Compares the remaining channels of a tensor with the same channels before the step."""
    if tensor.channel_map is not None:
        channels = list(before.kept.get(tensor.name, range(tensor.channel_map.of)))
        last = earlier.ndim - 1 if tensor.order is None else tensor.order[-1]
        earlier = earlier.take([channels.index(channel) for channel in tensor.channel_map.kept], last)
    return not np.array_equal(value, earlier)
