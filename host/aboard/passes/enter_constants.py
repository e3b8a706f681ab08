"""Constants that a branch or loop gets as operands go into its graphs, so that their layers have constant weights.

::

    if(condition, x, weights): then fully_connected(x, w)        if(condition, x): then fully_connected(x, weights)
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from typing_extensions import override

from aboard.ir import Graph, Node, Tensor
from aboard.ops.control import IfAttributes, WhileAttributes
from aboard.passes.contract import Pass
from aboard.passes.registry import register
from aboard.passes.rewriting import describe


@register
@dataclass(frozen=True)
class EnterConstants(Pass):
    """Replaces operands of the graphs of IF and WHILE that are always the same constant by it.

    An operand of a loop is always the same if the body gives it unchanged. Graphs are copied, as nodes may share them.
    """

    name: ClassVar[str] = "enter-constants"
    enters_graphs: ClassVar[bool] = True
    summary: ClassVar[str] = "gives branches and loops the constants that are operands of theirs"

    @override
    def run(self, graph: Graph) -> None:
        for node in graph.nodes:
            places = _places(graph, node)
            if places:
                _enter(graph, node, places)
            if isinstance(node.attrs, IfAttributes | WhileAttributes):
                for body in node.attrs.bodies.values():
                    self.run(body)

    @override
    def pending(self, graph: Graph) -> str | None:
        return describe(node for node in graph.nodes if _places(graph, node))


def _places(graph: Graph, node: Node) -> list[int]:
    """Returns the numbers of the operands that can go into the graphs of a node."""
    attrs, operands = node.attrs, node.operands
    if isinstance(attrs, IfAttributes):
        return [number for number in range(1, len(operands)) if operands[number].is_constant]
    if isinstance(attrs, WhileAttributes):
        found = [
            number
            for number, operand in enumerate(operands)
            if operand.is_constant and _unchanged(attrs, number) and not graph.is_result(node.outputs[number])
        ]
        # A graph has results: one that is always the same is left to a loop that has no others.
        return found if len(found) < len(operands) else found[1:]
    return []


def _unchanged(attrs: WhileAttributes, number: int) -> bool:
    """True if a loop leaves an operand as it is: its body gives it as a result, through a node as all results."""
    body = attrs.body
    node = body.producer(body.outputs[number]) if number < attrs.kept else None
    return node is not None and node.op == "reshape" and node.input(0) is body.inputs[number]


def _enter(graph: Graph, node: Node, places: list[int]) -> None:
    attrs, operands = node.attrs, node.operands
    if isinstance(attrs, IfAttributes):
        bodies = [copy.deepcopy(body) for body in attrs.bodies.values()]
        for body in bodies:
            _give(body, ((number - 1, operands[number]) for number in places))
        node.attrs = dataclasses.replace(attrs, then=bodies[0], otherwise=bodies[1])
    elif isinstance(attrs, WhileAttributes):
        condition, body = copy.deepcopy(attrs.condition), copy.deepcopy(attrs.body)
        body.outputs = [tensor for number, tensor in enumerate(body.outputs) if number not in places]
        for each in (condition, body):
            _give(each, ((number, operands[number]) for number in places))
        node.attrs = dataclasses.replace(attrs, condition=condition, body=body)
        for number in places:
            graph.replace_uses(node.outputs[number], operands[number])
        node.outputs = [tensor for number, tensor in enumerate(node.outputs) if number not in places]
    node.inputs = [tensor for number, tensor in enumerate(operands) if number not in places]


def _give(body: Graph, constants: Iterable[tuple[int, Tensor]]) -> None:
    """Makes inputs of a graph constants, whose values have the shape that the graph knows."""
    gone = []
    for number, constant in constants:
        tensor = body.inputs[number]
        tensor.data = np.asarray(constant.data).reshape(tensor.shape)
        gone.append(tensor)
    body.inputs = [tensor for tensor in body.inputs if not any(tensor is each for each in gone)]
