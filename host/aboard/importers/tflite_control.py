"""The subgraphs that IF and WHILE call, as graphs. A subgraph that several operators call is read once."""

from __future__ import annotations

from aboard.importers import tflite_state
from aboard.importers.tflite_interface import Interface
from aboard.importers.tflite_subgraph import MAIN, Context, Role, SubgraphReader
from aboard.ir import Graph

#: Largest depth of calls within calls.
MOST_DEPTH = 8

#: Largest number of calls of subgraphs, when those inside a subgraph are counted for each call of it.
MOST_CALLS = 1000


class Bodies:
    """Reads subgraphs when operators call them.

    Attributes:
        known: The subgraphs read, by their number; None for one with problems.
    """

    def __init__(self, context: Context) -> None:
        self.known: dict[int, Graph | None] = {}
        self._context = context
        self._open: list[int] = []
        self._calls = [0]
        self._calls_of: dict[int, int] = {}

    def read(self, number: int, user: str) -> Graph | None:
        """Returns a subgraph; None with the problems noted.

        Args:
            number: Of the subgraph.
            user: The operator that calls it, for messages.
        """
        if not self._may_call(number, user):
            return None
        if number not in self.known:
            self._open.append(number)
            self._calls.append(0)
            self.known[number] = self._read(number)
            self._open.pop()
            self._calls_of[number] = 1 + self._calls.pop()
        self._calls[-1] += self._calls_of[number]
        if self._calls[-1] > MOST_CALLS:
            text = (
                f"calls of subgraphs within calls, got {self._calls[-1]} and maybe more, expected at most {MOST_CALLS}"
            )
            self._note(user, f"{text}. Export the model with fewer branches and loops inside each other")
            return None
        return self.known[number]

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

    def _read(self, number: int) -> Graph | None:
        diagnostics, whose = self._context.diagnostics, f"subgraph {number}'s"
        before = diagnostics.count
        reader = SubgraphReader(self._context, number, Role.BODY)
        reader.check()
        interface = Interface(reader, diagnostics.add, whose)
        inputs = interface.inputs()
        reader.read()
        outputs = interface.outputs()
        if not reader.subgraph.outputs:
            self._note(f"{whose} outputs", "got none, expected at least 1. Export the model again")
        for state in tflite_state.states_of_tensors(reader.values):
            self._note(
                f"subgraph {number}",
                f"variable tensor {state.name} is read in a branch or loop, expected state in the model's own subgraph "
                "alone. Export the model with its recurrent operators outside of branches and loops",
            )
        if diagnostics.count != before:
            return None
        self._context.carried[number] = reader.carried
        nodes = [*reader.nodes, *interface.copies]
        return Graph(f"subgraph_{number}", inputs, outputs, nodes, self._context.where)
