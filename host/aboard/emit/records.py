"""What the manifest says of a program, and the addresses that both the manifest and the C source need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aboard import ops
from aboard.emit.instances import Instances
from aboard.ir import Tensor
from aboard.kernels.contract import ExternalCall, View
from aboard.manifest import BufferRecord, NodeRecord, OperandRecord, TensorRecord
from aboard.memory.problem import Plan, round_up
from aboard.schedule.lowering import Program, Step

_WORKSPACE_ALIGN = 16


@dataclass(frozen=True)
class Workspace:
    """Where the operands of a step lie when it runs alone: offsets in bytes by index."""

    inputs: dict[int, int]
    outputs: dict[int, int]
    scratch: tuple[int, ...]
    bytes: int


def workspace(step: Step) -> Workspace:
    """Lays out the operands, results and scratch of a step one after another."""
    cursor = 0

    def take(size: int) -> int:
        nonlocal cursor
        at, cursor = cursor, round_up(cursor + size, _WORKSPACE_ALIGN)
        return at

    inputs: dict[int, int] = {}
    for index, (tensor, view) in enumerate(zip(step.node.inputs, step.inputs, strict=True)):
        if tensor is not None and view is not None and not tensor.is_constant:
            inputs[index] = take(view.span)
    outputs = {index: take(view.span) for index, view in enumerate(step.outputs)}
    scratch = tuple(take(wanted.bytes) for wanted in step.call.scratch)
    return Workspace(inputs, outputs, scratch, cursor)


def tensor_offset(tensor: Tensor, program: Program, plan: Plan) -> int:
    """Returns where element 0 of a tensor lies in the arena."""
    place = program.storage.places[tensor]
    return plan.offsets[program.buffers[place.buffer]] + place.view.offset


def macs(step: Step) -> int:
    """Returns the multiply-accumulates of a step."""
    return ops.get(step.node.op).macs(step.node)


def tensors(wanted: Sequence[Tensor], kind: str, program: Program, plan: Plan) -> tuple[TensorRecord, ...]:
    """Returns the records of the model's inputs or outputs."""
    records: list[TensorRecord] = []
    for index, tensor in enumerate(wanted):
        quant = tensor.type.quant
        records.append(
            TensorRecord(
                name=tensor.name,
                c_name=f"{kind}_{index}",
                dtype=tensor.dtype.value,
                shape=tensor.shape,
                scale=quant.scale if quant and not tensor.dtype.is_float else None,
                zero_point=quant.zero_point if quant and not tensor.dtype.is_float else None,
                offset=tensor_offset(tensor, program, plan),
                bytes=tensor.type.bytes,
            )
        )
    return tuple(records)


def _operand(tensor: Tensor, view: View, offset: int) -> OperandRecord:
    return OperandRecord(
        tensor=tensor.name,
        source=tensor.source,
        dtype=tensor.dtype.value,
        shape=tensor.shape,
        offset=offset,
        row_stride=view.row_stride,
        pixel_stride=view.pixel_stride,
        channel_map=None if tensor.channel_map is None else tensor.channel_map.kept,
        reference_channels=None if tensor.channel_map is None else tensor.channel_map.of,
    )


def nodes(program: Program, instances: Instances) -> tuple[NodeRecord, ...]:
    """Returns the records of all steps."""
    sizes = {array.name: array.values.nbytes for array in instances.arrays}
    records: list[NodeRecord] = []
    for step in program.steps:
        node, layout = step.node, workspace(step)
        views = dict(enumerate(step.inputs))
        inputs = [_operand(node.input(i), view, at) for i, at in layout.inputs.items() if (view := views[i])]
        outputs = [_operand(node.outputs[i], step.outputs[i], at) for i, at in layout.outputs.items()]
        records.append(
            NodeRecord(
                name=node.name,
                op=node.op,
                implementation=step.implementation.label(node),
                device=step.call.device.kind.name if isinstance(step.call, ExternalCall) else None,
                sources=node.sources,
                macs=macs(step),
                rows=step.call.rows,
                weights_bytes=sum(sizes[name] for name in set(instances.arrays_of(step)) if name),
                scratch_bytes=sum(scratch.bytes for scratch in step.call.scratch),
                workspace_bytes=layout.bytes,
                inputs=tuple(inputs),
                outputs=tuple(outputs),
            )
        )
    return tuple(records)


def buffers(program: Program, plan: Plan) -> tuple[BufferRecord, ...]:
    """Returns the memory map of the arena."""
    last = max(len(program.steps) - 1, 0)
    return tuple(
        BufferRecord(
            name=request.name, offset=offset, bytes=request.bytes, first=request.first, last=min(request.last, last)
        )
        for request, offset in zip(program.requests, plan.offsets, strict=True)
    )
