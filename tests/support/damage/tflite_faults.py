"""Edits of TFLite files: scales, zero points and transpositions.

An int8 file states scale and zero point of an activation once, for the operator that writes it and those that read it.
Another number in the file therefore changes both sides alike and shows only where values saturate. The layer at fault
is then the operator that writes the tensor. The result of RESHAPE is different: its stored integers stay, so another
number changes every value; the RESHAPE is at fault. Results of pools stay as they are, as importers refuse a pool that
changes the scale.

A layer that computes with another zero point than the file states is edited in its bias, where the terms of the zero
points end up: for the input minus the sum of the channel's weights for each step, for the output the output's scale.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from support.damage.records import SCALE, TRANSPOSITION, ZERO_POINT, Edit, factor, steps
from support.damage.tflite_file import TFLiteFile
from support.damage.weights import of_channels, scaled, transposed

#: Operators with weights as their second operand, and the axis of output channels.
WEIGHTED = {"CONV_2D": 0, "DEPTHWISE_CONV_2D": 3, "FULLY_CONNECTED": 0}

_REQUANTISING = {*WEIGHTED, "ADD", "SUB", "MUL", "MEAN", "SOFTMAX", "LOGISTIC", "TANH"}
_WITH_FREE_OUTPUT = _REQUANTISING - {"SOFTMAX", "LOGISTIC", "TANH"}
_COPYING = {"RESHAPE"}

Made = tuple[str, str, bytes] | None
Apply = Callable[[TFLiteFile, int, np.random.Generator], tuple[str, str] | None]


def edits(file: TFLiteFile, cause: str) -> Iterator[Edit]:
    """Yields the edits of one of these causes."""
    for layer in range(len(file.graph.operators)):
        for apply in _applicable(file, layer, cause):
            yield Edit(layer, partial(made, file, layer, apply))


def made(file: TFLiteFile, layer: int, apply: Apply, rng: np.random.Generator) -> Made:
    """Returns form, description and file of an edit of a copy."""
    edited = copy.deepcopy(file)
    found = apply(edited, layer, rng)
    return None if found is None else (*found, edited.written())


def _applicable(file: TFLiteFile, layer: int, cause: str) -> Iterator[Apply]:
    kind = file.kind(layer)
    weighted = kind in WEIGHTED and file.array(file.operands(layer)[1]) is not None
    weighted = weighted and len(file.readers(file.operands(layer)[1])) == 1
    integer = file.type(file.output(layer)) is np.int8
    if weighted and cause == TRANSPOSITION:
        yield _transposition
    if weighted and cause == SCALE:
        yield _weight_scale if integer else _weights
    if weighted and integer and cause == ZERO_POINT and _owned_bias(file, layer):
        yield partial(_zero_point_in_bias, of_input=True)
        yield partial(_zero_point_in_bias, of_input=False)
    if cause in (SCALE, ZERO_POINT) and integer and _output_is_free(file, layer, kind):
        yield partial(_output, cause=cause, copying=kind in _COPYING)


def _owned_bias(file: TFLiteFile, layer: int) -> bool:
    operands = file.operands(layer)
    return len(operands) > 2 and file.array(operands[2]) is not None and len(file.readers(operands[2])) == 1


def _output_is_free(file: TFLiteFile, layer: int, kind: str) -> bool:
    """Returns whether the output's numbers may differ from those of other tensors by the rules of TFLite."""
    output = file.output(layer)
    readers = [file.kind(reader) for reader in file.readers(output)]
    inner = bool(readers) and output not in list(file.graph.outputs) and set(readers) <= _REQUANTISING
    return inner and kind in _WITH_FREE_OUTPUT | _COPYING


def _transposition(file: TFLiteFile, layer: int, rng: np.random.Generator) -> tuple[str, str] | None:
    weights = file.operands(layer)[1]
    found = transposed(file.array(weights), rng)
    if found is None:
        return None
    order, values = found
    file.store(weights, values)
    return "weights in another order", f"weights {file.name(weights)} stored with axes in the order {list(order)}"


def _weights(file: TFLiteFile, layer: int, rng: np.random.Generator) -> tuple[str, str]:
    weights, by = file.operands(layer)[1], factor(rng)
    channel, values = scaled(file.array(weights), WEIGHTED[file.kind(layer)], rng, by)
    file.store(weights, values)
    return f"weights {of_channels(channel)}", f"{_which(file, weights, channel)} times {by:.3f}"


def _weight_scale(file: TFLiteFile, layer: int, rng: np.random.Generator) -> tuple[str, str]:
    """Changes scales of weights, and those of the bias, which are products with the input's scale."""
    operands, by = file.operands(layer), factor(rng)
    scales = file.scales(operands[1])
    channel, values = scaled(scales, 0 if len(scales) > 1 else None, rng, by)
    file.graph.tensors[operands[1]].quantization.scale = values
    bias = file.scales(operands[2]) if _owned_bias(file, layer) else None
    if bias is not None:
        file.graph.tensors[operands[2]].quantization.scale = (bias * (values / scales)).astype(np.float32)
    return f"weight scale {of_channels(channel)}", f"scale of {_which(file, operands[1], channel)} times {by:.3f}"


def _which(file: TFLiteFile, weights: int, channel: int | None) -> str:
    return f"weights {file.name(weights)}{'' if channel is None else f', channel {channel},'}"


def _zero_point_in_bias(
    file: TFLiteFile, layer: int, rng: np.random.Generator, of_input: bool
) -> tuple[str, str] | None:
    operands, by, axis = file.operands(layer), steps(rng), WEIGHTED[file.kind(layer)]
    weights, bias = file.array(operands[1]), file.array(operands[2])
    others = tuple(number for number in range(weights.ndim) if number != axis)
    if of_input:
        change = -by * weights.astype(np.int64).sum(others)
    else:
        ratio = file.scales(file.output(layer))[0] / (file.scales(operands[0])[0] * file.scales(operands[1]))
        change = np.rint(by * np.broadcast_to(ratio, bias.shape)).astype(np.int64)
    values = bias.astype(np.int64) + change
    if np.abs(values).max() >= 1 << 30:
        return None
    file.store(operands[2], values)
    side = "input" if of_input else "output"
    description = f"bias {file.name(operands[2])} as with a zero point of {side} off by {by}"
    return f"{side} zero point of the layer", description


def _output(
    file: TFLiteFile, layer: int, rng: np.random.Generator, cause: str, copying: bool
) -> tuple[str, str] | None:
    output = file.output(layer)
    numbers = file.graph.tensors[output].quantization
    form = f"{cause} of a {'copied' if copying else 'computed'} tensor"
    if cause == SCALE:
        by = factor(rng)
        numbers.scale = file.scales(output) * np.float32(by)
        return form, f"scale of {file.name(output)} times {by:.3f}"
    off = steps(rng)
    point = file.zero_point(output) + off
    if not -128 <= point <= 127:
        return None
    numbers.zeroPoint = np.array([point], np.int64)
    return form, f"zero point of {file.name(output)} off by {off}"
