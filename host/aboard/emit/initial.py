"""Initial values of states as C gets them: bytes that fill a state, or a constant array."""

from __future__ import annotations

from aboard.ir import Array, Graph, State


def initial_values(graph: Graph) -> dict[str, Array]:
    """Returns the arrays of initial values, by name. A state whose bytes are all equal needs none."""
    return {
        array_name(graph, number): state.initial
        for number, state in enumerate(graph.states)
        if filling_byte(state) is None
    }


def array_name(graph: Graph, number: int) -> str:
    """Returns the name of the array with the initial value of a state."""
    return f"{graph.name}_state_{number}_initial"


def filling_byte(state: State) -> int | None:
    """Returns the byte that fills a state initially; None if its bytes differ."""
    values = set(state.initial.tobytes())
    return values.pop() if len(values) == 1 else None
