"""Layers of real numbers between a dequantize and a quantize become layers of integers.

This is how ONNX files write quantised models::

    int8 -> dequantize -> conv2d -> relu -> quantize -> int8          int8 -> conv2d with relu -> int8
    int8 weights -> dequantize --^

The integer layer is that of TensorFlow Lite Micro and rounds as it does; with `arithmetic=exact`, results are rounded
once, and layers that round otherwise stay layers of real numbers.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from aboard import ops
from aboard.ir import Attributes, DType, Graph, Node, Quantization, Rounding, Tensor, TensorType
from aboard.ir.rewriting import free_name, merged_sources, only_reader
from aboard.ops.activation import Activation
from aboard.passes.contract import Pass
from aboard.passes.quantisation_moves import integer_attributes, move_dequantize, move_quantize, move_weights
from aboard.passes.quantised_functions import as_table
from aboard.passes.registry import register
from aboard.passes.round_exactly import is_sound

_WEIGHTED = ("conv2d", "depthwise_conv2d", "fully_connected")
_CLAMPS = {"relu": Activation.RELU, "relu6": Activation.RELU6}

#: Quantisations of results that operators fix; others are reached by a quantize behind.
_FIXED = {
    "softmax": Quantization((1 / 256,), (-128,)),
    "logistic": Quantization((1 / 256,), (-128,)),
    "tanh": Quantization((1 / 128,), (0,)),
}


@register
@dataclass(frozen=True)
class FuseQuantisation(Pass):
    """Makes layers integer layers whose operands come from dequantize and whose result goes to quantize.

    Attributes:
        arithmetic: `tflite` or `exact`, as `-arithmetic` of a target.
        tables: Functions of one int8 number become tables, which have no form in a model file.
    """

    arithmetic: str = "tflite"
    tables: bool = True

    name: ClassVar[str] = "fuse-quantisation"
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {"arithmetic": ("tflite", "exact")}
    summary: ClassVar[str] = "makes layers between dequantize and quantize integer layers"

    @override
    def run(self, graph: Graph) -> None:
        move_weights(graph)
        move_dequantize(graph)
        move_quantize(graph)
        for node in list(graph.nodes):
            if node.op == "quantize" and node.input(0).dtype is DType.FLOAT32:
                _QuantisedLayer(graph, node, Rounding(self.arithmetic), self.tables).fuse()

    @override
    def pending(self, graph: Graph) -> str | None:
        """Returns None: a layer that integers cannot compute stays as it is."""
        return None


class _QuantisedLayer:
    """A layer that computes the operand of a quantize."""

    def __init__(self, graph: Graph, quantize: Node, rounding: Rounding, tables: bool) -> None:
        self._graph, self._quantize, self._rounding, self._tables = graph, quantize, rounding, tables
        self._result = quantize.output
        self._nodes: list[Node] = []

    def fuse(self) -> None:
        """Replaces the layer, if integers can compute it and nothing else reads its result."""
        stored = self._stored(self._quantize.input(0))
        if stored is not None:
            self._requantise(stored)
            return
        layer = self._producer(self._quantize.input(0))
        if layer is None:
            return
        replaced, nodes = [layer], self._integers(layer, Activation.NONE)
        inner = self._producer(layer.input(0)) if layer.op in _CLAMPS else None
        if inner is not None and getattr(inner.attrs, "activation", None) is Activation.NONE:
            both = self._integers(inner, _CLAMPS[layer.op])
            replaced, nodes = (replaced, nodes) if both is None else ([layer, inner], both)
        if self._tables and (nodes is None or len(nodes) > 1):
            table = as_table(self._graph, self._quantize)
            replaced, nodes = (replaced, nodes) if table is None else (table[1], [table[0]])
        if nodes is None:
            return
        nodes[0].sources = merged_sources(*nodes, *replaced, self._quantize)
        place = self._graph.nodes.index(self._quantize)
        self._graph.nodes[place : place + 1] = nodes
        self._graph.remove(replaced)

    def _requantise(self, stored: Tensor) -> None:
        """Makes the quantize read integers; it goes where these are the result."""
        graph, node = self._graph, self._quantize
        if stored.type == self._result.type and not graph.is_result(self._result):
            graph.remove([node])
            graph.replace_uses(self._result, stored)
            return
        integers = Node("quantize", node.name, [stored], node.outputs, node.attrs, node.sources)
        if is_sound(integers):
            node.inputs = integers.inputs

    def _producer(self, tensor: Tensor) -> Node | None:
        """Returns the node that computes a tensor which one other node reads, and nothing else."""
        node = self._graph.producer(tensor)
        alone = node is not None and len(node.outputs) == 1 and only_reader(self._graph, tensor) is not None
        return node if alone else None

    def _stored(self, tensor: Tensor | None) -> Tensor | None:
        """Returns the integers that a tensor stands for; None if it stands for none."""
        node = None if tensor is None else self._graph.producer(tensor)
        return node.input(0) if node is not None and node.op == "dequantize" else None

    def _integers(self, layer: Node, activation: Activation) -> list[Node] | None:
        """Returns the nodes that compute the result from integers; None where there are none."""
        if layer.op in _WEIGHTED:
            return self._weighted(layer, activation)
        operands = [self._stored(tensor) for tensor in layer.inputs]
        stored = [tensor for tensor in operands if tensor is not None]
        if len(stored) != len(layer.inputs) or not stored or any(t.dtype is not self._result.dtype for t in stored):
            return None
        attrs: Any = layer.attrs
        if activation is not Activation.NONE:
            attrs = dataclasses.replace(attrs, activation=activation)
        if layer.op == "concatenation":
            return self._joined(layer, stored)
        attrs = integer_attributes(layer, stored[0]) if layer.op == "pad" else attrs
        if attrs is None:
            return None
        for quant in (self._result.quant, _FIXED.get(layer.op), stored[0].type.quant):
            nodes = None if quant is None else self._made(layer, stored, attrs, quant)
            if nodes is not None:
                return nodes
        return None

    def _made(
        self, layer: Node, operands: Sequence[Tensor], attrs: Attributes, quant: Quantization
    ) -> list[Node] | None:
        """Returns a node with a quantisation of its result, and a quantize behind it where that is another."""
        op = ops.get(layer.op)
        if op.moves_data and operands[0].type.quant != quant:
            return None
        same = quant == self._result.quant
        if self._rounding is Rounding.EXACT and not op.moves_data:
            equal = same and all(tensor.type.quant == quant for tensor in operands)
            if not same or (op.selects and not equal):
                return None
            attrs = attrs if op.selects else dataclasses.replace(attrs, rounding=Rounding.EXACT)
        made = self._result if same else self._tensor(layer.output.shape, quant)
        node = Node(layer.op, layer.name, list(operands), [made], attrs, layer.sources)
        nodes = [node] if same else [node, self._requantised(self._result.name, made, self._result)]
        return nodes if all(map(is_sound, nodes)) else None

    def _requantised(self, name: str, operand: Tensor, result: Tensor) -> Node:
        return Node("quantize", name, [operand], [result], Attributes(rounding=self._rounding))

    def _tensor(self, shape: tuple[int, ...], quant: Quantization) -> Tensor:
        name = free_name(self._graph, f"{self._result.name}/before")
        return Tensor(name, TensorType(shape, self._result.dtype, quant))

    def _joined(self, layer: Node, stored: Sequence[Tensor]) -> list[Node] | None:
        """Returns the concatenation of operands that are brought to the result's quantisation first."""
        nodes, operands = list[Node](), list[Tensor]()
        for number, tensor in enumerate(stored):
            if tensor.type.quant == self._result.quant:
                operands.append(tensor)
                continue
            name = free_name(self._graph, f"{self._result.name}/part_{number}")
            part = Tensor(name, TensorType(tensor.shape, tensor.dtype, self._result.quant))
            nodes.append(self._requantised(name, tensor, part))
            operands.append(part)
        nodes.append(Node(layer.op, layer.name, list(operands), [self._result], layer.attrs, layer.sources))
        return nodes if all(map(is_sound, nodes)) else None

    def _weighted(self, layer: Node, activation: Activation) -> list[Node] | None:
        """Returns the integer form of a convolution or a product with constant weights."""
        x, weights, bias = self._stored(layer.input(0)), self._stored(layer.input(1)), layer.optional_input(2)
        if x is None or weights is None or weights.data is None or any(weights.quant.zero_points):
            return None
        if (bias is not None and bias.data is None) or x.dtype is not self._result.dtype:
            return None
        attrs: Any = layer.attrs
        inputs: list[Tensor | None] = [x, weights]
        if bias is not None and bias.data is not None:
            wide = DType.INT64 if x.dtype is DType.INT16 else DType.INT32
            scales = np.float64(x.quant.scale) * np.array(weights.quant.scales, np.float64)
            steps = np.rint(bias.data.reshape(-1).astype(np.float64) / scales)
            info = np.iinfo(np.int32)
            stored = np.clip(steps, info.min, info.max).astype(wide.numpy)
            name = free_name(self._graph, f"{bias.name}/integers")
            inputs.append(Tensor(name, TensorType(stored.shape, wide), stored))
        own = attrs.activation if activation is Activation.NONE else activation
        fused = dataclasses.replace(attrs, activation=own, rounding=self._rounding)
        node = Node(layer.op, layer.name, inputs, [self._result], fused, layer.sources)
        return [node] if is_sound(node) else None
