"""The graphs inside IF and WHILE, compiled: each has a schedule and one arena of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aboard.ir import Graph, Node, Tensor
from aboard.kernels.contract import Scratch
from aboard.kernels.control import Body, ControlCall, distinct
from aboard.memory.arenas import Layout
from aboard.ops import control
from aboard.schedule.lowering import Program
from aboard.target import Target

#: Alignment in bytes of the arena of a graph, as of a model (`ABOARD_ARENA_ALIGN`).
_ALIGN = 16


@dataclass(frozen=True, eq=False)
class CompiledBody(Body):
    """A compiled graph with its schedule.

    Attributes:
        graph: The graph, in the order of its schedule.
        program: The schedule.
        layout: Addresses of its buffers; one arena.
        target: The target of its code.
    """

    graph: Graph
    program: Program
    layout: Layout
    target: Target


def compiled(program: Program, layout: Layout, target: Target) -> CompiledBody:
    """Returns a scheduled graph as its caller sees it.

    Args:
        program: The schedule.
        layout: Addresses of its buffers, in one arena.
        target: The target of its code.
    """
    graph = program.graph

    def offset(tensor: Tensor) -> int:
        location = program.assignment.locations[tensor]
        return layout.offsets[program.buffers[location.buffer]] + location.view.offset

    return CompiledBody(
        graph.name,
        Scratch(max(layout.peak, 1), _ALIGN),
        tuple(map(offset, graph.inputs)),
        tuple(map(offset, graph.outputs)),
        program.own_flash(target),
        tuple(body for step in program.steps if isinstance(step.call, ControlCall) for body in step.call.bodies),
        graph,
        program,
        layout,
        target,
    )


def inside(program: Program) -> list[CompiledBody]:
    """Returns the graphs inside the nodes of a schedule at any depth, each once, behind those that it calls."""
    calls = [step.call for step in program.steps if isinstance(step.call, ControlCall)]
    found = distinct(body for call in calls for body in call.bodies)
    return [body for body in found if isinstance(body, CompiledBody)]


def roles(node: Node, call: ControlCall) -> Mapping[str, CompiledBody]:
    """Returns the compiled graphs of a node by their role."""
    pairs = zip(control.bodies(node), call.bodies, strict=True)
    return {role: body for role, body in pairs if isinstance(body, CompiledBody)}
