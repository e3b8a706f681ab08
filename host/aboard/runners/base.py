"""The contract of runners: a runner starts a built image and always stops it again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, ClassVar

from aboard.boards.board import Board
from aboard.cycles.histogram import CountedRun
from aboard.errors import ToolError
from aboard.target import Target, columns
from aboard.transports.base import Transport

if TYPE_CHECKING:
    from typing_extensions import Self

    from aboard.project.project import Project


class Runner(ABC):
    """Runs one image on one board. Use it in a `with` statement, or call `stop`.

    Attributes:
        name: Name on the command line.
        order: Runners with lower numbers are tried first.
        automatic: False for a runner that is used only if the user names it.
        debugs: True if it has a gdb server.
        has_devices: True if it maps the device models of packages (column `peripherals`), or is the board itself.
        board: The board that it runs as.
    """

    name: ClassVar[str]
    order: ClassVar[int]
    automatic: ClassVar[bool] = True
    debugs: ClassVar[bool] = False
    has_devices: ClassVar[bool] = False

    def __init__(self, board: Board) -> None:
        self.board = board

    @property
    def real_time(self) -> bool:
        """True if the image's counter measures real time; False in an emulator, whose time is virtual."""
        return False

    def version(self) -> str | None:
        """Returns the version of the program that runs images; None if there is no such program."""
        return None

    @classmethod
    @abstractmethod
    def supports(cls, board: Board) -> str | None:
        """Returns the reason why it does not support a board; None if it does."""

    @classmethod
    def lacks(cls, devices: Iterable[Target]) -> str | None:
        """Returns which devices of a target it lacks, as a phrase; None if it lacks none."""
        phrases = [_phrase(device) for device in devices if columns.has(device, "peripherals")]
        if cls.has_devices or not phrases:
            return None
        return f"whose device {', '.join(dict.fromkeys(phrases))} it does not model"

    @classmethod
    @abstractmethod
    def missing(cls, board: Board) -> str | None:
        """Returns what has to be installed for a supported board, and how; None if nothing is missing."""

    @abstractmethod
    def start(self, project: Project) -> Transport:
        """Starts the project's image.

        Returns:
            The line to the image. The caller closes it.

        Raises:
            ToolError: The image has not been built, or the program that runs it is missing or failed.
        """

    @abstractmethod
    def stop(self) -> None:
        """Stops the image and waits for its end. A second call does nothing."""

    @abstractmethod
    def alive(self) -> bool:
        """True while the image runs."""

    @abstractmethod
    def end_reason(self) -> str:
        """Returns why the image ended, with the last output of the program that ran it; empty while it runs."""

    def fresh(self) -> Runner:
        """Returns a runner with the same settings that is not started, for another image."""
        return type(self)(self.board)

    def gdb_server(self, project: Project, port: int) -> list[str] | None:
        """Returns the command line that runs the image, halted, with a gdb server; None if the runner has none.

        Args:
            project: The project, built.
            port: TCP port of this machine.

        Raises:
            ToolError: The image has not been built, or the program that runs it is missing.
        """
        del project, port
        return None

    @classmethod
    def announced(cls, said: str) -> str | None:
        """Returns the serial port of the image under `gdb_server`; None if its output names none (yet).

        Args:
            said: Output of the gdb server so far.
        """
        del said
        return None

    def count_instructions(self) -> None:  # noqa: B027 - most runners cannot
        """Asks the next `start` to count how often each instruction is executed. A runner that cannot count ignores it.

        Times and results stay the same.
        """

    def counted(self) -> list[CountedRun]:
        """Returns what each timed run of a model since the start executed, oldest first; empty without counts.

        The runs of a profile are two: one without profiling, and one with.
        """
        return []

    def instructions(self, ticks: int, tick_hz: int) -> int | None:
        """Returns how many instructions the core executes in a number of ticks; None if that is unknown.

        Args:
            ticks: Ticks of the image's counter.
            tick_hz: Ticks a second.
        """
        del ticks, tick_hz
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def devices_of(project: Project) -> list[Target]:
    """Returns the devices that a project's image needs in addition to the board's own parts.

    Args:
        project: The project.

    Raises:
        TargetError: A device is of a kind that is not installed.
    """
    devices = [device for model in project.models for device in Target(model.target).devices]
    return needed(devices, project.info.options)


def needed(devices: Iterable[Target], options: Mapping[str, object]) -> list[Target]:
    """Returns the devices of a target without those in whose place an option of the project puts C files.

    Args:
        devices: The devices.
        options: Options of the project.
    """
    return [device for device in devices if not any(_replaced(device, options))]


def _replaced(device: Target, options: Mapping[str, object]) -> Iterator[bool]:
    """Yields for each option of a device whether it puts something in its place."""
    for option in columns.call(device, "options") or ():
        yield option.values.get(str(options.get(option.name))) is not None


def _phrase(device: Target) -> str:
    """Returns the name of a device, with the options that put something in its place."""
    options = columns.call(device, "options") or ()
    ways = [f"-O {option.name}={value}" for option in options for value, files in option.values.items() if files]
    return f"{device.kind.name} (without {' or '.join(ways)})" if ways else device.kind.name


def require_image(project: Project) -> str:
    """Returns the path of the project's image.

    Raises:
        ToolError: It has not been built.
    """
    if not project.image.is_file():
        raise ToolError(f"{project.image}: no image, expected a built project. Run `aboard build {project.path}`")
    return str(project.image)


def scaled(ticks: int, tick_hz: int, instructions_per_second: int) -> int:
    """Returns the instructions of an emulated core in a number of ticks, rounded to the nearest integer."""
    return (ticks * instructions_per_second + tick_hz // 2) // tick_hz
