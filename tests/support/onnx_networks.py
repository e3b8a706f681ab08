"""Makes ONNX networks as exporters write them, with random weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper


class Network:
    """A network under construction: each step returns the name of what it computes.

    Images are [batch, channels, height, width], as PyTorch has them.
    """

    def __init__(self, opset: int = 17, seed: int = 0) -> None:
        """Begins without nodes; `opset` is the version of the standard's operators."""
        self.opset = opset
        self._rng = np.random.default_rng(seed)
        self._nodes: list[onnx.NodeProto] = []
        self._inputs: list[onnx.ValueInfoProto] = []
        self._weights: list[onnx.TensorProto] = []

    def input(self, name: str, *shape: int | str, kind: int = onnx.TensorProto.FLOAT) -> str:
        """Adds an input; a size in words is a free dimension."""
        self._inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def many(self, kind: str, inputs: Sequence[str], results: int, **attributes: Any) -> list[str]:
        """Adds a node with several results."""
        names = [f"/{kind}_{len(self._nodes)}/{number}" for number in range(results)]
        self._nodes.append(helper.make_node(kind, inputs, names, name=f"/{kind}_{len(self._nodes)}", **attributes))
        return names

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Adds a node with one result."""
        return self.many(kind, inputs, 1, **attributes)[0]

    def array(self, values: Any, dtype: type = np.float32) -> str:
        """Adds a constant."""
        name = f"weights_{len(self._weights)}"
        self._weights.append(numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    def integers(self, *values: int) -> str:
        """Adds a list of int64: a shape, or axes."""
        return self.array(values, np.int64)

    def normal(self, *shape: int, fan: int = 0) -> str:
        """Adds random weights, which keep the size of what they multiply: `fan` products are added."""
        return self.array(self._rng.normal(size=shape) / np.sqrt(fan or 10))

    def conv(self, x: str, shape: Sequence[int], *, bias: bool = True, **attributes: Any) -> str:
        """Adds a convolution with weights [outputs, inputs of a group, ...window]; it keeps the pixels by default."""
        size = shape[2:]
        dilations = attributes.setdefault("dilations", [1] * len(size))
        half = [(n - 1) * d // 2 for n, d in zip(size, dilations, strict=True)]
        whole = {"kernel_shape": list(size), "strides": [1] * len(size), "pads": half * 2, "group": 1, **attributes}
        operands = [x, self.normal(*shape, fan=int(np.prod(shape[1:]))), *([self.normal(shape[0])] if bias else [])]
        return self.op("Conv", *operands, **whole)

    def batch_norm(self, x: str, channels: int) -> str:
        """Adds a batch normalisation with trained statistics."""
        variance = self.array(self._rng.uniform(0.5, 2, channels))
        parts = [self.array(self._rng.uniform(0.5, 1.5, channels)), self.normal(channels), self.normal(channels)]
        return self.op("BatchNormalization", x, *parts, variance, epsilon=1e-5)

    def linear(self, x: str, inputs: int, outputs: int, *, gemm: bool = False) -> str:
        """Adds a layer of products with constant weights: MatMul and Add, or Gemm for rank 2."""
        if gemm:
            weights = self.normal(outputs, inputs, fan=inputs)
            return self.op("Gemm", x, weights, self.normal(outputs), transB=1)
        return self.op("Add", self.normal(outputs), self.op("MatMul", x, self.normal(inputs, outputs, fan=inputs)))

    def reduce_mean(self, x: str, *axes: int, keepdims: int = 1) -> str:
        """Adds a mean over axes, which are an operand from opset 18 on."""
        if self.opset >= 18:
            return self.op("ReduceMean", x, self.integers(*axes), keepdims=keepdims)
        return self.op("ReduceMean", x, axes=list(axes), keepdims=keepdims)

    def split(self, x: str, axis: int, *sizes: int) -> list[str]:
        """Adds a split, whose sizes are an operand from opset 13 on."""
        if self.opset >= 13:
            return self.many("Split", [x, self.integers(*sizes)], len(sizes), axis=axis)
        return self.many("Split", [x], len(sizes), axis=axis, split=list(sizes))

    def unsqueeze(self, x: str, axis: int) -> str:
        """Adds an axis; it is an operand from opset 13 on."""
        if self.opset >= 13:
            return self.op("Unsqueeze", x, self.integers(axis))
        return self.op("Unsqueeze", x, axes=[axis])

    def squeeze(self, x: str, axis: int) -> str:
        """Removes an axis; it is an operand from opset 13 on."""
        if self.opset >= 13:
            return self.op("Squeeze", x, self.integers(axis))
        return self.op("Squeeze", x, axes=[axis])

    def file(self, **outputs: str) -> bytes:
        """Returns the model file with the given outputs, by their names in the file."""
        nodes = [*self._nodes, *(helper.make_node("Identity", [value], [name]) for name, value in outputs.items())]
        results = [onnx.ValueInfoProto(name=name) for name in outputs]
        graph = helper.make_graph(nodes, "main_graph", self._inputs, results, self._weights)
        version = 4 if self.opset < 9 else 8 if self.opset < 20 else 10
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=version)
        if version == 4:  # Weights are inputs too in files of that time.
            made.graph.input.extend(
                helper.make_tensor_value_info(each.name, each.data_type, each.dims) for each in self._weights
            )
        inferred = onnx.shape_inference.infer_shapes(made, strict_mode=True)
        renamed = _without_identities(inferred)
        return renamed.SerializeToString()


def _without_identities(model: onnx.ModelProto) -> onnx.ModelProto:
    """Gives results the names of the outputs that copy them."""
    graph = model.graph
    names = {node.input[0]: node.output[0] for node in graph.node if node.op_type == "Identity" and _last(graph, node)}
    kept = [node for node in graph.node if not (node.op_type == "Identity" and node.input[0] in names)]
    for node in kept:
        node.input[:] = [names.get(name, name) for name in node.input]
        node.output[:] = [names.get(name, name) for name in node.output]
    del graph.node[:]
    graph.node.extend(kept)
    return model


def _last(graph: onnx.GraphProto, node: onnx.NodeProto) -> bool:
    made = {name for each in graph.node for name in each.output}
    return node.output[0] in {each.name for each in graph.output} and node.input[0] in made
