"""The network of the examples' classifiers: trained in numpy, written as ONNX.

Convolutions without padding, each with a ReLU; their mean over all positions; a dense layer; softmax. Tensors are
[samples, rows, columns, channels]; a series over time has one column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

EPOCHS, BATCH, RATE, DECAY = 24, 64, 0.002, 3e-4

Floats = npt.NDArray[np.float32]
Labels = npt.NDArray[np.int64]
#: Weights [kernel rows * kernel columns * inputs, outputs] and biases of all layers, one after another.
Weights = list[Floats]


@dataclass(frozen=True)
class Convolution:
    """A convolution: rows and columns of its kernel and of its stride, and its output channels."""

    kernel: tuple[int, int]
    stride: tuple[int, int]
    channels: int


def initial(rng: np.random.Generator, layers: Sequence[Convolution], inputs: int, classes: int) -> Weights:
    """Returns random weights and zero biases of the convolutions and the dense layer."""
    found = []
    for layer in layers:
        taps = layer.kernel[0] * layer.kernel[1] * inputs
        found += [rng.standard_normal((taps, layer.channels)) * np.sqrt(2 / taps), np.zeros(layer.channels)]
        inputs = layer.channels
    found += [rng.standard_normal((inputs, classes)) * 0.1, np.zeros(classes)]
    return [each.astype(np.float32) for each in found]


def windows(x: Floats, layer: Convolution) -> Floats:
    """Returns the operands of a convolution [samples, rows, columns, taps]."""
    view = np.lib.stride_tricks.sliding_window_view(x, layer.kernel, axis=(1, 2))
    view = view[:, :: layer.stride[0], :: layer.stride[1]].transpose(0, 1, 2, 4, 5, 3)
    return np.ascontiguousarray(view).reshape(*view.shape[:3], -1)


def forward(weights: Weights, layers: Sequence[Convolution], x: Floats) -> tuple[list[Floats], Floats]:
    """Returns the operands of all layers, with the last convolution's result before the mean of it, and the logits."""
    operands = []
    for index, layer in enumerate(layers):
        operands.append(windows(x, layer))
        x = np.maximum(operands[-1] @ weights[2 * index] + weights[2 * index + 1], 0)
    operands += [x, x.mean(axis=(1, 2))]
    return operands, operands[-1] @ weights[-2] + weights[-1]


def gradients(weights: Weights, layers: Sequence[Convolution], x: Floats, labels: Labels) -> Weights:
    """Returns the gradients of the mean cross entropy."""
    operands, logits = forward(weights, layers, x)
    scores = np.exp(logits - logits.max(axis=1, keepdims=True))
    scores /= scores.sum(axis=1, keepdims=True)
    scores[np.arange(len(x)), labels] -= 1
    back = scores / len(x)
    found = [operands[-1].T @ back, back.sum(axis=0)]
    result = operands[-2]
    back = (back @ weights[-2].T / (result.shape[1] * result.shape[2]))[:, None, None] * (result > 0)
    for index in range(len(layers) - 1, -1, -1):
        operand, layer = operands[index], layers[index]
        slope = operand.reshape(-1, operand.shape[-1]).T @ back.reshape(-1, layer.channels)
        found = [slope, back.sum(axis=(0, 1, 2)), *found]
        if index:
            before = np.maximum(operands[index - 1] @ weights[2 * index - 2] + weights[2 * index - 1], 0)
            back = _scattered(back @ weights[2 * index].T, layer, before) * (before > 0)
    return found


def _scattered(parts: Floats, layer: Convolution, like: Floats) -> Floats:
    """Returns the gradients of a convolution's input: each element has the sum over the windows in which it is."""
    found = np.zeros_like(like)
    rows, columns = parts.shape[1:3]
    parts = parts.reshape(*parts.shape[:3], *layer.kernel, -1)
    for i in range(layer.kernel[0]):
        for j in range(layer.kernel[1]):
            down, right = layer.stride
            found[:, i : i + down * rows : down, j : j + right * columns : right] += parts[:, :, :, i, j]
    return found


def trained(
    x: npt.NDArray[Any],
    labels: Labels,
    layers: Sequence[Convolution],
    rng: np.random.Generator,
    *,
    classes: int,
    epochs: int = EPOCHS,
) -> Weights:
    """Returns weights that Adam has trained, for inputs that are standardised by the mean and deviation of `x`."""
    mean, deviation = x.mean(dtype=np.float64), x.std(dtype=np.float64)
    weights = initial(rng, layers, x.shape[-1], classes)
    first, second = ([np.zeros_like(each) for each in weights] for _ in range(2))
    step, right = 0, 0
    for epoch in range(epochs):
        order = rng.permutation(len(x))
        rate = RATE * (1 - epoch / epochs)
        for start in range(0, len(x), BATCH):
            rows = order[start : start + BATCH]
            given = ((x[rows] - mean) / deviation).astype(np.float32)
            step += 1
            for i, slope in enumerate(gradients(weights, layers, given, labels[rows])):
                first[i] = 0.9 * first[i] + 0.1 * slope
                second[i] = 0.999 * second[i] + 0.001 * slope**2
                average, square = first[i] / (1 - 0.9**step), second[i] / (1 - 0.999**step)
                weights[i] -= (rate * average / (np.sqrt(square) + 1e-8)).astype(np.float32)
                if weights[i].ndim == 2:
                    weights[i] *= 1 - DECAY
            if epoch == epochs - 1:
                right += int((forward(weights, layers, given)[1].argmax(axis=1) == labels[rows]).sum())
        print(f"epoch {epoch + 1} of {epochs}", flush=True)
    print(f"{100 * right / len(x):.2f} % of the training right", flush=True)
    return standardised(weights, float(mean), float(deviation))


def standardised(weights: Weights, mean: float, deviation: float) -> Weights:
    """Returns weights for inputs that are not standardised: the first layer takes that over."""
    first = weights[0] / np.float32(deviation)
    bias = weights[1] - (weights[0].sum(axis=0) * mean / deviation).astype(np.float32)
    return [first, bias.astype(np.float32), *weights[2:]]


def as_onnx(weights: Weights, layers: Sequence[Convolution], shape: Sequence[int]) -> onnx.ModelProto:
    """Returns the network as ONNX: inputs [1, *shape] to scores [1, classes].

    Args:
        weights: Those of the convolutions and of the dense layer. Without the latter, the result is that of the last
            convolution [1, channels], which has one position then.
        layers: The convolutions.
        shape: Rows, columns and channels.
    """
    nodes = [helper.make_node("Transpose", ["input"], ["t"], perm=[0, 3, 1, 2])]
    constants, name, inputs = [numpy_helper.from_array(each, f"w{i}") for i, each in enumerate(weights)], "t", shape[-1]
    for index, layer in enumerate(layers):
        kernel = weights[2 * index].reshape(*layer.kernel, inputs, layer.channels).transpose(3, 2, 0, 1)
        constants[2 * index] = numpy_helper.from_array(np.ascontiguousarray(kernel), f"w{2 * index}")
        operands, result = [name, f"w{2 * index}", f"w{2 * index + 1}"], f"c{index}"
        nodes.append(helper.make_node("Conv", operands, [result], strides=layer.stride))
        nodes.append(helper.make_node("Relu", [result], [f"r{index}"]))
        name, inputs = f"r{index}", layer.channels
    dense = 2 * len(layers)
    if len(weights) > dense:
        inputs = weights[-1].size
        nodes += [
            helper.make_node("GlobalAveragePool", [name], ["pool"]),
            helper.make_node("Flatten", ["pool"], ["flat"]),
            helper.make_node("Gemm", ["flat", f"w{dense}", f"w{dense + 1}"], ["logits"]),
            helper.make_node("Softmax", ["logits"], ["output"], axis=1),
        ]
    else:
        nodes.append(helper.make_node("Flatten", [name], ["output"]))
    values = [helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, *shape])]
    results = [helper.make_tensor_value_info("output", TensorProto.FLOAT, [1, inputs])]
    graph = helper.make_graph(nodes, "classifier", values, results, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
