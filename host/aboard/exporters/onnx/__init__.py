"""Writes a graph as an ONNX file.

Integer layers are written as they stand before the pass fuse-quantisation: layers of real numbers between
QuantizeLinear and DequantizeLinear.

| file | what it does |
|---|---|
| `writing` | tensors while the file is written: names, constants, images with their channels second |
| `operators`, `layers` | the operators of ONNX that compute a node |
"""

from __future__ import annotations

from aboard.errors import ModelError
from aboard.exporters.onnx import layers, operators
from aboard.exporters.onnx.writing import NoFormError, Writing
from aboard.ir import Graph

__all__ = ["write"]


def write(graph: Graph, description: str = "aboard") -> bytes:
    """Returns a graph as an ONNX file, which computes the same but for the rounding of float32.

    Args:
        graph: The graph.
        description: What the file says of itself.

    Raises:
        ModelError: The graph keeps state, or has nodes that no operators of ONNX compute; the message names them all.
        ToolError: The package `onnx` is not installed.
    """
    where = graph.source or graph.name
    if graph.states:
        raise ModelError(
            f"{where}: keeps state {graph.states[0].name} from run to run, which ONNX files cannot. Write a TFLite file"
        )
    writing, problems = Writing(graph), dict[str, list[str]]()
    forms = {**operators.FORMS, **layers.FORMS}
    for node in graph.nodes:
        try:
            if node.op not in forms:
                raise NoFormError(f"{node.op} is not written to ONNX")
            forms[node.op](node, writing)
        except NoFormError as error:
            problems.setdefault(str(error), []).append(node.name)
            for tensor in node.outputs:
                writing.give(tensor, tensor.name)
    if problems:
        reasons = "; ".join(f"{', '.join(names[:3])}: {why}" for why, names in problems.items())
        raise ModelError(f"{where}: {reasons}. Leave these nodes out, or write a TFLite file")
    return writing.file(description)
