"""What a device measured: one run, a series of runs, and the ticks of every node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from aboard.manifest import NodeRecord, label
from aboard.tensor_io import Values

#: Turns ticks and ticks per second into instructions; None where they cannot be told.
Count: TypeAlias = Callable[[int, int], "int | None"]
_MICRO = 1_000_000


@dataclass(frozen=True)
class Duration:
    """A time on the device.

    Attributes:
        ticks: Of the device's counter.
        tick_hz: Ticks in a second.
        instructions: The same in instructions; None where they cannot be told.
    """

    ticks: int
    tick_hz: int
    instructions: int | None

    @classmethod
    def of(cls, ticks: int, tick_hz: int, count: Count) -> Duration:
        """Returns a number of ticks with its instructions."""
        return cls(ticks, tick_hz, count(ticks, tick_hz))

    @property
    def microseconds(self) -> float:
        """The same in microseconds; in an emulator, of its virtual time."""
        return self.ticks * _MICRO / self.tick_hz


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
    def microseconds(self) -> float:
        """Time in microseconds."""
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
        head = ["#", "node", "op", "instructions" if counted else "ticks", "us", "share", "MACs"]
        rows = [
            [
                str(entry.index),
                label(entry.node.name),
                entry.node.implementation if entry.node.device else entry.node.op,
                _count(entry.duration),
                f"{entry.duration.microseconds:.1f}",
                f"{100 * entry.duration.ticks / total:.1f} %",
                str(entry.node.macs),
            ]
            for entry in self.nodes
        ]
        run = self.run.duration
        rows.append(["", "whole run", "", _count(run), f"{run.microseconds:.1f}", "", ""])
        return f"{self.model}\n{_align(head, rows, left=(1, 2))}"


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
