"""What a device measured: one run, a series of runs, and the ticks of every node.

An emulator counts instructions. How long the core would take for them is an estimate (`EstimatedTime`): only a device
measures time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aboard.base.manifest import Manifest, label
from aboard.base.manifest_records import ErrorRecord, NodeRecord
from aboard.device.tensor_io import Values

_MICRO = 1_000_000


@dataclass(frozen=True)
class Duration:
    """A time on the device.

    Attributes:
        ticks: Of the device's counter.
        tick_hz: Ticks in a second.
        instructions: The same in instructions; None where they cannot be told.
        is_real: False where the counter counts the virtual time of an emulator.
    """

    ticks: int
    tick_hz: int
    instructions: int | None
    is_real: bool = True

    @property
    def microseconds(self) -> float | None:
        """The same in microseconds; None in an emulator, whose time says nothing of a core's."""
        return self.ticks * _MICRO / self.tick_hz if self.is_real else None


@dataclass(frozen=True)
class EstimatedTime:
    """How long a core would take for instructions that an emulator counted.

    Attributes:
        cycles: The instructions times the cycles that the model's kernels take for each, memory without wait states.
        seconds: The cycles at the board's clock.
        core: The core that the cycles were estimated for; another than the board's where that was not measured.
        error: Largest relative error of that among models that were left out of the fit: of cycles for each
            instruction where instructions were counted, else of cycles; None where another core had to stand in.
    """

    cycles: int
    seconds: float
    core: str
    error: float | None

    @classmethod
    def of(cls, manifest: Manifest, instructions: int | None, clock_hz: int | None) -> EstimatedTime | None:
        """Returns the estimate for a run of a model; None without a count, a clock, or estimates for all nodes."""
        counted = [node.estimated_instructions for node in manifest.nodes]
        cycles = [node.estimated_cycles for node in manifest.nodes]
        if instructions is None or clock_hz is None or None in counted or None in cycles:
            return None
        known = manifest.prediction
        if known is None:
            return None
        rate = sum(n or 0 for n in cycles) / max(sum(n or 0 for n in counted), 1)
        return cls._made(round(instructions * rate), clock_hz, known.core, known.rate)

    @classmethod
    def predicted(cls, manifest: Manifest, clock_hz: int | None) -> EstimatedTime | None:
        """Returns the estimate before anything has run; None without a clock, or without estimates for all nodes."""
        cycles = [node.estimated_cycles for node in manifest.nodes]
        known = manifest.prediction
        if clock_hz is None or known is None or None in cycles:
            return None
        return cls._made(sum(n or 0 for n in cycles), clock_hz, known.core, known.cycles)

    @classmethod
    def _made(cls, cycles: int, clock_hz: int, core: str, error: ErrorRecord | None) -> EstimatedTime:
        return cls(cycles, cycles / clock_hz, core, None if error is None else error.most)


@dataclass(frozen=True)
class RunResult:
    """One run of a model, or of one node.

    Attributes:
        outputs: Arrays by tensor name.
        duration: Time of the run alone, without the transfer and without the restoring of inputs.
        stack_bytes: Most stack the run had in use; 0 where it cannot be told.
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
        """Instructions; None where they cannot be told."""
        return self.duration.instructions

    @property
    def microseconds(self) -> float | None:
        """Time in microseconds; None in an emulator."""
        return self.duration.microseconds


@dataclass(frozen=True)
class Series:
    """Many runs of the same inputs.

    Attributes:
        count: How many.
        fewest: The fastest run.
        most: The slowest.
        total: All together.
        stack_bytes: Most stack that a run had in use; 0 where it cannot be told.
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
    """The time of every node, beside a run that was not profiled.

    Attributes:
        model: Name of the model.
        nodes: In order of execution.
        run: The same inputs without the profiling, which itself costs some ticks per node.
    """

    model: str
    nodes: tuple[NodeTime, ...]
    run: RunResult

    def table(self) -> str:
        """Returns the profile as plain text, one line a node."""
        total = sum(entry.duration.ticks for entry in self.nodes) or 1
        counted = self.run.instructions is not None
        timed = self.run.microseconds is not None
        head = ["#", "node", "op", "instructions" if counted else "ticks", *(["us"] if timed else []), "share", "MACs"]
        rows = [
            [
                str(entry.index),
                label(entry.node.name),
                entry.node.implementation if entry.node.device else entry.node.op,
                _count(entry.duration),
                *_microseconds(entry.duration),
                f"{100 * entry.duration.ticks / total:.1f} %",
                str(entry.node.macs),
            ]
            for entry in self.nodes
        ]
        run = self.run.duration
        rows.append(["", "whole run", "", _count(run), *_microseconds(run), "", ""])
        return f"{self.model}\n{_align(head, rows, left=(1, 2))}"


def _microseconds(duration: Duration) -> list[str]:
    return [] if duration.microseconds is None else [f"{duration.microseconds:.1f}"]


def _count(duration: Duration) -> str:
    return str(duration.ticks if duration.instructions is None else duration.instructions)


def _align(head: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int]) -> str:
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    lines = [
        "  ".join(
            text.ljust(width) if column in left else text.rjust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (head, *rows)
    ]
    return "\n".join(lines)
