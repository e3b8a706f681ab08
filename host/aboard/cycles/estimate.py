"""Estimates the cycles of a run and of its nodes from the instructions that an emulator counted."""

from __future__ import annotations

import logging
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from aboard.cycles import core_times, listing
from aboard.cycles.histogram import CountedRun
from aboard.device.timing import Duration
from aboard.errors import ToolError
from aboard.project.project import Project

_LOG = logging.getLogger(__name__)
# A run begins and ends anywhere within a tick.
_TICKS_OFF = 2


@dataclass(frozen=True)
class CountedCycles:
    """Cycles by the table of a core over executed instructions, and those that it waits for the flash of the board.

    Without `Board.flash_timing`, memory has no wait states.

    Attributes:
        run: Cycles of a run without profiling.
        nodes: Cycles of each node, in order of execution, from a second run with profiling; None without it.
    """

    run: int
    nodes: tuple[int, ...] | None


def of(project: Project, counted: Sequence[CountedRun], duration: Duration, nodes: int) -> CountedCycles | None:
    """Returns the cycles of a run.

    Args:
        project: The project, built.
        counted: What the runner counted: a run, and after it a run with profiling if nodes are wanted.
        duration: Time of the first run by the image's own counter.
        nodes: Number of nodes of the model.

    Returns:
        The cycles; None if nothing was counted, the image's own counter tells another number, there is no objdump for
        the core, or the core has no table.
    """
    try:
        return _estimated(project, counted, duration, nodes)
    except (ToolError, OSError, subprocess.SubprocessError) as error:
        _LOG.info("cycles are not counted: %s", error)
        return None


def _estimated(project: Project, counted: Sequence[CountedRun], duration: Duration, nodes: int) -> CountedCycles | None:
    if not counted:
        return None
    if not agrees(counted[0].instructions, duration):
        _LOG.info("%d instructions were counted, the image's own counter has %s", counted[0].instructions, duration)
        return None
    core = project.board.core().mcpu
    times = core_times.timing(core)
    listed = listing.of_image(project.image, core)
    profiled = counted[1].nodes if len(counted) > 1 else {}
    flash = project.board.flash_timing

    def cycles(run: CountedRun) -> int:
        return times.cycles(run.counts, listed) + (0 if flash is None else flash.cycles(run.lines))

    by_node = [cycles(node) for _, node in sorted(profiled.items())]
    return CountedCycles(cycles(counted[0]), tuple(by_node) if len(by_node) == nodes else None)


def agrees(instructions: int, duration: Duration) -> bool:
    """True if counted instructions are those of a duration, to the tick.

    Args:
        instructions: Instructions that were counted one by one.
        duration: The duration by the image's own counter.
    """
    if duration.instructions is None:
        return False
    tick = duration.instructions / max(duration.ticks, 1)
    return abs(instructions - duration.instructions) <= _TICKS_OFF * max(tick, 1.0)
