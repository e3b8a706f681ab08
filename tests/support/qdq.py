"""Integer networks of TFLite files as ONNX files with QuantizeLinear and DequantizeLinear around each layer.

Weights, scales and zero points are the file's own, so that both files are the same network.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import onnx
from onnx import helper, numpy_helper

from aboard.importers import load
from aboard.ir import DType, Graph, Node, Tensor
from aboard.ops.activation import Activation
from aboard.ops.arithmetic import ArithmeticAttributes
from aboard.ops.conv2d import attributes as convolution
from aboard.ops.fully_connected import attributes as product
from aboard.ops.pool2d import PoolAttributes
from aboard.ops.reshape import ReshapeAttributes
from aboard.ops.softmax import SoftmaxAttributes
from support import models

_TYPES = {DType.INT8: onnx.TensorProto.INT8, DType.INT16: onnx.TensorProto.INT16}

#: Nodes that clamp what a layer computes.
_CLAMPS = {Activation.RELU: "Relu", Activation.RELU6: "Clip"}


def convert(name: str) -> bytes:
    """Returns a model of the zoo by its name, such as `kws`, as an ONNX file of opset 21.

    Images have channels first inside, and behind a transpose at the input; inputs and outputs are those of the TFLite
    file, integers.
    """
    path = models.path(name)
    if path is None:
        raise FileNotFoundError(f"model {name}: not found, expected it in ABOARD_MODELS")
    return _Writer(load(path)).file()


class _Writer:
    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []
        self._names = {id(tensor): f"t{number}" for number, tensor in enumerate(graph.tensors())}
        self._first: set[int] = set()

    def file(self) -> bytes:
        inputs = [self._value(tensor) for tensor in self._graph.inputs]
        for tensor in self._graph.inputs:
            self._real(tensor, f"{self._names[id(tensor)]}_in")
        for node in self._graph.nodes:
            _WRITE[node.op](self, node)
        outputs = [self._value(tensor) for tensor in self._graph.outputs]
        graph = helper.make_graph(self._nodes, "network", inputs, outputs, self._constants)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
        return cast(bytes, onnx.shape_inference.infer_shapes(made, strict_mode=True).SerializeToString())

    def _value(self, tensor: Tensor) -> onnx.ValueInfoProto:
        suffix = "in" if tensor in self._graph.inputs else "out"
        return helper.make_tensor_value_info(f"{self._names[id(tensor)]}_{suffix}", _TYPES[tensor.dtype], tensor.shape)

    def _add(self, kind: str, inputs: Sequence[str], output: str, **attributes: Any) -> str:
        self._nodes.append(helper.make_node(kind, list(inputs), [output], name=output, **attributes))
        return output

    def _constant(self, name: str, values: np.ndarray) -> str:
        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def _scale(self, tensor: Tensor) -> list[str]:
        """Returns the names of a computed tensor's scale and zero point."""
        name = self._names[id(tensor)]
        scale = self._constant(f"{name}_scale_{len(self._constants)}", np.float32(tensor.quant.scale))
        point = np.array(tensor.quant.zero_point, tensor.dtype.numpy)
        return [scale, self._constant(f"{name}_zero_{len(self._constants)}", point)]

    def _real(self, tensor: Tensor, stored: str) -> None:
        """Adds the real numbers of a tensor, with channels first for an image."""
        name = self._names[id(tensor)]
        if len(tensor.shape) == 4 and stored.endswith("_in"):
            stored = self._add("Transpose", [stored], f"{name}_moved", perm=[0, 3, 1, 2])
        self._add("DequantizeLinear", [stored, *self._scale(tensor)], name)

    def result(self, node: Node, made: str, activation: Activation = Activation.NONE) -> None:
        """Clamps and quantises what a layer computes."""
        tensor = node.output
        name = self._names[id(tensor)]
        if activation in _CLAMPS:
            limits = [self._constant(f"{name}_{end}", np.float32(end)) for end in (0, 6)]
            more = limits if activation is Activation.RELU6 else []
            made = self._add(_CLAMPS[activation], [made, *more], f"{name}_clamped")
        if tensor in self._graph.outputs:
            self._add("QuantizeLinear", [made, *self._scale(tensor)], f"{name}_out")
            return
        self._real(tensor, self._add("QuantizeLinear", [made, *self._scale(tensor)], f"{name}_stored"))

    def operands(self, node: Node) -> list[str]:
        return [self._names[id(tensor)] for tensor in node.operands]

    def made(self, node: Node) -> str:
        """Returns the name of what a layer computes before it is quantised."""
        return f"{self._names[id(node.output)]}_real"

    def parameters(self, node: Node, order: Sequence[int], axis: int) -> list[str]:
        """Adds weights in another order of their axes, and the bias; `axis` has the output channels in that order."""
        x, weights = node.input(0), node.input(1)
        name, quant = self._names[id(node.output)], weights.quant
        scales = np.array(quant.scales if quant.per_channel else quant.scale, np.float32)
        assert weights.data is not None
        stored = self._constant(f"{name}_weights", weights.data.transpose(order))
        inputs = [stored, self._constant(f"{name}_weights_scale", scales)]
        found = [self._add("DequantizeLinear", inputs, f"{name}_real_weights", axis=axis)]
        bias = node.optional_input(2)
        if bias is not None and bias.data is not None:
            steps = (np.float64(x.quant.scale) * np.array(scales, np.float64)).astype(np.float32)
            inputs = [self._constant(f"{name}_bias", bias.data), self._constant(f"{name}_bias_scale", steps)]
            found.append(self._add("DequantizeLinear", inputs, f"{name}_real_bias", axis=0))
        return found

    def convolution(self, node: Node) -> None:
        attrs, depthwise = convolution(node), node.op == "depthwise_conv2d"
        padding = attrs.padding
        weights = self.parameters(node, (3, 0, 1, 2) if depthwise else (0, 3, 1, 2), 0)
        made = self._add(
            "Conv",
            [self.operands(node)[0], *weights],
            self.made(node),
            strides=attrs.strides,
            dilations=attrs.dilations,
            pads=[padding.top, padding.left, padding.bottom, padding.right],
            group=node.input(0).shape[3] if depthwise else 1,
        )
        self.result(node, made, attrs.activation)

    def product(self, node: Node) -> None:
        inputs = [self.operands(node)[0], *self.parameters(node, (0, 1), 0)]
        self.result(node, self._add("Gemm", inputs, self.made(node), transB=1), product(node).activation)

    def pool(self, node: Node) -> None:
        attrs = cast(PoolAttributes, node.attrs)
        kind = "AveragePool" if node.op == "average_pool2d" else "MaxPool"
        padding = attrs.padding
        pads = [padding.top, padding.left, padding.bottom, padding.right]
        options = {"kernel_shape": attrs.window, "strides": attrs.strides, "pads": pads}
        self.result(node, self._add(kind, self.operands(node), self.made(node), **options), attrs.activation)

    def addition(self, node: Node) -> None:
        made = self._add("Add", self.operands(node), self.made(node))
        self.result(node, made, cast(ArithmeticAttributes, node.attrs).activation)

    def reshape(self, node: Node) -> None:
        (name,) = self.operands(node)
        if len(node.input(0).shape) == 4:
            name = self._add("Transpose", [name], f"{self.made(node)}_moved", perm=[0, 2, 3, 1])
        shape = self._constant(f"{self.made(node)}_shape", np.array(cast(ReshapeAttributes, node.attrs).shape))
        self.result(node, self._add("Reshape", [name, shape], self.made(node)))

    def softmax(self, node: Node) -> None:
        assert cast(SoftmaxAttributes, node.attrs).beta == 1
        self.result(node, self._add("Softmax", self.operands(node), self.made(node), axis=-1))


_WRITE = {
    "conv2d": _Writer.convolution,
    "depthwise_conv2d": _Writer.convolution,
    "fully_connected": _Writer.product,
    "average_pool2d": _Writer.pool,
    "max_pool2d": _Writer.pool,
    "add": _Writer.addition,
    "reshape": _Writer.reshape,
    "softmax": _Writer.softmax,
}
