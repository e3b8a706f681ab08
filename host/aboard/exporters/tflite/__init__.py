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
from aboard.ir import Graph, State

__all__ = ["is_of_layer", "write"]


def write(graph: Graph, description: str = "aboard") -> bytes:
    """Returns a graph as a TFLite file, which computes the same to the bit.

    Args:
        graph: The graph.
        description: What the file says of itself.

    Raises:
        ModelError: The graph keeps state, or has nodes that no operators of TFLite compute; the message names them all.
    """
    where = graph.source or graph.name
    other = next((state for state in graph.states if not is_of_layer(graph, state)), None)
    if other is not None:
        raise ModelError(
            f"{where}: keeps state {other.name} from run to run, which is not written to TFLite files. Leave it in its "
            "own format"
        )
    written, problems = operators.of_graph(graph)
    if problems:
        raise ModelError(f"{where}: {'; '.join(problems)}. Leave these nodes out, or keep the model in its own format")
    return flatbuffer.build(graph, written, description)


def is_of_layer(graph: Graph, state: State) -> bool:
    """True for a state of a layer that has it in variable tensors of its own, which are 0 at first."""
    readers = graph.consumers(state.read)
    alone = len(readers) == 1 and readers[0].op == "lstm" and any(state.write is each for each in readers[0].outputs)
    return alone and not state.initial.any()
