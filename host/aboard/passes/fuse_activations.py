"""Activation fusion: a clamp after an operator becomes the operator's own."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from aboard.ir import Graph, Node, Tensor
from aboard.ir.rewriting import free_name, merged_sources, only_reader
from aboard.ops.activation import Activation
from aboard.passes.contract import Pass
from aboard.passes.identity import table, values
from aboard.passes.registry import register
from aboard.passes.remove_dead_code import RemoveDeadCode
from aboard.passes.rewriting import describe

_CLAMPS = {"relu": Activation.RELU, "relu6": Activation.RELU6, "relu_n1_to_1": Activation.RELU_N1_TO_1}


@register
@dataclass(frozen=True)
class FuseActivations(Pass):
    """Merges activations into the node before them if the result stays exact.

    A float activation can be merged if one activation has the effect of both. For int8 and int16, the pass tries all
    values; operand and result must have the same quantisation. A reshape between the two stays behind the node.
    """

    name: ClassVar[str] = "fuse-activations"
    summary: ClassVar[str] = "makes a clamp after an operator the operator's own"
    requires: ClassVar[tuple[type[Pass], ...]] = (RemoveDeadCode,)

    @override
    def run(self, graph: Graph) -> None:
        for producer in list(graph.nodes):
            while (match := _match(graph, producer)) is not None:
                reader, activation = match
                attrs: Any = producer.attrs
                producer.attrs = dataclasses.replace(attrs, activation=activation)
                producer.sources = merged_sources(producer, reader)
                graph.remove([reader])
                _give(graph, producer, reader)

    @override
    def pending(self, graph: Graph) -> str | None:
        return describe(node for node in graph.nodes if _match(graph, node) is not None)


def _match(graph: Graph, producer: Node) -> tuple[Node, Activation] | None:
    """Returns the node that can be merged into `producer`, and the activation with the effect of both."""
    own = getattr(producer.attrs, "activation", None)
    if not isinstance(own, Activation) or len(producer.outputs) != 1:
        return None
    kind, reader = producer.output.type, only_reader(graph, producer.output)
    if reader is not None and reader.op == "reshape" and reader.output.type.quant == kind.quant:
        kind, reader = reader.output.type, only_reader(graph, reader.output)
    if reader is None or reader.output.type != kind:
        return None
    both = _float(own, reader) if producer.output.dtype.is_float else _integer(own, reader)
    return None if both is None else (reader, both)


def _give(graph: Graph, producer: Node, reader: Node) -> None:
    """Makes the node, or the reshape between, compute the result of a reader that is gone."""
    if reader.input(0) is producer.output:
        producer.outputs = [reader.output]
        return
    reshape = graph.consumers(producer.output)[0]
    activated = Tensor(free_name(graph, f"{producer.output.name}/activated"), producer.output.type)
    producer.outputs, reshape.inputs = [activated], [activated]
    reshape.outputs, reshape.name = [reader.output], reader.output.name


def _float(own: Activation, reader: Node) -> Activation | None:
    if reader.op not in _CLAMPS:
        return None
    first, second = own.float_range(), _CLAMPS[reader.op].float_range()
    wanted = max(first[0], second[0]), min(first[1], second[1])
    return next((a for a in Activation if a.float_range() == wanted), None)


def _integer(own: Activation, reader: Node) -> Activation | None:
    mapped = table(reader)
    if mapped is None:
        return None
    quant, dtype = reader.output.quant, reader.output.dtype
    every = values(dtype).astype(np.int64)
    wanted = mapped[np.clip(every, *own.range(quant, dtype)) - every[0]]
    return next((a for a in Activation if np.array_equal(np.clip(every, *a.range(quant, dtype)), wanted)), None)
