"""How often each buffer is read and written in a run: what decides which of them lie in fast memory."""

from __future__ import annotations

from aboard import ops
from aboard.schedule.lowering import Program, Step


def accesses(program: Program) -> tuple[int, ...]:
    """Returns the bytes that a run reads and writes of each request, estimated.

    A result is written once and an operand read once; but where a node multiplies, its first operand, and the scratch
    into which kernels bring it in the order of use, are read for each multiplication.

    Args:
        program: A schedule; the order is that of its requests.
    """
    counts = [0] * len(program.requests)
    for step in program.steps:
        for request, amount in _of_step(step, program):
            counts[request] += amount
    return tuple(counts)


def _of_step(step: Step, program: Program) -> list[tuple[int, int]]:
    places, node = program.storage.places, step.node
    macs = ops.get(node.op).macs(node)
    found = [(program.buffers[places[t].buffer], t.type.bytes) for t in node.outputs]
    for index, tensor in enumerate(node.inputs):
        if tensor is not None and tensor in places:
            reads = max(macs * tensor.dtype.bytes, tensor.type.bytes) if index == 0 else tensor.type.bytes
            found.append((program.buffers[places[tensor].buffer], reads))
    found += [(request, max(macs, program.requests[request].bytes)) for request in step.scratch]
    return found
