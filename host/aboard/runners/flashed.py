"""The board itself, flashed first: one runner for each flasher."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, ClassVar

from typing_extensions import override

from aboard import flashers
from aboard.boards.board import Board
from aboard.device import flash
from aboard.runners.serial import SerialRunner
from aboard.transports.base import Transport

if TYPE_CHECKING:
    from aboard.project.project import Project


class FlashedRunner(SerialRunner):
    """Flashes an image, then connects to it. `runner_of` derives a class for each flasher."""

    flasher: ClassVar[str]

    @classmethod
    @override
    def supports(cls, board: Board) -> str | None:
        return super().supports(board) or flashers.all_flashers()[cls.flasher].supports(board)

    @classmethod
    @override
    def missing(cls, board: Board) -> str | None:
        return flashers.all_flashers()[cls.flasher].missing()

    @override
    def start(self, project: Project) -> Transport:
        """Flashes the image and opens the port; see `Runner.start`.

        Raises:
            FlashError: The tool failed. The message states whether the board's flash was changed.
        """
        place = self._taken()
        try:
            flash.write(project, flash.choose(project, self.flasher), place)
            self._line = self.connect(project, place)
        except BaseException:
            self.stop()
            raise
        return self._line


@functools.cache
def runner_of(name: str) -> type[FlashedRunner]:
    """Returns the runner class for a flasher, under the flasher's name."""
    return type(f"{name.capitalize()}Runner", (FlashedRunner,), {"name": name, "flasher": name})
