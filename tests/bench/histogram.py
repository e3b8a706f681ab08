"""Counts every instruction that an image executes while it runs a model, by a plugin of QEMU (`aboard.cycles`).

The very image is counted that `aboard deploy` built and timed: once as a whole, and once node by node.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from aboard.api import Project, Session
from aboard.boards.board import Board
from aboard.boards.memory_records import Lines
from aboard.cycles import listing
from aboard.cycles.histogram import Histogram, total
from aboard.cycles.listing import Instruction
from aboard.device import input_files
from aboard.device.tensor_io import Inputs
from aboard.device.timing import Profile
from aboard.runners.qemu import QemuRunner


@dataclass(frozen=True)
class Executed:
    """What an image executed.

    Attributes:
        core: Name of the core, as in `-mcpu`.
        profile: What its own counter told of the same runs.
        run: The run of the model, as long as the counter timed it.
        nodes: All steps of each node, by its number, in a run with profiling.
        lines: Lines of flash that each node waited for, if the board states how its flash is read.
        listing: The instructions of the image.
    """

    core: str
    profile: Profile
    run: Histogram
    nodes: Mapping[int, Histogram]
    lines: Mapping[int, Lines]
    listing: Sequence[Instruction]

    @property
    def instructions(self) -> int:
        """Instructions of the run."""
        return total(self.run)


def run(project: Project, feed: str = "random:0", board: Board | None = None) -> Executed | None:
    """Runs a built project with the plugin; None where there is no plugin or no objdump for its core.

    Args:
        project: A project with one model, built with profiling.
        feed: The inputs, as `--input` names them.
        board: The project's board with other figures; None for that of the project.
    """
    core = project.board.core().mcpu
    if listing.objdump(core) is None:
        return None
    (manifest,) = project.models
    runner = QemuRunner(board or project.board)
    runner.count_instructions()
    with Session.open(project, runner) as session:
        profile = session.profile(input_files.load(feed, manifest.inputs))
        counted = runner.counted()
    if not counted:
        return None
    alone, profiled = counted
    nodes = {number: node.counts for number, node in profiled.nodes.items()}
    lines = {number: node.lines for number, node in profiled.nodes.items()}
    return Executed(core, profile, alone.counts, nodes, lines, listing.of_image(project.image, core))


def run_sequence(project: Project, feeds: Iterable[tuple[str, Inputs]]) -> list[int] | None:
    """Returns the instructions of each of several runs, which keep the state of their models; None as for `run`.

    Args:
        project: A built project.
        feeds: For each run the name of a model, and its inputs.
    """
    runner = QemuRunner(project.board)
    runner.count_instructions()
    with Session.open(project, runner) as session:
        for model, feed in feeds:
            session.infer(feed, model=model)
        return [each.instructions for each in runner.counted()] or None
