"""Times that a device measured: of one run, of a series of runs, and of every node.

An emulator counts instructions. The time that a core needs for these instructions is an estimate (`EstimatedTime`):
only a device measures time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from aboard.base.manifest import Manifest
from aboard.base.manifest_records import ErrorRecord, NodeRecord, PredictionRecord
from aboard.base.table import Label, table
from aboard.device.tensor_io import Values

_MICRO = 1_000_000

#: How cycles were estimated: over the executed instructions by the core's table, or by the cost model.
Basis = Literal["counted", "predicted"]


def predicted_cycles(manifest: Manifest, instructions: int | None) -> int | None:
    """Returns the cycles of a run by the cost model; None without all nodes' estimates.

    They include the waits for flash if `manifest.prediction.flash` names its wait states.

    Args:
        manifest: The model.
        instructions: Instructions of the run, to which the cycles are scaled; None if they are unknown.
    """
    cycles = [node.estimated_cycles for node in manifest.nodes]
    counted = [node.estimated_instructions for node in manifest.nodes]
    if None in cycles or (instructions is not None and None in counted):
        return None
    total = sum(n or 0 for n in cycles)
    return total if instructions is None else round(instructions * total / max(sum(n or 0 for n in counted), 1))


@dataclass(frozen=True)
class Duration:
    """A time on the device.

    Attributes:
        ticks: Ticks of the device's counter.
        tick_hz: Ticks a second.
        instructions: Instructions executed in that time; None if they are unknown.
        is_real: False if the counter counts the virtual time of an emulator.
    """

    ticks: int
    tick_hz: int
    instructions: int | None
    is_real: bool = True

    @property
    def microseconds(self) -> float | None:
        """The duration in microseconds; None in an emulator, whose virtual time is not a core's time."""
        return self.ticks * _MICRO / self.tick_hz if self.is_real else None


@dataclass(frozen=True)
class EstimatedTime:
    """The estimated time that a core needs for instructions that an emulator counted.

    Attributes:
        cycles: By the core's table over each executed instruction, or instructions times the cycles an instruction of
            the model's kernels.
        seconds: Cycles divided by the board's clock rate.
        core: The core that the estimate is for. It differs from the board's core if that core was never measured.
        error: Largest relative error among models that were left out of the fit. If instructions were counted, it is
            the error of cycles an instruction, else of cycles. None if another core was used in place of the board's,
            or if the cycles are counted.
        basis: `counted` for cycles over each executed instruction, `predicted` for those of the cost model.
        flash: Wait states and cache of the flash that the cycles include waits for, in words; None without wait states.
    """

    cycles: int
    seconds: float
    core: str
    error: float | None
    basis: Basis = "predicted"
    flash: str | None = None

    @classmethod
    def of(cls, manifest: Manifest, instructions: int | None, clock_hz: int | None) -> EstimatedTime | None:
        """Returns the estimate for a run; None without an instruction count, a clock rate or all nodes' estimates."""
        cycles, known = predicted_cycles(manifest, instructions), manifest.prediction
        if instructions is None or clock_hz is None or cycles is None or known is None:
            return None
        return cls._made(cycles, clock_hz, known, known.rate)

    @classmethod
    def counted(cls, cycles: int, core: str, clock_hz: int | None, flash: str | None = None) -> EstimatedTime | None:
        """Returns the estimate from cycles over each executed instruction; None without a clock rate."""
        return None if clock_hz is None else cls(cycles, cycles / clock_hz, core, None, "counted", flash)

    @classmethod
    def predicted(cls, manifest: Manifest, clock_hz: int | None) -> EstimatedTime | None:
        """Returns the estimate from predicted instructions; None without a clock rate or estimates for all nodes."""
        cycles = [node.estimated_cycles for node in manifest.nodes]
        known = manifest.prediction
        if clock_hz is None or known is None or None in cycles:
            return None
        return cls._made(sum(n or 0 for n in cycles), clock_hz, known, known.cycles)

    @classmethod
    def _made(cls, cycles: int, clock_hz: int, known: PredictionRecord, error: ErrorRecord | None) -> EstimatedTime:
        most = None if error is None else error.most
        return cls(cycles, cycles / clock_hz, known.core, most, flash=known.flash)


@dataclass(frozen=True)
class RunResult:
    """One run of a model, or of one node.

    Attributes:
        outputs: Arrays by tensor name.
        duration: Time of the run, without data transfer and without restoring the inputs.
        stack_bytes: High-water mark of the stack during the run; 0 if it is unknown.
    """

    outputs: dict[str, Values]
    duration: Duration
    stack_bytes: int

    @property
    def ticks(self) -> int:
        """Ticks of the device's counter."""
        return self.duration.ticks

    @property
    def instructions(self) -> int | None:
        """Instructions executed; None if they are unknown."""
        return self.duration.instructions

    @property
    def microseconds(self) -> float | None:
        """Time in microseconds; None in an emulator."""
        return self.duration.microseconds


@dataclass(frozen=True)
class Series:
    """Many runs of the same inputs.

    Attributes:
        count: Number of runs.
        fewest: Duration of the fastest run.
        most: Duration of the slowest run.
        total: Sum of all runs.
        stack_bytes: High-water mark of the stack over all runs; 0 if it is unknown.
    """

    count: int
    fewest: Duration
    most: Duration
    total: Duration
    stack_bytes: int


@dataclass(frozen=True)
class NodeTime:
    """The time of a node.

    Attributes:
        index: Number of the node.
        node: Its record in the manifest.
        duration: Time of all its steps.
    """

    index: int
    node: NodeRecord
    duration: Duration


@dataclass(frozen=True)
class Profile:
    """The time of every node, and the time of a run without profiling.

    Attributes:
        model: Name of the model.
        nodes: In order of execution.
        run: A second run of the same inputs without profiling, because profiling costs some ticks a node.
    """

    model: str
    nodes: tuple[NodeTime, ...]
    run: RunResult

    def table(self, cycles: Sequence[int | None] | None = None, of_run: int | None = None) -> str:
        """Returns the profile as plain text: a table with a row for each node.

        Args:
            cycles: Counted cycles of each node, None for a node on a device; None if they were not counted.
            of_run: Counted cycles of the run.
        """
        ticks = sum(entry.duration.ticks for entry in self.nodes) or 1
        counted = self.run.instructions is not None
        timed = self.run.microseconds is not None
        own = any(entry.node.device_cycles is not None for entry in self.nodes)
        head = ["#", "node", "op", "instructions" if counted else "ticks", *(["us"] if timed else [])]
        head += [*([] if cycles is None else ["cycles"]), "share", "MACs"]
        head += ["device cycles"] if own else []
        rows = [
            [
                entry.index,
                Label(entry.node.name),
                entry.node.implementation if entry.node.device else entry.node.op,
                _count(entry.duration),
                *_microseconds(entry.duration),
                *([] if cycles is None else [cycles[position]]),
                f"{100 * entry.duration.ticks / ticks:.1f} %",
                entry.node.macs,
                *([entry.node.device_cycles] if own else []),
            ]
            for position, entry in enumerate(self.nodes)
        ]
        run = self.run.duration
        total = ["", "whole run", "", _count(run), *_microseconds(run)]
        total += [*([] if cycles is None else [of_run]), "", "", *([""] if own else [])]
        note = "\n\nDevice cycles are estimates of the devices' own compilers, not measured." if own else ""
        return f"{self.model}\n{table(head, rows, total)}{note}"


def _microseconds(duration: Duration) -> list[str]:
    return [] if duration.microseconds is None else [f"{duration.microseconds:.1f}"]


def _count(duration: Duration) -> int:
    return duration.ticks if duration.instructions is None else duration.instructions
