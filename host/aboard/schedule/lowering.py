"""Lowering: steps become kernel calls, buffers and scratch become requests for memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from aboard.ir import Graph, Node
from aboard.kernels.contract import Call, ExternalCall, Implementation, View
from aboard.kernels.select.flash import model_bytes
from aboard.memory.problem import Overlap, Request
from aboard.schedule.requests import collect, views
from aboard.schedule.storage import Buffer, Storage
from aboard.target import Target


@dataclass(frozen=True)
class Step:
    """One call of the schedule.

    Attributes:
        index: Number of the step; also the node's number in the manifest.
        node: What it computes.
        implementation: How.
        call: The call of a kernel, or of a device's function.
        inputs: Views of the operands; None where one is absent.
        outputs: Views of the results.
        scratch: For each scratch buffer of the call, its index in `Program.requests`.
        alone: True for a step of a cascade as it is computed by itself (`Program.alone`); it has no place in the arena.
    """

    index: int
    node: Node
    implementation: Implementation
    call: Call
    inputs: tuple[View | None, ...]
    outputs: tuple[View, ...]
    scratch: tuple[int, ...]
    alone: bool = False


@dataclass(frozen=True)
class Program:
    """A schedule and its memory problem.

    Attributes:
        graph: The graph.
        storage: Where tensors lie.
        steps: Kernel calls in order.
        requests: Memory that is needed: one for each buffer, then scratch.
        overlaps: Pairs of requests that may share bytes though a step needs both.
        buffers: For each buffer, its index in `requests`.
        alone: Steps of cascades by their index, each as if it were computed by itself, operands and results whole.
        state: Index in `requests` of what a run knows between two rows of its input; None where it is not fed.
    """

    graph: Graph
    storage: Storage
    steps: tuple[Step, ...]
    requests: tuple[Request, ...]
    buffers: Mapping[Buffer, int]
    overlaps: tuple[Overlap, ...] = ()
    alone: Mapping[int, Step] = field(default_factory=dict)
    state: int | None = None

    def flash(self, target: Target) -> int | None:
        """Returns the flash of the model on a target, predicted; None where devices compute a part of it."""
        if any(isinstance(step.call, ExternalCall) for step in self.steps):
            return None
        cascaded = sum(len(cascade.nodes) for cascade in self.storage.cascades)
        return model_bytes([(step.node, step.call) for step in self.steps], cascaded, target)

    def whole(self, step: Step) -> Step:
        """Returns a step as it is computed by itself."""
        return self.alone.get(step.index, step)


class Calls:
    """The calls of nodes, each asked of its implementation once for the same views.

    Attributes:
        implementations: For every node.
        target: Where the code will run.
    """

    def __init__(self, implementations: Mapping[Node, Implementation], target: Target) -> None:
        self.implementations = implementations
        self.target = target
        self._known: dict[tuple[Node, tuple[View | None, ...], tuple[View, ...]], Call] = {}

    def whole(self, node: Node) -> Call:
        """Returns the call of a node by itself: operands and results lie whole and without gaps."""
        inputs = tuple(None if t is None else View.whole(t.shape, t.dtype.bytes) for t in node.inputs)
        return self.of(node, inputs, tuple(View.whole(t.shape, t.dtype.bytes) for t in node.outputs))

    def of(self, node: Node, inputs: tuple[View | None, ...], outputs: tuple[View, ...]) -> Call:
        """Returns the call of a node for some views."""
        key = node, inputs, outputs
        if key not in self._known:
            self._known[key] = self.implementations[node].lower(node, inputs, outputs, self.target)
        return self._known[key]


def lower(graph: Graph, storage: Storage, calls: Calls) -> Program:
    """Asks the implementation of every step for its kernel call and collects what memory is needed.

    Args:
        graph: The graph.
        storage: Its storage.
        calls: Of its nodes.
    """
    seen = [views(node, storage) for node in storage.steps]
    made = [calls.of(node, *view) for node, view in zip(storage.steps, seen, strict=True)]
    keep_inputs = calls.target.input_mode == "kept"
    needs = collect(graph, storage, calls.implementations, [call.scratch for call in made], keep_inputs=keep_inputs)
    steps = tuple(
        Step(index, node, calls.implementations[node], made[index], *seen[index], needs.scratch[index])
        for index, node in enumerate(storage.steps)
    )
    cascaded = {node for cascade in storage.cascades for node in cascade.nodes}
    alone = {step.index: _alone(step, calls) for step in steps if step.node in cascaded}
    return Program(graph, storage, steps, needs.requests, needs.buffers, needs.overlaps, alone, needs.state)


def _alone(step: Step, calls: Calls) -> Step:
    node = step.node
    inputs = tuple(None if t is None else View.whole(t.shape, t.dtype.bytes) for t in node.inputs)
    outputs = tuple(View.whole(t.shape, t.dtype.bytes) for t in node.outputs)
    return replace(step, call=calls.of(node, inputs, outputs), inputs=inputs, outputs=outputs, scratch=(), alone=True)
