"""Lowering: steps become kernel calls, buffers and scratch become an allocation problem."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from aboard.ir import Graph, Node
from aboard.ir.fingerprint import Memo, fingerprint
from aboard.kernels import tunable
from aboard.kernels.contract import Call, ExternalCall, Implementation, InputArg, KernelCall
from aboard.kernels.control import ControlCall, distinct
from aboard.kernels.select.flash import model_bytes
from aboard.kernels.view import TABLE_ENTRY_BYTES, View
from aboard.memory.problem import LiveRange, Overlap
from aboard.schedule.buffers import Buffer, BufferAssignment
from aboard.schedule.live_ranges import allocation_problem, state_block, views
from aboard.schedule.spans import Span
from aboard.target import Target


@dataclass(frozen=True)
class Step:
    """One call of the schedule.

    Attributes:
        index: Number of the step; also the node's number in the manifest.
        node: The node that it computes.
        implementation: The implementation of the node.
        call: The call of a kernel, or of an accelerator's function.
        inputs: Views of the operands; None for an absent one.
        outputs: Views of the results.
        scratch: For each scratch buffer of the call, its index in `Program.live_ranges`.
        standalone: True for a step of a cascade or of a rolling window with all rows in one call
            (`Program.standalone`). The arena contains no buffers for its operands and results.
    """

    index: int
    node: Node
    implementation: Implementation
    call: Call
    inputs: tuple[View | None, ...]
    outputs: tuple[View, ...]
    scratch: tuple[int, ...]
    standalone: bool = False


@dataclass(frozen=True)
class Program:
    """A schedule and its allocation problem.

    Attributes:
        graph: The graph.
        assignment: Buffers of its tensors.
        steps: Kernel calls in order.
        live_ranges: Of each buffer of an arena, then of each scratch buffer, then of the state of a streamed input.
        overlaps: Pairs that may share bytes although a step needs both.
        buffers: Index of each of these buffers in `live_ranges`.
        standalone: For each step of a cascade or of a rolling window, by its index, the step that computes all rows of
            whole operands at once.
        stream_state: Index in `live_ranges` of the state between two rows of a streamed input; None without one.
        state_offsets: Of each buffer that stores a state, bytes from the start of the state block.
        state_bytes: Bytes of the state block; 0 for a model without state.
        position_offset: Bytes from the start of the state block to the positions of rolling windows.
    """

    graph: Graph
    assignment: BufferAssignment
    steps: tuple[Step, ...]
    live_ranges: tuple[LiveRange, ...]
    overlaps: tuple[Overlap, ...]
    buffers: Mapping[Buffer, int]
    standalone: Mapping[int, Step] = field(default_factory=dict)
    stream_state: int | None = None
    state_offsets: Mapping[Buffer, int] = field(default_factory=dict)
    state_bytes: int = 0
    position_offset: int = 0

    def flash(self, target: Target) -> int | None:
        """Returns the predicted flash of the model; None for `generic` and if accelerators compute a part of it."""
        if target.cpu.is_generic:
            return None
        own = self.own_flash(target)
        inside = distinct(
            body for step in self.steps if isinstance(step.call, ControlCall) for body in step.call.bodies
        )
        return None if own is None else own + sum(body.flash or 0 for body in inside)

    def own_flash(self, target: Target) -> int | None:
        """Returns `flash` without the graphs inside nodes."""
        if any(isinstance(step.call, ExternalCall) for step in self.steps):
            return None
        cascaded = sum(len(cascade.nodes) for cascade in self.assignment.cascades)
        return model_bytes([(step.node, step.call) for step in self.steps], cascaded, target) + self.table_bytes

    @property
    def table_bytes(self) -> int:
        """Bytes of flash of the tables for rows in blocks."""
        views = [location.view for location in self.assignment.locations.values()]
        return sum(TABLE_ENTRY_BYTES * view.rows for view in views if view.table)

    def whole(self, step: Step) -> Step:
        """Returns the step that computes all rows at once."""
        return self.standalone.get(step.index, step)


@dataclass(frozen=True)
class GivenCascades:
    """Cascades that are given instead of searched.

    Attributes:
        spans: The first and the last node of each, with its stripes.
        is_binding: True if the schedule must have them; False to search if they cannot be.
    """

    spans: tuple[tuple[Node, Node, Span], ...]
    is_binding: bool


class Calls:
    """The calls of nodes. An implementation lowers a node once for the same views.

    Attributes:
        implementations: The implementation of every node.
        target: The target of the code.
        roll: True if rolling buffers may contain states (`aboard.schedule.rolling`).
        cascades: The cascades, if they are given and not searched.
        code_in_ram: True if the start-up code copies the kernels to RAM.
        equal: Calls of equal nodes with the same target, whose names may be others; None to lower every node.
    """

    def __init__(
        self,
        implementations: Mapping[Node, Implementation],
        target: Target,
        *,
        roll: bool = True,
        cascades: GivenCascades | None = None,
        code_in_ram: bool = False,
        equal: Memo[Call] | None = None,
    ) -> None:
        self.implementations = implementations
        self.target = target
        self.roll = roll
        self.cascades = cascades
        self.code_in_ram = code_in_ram
        self.equal = equal
        self._known: dict[tuple[Node, tuple[View | None, ...], tuple[View, ...]], Call] = {}

    def without_rolling(self) -> Calls:
        """Returns the same without rolling buffers that contain states."""
        return self._with(self.implementations, roll=False)

    def in_less_scratch(self, nodes: Collection[Node] | None = None) -> Calls | None:
        """Returns the same with the forms of kernels that need the least scratch; None if it has them already.

        Args:
            nodes: The nodes with these forms; None for all.
        """
        least = {
            node: (kernel.in_less_scratch(node) if nodes is None or node in nodes else None) or kernel
            for node, kernel in self.implementations.items()
        }
        if all(least[node] is kernel for node, kernel in self.implementations.items()):
            return None
        return self._with(least, roll=self.roll)

    def for_target(self, target: Target) -> Calls:
        """Returns the same for a target whose code is the same."""
        return self._with(self.implementations, roll=self.roll, target=target)

    def _with(
        self, implementations: Mapping[Node, Implementation], *, roll: bool, target: Target | None = None
    ) -> Calls:
        return Calls(
            implementations,
            target or self.target,
            roll=roll,
            cascades=self.cascades,
            code_in_ram=self.code_in_ram,
            equal=self.equal,
        )

    def whole(self, node: Node) -> Call:
        """Returns the call of a node whose operands and results are stored whole and without gaps."""
        inputs = tuple(None if t is None else View.whole(t.shape, t.dtype.bytes) for t in node.inputs)
        return self.of(node, inputs, tuple(View.whole(t.shape, t.dtype.bytes) for t in node.outputs))

    def of(self, node: Node, inputs: tuple[View | None, ...], outputs: tuple[View, ...]) -> Call:
        """Returns the call of a node for some views."""
        key = node, inputs, outputs
        if key not in self._known:
            self._known[key] = self._lowered(*key)
        return self._known[key]

    def _lowered(self, node: Node, inputs: tuple[View | None, ...], outputs: tuple[View, ...]) -> Call:
        way = self.implementations[node]
        node_key = None if self.equal is None else fingerprint(node)
        if self.equal is None or node_key is None:
            return tunable.lowered(node, way, inputs, outputs, self.target)
        key = way, node_key, inputs, outputs
        return self.equal.get(key, lambda: tunable.lowered(node, way, inputs, outputs, self.target))


def lower(graph: Graph, assignment: BufferAssignment, calls: Calls) -> Program:
    """Lowers every step to a call and returns the allocation problem of the schedule with it.

    Args:
        graph: The graph.
        assignment: Buffers of its tensors.
        calls: Calls of its nodes.
    """
    step_views = [views(node, assignment) for node in assignment.steps]
    made = [_call(node, *view, assignment, calls) for node, view in zip(assignment.steps, step_views, strict=True)]
    keep_inputs = calls.target.input_mode == "kept"
    problem = allocation_problem(
        graph, assignment, calls.implementations, [call.scratch for call in made], keep_inputs=keep_inputs
    )
    steps = tuple(
        Step(index, node, calls.implementations[node], made[index], *step_views[index], problem.scratch[index])
        for index, node in enumerate(assignment.steps)
    )
    cascaded = {node for cascade in assignment.cascades for node in cascade.nodes}
    rolling = {node for window in assignment.rolling for node in window.calls}
    block = state_block(assignment, calls.implementations)
    return Program(
        graph,
        assignment,
        steps,
        problem.live_ranges,
        problem.overlaps,
        problem.buffers,
        {step.index: _standalone(step, calls) for step in steps if step.node in cascaded | rolling},
        problem.stream_state,
        block.offsets,
        block.bytes,
        block.positions,
    )


def _call(
    node: Node, inputs: tuple[View | None, ...], outputs: tuple[View, ...], assignment: BufferAssignment, calls: Calls
) -> Call:
    """Returns the call of a step; of one that reads or extends a rolling window, for rows of its tall image."""
    found = assignment.rolling_call(node)
    if found is None:
        return calls.of(node, inputs, outputs)
    rolling = found[1]
    way = calls.implementations[node]
    made = tunable.lowered(rolling.node, way, rolling.inputs, rolling.outputs, calls.target)
    arguments = [
        replace(argument, index=rolling.operands[argument.index]) if isinstance(argument, InputArg) else argument
        for argument in made.arguments
    ]
    made = replace(made, arguments=tuple(arguments))
    # The tall image has rows for each position of the window; a run computes those of one position.
    return replace(made, loops=calls.whole(node).loops) if isinstance(made, KernelCall) else made


def _standalone(step: Step, calls: Calls) -> Step:
    node = step.node
    inputs = tuple(None if t is None else View.whole(t.shape, t.dtype.bytes) for t in node.inputs)
    outputs = tuple(View.whole(t.shape, t.dtype.bytes) for t in node.outputs)
    call = calls.of(node, inputs, outputs)
    return replace(step, call=call, inputs=inputs, outputs=outputs, scratch=(), standalone=True)
