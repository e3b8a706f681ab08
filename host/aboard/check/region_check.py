"""Compares the results of accelerators, region by region, with the numpy evaluation of each region's inner graph.

Outputs of a model can hide a wrong region: a softmax or a clamp after it maps many values to the same result. So each
claimed region is compared with its own inner graph in numpy, on the operands that the region had on the device. A
reported fault is therefore a fault of that region, not of an earlier one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from aboard.base.manifest import label
from aboard.check.verify import differs
from aboard.compiler.pipeline import Module
from aboard.device.input_files import Named
from aboard.device.tensor_io import Values
from aboard.ir import Array, Graph, Node, Tensor
from aboard.ops import interpreter
from aboard.ops.subgraph import SubgraphAttributes, attributes

#: Runs a model with an input and returns the results of all nodes: by index in the manifest, then by tensor name.
Traced = Callable[[Named], Mapping[int, Mapping[str, Values]]]


@dataclass(frozen=True)
class WrongRegion:
    """A region whose result differs from the evaluation of its inner graph.

    Attributes:
        node: Index of the region in the manifest.
        name: Its name.
        device: Name of the device in tables.
        tensor: Name of the first result that differs.
        differing: Elements of that result that differ.
        elements: Elements of that result.
        sample: Number of the input.
        layers: The layers inside the region, in order: op and name.
    """

    node: int
    name: str
    device: str
    tensor: str
    differing: int
    elements: int
    sample: int
    layers: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"region {self.node} ({self.name}, computed by {self.device}): {self.differing} of {self.elements} "
            f"elements of {self.tensor} differ for sample {self.sample}"
        )


def has_regions(module: Module) -> bool:
    """True if an accelerator or another core computes a part of the module."""
    return any(node.device is not None for node in module.manifest.nodes)


def faults(module: Module, traced: Traced, inputs: Sequence[Named]) -> Iterator[WrongRegion]:
    """Yields the regions that differ, for one input after another.

    Integers must be equal; floats may differ by the tolerance of `aboard verify`. A model with state runs the inputs in
    sequence, from its initial state on.

    Args:
        module: The compiled model, of this process.
        traced: Runs the model and returns the results of all nodes.
        inputs: Inputs by tensor name.
    """
    graph = module.schedule().program.graph
    kept = {state.read.name: state.initial for state in graph.states}
    for sample, feed in enumerate(inputs):
        found = traced(feed)
        given = {name: np.asarray(values) for name, values in feed.items()} | kept
        given |= {name: np.ma.getdata(values) for tensors in found.values() for name, values in tensors.items()}
        values = _Values(graph, given)
        kept = {state.read.name: values.of(state.write) for state in graph.states}
        for index, node in _regions(module, graph):
            operands = [None if tensor is None else values.of(tensor) for tensor in node.inputs]
            for tensor, wanted in zip(node.outputs, interpreter.evaluate(node, operands), strict=True):
                wrong = int(differs(given[tensor.name], wanted).sum())
                if wrong:
                    record = module.manifest.nodes[index]
                    size, device = wanted.size, record.device or ""
                    yield WrongRegion(index, node.name, device, tensor.name, wrong, size, sample, _layers(node))
                    break


def _regions(module: Module, graph: Graph) -> Iterator[tuple[int, Node]]:
    nodes = {node.name: node for node in graph.nodes if isinstance(node.attrs, SubgraphAttributes)}
    for index, record in enumerate(module.manifest.nodes):
        if record.device is not None:
            yield index, nodes[record.name]


def _layers(node: Node) -> tuple[str, ...]:
    """Returns op and name of each layer of a region."""
    return tuple(f"{inner.op} {label(inner.name)}" for inner in attributes(node).graph.nodes)


class _Values:
    """The tensors of a run: traced tensors, and tensors of nodes without code (reshapes), derived from traced ones."""

    def __init__(self, graph: Graph, known: Mapping[str, Array]) -> None:
        self._known = known
        self._makers = {tensor: node for node in graph.nodes for tensor in node.outputs}

    def of(self, tensor: Tensor) -> Array:
        if tensor.data is not None:
            return tensor.data
        if tensor.name in self._known:
            return self._known[tensor.name].reshape(tensor.shape)
        node = self._makers[tensor]
        operands = [None if operand is None else self.of(operand) for operand in node.inputs]
        return interpreter.evaluate(node, operands)[node.outputs.index(tensor)]
