"""Lowering: steps become kernel calls, buffers and scratch become requests for memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aboard.ir import Graph, Node, Tensor
from aboard.kernels.contract import Call, Implementation, View
from aboard.manifest import label
from aboard.memory.problem import Overlap, Request
from aboard.schedule.storage import AFTER_LAST, Buffer, Storage
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
    """

    index: int
    node: Node
    implementation: Implementation
    call: Call
    inputs: tuple[View | None, ...]
    outputs: tuple[View, ...]
    scratch: tuple[int, ...]


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
    """

    graph: Graph
    storage: Storage
    steps: tuple[Step, ...]
    requests: tuple[Request, ...]
    buffers: Mapping[Buffer, int]
    overlaps: tuple[Overlap, ...] = ()


def lower(graph: Graph, storage: Storage, implementations: Mapping[Node, Implementation], target: Target) -> Program:
    """Asks the implementation of every step for its kernel call and collects what memory is needed.

    Args:
        graph: The graph.
        storage: Its storage.
        implementations: For every node.
        target: Where the code will run.
    """
    requests = _buffer_requests(graph, storage, implementations, keep_inputs=target.input_mode == "kept")
    buffers = {buffer: index for index, buffer in enumerate(storage.buffers)}
    steps: list[Step] = []
    overlaps: list[Overlap] = []
    for index, node in enumerate(storage.steps):
        inputs = tuple(_view(tensor, storage) for tensor in node.inputs)
        outputs = tuple(storage.places[tensor].view for tensor in node.outputs)
        implementation = implementations[node]
        call = implementation.lower(node, inputs, outputs, target)
        scratch = tuple(range(len(requests), len(requests) + len(call.scratch)))
        for number, wanted in enumerate(call.scratch):
            requests.append(
                Request(f"scratch {number} of {label(node.name, 27)}", wanted.bytes, index, index, wanted.align)
            )
        steps.append(Step(index, node, implementation, call, inputs, outputs, scratch))
        pair = _dying_operand_and_result(index, node, storage, requests, buffers)
        distance = implementation.overlap(node, inputs, outputs) if pair is not None else None
        if pair is not None and distance is not None:
            overlaps.append(Overlap(*pair, distance))
    return Program(graph, storage, tuple(steps), tuple(requests), buffers, tuple(overlaps))


def _dying_operand_and_result(
    index: int, node: Node, storage: Storage, requests: Sequence[Request], buffers: Mapping[Buffer, int]
) -> tuple[int, int] | None:
    """Returns the requests of operand 0 and the result, if each fills its buffer and one dies as the other is born."""
    operand, result = node.optional_input(0), node.outputs[0]
    if operand is None or operand not in storage.places or len(node.outputs) > 1:
        return None
    source, target = storage.places[operand], storage.places[result]
    fills = all(place.view.offset == 0 and place.view.span == place.buffer.bytes for place in (source, target))
    read_again = any(t in storage.places and storage.places[t].buffer is source.buffer for t in node.operands[1:])
    pair = buffers[source.buffer], buffers[target.buffer]
    if not fills or read_again or requests[pair[0]].last != index or requests[pair[1]].first != index:
        return None
    return pair


def _view(tensor: Tensor | None, storage: Storage) -> View | None:
    if tensor is None:
        return None
    if tensor.is_constant:
        return View.whole(tensor.shape, tensor.dtype.bytes)
    return storage.places[tensor].view


def _buffer_requests(
    graph: Graph, storage: Storage, implementations: Mapping[Node, Implementation], *, keep_inputs: bool
) -> list[Request]:
    end = len(storage.steps) - 1 + AFTER_LAST
    aligned: dict[Tensor, int] = {}
    for step_node in storage.steps:
        for tensor in [*step_node.operands, *step_node.outputs]:
            aligned[tensor] = max(aligned.get(tensor, 1), implementations[step_node].align)
    first: dict[Buffer, int] = {}
    last: dict[Buffer, int] = {}

    def alive(tensor: Tensor, step: int) -> None:
        buffer = storage.places[tensor].buffer
        first[buffer] = min(first.get(buffer, step), step)
        last[buffer] = max(last.get(buffer, step), step)

    for tensor in graph.inputs:
        alive(tensor, 0)
        if keep_inputs:
            alive(tensor, end)
    for step, node in enumerate(storage.steps):
        for tensor in [*node.operands, *node.outputs]:
            if tensor in storage.places:
                alive(tensor, step)
    for tensor in graph.outputs:
        if tensor in storage.places:
            alive(tensor, end)
    requests: list[Request] = []
    for buffer in storage.buffers:
        align = max(4, *(max(tensor.dtype.bytes, aligned.get(tensor, 1)) for tensor in buffer.tensors))
        requests.append(Request(buffer.name, buffer.bytes, first.get(buffer, 0), last.get(buffer, 0), align))
    return requests
