"""Figures of each layer of a compiled model: work, prediction, bound, constants, memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from aboard.base.manifest_records import NodeRecord
from aboard.boards.cpu import MacInstruction
from aboard.compiler.pipeline import Module
from aboard.kernels.contract import Call, ConstantArg, ExternalCall, FunctionCall
from aboard.kernels.select.cost_model import Prediction
from aboard.memory.arenas import Layout
from aboard.memory.problem import live_bytes, restricted
from aboard.schedule import blocks
from aboard.schedule.cost import cost
from aboard.schedule.lowering import Program, Step
from aboard.target import Target

_WEIGHTS = "weights"


@dataclass(frozen=True)
class LayerSummary:
    """A layer as compiled.

    Attributes:
        index: Number of the step.
        record: Its record in the manifest.
        weights_form: Storage of its weights; "" without weights.
        predicted: Estimated instructions of the host, with the source of the estimate; None for an accelerator.
        mac_instruction: The fastest multiply-accumulate instruction of the core for it; None without a bound.
        stripes: Number of stripes: more than 1 in a cascade.
        live_bytes: For each arena, a lower bound of the bytes that are live during the layer.
    """

    index: int
    record: NodeRecord
    weights_form: str
    predicted: Prediction | None
    mac_instruction: MacInstruction | None
    stripes: int
    live_bytes: tuple[int, ...]

    @property
    def instructions(self) -> int | None:
        """Predicted instructions; None if a device computes the layer."""
        return None if self.predicted is None else self.predicted.instructions

    @property
    def bound(self) -> int | None:
        """Lower bound of its instructions: its MACs with `mac_instruction` alone; None without a bound."""
        return None if self.mac_instruction is None else round(self.record.macs / self.mac_instruction.macs)

    @property
    def own_estimate(self) -> str:
        """The device's own estimate in words; "" without one."""
        cycles = self.record.device_cycles
        return "" if cycles is None else f"{cycles:,} device cycles by its own estimate"

    @property
    def shape(self) -> str:
        """Shape of its first result: `25x5x64`."""
        return "x".join(map(str, self.record.outputs[0].shape)) if self.record.outputs else ""


def ratio(count: int | None, bound: int | None) -> float | None:
    """Returns instructions divided by their bound; None if either is unknown or 0."""
    return count / bound if count and bound else None


def of(module: Module) -> tuple[LayerSummary, ...]:
    """Returns the layers of a module.

    Args:
        module: A module compiled in this process.

    Raises:
        ProjectError: The module was read from a folder.
    """
    scheduled = module.schedule()
    program, target = scheduled.program, scheduled.calls.target
    live = [_live_bytes(program, scheduled.layout, arena) for arena in range(len(scheduled.layout.peaks))]
    return tuple(
        LayerSummary(
            index=step.index,
            record=record,
            weights_form=_form(step.call),
            predicted=None if isinstance(step.call, ExternalCall) else cost(step, program.assignment, target),
            mac_instruction=_mac_instruction(step, record, target),
            stripes=program.assignment.stripes_of(step.node),
            live_bytes=tuple(of_arena[step.index] for of_arena in live),
        )
        for step, record in zip(program.steps, module.manifest.nodes, strict=True)
    )


def peaks(layers: Iterable[LayerSummary], arena: int = 0) -> list[LayerSummary]:
    """Returns the layers that set the peak of an arena: the layers with the most live bytes."""
    listed = list(layers)
    most = max((layer.live_bytes[arena] for layer in listed), default=0)
    return [layer for layer in listed if layer.live_bytes[arena] == most]


def _live_bytes(program: Program, layout: Layout, arena: int) -> list[int]:
    """Returns a lower bound of the live bytes of an arena during each step."""
    if layout.tables:
        return blocks.step_bytes(program)
    members = [index for index, home in enumerate(layout.homes) if home == arena]
    live_ranges, overlaps = restricted(program.live_ranges, program.overlaps, members)
    return [live_bytes(live_ranges, overlaps, step.index) for step in program.steps]


def _form(call: Call) -> str:
    if isinstance(call, FunctionCall):
        return ""
    constants = [a.constant for a in call.arguments if isinstance(a, ConstantArg)]
    packed = next((c for c in constants if c.form or c.name == _WEIGHTS), None)
    return "" if packed is None else packed.form or str(packed.values.dtype)


def _mac_instruction(step: Step, record: NodeRecord, target: Target) -> MacInstruction | None:
    operand = step.node.optional_input(0)
    if isinstance(step.call, FunctionCall) or not record.macs or operand is None:
        return None
    return target.cpu.mac_instruction(operand.dtype.value)
