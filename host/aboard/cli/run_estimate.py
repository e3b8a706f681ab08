"""The estimated cycles and the estimated time of a run: over the executed instructions, else by the cost model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aboard.device.timing import Basis, EstimatedTime, predicted_cycles

if TYPE_CHECKING:
    from aboard.base.manifest import Manifest
    from aboard.boards.board import Board
    from aboard.cycles.estimate import CountedCycles
    from aboard.device.timing import Profile

#: Cycles, with the waits for flash of the board, and how they were estimated; two times None without an estimate.
Estimate = tuple[int | None, Basis | None]


def of_run(manifest: Manifest, instructions: int | None, counted: CountedCycles | None) -> Estimate:
    """Returns the cycles of a run.

    Args:
        manifest: The model.
        instructions: Instructions of the run; None if they are unknown.
        counted: Cycles over the executed instructions; None if they were not counted one by one.
    """
    if counted is not None:
        return counted.run, "counted"
    return _predicted(predicted_cycles(manifest, instructions))


def of_nodes(profile: Profile, counted: CountedCycles | None) -> list[Estimate]:
    """Returns the cycles of each node, in order of execution."""
    if counted is None or counted.nodes is None:
        return [_predicted(entry.node.estimated_cycles) for entry in profile.nodes]
    # The core's instructions tell nothing about the time of a device.
    pairs = zip(profile.nodes, counted.nodes, strict=True)
    return [(cycles, "counted") if entry.node.device is None else (None, None) for entry, cycles in pairs]


def time(
    board: Board, manifest: Manifest, instructions: int | None, counted: CountedCycles | None
) -> EstimatedTime | None:
    """Returns the time of the cycles of a run in an emulator; None without a clock rate or an estimate of cycles."""
    core = board.core()
    if counted is not None:
        flash = None if board.flash_timing is None else str(board.flash_timing)
        return EstimatedTime.counted(counted.run, core.mcpu.partition("+")[0], core.clock_hz, flash)
    return EstimatedTime.of(manifest, instructions, core.clock_hz)


def _predicted(cycles: int | None) -> Estimate:
    return (None, None) if cycles is None else (cycles, "predicted")
