"""A region as its core computes it: passes, kernels, storage and memory plan of its own."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass

from aboard import ops
from aboard.ir import Graph, Tensor
from aboard.kernels.accelerator import ClaimedRegion
from aboard.kernels.select import strategy
from aboard.memory.planner import plan
from aboard.memory.problem import Overlap, Request
from aboard.partition.pipeline import channel_block
from aboard.passes import host, run_passes
from aboard.schedule import storage
from aboard.schedule.lowering import Calls, Program, lower
from aboard.schedule.storage import Buffer
from aboard.target import Target


@dataclass(frozen=True)
class Lowered:
    """A region, lowered.

    Attributes:
        program: Its steps. Requests that `offsets` does not name lie in the region's operands and results.
        homes: Buffers that are an operand or a result of the region: `x` or `y`, and its number.
        offsets: Where each other request lies in the scratch buffer, in bytes.
        scratch_bytes: Size of the scratch buffer; 0 for none.
    """

    program: Program
    homes: Mapping[Buffer, tuple[str, int]]
    offsets: Mapping[int, int]
    scratch_bytes: int

    @property
    def macs(self) -> int:
        """Multiply-accumulates of all steps."""
        return sum(ops.get(step.node.op).macs(step.node) for step in self.program.steps)

    @property
    def elements(self) -> int:
        """Elements that all steps write."""
        return sum(tensor.type.elements for step in self.program.steps for tensor in step.node.outputs)

    def place(self, tensor: Tensor) -> tuple[str, int, int]:
        """Returns where a tensor lies: `x`, `y` or `s`, the number of the operand or result, and bytes from there."""
        place = self.program.storage.places[tensor]
        if place.buffer in self.homes:
            kind, number = self.homes[place.buffer]
            return kind, number, place.view.offset
        return "s", 0, self.offsets[self.program.buffers[place.buffer]] + place.view.offset


def executor(device: Target) -> Target:
    """Returns the core that executes what a device claims: the device, or the host where its runtime is `host`."""
    caller = device.caller
    core = caller if caller is not None and caller.runtime == "host" else device
    kept = {name: core.attrs[name] for name in ("mcpu", "mfpu", "opt", "runtime")}
    # The operands of a region may be read again outside of it.
    return Target({"kind": core.kind.name, **kept, "input": "kept"})


def schedule(device: Target, region: ClaimedRegion) -> tuple[Program, dict[Buffer, tuple[str, int]]]:
    """Returns the steps of a region, and the buffers that are an operand or a result of it; nothing is placed yet.

    Args:
        device: The core, as a device.
        region: The region; its graph is not changed.
    """
    core = executor(device)
    graph = copy.deepcopy(region.graph)
    run_passes(graph, host(channel_block(core)))
    choices = strategy.choose_all(graph, core)
    implementations = {node: choice.implementation for node, choice in choices.items()}
    stored = storage.assign(graph, implementations, keep_inputs=True)
    program = lower(graph, stored, Calls(implementations, core))
    return program, _homes(graph, program)


def memory(program: Program, homes: Mapping[Buffer, tuple[str, int]]) -> tuple[list[int], list[Request], list[Overlap]]:
    """Returns what needs a place in scratch: numbers of requests in the program, the requests, and their overlaps."""
    outside = {program.buffers[buffer] for buffer in homes}
    inside = [number for number in range(len(program.requests)) if number not in outside]
    index = {number: position for position, number in enumerate(inside)}
    overlaps = [
        Overlap(index[o.operand], index[o.result], o.distance)
        for o in program.overlaps
        if o.operand in index and o.result in index
    ]
    return inside, [program.requests[number] for number in inside], overlaps


def lowered(device: Target, region: ClaimedRegion) -> Lowered:
    """Lowers a region for a core; arguments as for `schedule`."""
    program, homes = schedule(device, region)
    inside, requests, overlaps = memory(program, homes)
    if not requests:
        return Lowered(program, homes, {}, 0)
    planned = plan(requests, overlaps)
    return Lowered(program, homes, dict(zip(inside, planned.offsets, strict=True)), planned.peak)


def _homes(graph: Graph, program: Program) -> dict[Buffer, tuple[str, int]]:
    """Returns the buffers that hold a result or an operand and nothing beyond it; the others are scratch."""
    homes: dict[Buffer, tuple[str, int]] = {}
    for kind, tensors in (("y", graph.outputs), ("x", graph.inputs)):
        for number, tensor in enumerate(tensors):
            place = program.storage.places[tensor]
            if place.view.offset == 0 and place.buffer.bytes == tensor.type.bytes:
                homes.setdefault(place.buffer, (kind, number))
    return homes
