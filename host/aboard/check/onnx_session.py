"""Sessions of onnxruntime that compute what the standard says, on every machine."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from aboard.errors import ToolError

#: Slots of the weights of integer layers and of the weights' zero points.
_WEIGHTS = {
    "ConvInteger": (1, 3),
    "MatMulInteger": (1, 3),
    "QGemm": (3, 5),
    "QLinearConv": (3, 5),
    "QLinearMatMul": (3, 5),
}


def open_session(data: bytes, *, every_tensor: bool = False) -> Any:
    """Returns an `onnxruntime.InferenceSession` without optimisations, on one thread.

    Weights of int8 beside activations of uint8 are given to it as uint8 with a zero point that is 128 greater: the
    same numbers. With int8, sums of two products are cut off at 16 bits on x86 processors without VNNI (onnxruntime,
    "Quantize ONNX Models", when to use U8U8), and results would depend on the machine.

    Args:
        data: An ONNX file.
        every_tensor: True to make each tensor that a node computes an output of the session.

    Raises:
        ToolError: onnxruntime is not installed.
        Exception: onnxruntime refuses the model; its exceptions have no common base.
    """
    try:
        onnx, runtime = (importlib.import_module(name) for name in ("onnx", "onnxruntime"))
    except ImportError as error:
        raise ToolError("onnxruntime: not installed. Install it with: pip install onnxruntime") from error
    model = onnx.load_from_string(data)
    _without_int8_weights(model)
    if every_tensor:
        named = {output.name for output in model.graph.output}
        names = {name for node in model.graph.node for name in node.output if name}
        model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in sorted(names - named))
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def _without_int8_weights(model: Any) -> None:
    """Gives integer layers weights of uint8 in place of int8, where their activations are uint8."""
    known = {each.name: each for each in model.graph.initializer}
    types = _types(model)
    for place, node in enumerate(model.graph.node):
        if node.op_type not in _WEIGHTS or types.get(node.input[2 if len(node.input) > 2 else 0]) != np.uint8:
            continue
        slots = _WEIGHTS[node.op_type]
        names = [*node.input, *[""] * (slots[1] + 1 - len(node.input))]
        weights, zero = (known.get(names[slot]) for slot in slots)
        if weights is None or types[weights.name] != np.int8 or (zero is None and names[slots[1]]):
            continue
        for slot, value in zip(slots, (weights, zero), strict=True):
            names[slot] = f"{weights.name}/uint8/{place}/{slot}"
            model.graph.initializer.append(_plus_128(value, names[slot]))
        del node.input[:]
        node.input.extend(names)


def _types(model: Any) -> dict[str, Any]:
    """Returns the types of tensors by name, as far as they are known."""
    onnx = importlib.import_module("onnx")
    graph = onnx.shape_inference.infer_shapes(model).graph
    values = {each.name: each.type.tensor_type.elem_type for each in (*graph.input, *graph.value_info)}
    values |= {each.name: each.data_type for each in graph.initializer}
    return {name: onnx.helper.tensor_dtype_to_np_dtype(each) for name, each in values.items() if each}


def _plus_128(value: Any, name: str) -> Any:
    """Returns a tensor of int8 as uint8; None is a zero point of zero."""
    onnx = importlib.import_module("onnx")
    numbers = np.zeros((), np.int8) if value is None else onnx.numpy_helper.to_array(value)
    return onnx.numpy_helper.from_array((numbers.astype(np.int16) + 128).astype(np.uint8), name)
