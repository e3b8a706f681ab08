"""The streamed input: the caller pushes it row by row, as a camera or a microphone delivers it (`-input=rows`)."""

from __future__ import annotations

from aboard.errors import TargetError
from aboard.ir import Graph, Tensor
from aboard.target import Target


def find_streamed_input(graph: Graph, target: Target) -> Tensor | None:
    """Returns the input whose rows the caller pushes, or None without `-input=rows`.

    Raises:
        TargetError: The model has several inputs, or one without rows.
    """
    if target.input_mode != "rows":
        return None
    shapes = ", ".join("x".join(map(str, tensor.shape)) or "scalar" for tensor in graph.inputs)
    if len(graph.inputs) != 1 or len(graph.inputs[0].shape) != 4 or graph.inputs[0].shape[0] != 1:
        raise TargetError(
            f"{graph.name}: -input=rows does not suit the inputs of the model, got {shapes or 'none'}, expected one "
            "image of 1 x rows x columns x channels. Leave -input=rows out"
        )
    return graph.inputs[0]
