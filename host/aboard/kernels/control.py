"""IF and WHILE: a function with a plain branch or loop, which calls a function for each graph inside.

A graph inside is compiled like a model, into a function with an arena of its own. The arenas of a node's graphs share
one scratch buffer, as no two of them are live at once: values are copied in before a graph is computed and out after.
The compiler knows the arenas (`aboard.schedule.control`) and gives them to the implementation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from typing_extensions import override

from aboard.ir import Node
from aboard.kernels.contract import FunctionCall, Implementation, InputArg, OutputArg, Scratch, ScratchArg
from aboard.kernels.registry import implements
from aboard.kernels.view import View
from aboard.ops import rows_of
from aboard.target import Target


@dataclass(frozen=True, eq=False)
class Body:
    """A compiled graph inside a node.

    Attributes:
        function: C function: `aboard_status_t function(void *memory)`.
        arena: Its arena.
        inputs: Of each input, bytes from the start of the arena.
        outputs: Of each output, bytes from the start of the arena.
        flash: Predicted bytes of its own code and constants, without graphs inside it; None if not known.
        inner: Graphs inside its nodes.
    """

    function: str
    arena: Scratch
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    flash: int | None
    inner: tuple[Body, ...]


def distinct(bodies: Iterable[Body]) -> list[Body]:
    """Returns bodies and those inside them at any depth, each once, behind those that it calls."""
    found: dict[str, Body] = {}

    def visit(body: Body) -> None:
        if body.function not in found:
            for inner in body.inner:
                visit(inner)
            found[body.function] = body

    for body in bodies:
        visit(body)
    return list(found.values())


@dataclass(frozen=True)
class ControlCall(FunctionCall):
    """One node of control flow.

    Attributes:
        bodies: The graphs inside it, in the order of its attributes; empty before they are compiled.
    """

    bodies: tuple[Body, ...] = ()


class ControlFlow(Implementation):
    """Calls the functions of graphs."""

    name = "calls"
    #: Number of the first operand that is copied into the graphs.
    first: ClassVar[int]

    def __init__(self, function: str = "", bodies: tuple[Body, ...] = ()) -> None:
        """Holds what was compiled.

        Args:
            function: Name of the C function.
            bodies: The graphs inside the node; empty before they are compiled.
        """
        self._function = function
        self._bodies = bodies

    def compiled(self, function: str, bodies: tuple[Body, ...]) -> ControlFlow:
        """Returns the same implementation for one node; arguments as for `__init__`."""
        return type(self)(function, bodies)

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> ControlCall:
        arenas = [body.arena for body in self._bodies] or [Scratch(1)]
        arena = Scratch(max(each.bytes for each in arenas), max(each.align for each in arenas))
        return ControlCall(
            self._function,
            (
                *(InputArg(index, "const void *") for index in range(len(node.inputs))),
                *(OutputArg(index, "void *") for index in range(len(node.outputs))),
                ScratchArg(arena, "void *"),
            ),
            rows_of(node.output.shape),
            self._bodies,
        )


@implements
class If(ControlFlow):
    """A branch. Results are written when operands have been read, so that any of them may be in place."""

    op = "if"
    first = 1

    @override
    def runs_in_place(self, node: Node) -> tuple[tuple[int, int], ...]:
        operands = range(self.first, len(node.inputs))
        return tuple((result, operand) for result in range(len(node.outputs)) for operand in operands)


@implements
class While(ControlFlow):
    """A loop. The results hold the values between iterations, so that each may be in place of its first value."""

    op = "while"
    first = 0

    @override
    def runs_in_place(self, node: Node) -> tuple[tuple[int, int], ...]:
        return tuple((index, index) for index in range(len(node.outputs)))
