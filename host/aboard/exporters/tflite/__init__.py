"""Writes a graph as a TFLite file.

| file | what it does |
|---|---|
| `operators` | the operators of the file that compute a node |
| `versions` | the version of an operator that interpreters expect for its element types |
| `flatbuffer` | tensors, buffers and operators as bytes |
"""

from __future__ import annotations

from aboard.errors import ModelError
from aboard.exporters.tflite import flatbuffer, operators
from aboard.ir import Graph

__all__ = ["write"]


def write(graph: Graph, description: str = "aboard") -> bytes:
    """Returns a graph as a TFLite file, which computes the same to the bit.

    Args:
        graph: The graph.
        description: What the file says of itself.

    Raises:
        ModelError: The graph keeps state, or has nodes that no operators of TFLite compute; the message names them all.
    """
    where = graph.source or graph.name
    if graph.states:
        raise ModelError(
            f"{where}: keeps state {graph.states[0].name} from run to run, which is not written to TFLite files. Leave "
            "it in its own format"
        )
    written, problems = operators.of_graph(graph)
    if problems:
        raise ModelError(f"{where}: {'; '.join(problems)}. Leave these nodes out, or keep the model in its own format")
    return flatbuffer.build(graph, written, description)
