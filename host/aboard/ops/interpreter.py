"""Runs a graph in numpy, node by node: the meaning of a model, against which passes and kernels are checked.

A graph with states is run step by step::

    states = initial_states(graph)
    for inputs in steps:
        values = run_all(graph, inputs, states)
        states = next_states(graph, values)
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from aboard.errors import InputError, did_you_mean
from aboard.ir import Array, Graph, Node, Tensor
from aboard.ops.registry import get


def run(graph: Graph, inputs: Mapping[str, Array], states: Mapping[str, Array] | None = None) -> dict[str, Array]:
    """Returns the values of the outputs by tensor name.

    Args:
        graph: The model.
        inputs: Value of each input by tensor name, with its exact shape and type.
        states: Value of each state by its name; None for the initial ones.

    Raises:
        InputError: An input is missing, unknown, or has another shape or type.
    """
    values = run_all(graph, inputs, states)
    return {tensor.name: values[tensor.name] for tensor in graph.outputs}


def run_all(graph: Graph, inputs: Mapping[str, Array], states: Mapping[str, Array] | None = None) -> dict[str, Array]:
    """Returns the value of every tensor that is an entry or computed, by name; arguments and errors as for `run`."""
    values = check_inputs(graph, inputs)
    known = initial_states(graph) if states is None else states
    values |= {state.read.name: known[state.name] for state in graph.states}
    for node in graph.nodes:
        operands = [None if tensor is None else _value(tensor, values) for tensor in node.inputs]
        values.update(zip((tensor.name for tensor in node.outputs), evaluate(node, operands), strict=True))
    return values


def initial_states(graph: Graph) -> dict[str, Array]:
    """Returns the value of each state after a reset, by its name."""
    return {state.name: state.initial for state in graph.states}


def next_states(graph: Graph, values: Mapping[str, Array]) -> dict[str, Array]:
    """Returns the value of each state after a run, by its name.

    Args:
        graph: The model.
        values: Values of its tensors, as `run_all` returned them.
    """
    return {state.name: values[state.write.name] for state in graph.states}


def check_inputs(graph: Graph, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """Returns the value of each input, in the graph's order; arguments and errors as for `run`."""
    known = [tensor.name for tensor in graph.inputs]
    for name in inputs:
        if name not in known:
            raise InputError(f"input {name}: unknown. {did_you_mean(name, known)}")
    return {tensor.name: _checked(tensor, inputs) for tensor in graph.inputs}


def evaluate(node: Node, operands: list[Array | None]) -> list[Array]:
    """Returns the results of one node, each with the shape and dtype of its type.

    Args:
        node: The node.
        operands: Values of its operands, None for an absent one.

    Raises:
        ValueError: The op's `evaluate` returned another shape or dtype; this is a bug of aboard.
    """
    results = [np.asarray(value) for value in get(node.op).evaluate(node, operands)]
    for tensor, value in zip(node.outputs, results, strict=True):
        if value.shape != tensor.shape or value.dtype != tensor.dtype.numpy:
            raise ValueError(
                f"{node.op} {node.name}: evaluate gave {value.dtype}{list(value.shape)}, expected {tensor.type}"
            )
    return results


def _value(tensor: Tensor, values: Mapping[str, Array]) -> Array:
    return values[tensor.name] if tensor.data is None else tensor.data


def _checked(tensor: Tensor, inputs: Mapping[str, Array]) -> Array:
    if tensor.name not in inputs:
        raise InputError(f"input {tensor.name}: not given, expected {tensor.type}. Pass a value for every input")
    value = np.asarray(inputs[tensor.name])
    if value.shape != tensor.shape or value.dtype != tensor.dtype.numpy:
        raise InputError(
            f"input {tensor.name}: got {value.dtype}[{'x'.join(map(str, value.shape))}], expected {tensor.type}. "
            "Reshape or convert it"
        )
    return value
