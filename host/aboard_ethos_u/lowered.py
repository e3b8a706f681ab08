"""A region as a TFLite file for Vela."""

from __future__ import annotations

import dataclasses

from aboard.exporters import tflite
from aboard.importers.free_names import FreeNames
from aboard.ir import Graph, Node, Tensor, TensorType
from aboard.ops import fully_connected
from aboard.ops.conv2d import ConvAttributes
from aboard.ops.reshape import ReshapeAttributes


def file_of(graph: Graph) -> bytes:
    """Returns a region as a TFLite file, with fully connected layers as 1x1 convolutions.

    Vela forms the multiplier of a fully connected layer from a product in float32, and that of a convolution from one
    in double precision, as the reference does. So the layer is written as a convolution.

    Raises:
        ModelError: A node has no operator in TFLite.
    """
    names = FreeNames(tensor.name for tensor in graph.tensors())
    nodes: list[Node] = []
    for node in graph.nodes:
        nodes += _as_convolution(node, names) if node.op == "fully_connected" else [node]
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
