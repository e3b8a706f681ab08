"""Moves dequantize and quantize past nodes that only move data, so that layers of real numbers lie between the two."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from aboard import ops
from aboard.ir import Attributes, DType, Graph, Node, Tensor, TensorType
from aboard.ir.rewriting import free_name, merged_sources, only_reader
from aboard.ops import pad, reshape, strided_slice, transpose
from aboard.passes.transposition import moved_type


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
            Node(node.op, moved.name, [stored, *node.inputs[1:]], [moved], attrs, node.sources),
            Node("dequantize", node.name, [moved], node.outputs, Attributes()),
        ]
        if not graph.consumers(before.output) and not graph.is_result(before.output):
            graph.nodes[place].sources = merged_sources(before, node)
            graph.remove([before])


#: Nodes that a quantize takes along.
_CLAMPS = ("relu", "relu6")


def move_quantize(graph: Graph) -> None:
    """Puts each quantize, and a clamp before it, in front of nodes that move or join data and that nothing else reads.

    conv2d -> transpose -> relu -> quantize         conv2d -> relu -> quantize -> transpose of integers
    """
    pending = [node for node in graph.nodes if node.op == "quantize" and node.input(0).dtype is DType.FLOAT32]
    while pending:
        node = pending.pop()
        if node not in graph.nodes or node.op != "quantize":
            continue
        before = graph.producer(node.input(0))
        if before is None or only_reader(graph, before.output) is not node:
            continue
        if before.op == "relu" and _is_clamped_at_zero(node.output) and _is_joined(graph, before.input(0)):
            node.inputs, node.sources = [before.input(0)], merged_sources(before, node)
            graph.remove([before])
            pending.append(node)
        elif before.op in _CLAMPS and _clamps_earlier(graph, before):
            pending.append(node)
        elif before.op == "concatenation" and before.operands and _real_parts(graph, before):
            pending += _swapped(graph, before, node, before.attrs, before.operands)
        elif _moves(before):
            attrs = integer_attributes(before, node.output)
            if attrs is not None:
                pending += _swapped(graph, before, node, attrs, [before.input(0)])
    _share(graph)


def _clamps_earlier(graph: Graph, clamp: Node) -> bool:
    """Puts a clamp in front of the nodes before it that move or join data; returns False if there are none."""
    before, moved = graph.producer(clamp.input(0)), False
    while before is not None and before.op != "pad" and _is_joined(graph, clamp.input(0)):
        operands = before.operands if before.op == "concatenation" else [before.input(0)]
        if before.op == "concatenation" and not _real_parts(graph, before):
            break
        moved, made = True, _swapped(graph, before, clamp, before.attrs, operands)
        if len(made) != 1:
            break
        clamp = made[0]
        before = graph.producer(clamp.input(0))
    return moved


def _swapped(graph: Graph, before: Node, node: Node, attrs: Attributes, operands: Sequence[Tensor]) -> list[Node]:
    """Applies an elementwise node to operands of the node before it instead of to its result; returns those nodes.

    Args:
        graph: The graph.
        before: Moves or joins data.
        node: A quantize or a clamp, the only reader of its result.
        attrs: Attributes of `before` behind it.
        operands: The operands of `before` that it moves.
    """
    kind, made = node.output.type, dict[int, Tensor]()
    what = "integers" if node.op == "quantize" else node.op
    place, nodes = graph.nodes.index(before), list[Node]()
    for operand in operands:
        name = free_name(graph, f"{operand.name}/{what}" + (f"_{len(nodes)}" if nodes else ""))
        early = Tensor(name, TensorType(operand.shape, kind.dtype, kind.quant))
        if id(operand) not in made:
            nodes.append(Node(node.op, early.name, [operand], [early], node.attrs))
            made[id(operand)] = early
    inputs = [None if tensor is None else made.get(id(tensor), tensor) for tensor in before.inputs]
    moved = Node(before.op, node.name, inputs, node.outputs, attrs, merged_sources(before, node))
    graph.nodes[place : place + 1] = [*nodes, moved]
    graph.remove([node])
    return nodes


def _share(graph: Graph) -> None:
    """Makes one of several equal quantize nodes of one tensor."""
    first = dict[tuple[int, TensorType], Node]()
    for node in list(graph.nodes):
        if node.op != "quantize" or node.input(0).dtype is not DType.FLOAT32:
            continue
        other = first.setdefault((id(node.input(0)), node.output.type), node)
        if other is not node and not graph.is_result(node.output):
            other.sources = merged_sources(other, node)
            graph.remove([node])
            graph.replace_uses(node.output, other.output)


def _is_clamped_at_zero(tensor: Tensor) -> bool:
    """True if the least integer of a tensor stands for 0: a relu before its quantize changes nothing."""
    return tensor.quant.zero_point == np.iinfo(tensor.dtype.value).min


def _is_joined(graph: Graph, tensor: Tensor) -> bool:
    """True for the result of a node past which a quantize can move, which a relu would be in the way of."""
    producer = graph.producer(tensor)
    if producer is None or len(graph.consumers(tensor)) != 1 or graph.is_result(tensor):
        return False
    return _moves(producer) or producer.op == "concatenation"


def _real_parts(graph: Graph, node: Node) -> bool:
    """True if a node has operands that are computed and not those of a dequantize."""
    producers = [graph.producer(operand) for operand in node.operands]
    if any(operand.is_constant for operand in node.operands):
        return False
    return any(each is None or each.op != "dequantize" for each in producers)


def _moves(node: Node) -> bool:
    """True for a node that only moves the data of its one operand, and is no border of the model.

    The indices of a gather may be computed: they say which elements move.
    """
    known = [tensor for tensor in node.inputs[1:] if tensor is not None and (tensor.is_constant or node.op == "gather")]
    one = len(node.outputs) == 1 and len(node.inputs) == 1 + len(known) and node.inputs[0] is not None
    return one and node.op in _MOVING and node.input(0).dtype is DType.FLOAT32 and not node.input(0).is_constant


#: Nodes past which quantize and dequantize move. The largest of numbers is the largest of their integers.
_MOVING = (
    "broadcast_to",
    "gather",
    "max_pool2d",
    "mirror_pad",
    "pad",
    "reshape",
    "resize_nearest_neighbor",
    "strided_slice",
    "transpose",
)


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
