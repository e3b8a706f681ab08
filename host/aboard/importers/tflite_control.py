"""The subgraphs that IF and WHILE call, as graphs.

A subgraph that several operators call is read once, or for each choice of variables whose handles are its operands.
"""

from __future__ import annotations

from aboard.importers.tflite_carried import Called
from aboard.importers.tflite_context import MAIN, Context, Handles, Role
from aboard.importers.tflite_interface import Interface
from aboard.importers.tflite_subgraph import SubgraphReader
from aboard.ir import Graph

#: Largest depth of calls within calls.
MOST_DEPTH = 8

#: Largest number of calls of subgraphs, when those inside a subgraph are counted for each call of it.
MOST_CALLS = 1000


class Bodies:
    """Reads subgraphs when operators call them."""

    def __init__(self, context: Context) -> None:
        self._known: dict[tuple[int, Handles], Called | None] = {}
        self._context = context
        self._open: list[int] = []
        self._calls = [0]
        self._calls_of: dict[tuple[int, Handles], int] = {}

    @property
    def numbers(self) -> set[int]:
        """Numbers of the subgraphs that were read."""
        return {number for number, _ in self._known}

    def read(self, number: int, user: str, handles: Handles) -> Called | None:
        """Returns a subgraph; None with the problems noted.

        Args:
            number: Of the subgraph.
            user: The operator that calls it, for messages.
            handles: For each of its inputs, the variable whose handle it is.
        """
        key = number, handles
        if not self._may_call(number, user):
            return None
        if key not in self._known:
            self._open.append(number)
            self._calls.append(0)
            self._known[key] = self._read(number, handles)
            self._open.pop()
            self._calls_of[key] = 1 + self._calls.pop()
        self._calls[-1] += self._calls_of[key]
        if self._calls[-1] > MOST_CALLS:
            text = (
                f"calls of subgraphs within calls, got {self._calls[-1]} and maybe more, expected at most {MOST_CALLS}"
            )
            self._note(user, f"{text}. Export the model with fewer branches and loops inside each other")
            return None
        return self._known[key]

    def _note(self, where: str, text: str) -> None:
        self._context.diagnostics.add(where, text)

    def _may_call(self, number: int, user: str) -> bool:
        count = len(self._context.file.subgraphs)
        if not MAIN < number < count:
            self._note(user, f"calls subgraph {number} of {count}, expected one from 1 on. Export the model again")
        elif number in self._open:
            self._note(user, f"calls subgraph {number}, which contains this call, expected no recursion. Write a loop")
        elif len(self._open) >= MOST_DEPTH:
            text = f"calls subgraph {number} within {len(self._open)} calls, expected at most {MOST_DEPTH}"
            self._note(user, f"{text}. Export the model with fewer branches and loops inside each other")
        else:
            return True
        return False

    def _read(self, number: int, handles: Handles) -> Called | None:
        diagnostics, whose = self._context.diagnostics, f"subgraph {number}'s"
        before = diagnostics.count
        reader = SubgraphReader(self._context, number, Role.BODY)
        reader.check()
        for tensor, variable in zip(reader.subgraph.inputs, handles, strict=False):
            if variable is not None:
                reader.state.name(tensor, variable)
        interface = Interface(reader, diagnostics.add, whose)
        inputs = interface.inputs()
        reader.read()
        outputs = interface.outputs()
        if not reader.subgraph.outputs:
            self._note(f"{whose} outputs", "got none, expected at least 1. Export the model again")
        reader.state.carry_tensors()
        if diagnostics.count != before:
            return None
        nodes = [*reader.nodes, *interface.copies]
        graph = Graph(f"subgraph_{number}", inputs, outputs, nodes, self._context.where)
        state = reader.state
        return Called(graph, state.carried, tuple(state.handles.get(each) for each in reader.subgraph.outputs))
