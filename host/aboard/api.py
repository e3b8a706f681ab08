"""The objects behind the public names: a project that builds and boots itself, and a session that boots its device.

`project.project.Project` is data; `device.session.Session` is a line to a running device. This file joins templates,
builds, runners and sessions, so it is above all their rooms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from aboard import runners
from aboard.base import extensions
from aboard.boards.board import Board
from aboard.device import session
from aboard.project import build, mlperf, project, templates
from aboard.project import create as creation
from aboard.project.build_result import BuildResult
from aboard.project.create import Bundle
from aboard.project.templates import OptionValue
from aboard.rpc.timing import Timing
from aboard.runners.base import Runner

if TYPE_CHECKING:
    from typing_extensions import Self


class Session(session.Session):
    """A running device with the models of a project on it. Use it in a `with` statement."""

    @classmethod
    def open(
        cls,
        project: project.Project | str | Path,
        runner: Runner | str | None = None,
        *,
        timing: Timing | None = None,
        on_log: Callable[[str], None] | None = None,
    ) -> Self:
        """Boots a project's image and connects to it.

        Args:
            project: The project, or its folder.
            runner: A runner or its name; by default the first that supports the board.
            timing: Deadlines.
            on_log: Receives what the firmware logs.

        Raises:
            WrongModelError: The device runs another build than the project's.
            ToolError: The runner is not installed, or does not support this board.
            ProjectError: Images of the project's template have no RPC, or the image has another version of the
                protocol.
        """
        opened = Project.open(project) if isinstance(project, (str, Path)) else project
        templates.load(opened.info.template).require_server()
        mlperf.refuse_session(opened.info.options)
        if runner is None or isinstance(runner, str):
            chosen = runners.choose(opened.board, runner, devices=runners.devices_of(opened))
        else:
            chosen = runner
        try:
            with extensions.blamed():
                transport = chosen.start(opened)
        except BaseException:
            chosen.stop()
            raise
        return cls.attach(opened, transport, chosen, timing=timing, on_log=on_log)


class Project(project.Project):
    """A project on disk that can be built and booted."""

    def build(self, toolchain: str | None = None) -> BuildResult:
        """Builds the image, unless it is up to date.

        Args:
            toolchain: Name of a toolchain, or path of a compiler; by default chosen by rule.

        Raises:
            ToolError: A tool is missing, or the compiler reported an error.
            CapacityError: The image is larger than the board's memory.
            ProjectError: Projects of its template are built by a foreign build system.
        """
        return build.build(self, toolchain)

    def session(self, runner: str | Runner | None = None) -> Session:
        """Boots the image and connects to it; use it in a `with` statement.

        Args:
            runner: A runner or its name; by default the first that supports the board.
        """
        return Session.open(self, runner=runner)


def create(
    bundles: Bundle | str | Path | Sequence[Bundle | str | Path],
    board: str | Board,
    template: str | None = None,
    path: str | Path = "project",
    options: Mapping[str, OptionValue] | None = None,
    force: bool = False,
) -> Project:
    """Creates a project. If that fails, no file is written.

    Args:
        bundles: One or more models: compiled modules, or folders of bundles.
        board: The board, or its id or alias.
        template: Name of a template; by default that of the models' runtime, else `baremetal`, and `native` for this
            machine.
        path: Folder of the project: a new one, or one with an unchanged project, which is replaced.
        options: Options of the template by name.
        force: Overwrite files of the project's names even if aboard did not write them, or if they were changed since.
            Other files stay.

    Raises:
        ProjectError: The template, an option, a bundle or the folder is wrong, or a bundle is for another core.
        BoardError: The board is unknown.
        CapacityError: The models do not fit the board.
    """
    made = creation.create(bundles, board, template, path, options, force)
    return Project(made.path, made.info)
