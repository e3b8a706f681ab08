"""Replacement of the constants of single nodes."""

from __future__ import annotations

import dataclasses
from itertools import count

import numpy as np

from aboard.ir import Array, DType, Graph, Node, Quantization, Tensor, TensorType


def replace_constant(graph: Graph, node: Node, index: int, values: Array, kept: Array | None = None) -> None:
    """Gives a constant operand of a node other values; other nodes that read the constant keep the old values.

    Args:
        graph: The graph.
        node: The node.
        index: Index of the operand; an absent one becomes an int32 bias.
        values: New values; cast to the operand's type.
        kept: The indices that stay on the axis of the scales; None for all.
    """
    old = node.optional_input(index)
    if old is None:
        node.inputs += [None] * (index + 1 - len(node.inputs))
        old = Tensor(_free_name(graph, f"{node.name}_bias"), TensorType(values.shape, DType.INT32))
    uses = sum(tensor is old for other in graph.nodes for tensor in other.inputs)
    quant = old.type.quant
    if quant is not None and quant.per_channel and kept is not None:
        quant = _kept_scales(quant, kept)
    node.inputs[index] = Tensor(
        old.name if uses <= 1 else _free_name(graph, old.name),
        dataclasses.replace(old.type, shape=values.shape, quant=quant),
        np.array(values, old.dtype.numpy, order="C"),
        old.source,
    )


def _kept_scales(quant: Quantization, kept: Array) -> Quantization:
    scales, zero_points = (tuple(np.array(of)[kept].tolist()) for of in (quant.scales, quant.zero_points))
    return dataclasses.replace(quant, scales=scales, zero_points=zero_points)


def _free_name(graph: Graph, wanted: str) -> str:
    taken = {tensor.name for tensor in graph.tensors()}
    return next(name for n in count() if (name := f"{wanted}_{n}" if n else wanted) not in taken)
