"""Weights of layers as integers: one row for each output channel, its scale, and its rounding to the nearest."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from aboard import ops
from aboard.ir import DType, Graph, Node
from aboard.ops.weighted import BIAS, WEIGHTS
from aboard.quantization.plan import WEIGHT_LIMIT, WEIGHTED, Float64, Weights

#: Parts of the largest weight among which the scale with the least squared error is searched.
_PARTS = np.linspace(0.7, 1.0, 25)

#: Layers whose weights have one scale: that of each channel costs flash, and few of these gain from it.
_ONE_SCALE = ("fully_connected",)


def axis_of(node: Node) -> int:
    """Returns the axis of the output channels in the weights of a layer."""
    return ops.get(node.op).weights_axis or 0


def rows_of(node: Node) -> Float64:
    """Returns the weights of a layer, one row for each output channel."""
    values = np.moveaxis(np.asarray(node.input(WEIGHTS).data, np.float64), axis_of(node), 0)
    return values.reshape(len(values), -1)


def layers(graph: Graph) -> list[Node]:
    """Returns the layers of real numbers with constant weights."""
    return [
        node
        for node in graph.nodes
        if node.op in WEIGHTED and node.output.dtype is DType.FLOAT32 and node.input(WEIGHTS).is_constant
    ]


def nearest(node: Node, operand_scale: float, per_channel: bool | None = None) -> Weights:
    """Returns the weights of a layer, each rounded to the nearest integer.

    Args:
        node: The layer.
        operand_scale: Scale of its operand. Biases count steps of operand and weights, and must fit 31 bits.
        per_channel: A scale for each output channel; None for the usual form of the layer.
    """
    rows = rows_of(node)
    alone = node.op in _ONE_SCALE if per_channel is None else not per_channel
    scales = _scales(rows.reshape(1, -1) if alone else rows)
    bias = node.optional_input(BIAS)
    if bias is not None and bias.data is not None:
        least = np.abs(np.asarray(bias.data, np.float64).reshape(-1)) / (operand_scale * 2.0**30)
        scales = np.maximum(scales, least.max() if alone else least)
    scales = np.float64(np.float32(scales))
    return of_rows(node, rounded(rows, scales), scales)


def rounded(rows: Float64, scales: Float64) -> Float64:
    """Returns rows of weights as whole numbers, to the nearest."""
    steps: Float64 = np.clip(np.rint(rows / scales[:, None]), -WEIGHT_LIMIT, WEIGHT_LIMIT)
    return steps


def of_rows(node: Node, integers: Float64, scales: Float64) -> Weights:
    """Returns rows of whole numbers as the weights of a layer."""
    axis, shape = axis_of(node), node.input(WEIGHTS).shape
    moved = integers.reshape(shape[axis], *(extent for place, extent in enumerate(shape) if place != axis))
    stored: npt.NDArray[np.int8] = np.ascontiguousarray(np.moveaxis(moved, 0, axis).astype(np.int8))
    return Weights(stored, scales, axis)


def _scales(rows: Float64) -> Float64:
    largest = np.abs(rows).max(axis=1)
    largest[largest < 1e-30] = 1.0
    best, least = largest.copy(), np.full(len(rows), np.inf)
    for part in _PARTS:
        scales = largest * part / WEIGHT_LIMIT
        error = np.sum((rounded(rows, scales) * scales[:, None] - rows) ** 2, axis=1)
        better = error < least
        best[better], least[better] = largest[better] * part, error[better]
    found: Float64 = best / WEIGHT_LIMIT
    return found
