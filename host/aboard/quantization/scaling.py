"""Scales inputs whose channels have ranges of different sizes, in real numbers, so that integers can hold all of them.

A pressure of 100,000 Pa beside an acceleration of 0.1 g: with one scale for both, 8 bits say nothing of the second.
Such an input stays float32, and so does what normalises it; a factor and a summand for each channel come behind that,
and the layer behind gets the weights and the bias that undo them::

    input -> sub -> layer            input -> sub -> mul -> add -> quantize -> layer

Inputs with channels that are alike, such as images, stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aboard.importers.onnx.layers import FloatLayer
from aboard.ir import Array, DType, Graph, Node, Tensor, TensorType
from aboard.ir.rewriting import free_name, only_reader
from aboard.ops.arithmetic import ArithmeticAttributes
from aboard.ops.interpreter import run_all
from aboard.ops.weighted import BIAS, INPUT, WEIGHTS
from aboard.quantization import weights
from aboard.quantization.plan import Float64
from aboard.quantization.samples import Inputs

#: Operators that normalise an input, if their other operand is constant, and those that keep its channels.
_NORMALISING, _MOVING = ("add", "sub", "mul", "div"), ("reshape", "pad")

#: Samples that ranges are taken of.
_MOST = 64

#: The noise of int8 inputs, relative to the power of the first layer's results, above which inputs may be scaled, and
#: how many times less it must be then.
_NOISE, _GAIN = 10**-2.5, 8.0

#: How many standard deviations a channel may reach before its extremes count instead.
_DEVIATIONS = 6.0

#: Steps of 8 bits, and the variance of rounding to one.
_STEPS, _VARIANCE = 255.0, 1 / 12


def scale_inputs(graph: Graph, samples: Sequence[Inputs]) -> frozenset[str]:
    """Scales inputs that 8 bits cannot hold, in place.

    Args:
        graph: The prepared graph.
        samples: Some inputs.

    Returns:
        Names of the nodes that compute real numbers therefore; none for an unchanged graph.
    """
    chosen = samples[:: max(1, len(samples) // _MOST)]
    found = set[str]()
    for tensor in list(graph.inputs):
        if tensor.dtype is DType.FLOAT32:
            found |= _scaled(graph, tensor, chosen)
    return frozenset(found)


def _scaled(graph: Graph, given: Tensor, samples: Sequence[Inputs]) -> set[str]:
    nodes = _normalising(graph, given)
    last = nodes[-1].output if nodes else given
    layer = _layer(graph, last)
    if layer is None or last.shape[-1] < 2:
        return set()
    runs = [run_all(graph, values) for values in samples]
    before, behind = (np.stack([run[tensor.name].astype(np.float64) for run in runs]) for tensor in (given, last))
    columns = behind.reshape(-1, behind.shape[-1])
    # Convolutions pad with 0, which has to stay 0.
    centre = columns.mean(axis=0) if layer.op == "fully_connected" else np.zeros(columns.shape[1])
    sizes = _sizes(columns - centre)
    if not _is_worth_it(layer, before, columns, (columns - centre) / sizes, sizes):
        return set()
    made = _inserted(graph, last, 1 / sizes, -centre / sizes)
    _undone(layer, sizes, centre)
    return {node.name for node in (*nodes, *made)}


def _normalising(graph: Graph, tensor: Tensor) -> list[Node]:
    """Returns the nodes that normalise an input, in execution order."""
    nodes = list[Node]()
    while True:
        reader = only_reader(graph, tensor)
        if (
            reader is None
            or reader.op not in _NORMALISING
            or sum(not each.is_constant for each in reader.operands) != 1
        ):
            return nodes
        if reader.output.shape != tensor.shape:
            return nodes
        nodes.append(reader)
        tensor = reader.output


def _layer(graph: Graph, tensor: Tensor) -> Node | None:
    """Returns the only layer that reads a tensor, perhaps reshaped; its last axis has the layer's channels."""
    channels = tensor.shape[-1]
    while (reader := only_reader(graph, tensor)) is not None and reader.op in _MOVING:
        tensor = reader.output
        if tensor.shape[-1] != channels:
            return None
    if reader is None or reader.op == "depthwise_conv2d" or not any(reader is each for each in weights.layers(graph)):
        return None
    if (
        reader.input(INPUT) is not tensor
        or not channels == FloatLayer(reader).columns == reader.input(WEIGHTS).shape[-1]
    ):
        return None
    bias = reader.optional_input(BIAS)
    return reader if bias is None or bias.is_constant else None


def _sizes(columns: Float64) -> Float64:
    """Returns the size of each channel: its deviation, as few samples lack the extremes; of spikes, a part of these."""
    deviations = np.sqrt((columns**2).mean(axis=0))
    return np.asarray(np.maximum(np.maximum(deviations, np.abs(columns).max(axis=0) / _DEVIATIONS), 1e-30))


def _is_worth_it(layer: Node, before: Float64, columns: Float64, scaled: Float64, sizes: Float64) -> bool:
    """True if steps of 8 bits for the whole input are too large for the layer, and those for scaled channels are not.

    Args:
        layer: The layer.
        before: The input, [samples, *shape].
        columns: What the layer reads, [values, channels].
        scaled: The same, scaled.
        sizes: The size of each channel.
    """
    squares = (weights.rows_of(layer).reshape(-1, len(sizes)) ** 2).sum(axis=0)
    deviations = columns.std(axis=0)
    gains = deviations / np.maximum(before.reshape(columns.shape).std(axis=0), 1e-30)
    steps = gains * _step(before), sizes * _step(scaled)
    signal = float((squares * deviations**2).sum())
    whole, each = (float((squares * step**2).sum()) * _VARIANCE for step in steps)
    return whole > _NOISE * signal and each * _GAIN < whole


def _step(values: Float64) -> float:
    return (max(float(values.max()), 0.0) - min(float(values.min()), 0.0)) / _STEPS


def _inserted(graph: Graph, tensor: Tensor, factors: Float64, summands: Float64) -> list[Node]:
    """Puts a factor and a summand of each channel behind a tensor; returns the nodes."""
    (reader,) = graph.consumers(tensor)
    made = list[Node]()
    last = tensor
    for op, values in (("mul", factors), ("add", summands)):
        if op == "add" and not values.any():
            continue
        name = free_name(graph, f"{tensor.name}/{op}")
        other = Tensor(f"{name}/constant", TensorType((len(values),), DType.FLOAT32), values.astype(np.float32))
        result = Tensor(name, TensorType(tensor.shape, DType.FLOAT32), order=tensor.order)
        made.append(Node(op, name, [last, other], [result], ArithmeticAttributes()))
        last = result
    place = next(number for number, node in enumerate(graph.nodes) if node is reader)
    reader.inputs = [last if each is tensor else each for each in reader.inputs]
    graph.nodes[place:place] = made
    return made


def _undone(layer: Node, sizes: Float64, centre: Float64) -> None:
    """Gives a layer the weights and the bias that give its results for scaled operands."""
    old = layer.input(WEIGHTS)
    change = FloatLayer(layer).for_operand_without(sizes)
    if change is None or change.weights is None:
        raise ValueError(f"{layer.name}: weights are not constant")
    sums = np.asarray(old.data, np.float64) @ centre if centre.any() else None
    layer.inputs = list(layer.inputs)
    layer.inputs[WEIGHTS] = _constant(old, change.weights)
    if sums is not None:
        bias = layer.optional_input(BIAS)
        known = 0.0 if bias is None else np.asarray(bias.data, np.float64).reshape(-1)
        name = f"{old.name}/bias" if bias is None else bias.name
        values = (known + sums).astype(np.float32)
        layer.inputs[BIAS:] = [Tensor(f"{name}/scaled", TensorType(values.shape, DType.FLOAT32), values)]


def _constant(old: Tensor, values: Array) -> Tensor:
    return Tensor(f"{old.name}/scaled", TensorType(old.shape, DType.FLOAT32), np.asarray(values, np.float32))
