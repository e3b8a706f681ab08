"""Compiles and builds each project for tests once, and boots it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from aboard import runners
from aboard.api import Project, Session, create
from aboard.boards.board import Board
from aboard.cli import choice
from aboard.cli import model as model_argument
from aboard.cli.options import Place
from aboard.project.create import Bundle

#: A model file, the folder of a bundle, the name of a shipped model, or a module of `aboard.compile`.
Model = str | Path | Bundle


class Workshop:
    """Compiles and builds a project once for each model, board and options."""

    def __init__(self, folder: Path) -> None:
        """Takes an empty folder for the projects."""
        self._folder = folder
        self._made: dict[tuple[object, ...], Project] = {}
        self._kept: list[Model] = []

    def project(self, model: Model, board: Board, options: Mapping[str, str]) -> Project:
        """Returns a built project with one model.

        Args:
            model: The model.
            board: The board.
            options: Options of the board's template.

        Raises:
            AboardError: The model does not exist, does not compile or does not fit, or the build fails.
        """
        named = str(model) if isinstance(model, (str, Path)) else model
        key = (named if isinstance(named, str) else id(named), board.target, tuple(sorted(options.items())))
        if key not in self._made:
            # A compiled model is kept alive, so that no other object gets its `id()`.
            self._kept.append(model)
            place = Place(target=None, board=board.target)
            bundle = model_argument.load(named, place) if isinstance(named, str) else named
            folder = self._folder / f"{len(self._made)}-{bundle.manifest.name}"
            project = create(bundle, board, path=folder, options=options)
            project.build()
            self._made[key] = project
        return self._made[key]


def boot(
    project: Project,
    runner: str | None,
    device: str | None,
    on_log: Callable[[str], None] | None = None,
    farm: str | None = None,
) -> Session:
    """Boots a project's image, or flashes it, and connects to it.

    Args:
        project: A built project.
        runner: Name of the runner or flasher; by default the first emulator that supports the board, else the first
            flasher.
        device: Serial number or port of an attached board.
        on_log: Receives what the firmware logs.
        farm: Address of the scheduler of a farm that has the board; then no runner and no device are named.

    Raises:
        AboardError: The runner does not support the board, or the device does not answer correctly.
    """
    needed = runners.devices_of(project)
    # The image was built for this run, so an attached board cannot have it yet.
    chosen = choice.runner(project.board, needed, runner, device, None, farm, flash=True)
    return Session.open(project, chosen, on_log=on_log)
