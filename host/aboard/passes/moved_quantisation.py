"""Quantize, dequantize and clamps change places with nodes that only move data, so that they meet layers.

conv2d -> transpose -> relu -> quantize         conv2d -> relu -> quantize -> transpose of integers
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from aboard import ops
from aboard.ir import Attributes, DType, Graph, Node, Tensor, TensorType
from aboard.ops import pad, reshape, strided_slice, transpose
from aboard.passes.rewriting import free_name, merged_sources, only_reader
from aboard.passes.transposition import moved_type

#: Nodes past which quantize and dequantize move.
_MOVING = ("broadcast_to", "mirror_pad", "pad", "reshape", "resize_nearest_neighbor", "strided_slice", "transpose")

#: Nodes that a quantize takes along.
_CLAMPS = ("relu", "relu6")


def move_weights(graph: Graph) -> None:
    """Applies transposes and reshapes of dequantised constants to the integers."""
    for node in list(graph.nodes):
        if node.op not in ("transpose", "reshape", "strided_slice") or graph.is_result(node.output):
            continue
        before = graph.producer(node.input(0))
        stored = before.input(0) if before is not None and before.op == "dequantize" else None
        if before is None or stored is None or stored.data is None:
            continue
        moved = _moved_constant(node, stored)
        if moved is None:
            continue
        moved.name = free_name(graph, f"{stored.name}/moved")
        place = graph.nodes.index(node)
        graph.nodes[place] = Node("dequantize", node.name, [moved], node.outputs, Attributes(), node.sources)
        if not graph.consumers(before.output) and not graph.is_result(before.output):
            graph.nodes[place].sources = merged_sources(before, node)
            graph.remove([before])


def move_dequantize(graph: Graph) -> None:
    """Puts each dequantize behind nodes that only move data: they then move integers."""
    for node in list(graph.nodes):
        before = graph.producer(node.input(0)) if _moves(node) else None
        if before is None or before.op != "dequantize" or before.input(0).type.quant is None:
            continue
        stored = before.input(0)
        attrs = integer_attributes(node, stored)
        if stored.quant.per_channel or attrs is None:
            continue
        kind = TensorType(node.output.shape, stored.dtype, stored.quant)
        moved = Tensor(free_name(graph, f"{node.output.name}/integers"), kind)
        place = graph.nodes.index(node)
        graph.nodes[place : place + 1] = [
            Node(node.op, moved.name, [stored], [moved], attrs, node.sources),
            Node("dequantize", node.name, [moved], node.outputs, Attributes()),
        ]
        if not graph.consumers(before.output) and not graph.is_result(before.output):
            graph.nodes[place].sources = merged_sources(before, node)
            graph.remove([before])


def move_quantize(graph: Graph) -> None:
    """Puts each quantize, and the clamp before it, in front of nodes that move data and that nothing else reads."""
    for node in reversed(list(graph.nodes)):
        if node.op == "quantize" and node.input(0).dtype is DType.FLOAT32:
            clamp = graph.producer(node.input(0))
            if clamp is not None and clamp.op in _CLAMPS and only_reader(graph, clamp.output) is node:
                _move_up(graph, clamp)
            _move_up(graph, node)


def _move_up(graph: Graph, node: Node) -> None:
    """Puts an elementwise node with one operand in front of nodes that move data: there is one for each operand."""
    pending = [node]
    while pending:
        current = pending.pop()
        before = graph.producer(current.input(0))
        if before is None or only_reader(graph, before.output) is not current:
            continue
        attrs = _attributes_behind(graph, before, current)
        if attrs is None:
            continue
        early: dict[int, Node] = {}
        for operand in before.operands:
            if id(operand) not in early:
                kind = TensorType(operand.shape, current.output.dtype, current.output.type.quant)
                made = Tensor(free_name(graph, f"{operand.name}/{current.op}"), kind)
                early[id(operand)] = Node(current.op, made.name, [operand], [made], current.attrs, current.sources)
                graph.nodes.insert(graph.nodes.index(before), early[id(operand)])
        inputs: list[Tensor | None] = [early[id(operand)].output for operand in before.operands]
        sources = merged_sources(before, current)
        graph.nodes[graph.nodes.index(current)] = Node(before.op, current.name, inputs, current.outputs, attrs, sources)
        graph.remove([before])
        pending += early.values()


def _attributes_behind(graph: Graph, node: Node, current: Node) -> Attributes | None:
    """Returns the attributes of a node that moves data behind another node than before; None where it cannot."""
    if node.op == "concatenation":
        producers = [graph.producer(operand) for operand in node.operands]
        joined = all(each is not None and each.op == "dequantize" for each in producers)
        return None if joined or node.output.dtype is not DType.FLOAT32 else node.attrs
    if not _moves(node):
        return None
    if current.op == "quantize":
        return integer_attributes(node, current.output)
    return None if node.op == "pad" else node.attrs


def _moves(node: Node) -> bool:
    """True for a node that only moves the data of its one operand, and is no border of the model."""
    one = len(node.inputs) == 1 and len(node.outputs) == 1 and node.inputs[0] is not None
    return one and ops.get(node.op).moves_data and node.input(0).dtype is DType.FLOAT32 and node.op in _MOVING


def integer_attributes(node: Node, stored: Tensor) -> Attributes | None:
    """Returns the attributes of a node that moves integers: padding has the integer of its value, if there is one."""
    if node.op != "pad":
        return node.attrs
    attrs = pad.attributes(node)
    steps = attrs.value / stored.quant.scale + stored.quant.zero_point
    info = np.iinfo(stored.dtype.value)
    exact = steps == round(steps) and info.min <= steps <= info.max
    return dataclasses.replace(attrs, value=round(steps)) if exact else None


def _moved_constant(node: Node, stored: Tensor) -> Tensor | None:
    if stored.data is None:
        return None
    if node.op == "transpose":
        order = transpose.attributes(node).order
        return Tensor("", moved_type(stored.type, order), np.ascontiguousarray(stored.data.transpose(order)))
    if node.op == "strided_slice":
        data = ops.get(node.op).evaluate(node, [stored.data])[0]
        quant = stored.type.quant
        axis = None if quant is None or not quant.per_channel else quant.axis
        whole = data.ndim == stored.data.ndim and (axis is None or data.shape[axis] == stored.shape[axis])
        turned = axis is not None and strided_slice.attributes(node).slices[axis].stride < 0
        return Tensor("", TensorType(data.shape, stored.dtype, quant), data) if whole and not turned else None
    shape, quant = reshape.attributes(node).shape, stored.type.quant
    if quant is not None and quant.per_channel and quant.axis is not None:
        before = math.prod(stored.shape[: quant.axis])
        fits = [
            axis
            for axis in range(len(shape))
            if math.prod(shape[:axis]) == before and shape[axis] == stored.shape[quant.axis]
        ]
        if not fits:
            return None
        quant = dataclasses.replace(quant, axis=fits[0])
    return Tensor("", TensorType(shape, stored.dtype, quant), stored.data.reshape(shape))
