"""Writes digits.onnx: the float twin of the shipped digits model, in the form in which PyTorch exports such a network.

    python tests/data/onnx/make_digits.py

`host/aboard/models/train_digits.py` trained the weights. Images have their channels first, weights the orders of
torch.nn, and the flattened image of the last layer is in the order of channels, rows and columns.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from aboard.base import resources
from aboard.importers import load

HERE = Path(__file__).parent


def weights() -> dict[str, np.ndarray[Any, Any]]:
    """Returns the weights and biases of each layer in the order of torch.nn, by the names that PyTorch gives them."""
    found: dict[str, np.ndarray[Any, Any]] = {}
    layers = [node for node in load(resources.models() / "digits_f32.tflite").nodes if len(node.operands) == 3]
    pooled = (4, 4, 24)
    for name, node in zip(("stem", "depthwise", "pointwise", "head"), layers, strict=True):
        matrix, bias = (np.asarray(tensor.data) for tensor in node.operands[1:])
        if name == "head":
            matrix = matrix.reshape(10, *pooled).transpose(0, 3, 1, 2).reshape(10, -1)
        elif name == "depthwise":
            matrix = matrix.transpose(3, 0, 1, 2)
        else:
            matrix = matrix.transpose(0, 3, 1, 2)
        found |= {f"{name}.weight": np.ascontiguousarray(matrix), f"{name}.bias": bias.reshape(-1)}
    return found


def model() -> onnx.ModelProto:
    """Returns the network of logits."""
    same: dict[str, Any] = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    nodes = [
        helper.make_node("Conv", ["image", "stem.weight", "stem.bias"], ["conv2d"], "node_conv2d", **same),
        helper.make_node("Relu", ["conv2d"], ["relu"], "node_relu"),
        helper.make_node(
            "Conv", ["relu", "depthwise.weight", "depthwise.bias"], ["conv2d_1"], "node_conv2d_1", group=16, **same
        ),
        helper.make_node("Relu", ["conv2d_1"], ["relu_1"], "node_relu_1"),
        helper.make_node(
            "Conv", ["relu_1", "pointwise.weight", "pointwise.bias"], ["conv2d_2"], "node_conv2d_2", kernel_shape=[1, 1]
        ),
        helper.make_node("Relu", ["conv2d_2"], ["relu_2"], "node_relu_2"),
        helper.make_node("MaxPool", ["relu_2"], ["pool"], "node_max_pool2d", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Flatten", ["pool"], ["flat"], "node_flatten", axis=1),
        helper.make_node("Gemm", ["flat", "head.weight", "head.bias"], ["logits"], "node_linear", transB=1),
    ]
    image = helper.make_tensor_value_info("image", onnx.TensorProto.FLOAT, [1, 1, 8, 8])
    logits = helper.make_tensor_value_info("logits", onnx.TensorProto.FLOAT, [1, 10])
    initializers = [numpy_helper.from_array(values, name) for name, values in weights().items()]
    graph = helper.make_graph(nodes, "main_graph", [image], [logits], initializers)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    onnx.checker.check_model(made, full_check=True)
    return made


if __name__ == "__main__":
    (HERE / "digits.onnx").write_bytes(model().SerializeToString())
