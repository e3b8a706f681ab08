"""Functions of one quantised number as tables: what lies between a dequantize and a quantize, element by element.

A quantised file computes activations that it has no integers for in real numbers::

    int8 -> dequantize -> add 3 -> clip -> mul 1/6 -> quantize -> int8          int8 -> lookup -> int8
              |________________________________^

The result is a function of 8 bits, however many nodes compute it: 256 of them are computed here, as the file says.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from aboard import ops
from aboard.errors import VerifyError
from aboard.ir import Array, DType, Graph, Node, Tensor, TensorType
from aboard.ir.rewriting import merged_sources
from aboard.ops.lookup import LookupAttributes

_Value: TypeAlias = tuple[Tensor, Array]


def as_table(graph: Graph, quantize: Node) -> tuple[Node, list[Node]] | None:
    """Returns a lookup that computes the result of a quantize, and the nodes that nothing needs then.

    Args:
        graph: The graph, which stays.
        quantize: A node from float32 to int8.

    Returns:
        None if the result depends on more than one int8 element, or if other nodes read what is computed between.
    """
    found = _between(graph, quantize)
    if found is None or quantize.output.dtype is not DType.INT8:
        return None
    stored, nodes = found
    table = _results(stored, [*nodes, quantize])
    if table is None:
        return None
    attrs = LookupAttributes(tuple(int(value) for value in table))
    sources = merged_sources(*nodes, quantize)
    return Node("lookup", quantize.name, [stored], quantize.outputs, attrs, sources), nodes


def _between(graph: Graph, quantize: Node) -> tuple[Tensor, list[Node]] | None:
    """Returns the one int8 tensor that a quantize depends on, and the nodes between them in execution order."""
    stored: Tensor | None = None
    found = dict[int, Node]()
    pending = [quantize.input(0)]
    while pending:
        tensor = pending.pop()
        producer = graph.producer(tensor)
        if tensor.is_constant and tensor.type.elements == 1:
            continue
        if producer is None or tensor.shape != quantize.output.shape or id(producer) in found:
            if producer is None or id(producer) not in found:
                return None
            continue
        if producer.op == "dequantize":
            operand = producer.input(0)
            if stored not in (None, operand) or operand.is_constant or operand.dtype is not DType.INT8:
                return None
            stored = operand
            continue
        if not ops.get(producer.op).elementwise or len(producer.outputs) != 1 or graph.is_result(tensor):
            return None
        found[id(producer)] = producer
        pending += producer.operands
    inside = {*found, id(quantize)}
    alone = all(id(reader) in inside for node in found.values() for reader in graph.consumers(node.output))
    nodes = [node for node in graph.nodes if id(node) in found]
    return (stored, nodes) if stored is not None and nodes and alone else None


def _results(stored: Tensor, nodes: list[Node]) -> Array | None:
    """Returns what nodes compute from each int8 number; None if an operator computes none of these types."""
    every = Tensor("every", TensorType((256,), DType.INT8, stored.type.quant))
    quant = stored.quant
    steps = np.arange(-128, 128) - quant.zero_point
    if quant.per_channel:
        return None
    real = (steps.astype(np.float32) * np.float32(quant.scale)).astype(np.float32)
    first = Tensor("real", TensorType(every.shape, DType.FLOAT32))
    values = dict[int, _Value]()
    result: Array = real
    for node in nodes:
        operands = [_operand(tensor, values, (first, real)) for tensor in node.operands]
        made = Tensor("result", TensorType((256,), node.output.dtype, node.output.type.quant))
        probe = Node(node.op, node.name, [tensor for tensor, _ in operands], [made], node.attrs)
        try:
            ops.get(node.op).verify(probe)
        except VerifyError:
            return None
        with np.errstate(all="ignore"):
            result = ops.get(node.op).evaluate(probe, [value for _, value in operands])[0]
        values[id(node.output)] = made, result
    return result


def _operand(
    tensor: Tensor, values: dict[int, tuple[Tensor, Array]], first: tuple[Tensor, Array]
) -> tuple[Tensor, Array]:
    """Returns an operand of 256 elements, or of the one element of a constant, and its values."""
    if tensor.data is None:
        return values.get(id(tensor), first)
    data = np.asarray(tensor.data).reshape(())
    return Tensor(tensor.name, TensorType((), tensor.dtype, tensor.type.quant), data), data
