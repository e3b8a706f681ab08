"""Removal of clamps without effect: for every model input, all values of the tensor are within the limits."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from aboard.ir import DType, Graph, Node
from aboard.ops.activation import Activation
from aboard.passes.channels.registry import followed
from aboard.passes.channels.value_analysis import ValueAnalysis
from aboard.passes.contract import Pass
from aboard.passes.identity import table
from aboard.passes.registry import register
from aboard.passes.remove_dead_code import RemoveDeadCode
from aboard.passes.rewriting import bypass, can_bypass, describe


@register
@dataclass(frozen=True)
class DropClamps(Pass):
    """Removes activations of int8 without effect.

    A fused activation is removed if the results stay within its limits without it: kernels then need no comparisons
    apart from the saturation to 8 bits. An activation node (relu, relu6, any function of single elements) is removed if
    it changes no possible value of its operand. The value ranges are those of `aboard.passes.channels`.
    """

    name: ClassVar[str] = "drop-clamps"
    summary: ClassVar[str] = "drops int8 clamps that no value can reach"
    requires: ClassVar[tuple[type[Pass], ...]] = (RemoveDeadCode,)

    @override
    def run(self, graph: Graph) -> None:
        # No value changes, so the ranges stay valid while nodes are removed.
        for node, fused in list(_idle(graph)):
            if fused:
                attrs: Any = node.attrs
                node.attrs = dataclasses.replace(attrs, activation=Activation.NONE)
            elif can_bypass(graph, node):
                bypass(graph, node)

    @override
    def pending(self, graph: Graph) -> str | None:
        return describe(node for node, _ in _idle(graph))


def _idle(graph: Graph) -> Iterator[tuple[Node, bool]]:
    """Yields nodes whose clamp has no effect, and True if the clamp is a fused activation."""
    analysis = ValueAnalysis(graph)
    for node in graph.nodes:
        if _has_idle_activation(node, analysis):
            yield node, True
        elif _passes_on(node, analysis) and can_bypass(graph, node):
            yield node, False


def _has_idle_activation(node: Node, analysis: ValueAnalysis) -> bool:
    activation = getattr(node.attrs, "activation", None)
    if not isinstance(activation, Activation) or activation is Activation.NONE or node.output.dtype is not DType.INT8:
        return False
    limits = activation.range(node.output.quant)
    known = analysis.rules[node]
    if limits == Activation.NONE.range(node.output.quant) or known is None:
        return False
    attrs: Any = node.attrs
    bare = Node(node.op, node.name, node.inputs, node.outputs, dataclasses.replace(attrs, activation=Activation.NONE))
    ranges = known.ranges(bare, [analysis[tensor].ranges for tensor in followed(node)])[0]
    return bool(ranges.low.min() >= limits[0] and ranges.high.max() <= limits[1])


def _passes_on(node: Node, analysis: ValueAnalysis) -> bool:
    if analysis.rules[node] is None or len(node.inputs) != 1 or node.input(0).type != node.output.type:
        return False
    mapped = table(node)
    if mapped is None:
        return False
    ranges = analysis[node.input(0)].ranges
    values = np.arange(int(ranges.low.min()), int(ranges.high.max()) + 1)
    return bool(np.array_equal(mapped[values + 128], values))
