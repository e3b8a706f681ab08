"""Bytes that a run reads and writes of each buffer: the arena in fast memory gets the buffers with the most traffic."""

from __future__ import annotations

from aboard import ops
from aboard.schedule.lowering import Program, Step


def accesses(program: Program) -> tuple[int, ...]:
    """Returns the bytes that a run reads and writes of each buffer, estimated, in the order of `Program.live_ranges`.

    A result is written once and an operand is read once. A node with multiplications reads its first operand, or the
    scratch buffer that the operand is packed into, once for each multiplication.
    """
    counts = [0] * len(program.live_ranges)
    for step in program.steps:
        for index, amount in _of_step(step, program):
            counts[index] += amount
    return tuple(counts)


def _of_step(step: Step, program: Program) -> list[tuple[int, int]]:
    locations, node = program.assignment.locations, step.node
    macs = ops.get(node.op).macs(node)
    found = [(program.buffers[b], t.type.bytes) for t in node.outputs if (b := locations[t].buffer) in program.buffers]
    for index, tensor in enumerate(node.inputs):
        if tensor is not None and tensor in locations and locations[tensor].buffer in program.buffers:
            reads = max(macs * tensor.dtype.bytes, tensor.type.bytes) if index == 0 else tensor.type.bytes
            found.append((program.buffers[locations[tensor].buffer], reads))
    found += [(index, max(macs, program.live_ranges[index].bytes)) for index in step.scratch]
    return found
