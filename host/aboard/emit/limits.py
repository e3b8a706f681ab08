"""The limits that the fields of a model's descriptor set (`aboard_model_t` in aboard/model.h)."""

from __future__ import annotations

from aboard.errors import ModelError
from aboard.ir import Graph

#: Largest number of inputs, of outputs and of states: the descriptor counts them in 8 bits, the RPC numbers them so.
MOST_TENSORS = 255


def check(graph: Graph) -> None:
    """Checks a model before it is compiled.

    Raises:
        ModelError: It has more inputs, outputs or states than its descriptor can count.
    """
    for name, tensors in (("inputs", graph.inputs), ("outputs", graph.outputs), ("states", graph.states)):
        if len(tensors) > MOST_TENSORS:
            raise ModelError(
                f"{graph.name}: too many {name}, got {len(tensors)}, expected at most {MOST_TENSORS}. "
                f"Change the model: concatenate {name} into fewer, larger ones"
            )
