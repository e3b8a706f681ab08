"""Float models with weights of int8, as TensorFlow's converter makes them without samples."""

from __future__ import annotations

import numpy as np

from aboard.exporters import tflite
from aboard.importers import load
from aboard.ir import DType, Quantization, Tensor, TensorType


def hybrid(model: bytes) -> bytes:
    """Returns a TFLite file with the weights of convolutions and fully connected layers as int8.

    Convolutions have a scale for each output channel, fully connected layers have one.

    Args:
        model: A TFLite file of float32.
    """
    graph = load(model)
    for node in graph.nodes:
        if node.op in ("conv2d", "fully_connected"):
            node.inputs[1] = _narrow(node.input(1), per_channel=node.op == "conv2d")
    return tflite.write(graph)


def _narrow(weights: Tensor, *, per_channel: bool) -> Tensor:
    values = np.asarray(weights.data, np.float32)
    axes = tuple(range(1, values.ndim)) if per_channel else None
    scales = np.abs(values).max(axes, keepdims=True) / 127
    quant = Quantization(tuple(scales.ravel().tolist()), (0,) * scales.size, 0 if per_channel else None)
    integers = np.rint(values / scales).astype(np.int8)
    return Tensor(weights.name, TensorType(weights.shape, DType.INT8, quant), integers)
