"""Manifest records of a program, and the workspaces of single nodes, which the C source also needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aboard.base.manifest_records import (
    ArenaRecord,
    BodyRecord,
    BufferRecord,
    NodeRecord,
    OperandRecord,
    PredictionRecord,
    StateRecord,
    TensorRecord,
)
from aboard.emit.arenas import home, offset
from aboard.emit.instances import Instances
from aboard.ir import Rounding, Tensor
from aboard.kernels.contract import ExternalCall
from aboard.kernels.control import ControlCall, distinct
from aboard.kernels.select import stalls
from aboard.kernels.select.cost_model import Prediction
from aboard.kernels.select.measured import fetches, model_errors, nearest
from aboard.kernels.view import View
from aboard.memory.arenas import Layout
from aboard.memory.problem import round_up
from aboard.ops.subgraph import SubgraphAttributes
from aboard.schedule.buffers import BufferAssignment
from aboard.schedule.control import inside, roles
from aboard.schedule.cost import cost, macs
from aboard.schedule.lowering import Program, Step
from aboard.target import Target

_WORKSPACE_ALIGN = 16


@dataclass(frozen=True)
class StepWorkspace:
    """Memory of a single step: offsets in bytes of its operands, results and scratch buffers, by index."""

    inputs: dict[int, int]
    outputs: dict[int, int]
    scratch: tuple[int, ...]
    bytes: int


def workspace(step: Step) -> StepWorkspace:
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
    return StepWorkspace(inputs, outputs, scratch, cursor)


def tensors(
    wanted: Sequence[Tensor], kind: str, program: Program, layout: Layout, rounding: Rounding = Rounding.TFLITE
) -> tuple[TensorRecord, ...]:
    """Returns the records of the model's inputs, outputs or states.

    Args:
        wanted: The tensors.
        kind: `input`, `output` or `state`.
        program: The lowered model.
        layout: The places of tensors.
        rounding: How real numbers for an input become integers.
    """
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
                rounding=rounding.value,
                order=tensor.order,
                arena=home(tensor, program, layout),
                offset=offset(tensor, program, layout),
                bytes=tensor.type.bytes,
            )
        )
    return tuple(records)


def states(program: Program, layout: Layout) -> tuple[TensorRecord, ...]:
    """Returns the records of the model's states."""
    kept = program.graph.states
    records = tensors([state.read for state in kept], "state", program, layout)
    return tuple(record.model_copy(update={"name": s.name}) for record, s in zip(records, kept, strict=True))


def state_block(program: Program, layout: Layout) -> StateRecord | None:
    """Returns the record of the state block; None for a model without state."""
    place = layout.state
    if place is None:
        return None
    heights = {window.state: window.height for window in program.assignment.rolling}
    rolling = {number: heights[s] for number, s in enumerate(program.graph.states) if s in heights}
    return StateRecord(bytes=place.bytes, memory=place.home, offset=place.start, region=place.region, rolling=rolling)


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
        order=tensor.order,
    )


def nodes(program: Program, instances: Instances, target: Target) -> tuple[NodeRecord, ...]:
    """Returns the records of all steps."""
    inner = {body.function: Instances(body.program, body.target, standalone=False) for body in inside(program)}
    return _Nodes(inner).of(program, instances, target)


class _Nodes:
    """Makes the records of nodes, with those inside them.

    Attributes:
        inner: The instances of each graph inside a node, by its function.
    """

    def __init__(self, inner: Mapping[str, Instances]) -> None:
        self.inner = inner

    def of(self, program: Program, instances: Instances, target: Target) -> tuple[NodeRecord, ...]:
        sizes = {array.name: array.values.nbytes for array in instances.arrays}
        cascades = {node: number for number, each in enumerate(program.assignment.cascades) for node in each.nodes}
        records: list[NodeRecord] = []
        for step in program.steps:
            own = sum(sizes[name] for name in set(instances.arrays_of(step)) if name)
            record = _node(program, step, target, own + self._constants(step))
            records.append(record.model_copy(update={"cascade": cascades.get(step.node), "bodies": self._bodies(step)}))
        return tuple(records)

    def _constants(self, step: Step) -> int:
        called = distinct(step.call.bodies) if isinstance(step.call, ControlCall) else []
        return sum(self.inner[body.function].constants_bytes for body in called)

    def _bodies(self, step: Step) -> tuple[BodyRecord, ...]:
        if not isinstance(step.call, ControlCall):
            return ()
        return tuple(
            BodyRecord(
                role=role,
                name=body.function,
                ram_bytes=body.arena.bytes,
                nodes=self.of(body.program, self.inner[body.function], body.target),
            )
            for role, body in roles(step.node, step.call).items()
        )


def _node(program: Program, step: Step, target: Target, weights: int) -> NodeRecord:
    """Returns the record of a step, without its cascade and without graphs inside it."""
    node, whole = step.node, program.whole(step)
    layout = workspace(whole)
    region = node.attrs if isinstance(node.attrs, SubgraphAttributes) else None
    predicted = _predicted(step, target, program.assignment)
    views = dict(enumerate(whole.inputs))
    return NodeRecord(
        name=node.name,
        op=node.op,
        implementation=step.implementation.label(node),
        device=None if region is None else region.label,
        sources=node.sources,
        macs=macs(node, program.assignment),
        rows=whole.call.rows,
        weights_bytes=weights,
        scratch_bytes=sum(scratch.bytes for scratch in step.call.scratch),
        workspace_bytes=layout.bytes,
        inputs=tuple(_operand(node.input(i), view, at) for i, at in layout.inputs.items() if (view := views[i])),
        outputs=tuple(_operand(node.outputs[i], whole.outputs[i], at) for i, at in layout.outputs.items()),
        tuning=dict(step.implementation.tuned.values if region is None else region.tuning),
        tuning_origin=step.implementation.tuned.origin if region is None else region.tuning_origin,
        estimated_instructions=None if predicted is None else predicted.instructions,
        estimated_cycles=None if predicted is None else predicted.cycles,
        device_cycles=_device_cycles(step),
    )


def _device_cycles(step: Step) -> int | None:
    cycles = step.call.cycles if isinstance(step.call, ExternalCall) else None
    return None if cycles is None else round(cycles)


def _predicted(step: Step, target: Target, assignment: BufferAssignment) -> Prediction | None:
    return None if isinstance(step.call, ExternalCall) else cost(step, assignment, target)


def prediction(target: Target) -> PredictionRecord:
    """Returns the error of the estimates for a target's host."""
    core = nearest(target, is_float=False)[0]
    own = core == target.host.cpu.base
    errors = dict(model_errors()[core]) if own else {}
    flash = stalls.timing(target)
    if flash is None:
        return PredictionRecord(core=core, **errors)
    waits = fetches(core, flash.fetch.key)
    return PredictionRecord(core=core, **errors | dict(waits.errors if waits else {}), flash=str(flash))


def arenas(layout: Layout) -> tuple[ArenaRecord, ...]:
    """Returns the records of arenas with a memory region."""
    return tuple(
        ArenaRecord(region=region, bytes=peak, lower_bound_bytes=bound)
        for region, peak, bound in zip(layout.regions, layout.peaks, layout.bounds, strict=bool(layout.regions))
    )


def buffers(program: Program, layout: Layout) -> tuple[BufferRecord, ...]:
    """Returns the memory map of the arenas."""
    last = max(len(program.steps) - 1, 0)
    return tuple(
        BufferRecord(
            name=live_range.name,
            arena=layout.homes[index],
            offset=layout.offsets[index],
            bytes=live_range.bytes,
            first=live_range.first,
            last=min(live_range.last, last),
        )
        for index, live_range in enumerate(program.live_ranges)
    )
