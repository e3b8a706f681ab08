"""Runs a graph of real numbers as if it were quantised: tensors and weights take the values that integers can have.

The figures are those of the integers but for the rounding of their kernels; they cost no integer graph, and a change of
one tensor costs the nodes behind it only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from aboard.ir import Array, DType, Graph, Node, Tensor
from aboard.ops.interpreter import evaluate
from aboard.ops.weighted import BIAS, WEIGHTS
from aboard.quantization.plan import Plan, quantised_values
from aboard.quantization.samples import Inputs

#: Operators behind which figures are no longer taken: they flatten what is large, and keep the order of scores.
_FLATTENING = ("softmax", "logistic", "log_softmax")

_MOVES = ("reshape", "transpose")

#: Power that is added to errors and values, and a ratio that is none: far below what float32 tells apart.
_TINY, _NOTHING = 1e-20, 1e-15


def measured(graph: Graph) -> list[Tensor]:
    """Returns the tensors at which a model's error is measured: its outputs, or the scores before a last softmax."""
    found = []
    for output in graph.outputs:
        tensor, node = output, graph.producer(output)
        while node is not None and node.op in (*_MOVES, *_FLATTENING):
            tensor = node.input(0)
            if node.op in _FLATTENING:
                break
            node = graph.producer(tensor)
        flattened = node is not None and node.op in _FLATTENING
        found.append(tensor if flattened else output)
    return [tensor for tensor in found if tensor.dtype is DType.FLOAT32]


def behind_scores(graph: Graph) -> list[str]:
    """Returns the names of the nodes behind which no errors are measured: a last softmax, and what moves its result."""
    scores = [tensor for tensor in measured(graph) if not graph.is_output(tensor)]
    names, pending = list[str](), scores
    while pending:
        readers = graph.consumers(pending.pop())
        names += [node.name for node in readers if node.name not in names]
        pending += [tensor for node in readers for tensor in node.outputs]
    return names


class Simulation:
    """A plan on samples, with the value of every tensor of each sample."""

    def __init__(
        self, graph: Graph, plan: Plan, inputs: Sequence[Inputs], exact: Sequence[Mapping[str, Array]]
    ) -> None:
        """Runs the plan.

        Args:
            graph: The prepared graph.
            plan: The plan.
            inputs: The samples.
            exact: The values of all tensors without quantisation, for each sample.
        """
        self._graph, self._plan, self._exact = graph, plan, exact
        self._measured = [tensor.name for tensor in measured(graph)]
        self._readers: dict[str, list[int]] = {}
        for number, node in enumerate(graph.nodes):
            for tensor in node.operands:
                self._readers.setdefault(tensor.name, []).append(number)
        self._values: list[dict[str, Array]] = [started(graph, values) for values in inputs]
        for values in self._values:
            self._run(values, range(len(graph.nodes)), plan)

    def error(self) -> float:
        """Returns the error of the plan at the measured tensors (`mean_error`), summed up."""
        return self._error(self._values)

    def error_with(self, plan: Plan, groups: Iterable[str] = (), nodes: Iterable[str] = ()) -> float:
        """Returns the error of another plan, which differs in the ranges of groups and the types of nodes only."""
        return self._error(self._changed(plan, groups, nodes))

    def take(self, plan: Plan, groups: Iterable[str] = (), nodes: Iterable[str] = ()) -> None:
        """Makes another plan the one that is simulated; arguments as for `error_with`."""
        self._values = self._changed(plan, groups, nodes)
        self._plan = plan

    def _changed(self, plan: Plan, groups: Iterable[str], nodes: Iterable[str]) -> list[dict[str, Array]]:
        numbers = self._behind(groups, set(nodes))
        found = []
        for values in self._values:
            new = dict(values)
            self._run(new, numbers, plan)
            found.append(new)
        return found

    def _behind(self, groups: Iterable[str], nodes: set[str]) -> list[int]:
        """Returns the numbers of the nodes that a change of groups and nodes changes, in order."""
        reached = {number for number, node in enumerate(self._graph.nodes) if node.name in nodes}
        for group in groups:
            for tensor in self._plan.groups.members[group]:
                producer = self._graph.producer(tensor)
                reached |= set(self._readers.get(tensor.name, []))
                if producer is not None:
                    reached.add(self._graph.nodes.index(producer))
        pending = [tensor.name for number in reached for tensor in self._graph.nodes[number].outputs]
        while pending:
            for number in self._readers.get(pending.pop(), []):
                if number not in reached:
                    reached.add(number)
                    pending += [tensor.name for tensor in self._graph.nodes[number].outputs]
        return sorted(reached)

    def _run(self, values: dict[str, Array], numbers: Iterable[int], plan: Plan) -> None:
        for number in numbers:
            run_node(self._graph.nodes[number], values, plan)

    def _error(self, found: Sequence[Mapping[str, Array]]) -> float:
        return sum(mean_error(found, self._exact, name) for name in self._measured)


def started(graph: Graph, inputs: Inputs) -> dict[str, Array]:
    """Returns the values that there are before the first node of a run: inputs, and states as after a reset."""
    return {**inputs, **{state.read.name: state.initial for state in graph.states}}


def mean_error(found: Sequence[Mapping[str, Array]], exact: Sequence[Mapping[str, Array]], name: str) -> float:
    """Returns the power of a tensor's error over that of its values, a mean over samples.

    It is the geometric mean of two: of the ratios of all samples, so that a few samples with large errors do not
    outweigh all others; and of the sums over all samples, so that these few are not forgotten.

    Args:
        found: The values of each sample.
        exact: The values without quantisation.
        name: The tensor.
    """
    errors, powers = [], []
    for values, right in zip(found, exact, strict=True):
        real = right[name].astype(np.float64)
        errors.append(float(np.sum((values[name].astype(np.float64) - real) ** 2)) + _TINY)
        powers.append(float(np.sum(real**2)) + _TINY)
    of_each = float(np.mean(np.log(np.array(errors) / np.array(powers))))
    mean = float(np.exp((of_each + np.log(sum(errors) / sum(powers))) / 2))
    return 0.0 if mean <= _NOTHING else mean


def rounded(value: Array, plan: Plan, tensor: Tensor, dtype: DType) -> Array:
    """Returns real numbers as a tensor's integers say them, float32."""
    quant = plan.quantization(tensor, dtype)
    steps = quantised_values(value.astype(np.float32), quant, dtype) - quant.zero_point
    return (steps * quant.scale).astype(np.float32)


def run_node(node: Node, values: dict[str, Array], plan: Plan) -> None:
    """Computes a node as a plan has it, from the values of its operands by name, and adds the values of its results."""
    dtype = plan.dtype(node)
    results = evaluate(node, operands(node, values, plan))
    for tensor, value in zip(node.outputs, results, strict=True):
        real = tensor.dtype is DType.FLOAT32 and dtype is not DType.FLOAT32
        values[tensor.name] = rounded(value, plan, tensor, dtype) if real else value


def operands(node: Node, values: Mapping[str, Array], plan: Plan) -> list[Array | None]:
    """Returns the operands of a node as a plan has them: weights and biases of the plan, values that integers have."""
    found = [None if tensor is None else _operand(node, tensor, values, plan) for tensor in node.inputs]
    if node.name in plan.weights and plan.dtype(node) is not DType.FLOAT32:
        found[WEIGHTS] = plan.weights[node.name].real
        if node.name in plan.biases:
            found = [*found[:BIAS], plan.biases[node.name]]
    return found


def _operand(node: Node, tensor: Tensor, values: Mapping[str, Array], plan: Plan) -> Array:
    if tensor.data is not None:
        return tensor.data
    dtype = plan.dtype(node)
    value = values[tensor.name]
    real = tensor.dtype is DType.FLOAT32 and dtype is not DType.FLOAT32
    return rounded(value, plan, tensor, dtype) if real else value
