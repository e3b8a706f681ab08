"""Debugs a project's image: starts the gdb server of an emulator or a probe, and connects gdb to it."""

from __future__ import annotations

import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aboard import flashers, runners
from aboard.base import programs
from aboard.boards import cpu as cpus
from aboard.boards.board import Board
from aboard.device import flash, usb
from aboard.errors import ToolError
from aboard.flashers import Flasher
from aboard.runners.base import Runner
from aboard.runners.process import Supervised
from aboard.runners.serial import SerialRunner

if TYPE_CHECKING:
    from aboard.project.project import Project

_ANNOUNCE_S = 10.0
_POLL_S = 0.01
_HOW_TO_GET = "Install one: apt install gdb-multiarch, or name yours with --gdb"


@dataclass(frozen=True)
class Debugging:
    """The command lines of the gdb server and of gdb.

    Attributes:
        runner: Name of the emulator or flasher that provides the gdb server.
        server: The server's command line; empty if gdb starts the image itself.
        gdb: gdb's command line.
        port: TCP port between server and gdb; None without a server.
        announced: Finds the image's serial port in the output of the server; None if the server has none.
    """

    runner: str
    server: tuple[str, ...]
    gdb: tuple[str, ...]
    port: int | None
    announced: Callable[[str], str | None] | None = None


@contextmanager
def prepared(
    project: Project,
    runner: str | None = None,
    *,
    device: str | None = None,
    gdb: str | None = None,
    port: int | None = None,
    commands: Sequence[str] = (),
) -> Iterator[Debugging]:
    """Yields the command lines for debugging a project's image; deletes the files that they name afterwards.

    Args:
        project: The project, built.
        runner: Name of an emulator or flasher; by default the first one for the board that has a gdb server.
        device: Serial number of the board's probe.
        gdb: gdb's program; by default chosen by the board's architecture.
        port: TCP port; by default a free one.
        commands: Commands that gdb runs first.

    Raises:
        ToolError: There is no image, no gdb, or no gdb server for the board.
    """
    if not project.image.is_file():
        raise ToolError(f"{project.image}: no image, expected a built project. Run `aboard build {project.path}`")
    program = str(_gdb(project.board, gdb))
    # Debug information names sources relative to the project.
    extra = [word for command in (f"directory {project.path}", *commands) for word in ("-ex", command)]
    if project.board.is_host:
        yield Debugging("native", (), (program, str(project.image), *extra), None)
        return
    free = port or _free_port()
    head = (program, str(project.image), "-ex", f"target extended-remote 127.0.0.1:{free}")
    emulator = _emulator(project, runner) if device is None else None
    if emulator is not None:
        server = emulator(project.board).gdb_server(project, free) or []
        yield Debugging(emulator.name, tuple(server), (*head, *extra), free, emulator.announced)
        return
    flasher = _flasher(project, runner)
    with flash.job(project, flasher, usb.find(project.board, device)) as job:
        probe = flasher.gdb_server(job, str(programs.find(flasher.program or "") or flasher.program), free) or []
        start = [word for command in flasher.gdb_start for word in ("-ex", command)]
        yield Debugging(flasher.name, tuple(probe), (*head, *start, *extra), free)


def run(plan: Debugging, output: int | None = None, on_line: Callable[[str], None] | None = None) -> int:
    """Starts the gdb server and gdb; returns gdb's exit code. The server ends with gdb.

    Args:
        plan: The two command lines.
        output: File descriptor for gdb's standard output; by default that of this process.
        on_line: Called before gdb starts with the image's serial port, if the server has one.

    Raises:
        ToolError: One of them cannot be started.
    """
    server = Supervised(f"{plan.runner}'s gdb server", plan.server) if plan.server else None
    # Ctrl-C is for gdb: it halts the image. A handler is not inherited by gdb; SIG_IGN would be.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        line = _line(plan, server)
        if line is not None and on_line is not None:
            on_line(line)
        return subprocess.run(plan.gdb, check=False, stdout=output).returncode
    except OSError as error:
        raise ToolError(f"{plan.gdb[0]}: cannot be run, got {error.strerror}, expected gdb. {_HOW_TO_GET}") from error
    finally:
        signal.signal(signal.SIGINT, before)
        if server is not None:
            server.stop()


def _line(plan: Debugging, server: Supervised | None) -> str | None:
    """Returns the image's serial port; None if there is none, or the server does not print it in time."""
    if server is None or plan.announced is None:
        return None
    deadline = time.monotonic() + _ANNOUNCE_S
    found = None
    while found is None and server.alive() and time.monotonic() < deadline:
        time.sleep(_POLL_S)
        found = plan.announced(f"{server.last_words()}\n{server.seen()}")
    return found


def _emulator(project: Project, name: str | None) -> type[Runner] | None:
    """Returns the emulator that provides the gdb server; None if a probe does.

    Raises:
        ToolError: The named emulator has no gdb server, does not support the board, or is not installed.
    """
    known = runners.all_runners()
    if name is None:
        able = (r for r in known.values() if r.debugs and not r.supports(project.board))
        return next((runner for runner in able if runner.missing(project.board) is None), None)
    if name not in known or name == SerialRunner.name:
        return None
    if not known[name].debugs:
        raise _without_server(project, name)
    return type(runners.choose(project.board, name))


def _flasher(project: Project, name: str | None) -> Flasher[Any]:
    if name is not None and name != SerialRunner.name:
        chosen = flash.choose(project, name)
        if not chosen.capabilities.debugs:
            raise _without_server(project, name)
        return chosen
    able = [f for f in flashers.possible(project.board, project.info.template) if f.capabilities.debugs]
    found = next((flasher for flasher in able if flasher.missing() is None), None)
    if found is None:
        missing = "; ".join(f"{flasher.name}: {flasher.missing()}" for flasher in able)
        raise ToolError(
            f"{project.board.id}: no gdb server, got none that is installed, expected that of an emulator or probe. "
            f"{missing or 'Choose a board that an emulator or probe can debug'}"
        )
    return found


def _without_server(project: Project, name: str) -> ToolError:
    emulators = [r.name for r in runners.all_runners().values() if r.debugs and not r.supports(project.board)]
    probes = [f.name for f in flashers.possible(project.board, project.info.template) if f.capabilities.debugs]
    return ToolError(
        f"runner {name}: has no gdb server. Choose one that has: "
        f"{', '.join([*emulators, *probes]) or 'none for this board'}"
    )


def _gdb(board: Board, named: str | None) -> Path:
    if named is not None:
        return programs.require(named, _HOW_TO_GET)
    names = _gdbs(cpus.find(board.core().mcpu))
    installed = next((name for name in names if programs.find(name) is not None), names[-1])
    return programs.require(installed, _HOW_TO_GET)


def _gdbs(core: cpus.Cpu) -> tuple[str, ...]:
    """Returns the names of the debuggers for a core, the best first."""
    if core.is_host_class:
        return ("gdb",)
    own = "riscv64-unknown-elf-gdb" if core.is_riscv else "arm-none-eabi-gdb"
    return (own, "gdb-multiarch")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
