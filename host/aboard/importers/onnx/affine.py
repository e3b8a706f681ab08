"""Constant factors and summands beside layers of real numbers become part of their weights and biases.

Exporters leave batch normalisation, `MatMul` with `Add` behind it, and scales as nodes of their own::

    conv2d -> mul by a constant for each channel -> add of another         conv2d with other weights and bias

Between the two there may be nodes that only move data, as the importer puts around layers and behind the parts of a
transposed convolution.

Sums are rounded differently afterwards. That is why no pass does it, as passes keep results to the last bit: the graph
that they get, and that the reference semantics evaluate, is the folded one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from aboard import ops
from aboard.importers.onnx.layers import Float64, FloatLayer, Parameters, float_constant, of_node
from aboard.ir import Array, DType, Graph, Node, Tensor, TensorType
from aboard.ir.rewriting import free_name, merged_sources, only_reader
from aboard.ops.activation import Activation
from aboard.ops.weighted import BIAS, WEIGHTS

#: Elements at most of a tensor whose channels are looked up one by one.
_MOST_ELEMENTS = 1 << 22


def fold(graph: Graph) -> None:
    """Folds what can be folded, in place.

    Nodes in between must have no other reader, and their results must be no outputs. A factor needs constant weights
    that no other layer reads. In front of a layer only factors are folded: a summand there can be large beside the
    differences that the layer is to see, and convolutions pad with 0.
    """
    found = True
    while found:
        found = False
        for node in list(graph.nodes):
            affine = _of_node(node)
            if affine is not None:
                found |= _fold_behind(graph, node, affine) or _fold_in_front(graph, node, affine)


@dataclass(frozen=True)
class _Affine:
    """A node that computes operand * factor + summand, all of the shape of the result."""

    operand: Tensor
    factor: Float64
    summand: Float64


def _of_node(node: Node) -> _Affine | None:
    if node.op not in ("add", "sub", "mul", "div") or getattr(node.attrs, "activation", None) is not Activation.NONE:
        return None
    constants = [float_constant(tensor) for tensor in node.inputs]
    place = 1 if constants[1] is not None else 0
    values, operand = constants[place], node.input(1 - place)
    if values is None or operand.is_constant or operand.type != node.output.type:
        return None
    if operand.type.elements > _MOST_ELEMENTS or (node.op == "div" and place == 0):
        return None
    given, one, zero = values.astype(np.float64), np.ones(()), np.zeros(())
    with np.errstate(all="ignore"):
        factor = {"mul": given, "div": 1 / given, "sub": one if place == 1 else -one, "add": one}[node.op]
        summand = {"add": given, "sub": -given if place == 1 else given}.get(node.op, zero)
    return _Affine(operand, np.broadcast_to(factor, operand.shape), np.broadcast_to(summand, operand.shape))


def _fold_behind(graph: Graph, node: Node, affine: _Affine) -> bool:
    """Folds a node into the layers whose results it reads; returns False where it stays."""
    found = _path(graph, node, affine.operand)
    if found is None:
        return False
    path = list({id(each): each for each in found}.values())
    layers = [layer for each in path if (layer := of_node(each)) is not None]
    known = _channels(path)
    channels = known[id(affine.operand)]
    factors = _by_channel(affine.factor, channels, layers, 1.0)
    summands = _by_channel(affine.summand, channels, layers, 0.0)
    beside = [reader for each in path for reader in _beside(graph, each.output, [*path, node])]
    read = [_moved(reader, [known[id(reader.input(0))]]) for reader in beside]
    if factors is None or summands is None or any(np.isin(channels, each).any() for each in read):
        return False
    made = [layer.rescaled(*pair) for layer, *pair in zip(layers, factors, summands, strict=True)]
    if not _replaced(graph, layers, made):
        return False
    path[-1].outputs, path[-1].name = [node.output], node.name
    _finish(graph, node, layers, [each.output for each in path[:-1]])
    return True


def _path(graph: Graph, node: Node, tensor: Tensor) -> list[Node] | None:
    """Returns the layers that compute an operand of a node and what moves their results, in execution order.

    A node that is reached on two ways comes twice. Other readers move elements too: they may read other channels than
    the node. None where anything else takes part.
    """
    before = graph.producer(tensor)
    if before is None or graph.is_result(tensor):
        return None
    if not all(_moves(reader) and len(reader.operands) == 1 for reader in _beside(graph, tensor, [node])):
        return None
    if of_node(before) is not None:
        return [before]
    parts = [_path(graph, before, operand) for operand in before.operands] if _moves(before) else [None]
    found = [each for part in parts if part is not None for each in part]
    return None if None in parts else [*found, before]


def _beside(graph: Graph, tensor: Tensor, path: Sequence[Node]) -> list[Node]:
    return [reader for reader in graph.consumers(tensor) if not any(reader is each for each in path)]


def _moves(node: Node) -> bool:
    """True for a node whose one result has elements of its operands and no others."""
    return ops.get(node.op).moves_data and node.op != "pad" and len(node.outputs) == 1


def _channels(path: Sequence[Node]) -> dict[int, npt.NDArray[np.int64]]:
    """Returns for each tensor on a path, by its identity, the channels that compute its elements.

    The channels of all layers are numbered in turn.
    """
    found: dict[int, npt.NDArray[np.int64]] = {}
    first = 0
    for node in path:
        layer = of_node(node)
        if layer is None:
            moved = _moved(node, [found[id(tensor)] for tensor in node.operands])
            found[id(node.output)] = moved.astype(np.int64)
            continue
        numbers = np.arange(first, first + layer.channels)
        found[id(node.output)] = np.broadcast_to(numbers, node.output.shape)
        first += layer.channels
    return found


def _moved(node: Node, operands: Sequence[Array]) -> Array:
    return ops.get(node.op).evaluate(node, operands)[0]


def _by_channel(
    values: Float64, channels: npt.NDArray[np.int64], layers: Sequence[FloatLayer], other: float
) -> list[Float64] | None:
    """Returns the value of each channel, layer by layer; None where elements of one channel differ.

    Args:
        values: For each element.
        channels: Of the elements.
        layers: The layers.
        other: The value of channels without elements.
    """
    counts = [layer.channels for layer in layers]
    found = np.full(sum(counts), other)
    found[channels] = values
    same = np.array_equal(found[channels], values, equal_nan=True)
    return np.split(found, np.cumsum(counts)[:-1]) if same else None


def _fold_in_front(graph: Graph, node: Node, affine: _Affine) -> bool:
    """Folds a factor into the weights of the layer that reads the result; returns False where it stays."""
    if np.any(affine.summand != 0):
        return False
    passed, factor = [node.output], affine.factor
    while (reader := only_reader(graph, passed[-1])) is not None and _moves(reader) and len(reader.operands) == 1:
        factor = _moved(reader, [factor]).astype(np.float64)
        passed.append(reader.output)
    layer = None if reader is None else of_node(reader)
    if layer is None or layer.node.input(0) is not passed[-1]:
        return False
    rows = factor.reshape(-1, layer.columns)
    same = np.array_equal(rows, np.broadcast_to(rows[0], rows.shape))
    if not same or not _replaced(graph, [layer], [layer.for_operand_without(rows[0])]):
        return False
    graph.replace_uses(node.output, affine.operand)
    _finish(graph, node, [layer], passed[1:])
    return True


def _replaced(graph: Graph, layers: Sequence[FloatLayer], made: Sequence[Parameters | None]) -> bool:
    """Gives layers other weights and biases; returns False where it cannot, and changes nothing."""
    weights: dict[int, Array] = {}
    for layer, new in zip(layers, made, strict=True):
        old = layer.node.input(WEIGHTS)
        if new is None or (new.weights is not None and not _reads_alone(graph, layers, old)):
            return False
        if new.weights is not None and not np.array_equal(weights.setdefault(id(old), new.weights), new.weights):
            return False
    biases: dict[bytes, Tensor] = {}
    for layer, new in zip(layers, made, strict=True):
        if new is not None and new.weights is not None:
            layer.node.input(WEIGHTS).data = new.weights
        if new is not None and new.bias is not None:
            name = free_name(graph, f"{layer.node.name}/bias")
            kind = TensorType(new.bias.shape, DType.FLOAT32)
            bias = biases.setdefault(new.bias.tobytes(), Tensor(name, kind, new.bias))
            layer.node.inputs = [*layer.node.inputs[:BIAS], bias]
    return True


def _reads_alone(graph: Graph, layers: Sequence[FloatLayer], weights: Tensor) -> bool:
    """True if no other node reads some weights: they would be stored twice."""
    return all(any(reader is layer.node for layer in layers) for reader in graph.consumers(weights))


def _finish(graph: Graph, node: Node, layers: Sequence[FloatLayer], passed: Sequence[Tensor]) -> None:
    """Removes a folded node.

    Args:
        graph: The graph.
        node: The node.
        layers: Those that now compute what it did.
        passed: Tensors that have other values than in the file now.
    """
    graph.remove([node])
    for layer in layers:
        layer.node.sources = merged_sources(layer.node, node)
    for tensor in passed:
        if tensor.source is not None:
            tensor.name, tensor.source = free_name(graph, f"{tensor.name}/folded"), None
    for each in graph.nodes:
        each.name = each.output.name
