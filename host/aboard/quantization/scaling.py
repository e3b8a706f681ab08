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

from aboard import ops
from aboard.importers.onnx.layers import FloatLayer
from aboard.ir import Array, DType, Graph, Node, Tensor, TensorType
from aboard.ir.rewriting import free_name, only_reader
from aboard.ops.arithmetic import ArithmeticAttributes
from aboard.ops.interpreter import run_all
from aboard.ops.weighted import BIAS, INPUT, WEIGHTS
from aboard.quantization import weights
from aboard.quantization.plan import Float64
from aboard.quantization.samples import Inputs

#: Operators that normalise an input, if their other operand is constant.
_NORMALISING = ("add", "sub", "mul", "div")

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
    nodes, layer = _path(graph, given)
    if layer is None:
        return set()
    last = layer.input(INPUT)
    values = np.stack([np.asarray(sample[given.name], np.float64) for sample in samples])
    columns = np.concatenate([_columns(graph, last, sample) for sample in samples])
    # Convolutions pad with 0, which has to stay 0.
    centre = columns.mean(axis=0) if layer.op == "fully_connected" else np.zeros(columns.shape[1])
    sizes = _sizes(columns - centre)
    moved = {**samples[0], given.name: (values[0] + _step(values)).astype(np.float32)}
    steps = np.abs(_columns(graph, last, moved) - _columns(graph, last, samples[0])).max(axis=0)
    if not _is_worth_it(layer, columns.std(axis=0), steps, sizes * _step((columns - centre) / sizes)):
        return set()
    made = _inserted(graph, last, 1 / sizes, -centre / sizes)
    _undone(layer, sizes, centre)
    return {node.name for node in (*nodes, *made)}


def _path(graph: Graph, tensor: Tensor) -> tuple[list[Node], Node | None]:
    """Returns what normalises and moves an input, in execution order, and the layer behind; None if none is there."""
    nodes, layers = list[Node](), weights.layers(graph)
    while (reader := only_reader(graph, tensor)) is not None and reader.input(INPUT) is tensor:
        if any(reader is each for each in layers):
            return nodes, reader if _takes_channels(reader) else None
        alone = all(each.is_constant or each is tensor for each in reader.operands)
        if not alone or (reader.op not in _NORMALISING and not ops.get(reader.op).moves_data):
            break
        nodes.append(reader)
        tensor = reader.output
    return nodes, None


def _takes_channels(layer: Node) -> bool:
    """True for a layer that sums over all elements of its operand's last axis, of which there are several."""
    channels, bias = layer.input(INPUT).shape[-1], layer.optional_input(BIAS)
    sums = layer.op != "depthwise_conv2d" and channels == FloatLayer(layer).columns == layer.input(WEIGHTS).shape[-1]
    return sums and channels > 1 and (bias is None or bias.is_constant)


def _columns(graph: Graph, tensor: Tensor, sample: Inputs) -> Float64:
    """Returns a tensor's values for a sample, [values, channels]."""
    return np.asarray(run_all(graph, sample)[tensor.name].reshape(-1, tensor.shape[-1]), np.float64)


def _sizes(columns: Float64) -> Float64:
    """Returns the size of each channel: its deviation, as few samples lack the extremes; of spikes, a part of these."""
    deviations = np.sqrt((columns**2).mean(axis=0))
    return np.asarray(np.maximum(np.maximum(deviations, np.abs(columns).max(axis=0) / _DEVIATIONS), 1e-30))


def _is_worth_it(layer: Node, deviations: Float64, whole: Float64, each: Float64) -> bool:
    """True if steps of 8 bits for the whole input are too large for the layer, and those for scaled channels are not.

    Args:
        layer: The layer.
        deviations: Standard deviation of each channel that it reads.
        whole: The step of each channel with one scale for the input.
        each: The same with scaled channels.
    """
    squares = (weights.rows_of(layer).reshape(-1, len(deviations)) ** 2).sum(axis=0)
    signal = float((squares * deviations**2).sum())
    noise, less = (float((squares * steps**2).sum()) * _VARIANCE for steps in (whole, each))
    return noise > _NOISE * signal and less * _GAIN < noise


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
