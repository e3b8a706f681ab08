"""Integer layers of TensorFlow Lite get results that are rounded once, from real numbers, for `-arithmetic=exact`.

An op that knows exact rounding keeps its integers. Another computes real numbers, between a dequantize and a quantize::

    int8 -> add -> int8          int8 -> dequantize -> add -> quantize -> int8
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import ClassVar

from typing_extensions import override

from aboard import ops
from aboard.errors import VerifyError
from aboard.ir import Attributes, DType, Graph, Node, Rounding, Tensor, TensorType
from aboard.ir.rewriting import free_name
from aboard.ops.verify import check_node
from aboard.passes.contract import Pass
from aboard.passes.registry import register

_INTEGERS = (DType.INT8, DType.INT16)


@register
@dataclass(frozen=True)
class RoundExactly(Pass):
    """Sets the exact rounding of nodes, or lets them compute real numbers.

    Nodes whose op computes neither keep the rounding of TensorFlow Lite: recurrent layers, products of two computed
    matrices, conversions to and from 32 bits.
    """

    name: ClassVar[str] = "round-exactly"
    summary: ClassVar[str] = "rounds results of integer layers once, to the nearest integer"

    @override
    def run(self, graph: Graph) -> None:
        for node in list(graph.nodes):
            if not _rounds(node):
                continue
            exact = exactly(node)
            if exact is not None:
                node.attrs = exact.attrs
                continue
            real = _real(graph, node)
            if real:
                place = graph.nodes.index(node)
                graph.nodes[place : place + 1] = real

    @override
    def pending(self, graph: Graph) -> str | None:
        """Returns None: a node that neither form computes stays as it is."""
        return None


def exactly(node: Node) -> Node | None:
    """Returns a node with the exact rounding; None if its op does not compute that."""
    attrs = dataclasses.replace(node.attrs, rounding=Rounding.EXACT)
    exact = Node(node.op, node.name, node.inputs, node.outputs, attrs, node.sources)
    return exact if is_sound(exact) else None


def is_sound(node: Node) -> bool:
    """True if an operator computes a node of these types and quantisations."""
    try:
        check_node(node)
    except VerifyError:
        return False
    return True


def _rounds(node: Node) -> bool:
    """True for a node that rounds its result to integers of a scale, as TensorFlow Lite does."""
    op = ops.get(node.op)
    if op.moves_data or op.selects or len(node.outputs) != 1 or node.attrs.rounding is Rounding.EXACT:
        return False
    return node.output.dtype in _INTEGERS and node.output.type.quant is not None


def _real(graph: Graph, node: Node) -> list[Node]:
    """Returns nodes that compute a node in real numbers; none if its op does not compute those."""
    before, operands = list[Node](), list[Tensor | None]()
    for tensor in node.inputs:
        if tensor is None or tensor.dtype not in _INTEGERS or tensor.type.quant is None:
            operands.append(tensor)
            continue
        real = Tensor(free_name(graph, f"{node.name}/operand_{len(before)}"), _floats(tensor))
        before.append(Node("dequantize", real.name, [tensor], [real]))
        operands.append(real)
    real = Tensor(free_name(graph, f"{node.name}/real"), _floats(node.output))
    attrs = Attributes(rounding=Rounding.EXACT)
    after = Node("quantize", node.name, [real], node.outputs, attrs, node.sources)
    if node.op == "quantize":
        after.inputs = [operands[0]]
        made = [*before, after]
    else:
        made = [*before, Node(node.op, real.name, operands, [real], node.attrs, node.sources), after]
    return made if all(map(is_sound, made)) else []


def _floats(tensor: Tensor) -> TensorType:
    return TensorType(tensor.shape, DType.FLOAT32)
