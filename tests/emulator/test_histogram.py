"""The instructions that QEMU's plugin counts one by one are those that the board's own counter tells."""

from __future__ import annotations

from pathlib import Path

import pytest

import aboard
from aboard.api import Project
from aboard.cycles import core_times
from aboard.cycles.histogram import total
from bench import histogram
from support import models

#: Boards, and instructions in a tick of their counters, rounded up.
TICKS = {
    "bbc/microbit": 63,
    "arm/mps2_an385": 40,
    "arm/mps2_an386": 40,
    "arm/mps2_an505": 50,
    "arm/mps3_an547": 32,
    "riscv/qemu_virt32": 100,
}


def build(board: str, folder: Path) -> Project:
    """Builds the shipped model for a board."""
    module = aboard.compile(models.path(models.SHIPPED), board=board)
    project = aboard.create(module, board=board, path=folder / "project")
    project.build()
    return project


@pytest.mark.parametrize("board", TICKS)
def test_the_plugin_counts_what_the_counter_tells(board: str, tmp_path: Path) -> None:
    project = build(board, tmp_path)
    executed = histogram.run(project)
    assert executed is not None
    told = executed.profile.run.instructions
    assert told is not None
    assert abs(executed.instructions - told) <= TICKS[board]
    assert set(executed.nodes) == set(range(len(project.models[0].nodes)))
    # What lies between nodes are a few instructions; the hooks' own are in neither.
    inside = sum(total(counts) for counts in executed.nodes.values())
    assert 0.98 * executed.instructions < inside < 1.02 * executed.instructions
    listed = {instruction.address for instruction in executed.listing}
    assert set(executed.run) <= listed
    timing = core_times.timing(executed.core)
    assert sum(timing.mix(executed.run, executed.listing).values()) == executed.instructions
    # Loops go round: control leaves branches, and hardly anything else.
    left = sum(count.left for count in executed.run.values())
    assert executed.instructions / 200 < left < executed.instructions / 3
