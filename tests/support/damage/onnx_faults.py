"""Edits of ONNX files: scales, zero points and transpositions.

A quantised file has its numbers in QuantizeLinear and DequantizeLinear. Those of weights belong to the layer that reads
the weights. Those of an activation are changed in both alike, as importers refuse a pair that disagrees: then the fault
shows only where values saturate, and the QuantizeLinear is the layer at fault.

A layer that computes with another zero point than the file states is edited in its bias, as in TFLite files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from support.damage.onnx_file import OnnxFile
from support.damage.records import SCALE, TRANSPOSITION, ZERO_POINT, Edit, factor, steps
from support.damage.weights import of_channels, scaled, transposed

_WEIGHTED = {"Conv", "ConvTranspose", "Gemm", "MatMul", "LSTM", "GRU"}

Made = tuple[str, str, bytes] | None
Apply = Callable[[OnnxFile, int, np.random.Generator], tuple[str, str] | None]


def edits(file: OnnxFile, cause: str) -> Iterator[Edit]:
    """Yields the edits of one of these causes."""
    for layer in range(len(file.nodes)):
        for apply in _applicable(file, layer, cause):
            yield Edit(layer, partial(made, file, layer, apply))


def made(file: OnnxFile, layer: int, apply: Apply, rng: np.random.Generator) -> Made:
    """Returns form, description and file of an edit of a copy."""
    edited = OnnxFile(file.written())
    found = apply(edited, layer, rng)
    return None if found is None else (*found, edited.written())


def dequantised(file: OnnxFile, name: str) -> int | None:
    """Returns the DequantizeLinear that makes a constant of integers real and that one node alone reads."""
    writer = file.writer(name)
    if writer is None or file.nodes[writer].op_type != "DequantizeLinear" or len(file.readers(name)) != 1:
        return None
    return writer if all(file.constant(each) is not None for each in file.nodes[writer].input) else None


def _applicable(file: OnnxFile, layer: int, cause: str) -> Iterator[Apply]:
    node = file.nodes[layer]
    if node.op_type in _WEIGHTED:
        weights = file.constant(node.input[1])
        source = dequantised(file, node.input[1])
        if weights is not None and weights.dtype == np.float32 and cause == SCALE:
            yield _weights
        if source is not None and cause == SCALE:
            yield _weight_scale
        known = weights is not None or source is not None
        if known and cause == TRANSPOSITION:
            yield _transposition
        if cause == ZERO_POINT and _quantised_around(file, layer):
            yield partial(_zero_point_in_bias, of_input=True)
            yield partial(_zero_point_in_bias, of_input=False)
    if node.op_type == "QuantizeLinear" and cause in (SCALE, ZERO_POINT) and len(node.input) > 2:
        yield partial(_activation, cause=cause)


def _quantised_around(file: OnnxFile, layer: int) -> bool:
    """Returns whether a layer has a zero point at its input and its output, and a bias of integers that it owns."""
    node = file.nodes[layer]
    if node.op_type not in ("Conv", "Gemm") or len(node.input) < 3 or file.writer(node.input[0]) is None:
        return False
    readers = file.readers(node.output[0])
    constants = dequantised(file, node.input[1]) is not None and dequantised(file, node.input[2]) is not None
    before = file.nodes[file.writer(node.input[0])].op_type
    return (
        constants
        and before == "DequantizeLinear"
        and [file.nodes[each].op_type for each in readers] == ["QuantizeLinear"]
    )


def _channels(file: OnnxFile, layer: int) -> int | None:
    """Returns the axis of output channels of the weights; None if the operator has several sets of weights."""
    kind, attributes = file.nodes[layer].op_type, file.attributes(layer)
    if kind == "Gemm":
        return 0 if attributes.get("transB") else 1
    return {"Conv": 0, "ConvTranspose": 1, "MatMul": 1}.get(kind)


def _weights(file: OnnxFile, layer: int, rng: np.random.Generator) -> tuple[str, str]:
    name, by = file.nodes[layer].input[1], factor(rng)
    weights = file.constant(name)
    axis = _channels(file, layer)
    channel, values = scaled(weights, axis if axis is not None and axis < weights.ndim else None, rng, by)
    file.replace(layer, 1, values)
    return f"weights {of_channels(channel)}", f"weights {name}{_which(channel)} times {by:.3f}"


def _which(channel: int | None) -> str:
    return "" if channel is None else f", channel {channel},"


def _weight_scale(file: OnnxFile, layer: int, rng: np.random.Generator) -> tuple[str, str]:
    """Changes scales of weights, and those of the bias, which are products with the input's scale."""
    node, by = file.nodes[layer], factor(rng)
    source = dequantised(file, node.input[1])
    scales = file.constant(file.nodes[source].input[1])
    channel, values = scaled(scales, 0 if scales.size > 1 else None, rng, by)
    file.replace(source, 1, values)
    bias = dequantised(file, node.input[2]) if len(node.input) > 2 else None
    if bias is not None:
        products = file.constant(file.nodes[bias].input[1])
        file.replace(bias, 1, (products * (values / scales)).astype(np.float32))
    return f"weight scale {of_channels(channel)}", f"scale of weights {node.input[1]}{_which(channel)} times {by:.3f}"


def _transposition(file: OnnxFile, layer: int, rng: np.random.Generator) -> tuple[str, str] | None:
    name = file.nodes[layer].input[1]
    source = dequantised(file, name)
    holder, place = (layer, 1) if source is None else (source, 0)
    found = transposed(file.constant(file.nodes[holder].input[place]), rng)
    if found is None:
        return None
    file.replace(holder, place, found[1])
    return "weights in another order", f"weights {name} stored with axes in the order {list(found[0])}"


def _zero_point_in_bias(file: OnnxFile, layer: int, rng: np.random.Generator, of_input: bool) -> tuple[str, str] | None:
    node, by = file.nodes[layer], steps(rng)
    bias = file.nodes[dequantised(file, node.input[2])]
    values, unit = file.constant(bias.input[0]), file.constant(bias.input[1])
    if of_input:
        weights, axis = file.real(node.input[1]), _channels(file, layer)
        sums = weights.sum(tuple(number for number in range(weights.ndim) if number != axis))
        change = -by * float(file.constant(file.nodes[file.writer(node.input[0])].input[1])) * sums
    else:
        (reader,) = file.readers(node.output[0])
        change = by * np.broadcast_to(file.constant(file.nodes[reader].input[1]), values.shape).astype(np.float64)
    edited = values.astype(np.int64) + np.rint(change / unit).astype(np.int64)
    if np.abs(edited).max() >= 1 << 30:
        return None
    file.replace(dequantised(file, node.input[2]), 0, edited.astype(np.int32))
    side = "input" if of_input else "output"
    return f"{side} zero point of the layer", f"bias {node.input[2]} as with a zero point of {side} off by {by}"


def _activation(file: OnnxFile, layer: int, rng: np.random.Generator, cause: str) -> tuple[str, str] | None:
    node, place = file.nodes[layer], 1 if cause == SCALE else 2
    values = file.constant(node.input[place])
    if values is None:
        return None
    if cause == SCALE:
        by = factor(rng)
        edited, description = values * values.dtype.type(by), f"scale of {node.output[0]} times {by:.3f}"
    else:
        off, limits = steps(rng), np.iinfo(values.dtype)
        point = values.astype(np.int64) + off
        if point.min() < limits.min or point.max() > limits.max:
            return None
        edited, description = point.astype(values.dtype), f"zero point of {node.output[0]} off by {off}"
    for each in (layer, *file.readers(node.output[0])):
        file.replace(each, place, edited)
    return f"{cause} of a computed tensor", description
