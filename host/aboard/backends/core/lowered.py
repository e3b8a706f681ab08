"""A region lowered for another core: with its own passes, kernels, buffers and memory plan."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass

from aboard import ops
from aboard.ir import Graph, Tensor
from aboard.kernels.accelerator import ClaimedRegion
from aboard.kernels.select import strategy
from aboard.memory.planner import plan
from aboard.memory.problem import LiveRange, Overlap
from aboard.partition.pipeline import host_passes
from aboard.passes import run_passes
from aboard.schedule.buffer_assigner import assign_buffers
from aboard.schedule.buffers import Buffer
from aboard.schedule.lowering import Calls, Program, lower
from aboard.target import Target


@dataclass(frozen=True)
class LoweredRegion:
    """A region, lowered.

    Attributes:
        program: Its steps. Buffers without an entry in `offsets` are operands and results of the region.
        homes: Buffers of the region's operands and results: `x` or `y`, and the number.
        offsets: Offset of each other buffer in the scratch buffer, in bytes, by its index in `Program.live_ranges`.
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
        """Returns the address of a tensor: `x`, `y` or `s`, number of the operand or result, bytes from its start."""
        location = self.program.assignment.locations[tensor]
        if location.buffer in self.homes:
            kind, number = self.homes[location.buffer]
            return kind, number, location.view.offset
        return "s", 0, self.offsets[self.program.buffers[location.buffer]] + location.view.offset


def executor(device: Target) -> Target:
    """Returns the core that executes a device's regions: the device, or the host if its runtime is `host`."""
    caller = device.caller
    core = caller if caller is not None and caller.runtime == "host" else device
    kept = {name: core.attrs[name] for name in ("mcpu", "mfpu", "opt", "runtime")}
    # Nodes outside of the region may read its operands again.
    return Target({"kind": core.kind.name, **kept, "input": "kept"})


def schedule(device: Target, region: ClaimedRegion) -> tuple[Program, dict[Buffer, tuple[str, int]]]:
    """Returns the steps of a region, and the buffers of its operands and results; no buffer has an address yet.

    Args:
        device: The core, as a device.
        region: The region; its graph is not changed.
    """
    core = executor(device)
    graph = copy.deepcopy(region.graph)
    run_passes(graph, host_passes(core))
    choices = strategy.choose_all(graph, core)
    implementations = {node: choice.implementation for node, choice in choices.items()}
    assignment = assign_buffers(graph, implementations, keep_inputs=True)
    program = lower(graph, assignment, Calls(implementations, core))
    return program, _homes(graph, program)


def memory(
    program: Program, homes: Mapping[Buffer, tuple[str, int]]
) -> tuple[list[int], list[LiveRange], list[Overlap]]:
    """Returns the allocation problem of the scratch buffer: indices in `live_ranges`, live ranges, and overlaps."""
    outside = {program.buffers[buffer] for buffer in homes}
    inside = [number for number in range(len(program.live_ranges)) if number not in outside]
    index = {number: position for position, number in enumerate(inside)}
    overlaps = [
        Overlap(index[o.operand], index[o.result], o.min_offset)
        for o in program.overlaps
        if o.operand in index and o.result in index
    ]
    return inside, [program.live_ranges[number] for number in inside], overlaps


def lowered(device: Target, region: ClaimedRegion) -> LoweredRegion:
    """Lowers a region for a core; arguments as for `schedule`."""
    program, homes = schedule(device, region)
    inside, live_ranges, overlaps = memory(program, homes)
    if not live_ranges:
        return LoweredRegion(program, homes, {}, 0)
    planned = plan(live_ranges, overlaps)
    return LoweredRegion(program, homes, dict(zip(inside, planned.offsets, strict=True)), planned.peak)


def _homes(graph: Graph, program: Program) -> dict[Buffer, tuple[str, int]]:
    """Returns the buffers that store exactly one result or operand of the region; the others are scratch."""
    homes: dict[Buffer, tuple[str, int]] = {}
    for kind, tensors in (("y", graph.outputs), ("x", graph.inputs)):
        for number, tensor in enumerate(tensors):
            location = program.assignment.locations[tensor]
            if location.view.offset == 0 and location.buffer.bytes == tensor.type.bytes:
                homes.setdefault(location.buffer, (kind, number))
    return homes
