"""Flashes a project's image into a board, then asks the board over RPC for the id of the build that it runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aboard import flashers
from aboard.base import extensions, programs
from aboard.base.scratch import Scratch
from aboard.device import board_lock, usb
from aboard.device.usb import Connection
from aboard.errors import DeviceError, FlashError, ToolError, WrongModelError
from aboard.flashers import Flasher, Job
from aboard.rpc.timing import Timing
from aboard.transports.base import Transport
from aboard.transports.serial import SerialTransport

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aboard.project.project import Project

LOG_NAME = "aboard_flash.log"
_BAUD = 115_200
# After flashing, the board only has to boot, so it answers soon.
_TIMING = Timing(hello_s=10.0)
_PORT_WAIT_S = 5.0
_POLL_S = 0.2
_INTERRUPTED = (
    "flashing was interrupted: the board's flash may be erased or hold a part of the image. "
    "Flash it again before it is used"
)


@dataclass(frozen=True)
class Flashed:
    """The result of flashing, or of a dry run.

    Attributes:
        flasher: Name of the flasher.
        command: The command line that was run, or would be run.
        place: Where the board is attached.
        verified: True when the tool compared the flash with the image.
        answered: True when the board answered over RPC that it runs this build; None where it was not asked.
        seconds: Run time of the tool.
        log: File with the output of the tool; None if the tool was not run.
    """

    flasher: str
    command: tuple[str, ...]
    place: Connection
    verified: bool
    answered: bool | None
    seconds: float
    log: Path | None


def baud(project: Project) -> int:
    """Returns the baud rate that a project's image sets on its line, in bits a second."""
    chosen = project.info.options.get("baud")
    if isinstance(chosen, int) and chosen > 0:
        return chosen
    return project.board.rpc.baud if project.board.rpc is not None else _BAUD


def open_line(project: Project, port: str) -> Transport:
    """Opens the serial port with the settings of the board's file: rate, flow control, levels of DTR and RTS.

    Args:
        project: The project.
        port: Path of the port.

    Raises:
        TransportError: The port is gone, or busy; the message names the process that holds it.
    """
    rpc = project.board.rpc
    if rpc is None:
        return SerialTransport(port, baud(project))
    return SerialTransport(port, baud(project), rtscts=rpc.rts_cts, dtr=rpc.dtr, rts=rpc.rts)


@extensions.blamed()
def plan(project: Project, flasher: Flasher[Any], place: Connection) -> tuple[str, ...]:
    """Returns the command line that `write` would run. Runs nothing.

    Raises:
        ToolError: There is no image, or the tool is missing.
        BoardError: The tool's settings in the board's file are wrong.
    """
    with job(project, flasher, place) as told:
        return tuple(flasher.command(told, flasher.program or flasher.name))


@extensions.blamed()
def write(
    project: Project, flasher: Flasher[Any], place: Connection, on_note: Callable[[str], None] | None = None
) -> Flashed:
    """Flashes a project's image.

    Args:
        project: The project, built.
        flasher: The tool.
        place: Where the board is attached.
        on_note: Receives the state of the board's flash if flashing is interrupted.

    Raises:
        FlashError: The tool failed. The message states whether the board's flash was changed.
        ToolError: There is no image, or the tool is missing.
        TransportError: Another process has the board.
    """
    log = project.path / "build" / LOG_NAME
    with board_lock.locked(place), job(project, flasher, place) as told:
        started = time.monotonic()
        try:
            done = flasher.run(told)
        except FlashError as error:
            log.write_text(error.output, encoding="utf-8")
            raise
        except KeyboardInterrupt:
            if on_note is not None:
                on_note(f"{project.board.id}: {_INTERRUPTED}")
            raise
        seconds = time.monotonic() - started
    log.write_text(f"$ {' '.join(done.command)}\n{done.output}", encoding="utf-8")
    return Flashed(flasher.name, done.command, place, flasher.capabilities.verifies, None, seconds, log)


def check(project: Project, port: str, timing: Timing = _TIMING) -> None:
    """Raises unless the board runs this project's build.

    Args:
        project: The project.
        port: Serial port of the board.
        timing: Deadlines.

    Raises:
        FlashError: The board runs another build, or does not answer.
        TransportError: The port is gone, or busy; the message names the process that holds it.
    """
    from aboard.device.session import Session

    line = open_line(project, port)
    try:
        with Session.attach(project, line, timing=timing):
            return
    except WrongModelError as error:
        raise FlashError(
            f"{project.board.id}: was flashed and runs another image, got: {error} "
            "Reset the board; where several are attached, --device says which",
            problem="other_build",
        ) from error
    except DeviceError as error:
        raise FlashError(
            f"{project.board.id}: was flashed and does not answer on {port}, got: {error} "
            "Reset the board, and look whether this is the port of its RPC; --port names another",
            problem="silent",
        ) from error


def port_of(project: Project, place: Connection, named: str | None = None) -> str | None:
    """Returns the serial port of a board, or None. Waits a moment if the board is restarting with native USB."""
    if named is not None or place.port is not None:
        return named or place.port
    deadline = time.monotonic() + (_PORT_WAIT_S if project.board.usb else 0)
    while True:
        found = [d for d in usb.devices() if project.board.id in d.boards and d.ports and d.is_at(place)]
        if len(found) == 1:
            return found[0].ports[0]
        if time.monotonic() >= deadline:
            return None
        time.sleep(_POLL_S)


def version(flasher: Flasher[Any]) -> str | None:
    """Returns the version of a flasher's program; None if it prints none without a board."""
    path = programs.find(flasher.program) if flasher.program else None
    if path is None or flasher.version_arguments is None:
        return None
    try:
        return programs.version(path, flasher.version_arguments)
    except ToolError:
        return None


@contextmanager
def job(project: Project, flasher: Flasher[Any], place: Connection) -> Iterator[Job[Any]]:
    """Yields the flasher's job with the converted image; deletes the job's scratch folder afterwards.

    Raises:
        ToolError: There is no image, or it cannot be converted for the tool.
        BoardError: The tool's settings in the board's file are wrong.
    """
    if not project.image.is_file():
        raise ToolError(f"{project.image}: no image, expected a built project. Run `aboard build {project.path}`")
    settings = flasher.read(project.board)
    with Scratch() as folder:
        yield Job(
            board=project.board.id,
            settings=settings,
            elf=project.image,
            image=flasher.convert(project.image, folder, settings),
            scratch=folder,
            project=project.path,
            serial_number=place.serial_number,
            port=str(place.drive) if place.drive else place.port,
        )


def choose(project: Project, name: str | None = None, *, installed: bool = True) -> Flasher[Any]:
    """Returns the flasher for a project; see `flashers.choose`."""
    return flashers.choose(project.board, name, project.info.template, installed=installed)
