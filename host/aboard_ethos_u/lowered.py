"""A region as a TFLite file for Vela."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

from aboard.exporters import tflite
from aboard.importers.free_names import FreeNames
from aboard.ir import Graph, Node, Tensor, TensorType
from aboard.ops import fully_connected
from aboard.ops.conv2d import ConvAttributes
from aboard.ops.reshape import ReshapeAttributes
from aboard_ethos_u import phases, sums


def file_of(graph: Graph) -> bytes:
    """Returns a region as a TFLite file, with what Vela rounds otherwise as operators that it rounds as the reference.

    Vela forms the multiplier of a fully connected layer from a product in float32, and that of a convolution from one
    in double precision, as the reference does. So the layer is written as a 1x1 convolution; means and sums are written
    as depthwise convolutions by ones. Phases of a transposed convolution become that one operator again.

    Raises:
        ModelError: A node has no operator in TFLite.
    """
    names = FreeNames(tensor.name for tensor in graph.tensors())
    nodes: list[Node] = []
    for node in phases.restored(graph, names):
        form = _FORMS.get(node.op)
        nodes += [node] if form is None else form(node, names)
    return tflite.write(dataclasses.replace(graph, nodes=nodes))


def _as_convolution(node: Node, names: FreeNames) -> list[Node]:
    weights = node.input(1)
    outputs, inputs = weights.shape
    rows = node.output.type.elements // outputs
    kernel = _reshaped(weights, (outputs, 1, 1, inputs), names)
    image = _reshaped(node.input(0), (1, 1, rows, inputs), names)
    result = _reshaped(node.output, (1, 1, rows, outputs), names)
    attrs = ConvAttributes(activation=fully_connected.attributes(node).activation)
    convolution = Node("conv2d", node.name, [image, kernel, *node.inputs[2:]], [result], attrs, node.sources)
    return [
        Node("reshape", f"{node.name}/image", [node.input(0)], [image], ReshapeAttributes(image.shape)),
        convolution,
        Node("reshape", f"{node.name}/result", [result], [node.output], ReshapeAttributes(node.output.shape)),
    ]


def _reshaped(tensor: Tensor, shape: tuple[int, ...], names: FreeNames) -> Tensor:
    data = None if tensor.data is None else tensor.data.reshape(shape)
    kind: TensorType = dataclasses.replace(tensor.type, shape=shape)
    return Tensor(names.take(f"{tensor.name}/image"), kind, data)


#: What is written in the place of a node, by its op.
_FORMS: Mapping[str, Callable[[Node, FreeNames], list[Node]]] = {
    "fully_connected": _as_convolution,
    "mean": sums.as_depthwise,
    "sum": sums.as_depthwise,
}
