"""The operators of ONNX that compute layers: convolutions, products, pools, normalisations, recurrent layers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from aboard.exporters.onnx.writing import NoFormError, Writing
from aboard.ir import Node
from aboard.ops import recurrent
from aboard.ops.activation import Activation
from aboard.ops.recurrent import Cell, Function
from aboard.ops.weighted import BIAS, INPUT, WEIGHTS

Form = Callable[[Node, Writing], None]

#: Order of the axes of weights in ONNX: of a convolution, and of a depthwise one.
_OUTPUTS_FIRST, _CHANNELS_FIRST = (0, 3, 1, 2), (3, 0, 1, 2)

_LIMITS = {Activation.RELU_N1_TO_1: (-1.0, 1.0), Activation.RELU6: (0.0, 6.0)}


def activated(
    node: Node, writing: Writing, kind: str, inputs: list[str], *, image: bool = False, **options: Any
) -> None:
    """Adds the operator of a node, and its activation behind it."""
    activation = getattr(node.attrs, "activation", Activation.NONE)
    result = writing.result(node.output, image=image)
    if activation is Activation.NONE:
        writing.add(kind, inputs, [result], **options)
        return
    before = writing.make(kind, inputs, f"{node.output.name}/before", **options)
    if activation is Activation.RELU:
        writing.add("Relu", [before], [result])
        return
    limits = [writing.constant(limit, np.float32, "limit") for limit in _LIMITS[activation]]
    writing.add("Clip", [before, *limits], [result])


def _convolution(node: Node, writing: Writing) -> None:
    attrs: Any = node.attrs
    weights, channels = node.input(WEIGHTS), node.input(INPUT).shape[-1]
    depthwise = node.op == "depthwise_conv2d"
    _, height, width, depth = weights.shape
    inputs = [
        writing.image(node.input(INPUT)),
        writing.moved(weights, _CHANNELS_FIRST if depthwise else _OUTPUTS_FIRST),
        *_bias(node, writing),
    ]
    options = {
        "strides": attrs.strides,
        "dilations": attrs.dilations,
        "kernel_shape": (height, width),
        "pads": _pads(attrs.padding),
        "group": channels if depthwise else channels // depth,
    }
    activated(node, writing, "Conv", inputs, image=True, **options)


def _pads(padding: Any) -> tuple[int, int, int, int]:
    return padding.top, padding.left, padding.bottom, padding.right


def _bias(node: Node, writing: Writing) -> list[str]:
    bias = node.optional_input(BIAS)
    return [] if bias is None else [writing.name(bias)]


def _fully_connected(node: Node, writing: Writing) -> None:
    outputs, columns = node.input(WEIGHTS).shape
    operand, result = writing.name(node.input(INPUT)), node.output
    rows = node.input(INPUT).type.elements // columns
    if node.input(INPUT).shape != (rows, columns):
        shape = writing.integers((rows, columns), f"{result.name}/rows")
        operand = writing.make("Reshape", [operand, shape], f"{result.name}/operand")
    inputs = [operand, writing.moved(node.input(WEIGHTS), (0, 1)), *_bias(node, writing)]
    if result.shape == (rows, outputs):
        activated(node, writing, "Gemm", inputs, transB=1)
        return
    if getattr(node.attrs, "activation", Activation.NONE) is not Activation.NONE:
        raise NoFormError(f"{node.op} with an activation and {len(result.shape)} axes is not written to ONNX")
    flat = writing.make("Gemm", inputs, f"{result.name}/flat", transB=1)
    shape = writing.integers(result.shape, f"{result.name}/shape")
    writing.add("Reshape", [flat, shape], [writing.result(result)])


def _pool(node: Node, writing: Writing) -> None:
    attrs: Any = node.attrs
    kind = "MaxPool" if node.op == "max_pool2d" else "AveragePool"
    options = {"kernel_shape": attrs.window, "strides": attrs.strides, "pads": _pads(attrs.padding)}
    activated(node, writing, kind, [writing.image(node.input(INPUT))], image=True, **options)


def _batch_matmul(node: Node, writing: Writing) -> None:
    attrs: Any = node.attrs
    operands = []
    for tensor, turned in zip(node.operands, (attrs.adj_x, attrs.adj_y), strict=True):
        name, axes = writing.name(tensor), list(range(len(tensor.shape)))
        axes[-2:] = axes[:-3:-1]
        operands.append(writing.make("Transpose", [name], f"{tensor.name}/turned", perm=axes) if turned else name)
    writing.add("MatMul", operands, [writing.result(node.output)])


def _layer_normalization(node: Node, writing: Writing) -> None:
    attrs: Any = node.attrs
    if not attrs.is_centred:
        raise NoFormError("layer_normalization without the mean is not written to ONNX")
    inputs = [writing.name(tensor) for tensor in node.operands]
    writing.add("LayerNormalization", inputs, [writing.result(node.output)], axis=-1, epsilon=attrs.epsilon)


#: Which of the three functions each cell has, in the standard's order.
_PLACES = {Cell.RNN: (1,), Cell.GRU: (0, 1), Cell.LSTM: (0, 1, 2)}

_NAMES = {
    Function.SIGMOID: "Sigmoid",
    Function.TANH: "Tanh",
    Function.RELU: "Relu",
    Function.HARDSIGMOID: "HardSigmoid",
    Function.LEAKYRELU: "LeakyRelu",
    Function.SOFTSIGN: "Softsign",
}


def _recurrent(node: Node, writing: Writing) -> None:
    attrs = recurrent.attributes(node)
    units = node.input(recurrent.RECURRENT).shape[-1]
    inputs = [writing.name(node.input(recurrent.X))]
    inputs += [
        _with_direction(node, place, writing) for place in (recurrent.WEIGHTS, recurrent.RECURRENT, recurrent.BIAS)
    ]
    inputs += ["", _with_direction(node, recurrent.HIDDEN, writing)]
    if attrs.cell is Cell.LSTM:
        inputs += [_with_direction(node, recurrent.CELL, writing), _with_direction(node, recurrent.PEEPHOLES, writing)]
    places = _PLACES[attrs.cell]
    options: dict[str, Any] = {
        "hidden_size": units,
        "direction": "reverse" if attrs.is_reverse else "forward",
        "activations": [_NAMES[attrs.functions[place]] for place in places],
        "activation_alpha": [attrs.alpha[place] for place in places],
        "activation_beta": [attrs.beta[place] for place in places],
    }
    if attrs.cell is Cell.GRU:
        options["linear_before_reset"] = int(attrs.resets_product)
    if attrs.cell is Cell.LSTM:
        options["input_forget"] = int(attrs.is_coupled)
    if math.isfinite(attrs.clip):
        options["clip"] = attrs.clip
    made = [f"{tensor.name}/with_direction" for tensor in node.outputs]
    writing.add(attrs.cell.name, inputs, made, **options)
    for name, tensor in zip(made, node.outputs, strict=True):
        shape = writing.integers(tensor.shape, f"{tensor.name}/shape")
        writing.add("Reshape", [name, shape], [writing.result(tensor)])


def _with_direction(node: Node, place: int, writing: Writing) -> str:
    """Returns the name of an operand with the axis of directions; empty for an absent one."""
    tensor = node.optional_input(place)
    if tensor is None:
        return ""
    shape = writing.integers((1, *tensor.shape), f"{tensor.name}/shape")
    return writing.make("Reshape", [writing.name(tensor), shape], f"{tensor.name}/with_direction")


FORMS: dict[str, Form] = {
    "conv2d": _convolution,
    "depthwise_conv2d": _convolution,
    "fully_connected": _fully_connected,
    "average_pool2d": _pool,
    "max_pool2d": _pool,
    "batch_matmul": _batch_matmul,
    "layer_normalization": _layer_normalization,
    "recurrent": _recurrent,
}
