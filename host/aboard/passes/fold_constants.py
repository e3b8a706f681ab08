"""Constant folding: the host computes nodes with constant operands, instead of the device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from typing_extensions import override

from aboard.ir import Array, DType, Graph, Node
from aboard.ops import get
from aboard.ops.interpreter import evaluate
from aboard.passes.contract import Pass
from aboard.passes.registry import register
from aboard.passes.rewriting import describe

# A folded constant costs flash; computing it on the device costs RAM and time. int8 to float32 grows fourfold. Results
# that grow more (a padded or resized constant) are left to the device.
_MAX_GROWTH = 4
_SMALL_BYTES = 1024


@register
@dataclass(frozen=True)
class FoldConstants(Pass):
    """Replaces nodes whose operands are all constant by their results, except outputs and large results."""

    name: ClassVar[str] = "fold-constants"
    summary: ClassVar[str] = "computes nodes on the host whose operands are all constant"

    @override
    def run(self, graph: Graph) -> None:
        for node in list(graph.nodes):
            if _foldable(graph, node):
                for tensor, value in zip(node.outputs, _values(node), strict=True):
                    tensor.data = value
                graph.remove([node])

    @classmethod
    @override
    def unlowerable(cls, graph: Graph) -> str | None:
        halves = (node for node in graph.nodes if any(tensor.dtype is DType.FLOAT16 for tensor in node.operands))
        return describe(halves)

    @override
    def pending(self, graph: Graph) -> str | None:
        return describe(node for node in graph.nodes if _foldable(graph, node))


def _foldable(graph: Graph, node: Node) -> bool:
    if not all(tensor.is_constant for tensor in node.operands) or any(graph.is_result(t) for t in node.outputs):
        return False
    if get(node.op).holds_graphs:  # A loop may be long, or endless.
        return False
    before = sum(tensor.type.bytes for tensor in node.operands)
    after = sum(tensor.type.bytes for tensor in node.outputs)
    return after <= _MAX_GROWTH * before + _SMALL_BYTES


def _values(node: Node) -> list[Array]:
    return evaluate(node, [None if tensor is None else tensor.data for tensor in node.inputs])
