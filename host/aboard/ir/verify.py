"""The rules of a graph that do not depend on its ops. They are checked after import and after every pass.

`aboard.ops.verify` checks the ops' own rules and calls this module first; the IR depends on no op.
"""

from __future__ import annotations

import re
from collections import Counter

from aboard.errors import VerifyError
from aboard.ir.graph import Attributes, Graph, Node, State, Tensor

_NAME = re.compile(r"[a-z][a-z0-9_]*")


def verify_structure(graph: Graph, least_inputs: int = 1) -> None:
    """Checks names, constants, order, outputs and states of a graph.

    Args:
        graph: The graph.
        least_inputs: How many inputs it must have.

    Raises:
        VerifyError: A rule is broken; the message names the node or tensor.
    """
    if not _NAME.fullmatch(graph.name):
        raise VerifyError(f"graph: name, got {graph.name!r}, expected a C identifier in lower case")
    _check_unique("node", [node.name for node in graph.nodes])
    _check_unique("tensor", [tensor.name for tensor in graph.tensors()])
    for tensor in graph.tensors():
        _check_tensor(tensor)
    _check_order(graph)
    _check_interface(graph, least_inputs)
    _check_states(graph)


def _check_unique(what: str, names: list[str]) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            raise VerifyError(f"{what} {name}: name is used {count} times, expected unique names")


def _check_tensor(tensor: Tensor) -> None:
    if any(size < 1 for size in tensor.shape):
        raise VerifyError(f"tensor {tensor.name}: shape, got {tensor.shape}, expected dimensions of at least 1")
    quant = tensor.type.quant
    if quant is not None:
        _check_quantization(tensor)
    if tensor.data is None:
        return
    if tensor.data.shape != tensor.shape or tensor.data.dtype != tensor.dtype.numpy:
        raise VerifyError(
            f"tensor {tensor.name}: constant, got {tensor.data.dtype}{list(tensor.data.shape)}, expected {tensor.type}"
        )


def _check_quantization(tensor: Tensor) -> None:
    quant = tensor.quant
    if tensor.dtype.is_float:
        raise VerifyError(
            f"tensor {tensor.name}: got a quantisation for {tensor.dtype.value}, expected an integer type"
        )
    if len(quant.scales) != len(quant.zero_points) or not quant.scales:
        raise VerifyError(
            f"tensor {tensor.name}: got {len(quant.scales)} scales and {len(quant.zero_points)} zero points, "
            "expected as many of both, at least 1"
        )
    if not quant.per_channel:
        return
    axis = quant.axis
    if axis is None or not 0 <= axis < len(tensor.shape) or tensor.shape[axis] != len(quant.scales):
        raise VerifyError(
            f"tensor {tensor.name}: got {len(quant.scales)} scales for axis {axis} of {tensor.shape}, expected one for "
            "each index of the axis"
        )


def _check_order(graph: Graph) -> None:
    """Checks that every tensor gets its value once, and before it is read."""
    known = {id(tensor) for tensor in graph.entries}
    for node in graph.nodes:
        if not isinstance(node.attrs, Attributes):
            raise VerifyError(
                f"{node.op} {node.name}: attributes, got {type(node.attrs).__name__}, expected Attributes"
            )
        for tensor in node.operands:
            if not tensor.is_constant and id(tensor) not in known:
                raise VerifyError(f"{node.op} {node.name}: operand {tensor.name} is read before it has a value")
        if not node.outputs:
            raise VerifyError(f"{node.op} {node.name}: has no results, expected at least 1")
        for tensor in node.outputs:
            _check_result(node, tensor, known)
            known.add(id(tensor))


def _check_result(node: Node, tensor: Tensor, known: set[int]) -> None:
    if tensor.is_constant:
        raise VerifyError(f"{node.op} {node.name}: result {tensor.name} is a constant")
    if id(tensor) in known:
        raise VerifyError(f"{node.op} {node.name}: result {tensor.name} has a value already")


def _check_interface(graph: Graph, least_inputs: int) -> None:
    """Checks that no node writes an input and that a node computes each output."""
    for what, tensors, least in (("inputs", graph.inputs, least_inputs), ("outputs", graph.outputs, 1)):
        if len(tensors) < least:
            raise VerifyError(f"graph {graph.name}: got no {what}, expected at least 1")
        if len({id(tensor) for tensor in tensors}) != len(tensors):
            raise VerifyError(f"graph {graph.name}: {what} name a tensor twice, expected each once")
    for tensor in graph.inputs:
        if tensor.is_constant:
            raise VerifyError(f"graph {graph.name}: input {tensor.name} is a constant")
    made = {id(tensor) for node in graph.nodes for tensor in node.outputs}
    for tensor in graph.outputs:
        if id(tensor) not in made:
            raise VerifyError(f"graph {graph.name}: output {tensor.name} is computed by no node")


def _check_states(graph: Graph) -> None:
    """Checks that each state has a tensor of its own to read, that a node computes its next value, and the types."""
    _check_unique("state", [state.name for state in graph.states])
    entries = [id(tensor) for tensor in graph.entries]
    made = {id(tensor) for node in graph.nodes for tensor in node.outputs}
    for state in graph.states:
        if entries.count(id(state.read)) > 1 or state.read.is_constant:
            raise VerifyError(f"state {state.name}: reads {state.read.name}, expected a tensor that nothing else sets")
        if state.changes and id(state.write) not in made:
            raise VerifyError(f"state {state.name}: next value {state.write.name} is computed by no node")
        _check_state_type(state)


def _check_state_type(state: State) -> None:
    wanted = (state.read.shape, state.read.dtype)
    if (state.write.shape, state.write.dtype) != wanted:
        raise VerifyError(f"state {state.name}: next value, got {state.write.type}, expected {state.read.type}")
    if (state.initial.shape, state.initial.dtype) != (state.read.shape, state.read.dtype.numpy):
        got = f"{state.initial.dtype}{list(state.initial.shape)}"
        raise VerifyError(f"state {state.name}: initial value, got {got}, expected {state.read.type}")
