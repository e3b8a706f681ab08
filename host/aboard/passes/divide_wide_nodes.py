"""Division of wide nodes: a concatenation or split of more parts than kernels take becomes a tree of smaller nodes.

If views allow it, a part of the tree is an alias inside its whole, as for any operand of a concatenation. So a tree
usually costs as much as one node. A sum of floats becomes a chain, which adds its operands in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, TypeVar

from typing_extensions import override

from aboard.ir import Graph, Node, Tensor, TensorType
from aboard.kernels.portable.arity import MAX_PARTS
from aboard.ops.concatenation import attributes as concatenation_attributes
from aboard.ops.split import SplitAttributes
from aboard.ops.split import attributes as split_attributes
from aboard.passes.contract import Pass
from aboard.passes.registry import register
from aboard.passes.rewriting import describe

_Part = TypeVar("_Part")


@register
@dataclass(frozen=True)
class DivideWideNodes(Pass):
    """Divides concatenations, splits and sums of floats until each has at most `MAX_PARTS` parts."""

    name: ClassVar[str] = "divide-wide-nodes"
    summary: ClassVar[str] = "divides concatenations, splits and sums of more parts than kernels take"

    @override
    def run(self, graph: Graph) -> None:
        names = {tensor.name for tensor in graph.tensors()}
        while (wide := next((node for node in graph.nodes if _is_wide(node)), None)) is not None:
            at = graph.nodes.index(wide)
            if wide.op == "concatenation":
                graph.nodes[at:at] = _join_groups(wide, names)
            elif wide.op == "add_n":
                graph.nodes.insert(at, _first_sum(wide, names))
            else:
                graph.nodes[at + 1 : at + 1] = _split_groups(wide, names)

    @classmethod
    @override
    def unlowerable(cls, graph: Graph) -> str | None:
        return cls().pending(graph)

    @override
    def pending(self, graph: Graph) -> str | None:
        return describe(node for node in graph.nodes if _is_wide(node))


def _is_wide(node: Node) -> bool:
    parts = {"concatenation": len(node.inputs), "add_n": len(node.inputs), "split": len(node.outputs)}
    return parts.get(node.op, 0) > MAX_PARTS


def _join_groups(node: Node, names: set[str]) -> list[Node]:
    """Makes a concatenation join groups of its operands; returns the nodes that join the groups."""
    axis, joins = concatenation_attributes(node).axis, list[Node]()
    for group in _groups(node.operands):
        whole = _whole(node, group, axis, names)
        joins.append(Node(node.op, whole.name, list(group), [whole], node.attrs, node.sources))
    node.inputs = [join.output for join in joins]
    return joins


def _first_sum(node: Node, names: set[str]) -> Node:
    """Makes a sum of floats begin with the sum of its first operands; returns the node that computes this sum."""
    first, rest = node.inputs[:MAX_PARTS], node.inputs[MAX_PARTS:]
    total = Tensor(_part_name(node, names), node.output.type)
    node.inputs = [total, *rest]
    return Node(node.op, total.name, first, [total], node.attrs, node.sources)


def _split_groups(node: Node, names: set[str]) -> list[Node]:
    """Makes a split return groups of its results; returns the nodes that split the groups."""
    axis, splits = split_attributes(node).axis, list[Node]()
    for group in _groups(node.outputs):
        whole = _whole(node, group, axis, names)
        attrs = SplitAttributes(axis, tuple(tensor.shape[axis] for tensor in group))
        splits.append(Node(node.op, whole.name, [whole], list(group), attrs, node.sources))
    node.outputs = [split.input(0) for split in splits]
    node.attrs = SplitAttributes(axis, tuple(tensor.shape[axis] for tensor in node.outputs))
    return splits


def _groups(parts: Sequence[_Part]) -> list[Sequence[_Part]]:
    """Returns the parts in the smallest number of groups, whose sizes differ by at most one."""
    count = -(-len(parts) // MAX_PARTS)
    cuts = [len(parts) * index // count for index in range(count + 1)]
    return [parts[first:last] for first, last in pairwise(cuts)]


def _whole(node: Node, group: Sequence[Tensor], axis: int, names: set[str]) -> Tensor:
    """Returns a new tensor of a group's tensors, joined along an axis."""
    first = group[0]
    shape = list(first.shape)
    shape[axis] = sum(tensor.shape[axis] for tensor in group)
    return Tensor(_part_name(node, names), TensorType(tuple(shape), first.dtype, first.type.quant))


def _part_name(node: Node, names: set[str]) -> str:
    number = 0
    while (name := f"{node.name}/part_{number}") in names:
        number += 1
    names.add(name)
    return name
