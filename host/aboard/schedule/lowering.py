"""Lowering: steps become kernel calls, buffers and scratch become requests for memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aboard.ir import Graph, Node, Tensor
from aboard.kernels.contract import Implementation, KernelCall, View
from aboard.manifest import label
from aboard.memory.problem import Request
from aboard.schedule.storage import AFTER_LAST, Buffer, Storage
from aboard.target import Target


@dataclass(frozen=True)
class Step:
    """One kernel call of the schedule.

    Attributes:
        index: Number of the step; also the node's number in the manifest.
        node: What it computes.
        implementation: How.
        call: The kernel call.
        inputs: Views of the operands; None where one is absent.
        outputs: Views of the results.
        scratch: For each scratch buffer of the call, its index in `Program.requests`.
    """

    index: int
    node: Node
    implementation: Implementation
    call: KernelCall
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
        buffers: For each buffer, its index in `requests`.
    """

    graph: Graph
    storage: Storage
    steps: tuple[Step, ...]
    requests: tuple[Request, ...]
    buffers: Mapping[Buffer, int]


def lower(graph: Graph, storage: Storage, implementations: Mapping[Node, Implementation], target: Target) -> Program:
    """Asks the implementation of every step for its kernel call and collects what memory is needed.

    Args:
        graph: The graph.
        storage: Its storage.
        implementations: For every node.
        target: Where the code will run.
    """
    requests = _buffer_requests(graph, storage, keep_inputs=target.input_mode == "kept")
    buffers = {buffer: index for index, buffer in enumerate(storage.buffers)}
    steps: list[Step] = []
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
    return Program(graph, storage, tuple(steps), tuple(requests), buffers)


def _view(tensor: Tensor | None, storage: Storage) -> View | None:
    if tensor is None:
        return None
    if tensor.is_constant:
        return View.whole(tensor.shape, tensor.dtype.bytes)
    return storage.places[tensor].view


def _buffer_requests(graph: Graph, storage: Storage, *, keep_inputs: bool) -> list[Request]:
    end = len(storage.steps) - 1 + AFTER_LAST
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
        align = max(4, *(tensor.dtype.bytes for tensor in buffer.tensors))
        requests.append(Request(buffer.name, buffer.bytes, first.get(buffer, 0), last.get(buffer, 0), align))
    return requests
