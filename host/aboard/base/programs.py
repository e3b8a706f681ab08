"""Finds the programs that aboard runs, reads their versions, and runs them until they end."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import logging
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from aboard.errors import ToolError

_LOG = logging.getLogger(__name__)
_VERSION = re.compile(r"\d+\.\d+[\w.+-]*|\d+(?=\s*$)", re.MULTILINE)
_TIMEOUT_S = 20
_END_TIMEOUT_S = 5


#: Environment variable with the name of a toolchain, or the path of a compiler.
TOOLCHAIN = "ABOARD_TOOLCHAIN"
#: Environment variable with the folder or the program of Renode.
RENODE_PATH = "RENODE_PATH"
#: Oldest supported release of Renode. Release 1.15 computes SSUB8 wrongly; kernels for the DSP extension use SSUB8.
RENODE_OLDEST = (1, 16)
#: How to get Renode, which no package index offers.
RENODE_SOURCE = (
    "unpack Renode from https://github.com/renode/renode/releases and put its folder on PATH, or name it in RENODE_PATH"
)


def find(name: str) -> Path | None:
    """Returns the program of that name on PATH, or beside the Python interpreter, where packages install programs.

    Args:
        name: Name without a folder, or a path.
    """
    beside_python = sysconfig.get_path("scripts")
    found = shutil.which(name) or shutil.which(name, path=beside_python)
    return None if found is None else Path(found)


def find_renode(name: str = "renode") -> Path | None:
    """Returns a program of Renode from `RENODE_PATH`, else from PATH; None if Renode is not installed.

    Args:
        name: `renode` or `renode-test`.
    """
    named = os.environ.get(RENODE_PATH)
    if not named:
        return find(name)
    folder = Path(named).parent if Path(named).is_file() else Path(named)
    return find(str(folder / name))


def renode_problem(program: Path) -> str | None:
    """Returns why aboard cannot use this Renode; None if it can.

    Args:
        program: The program `renode`.
    """
    try:
        stated = version(program)
    except ToolError as error:
        return str(error)
    if tuple(int(part) for part in re.findall(r"\d+", stated)[:2]) >= RENODE_OLDEST:
        return None
    oldest = ".".join(map(str, RENODE_OLDEST))
    return (
        f"{program} is too old, got {stated}, expected {oldest} or later, because older ones compute SSUB8 wrongly. "
        f"To get it: {RENODE_SOURCE}"
    )


def require(name: str, how_to_get: str) -> Path:
    """Returns the program of that name.

    Args:
        name: As for `find`.
        how_to_get: How to install the program, a sentence without a full stop.

    Raises:
        ToolError: The program is missing.
    """
    found = find(name)
    if found is None:
        raise ToolError(f"{name}: not found, got no such program on PATH, expected it to be installed. {how_to_get}")
    return found


def cmake() -> Path:
    """Returns CMake: the program itself where PATH has the Python script of the package `cmake`, which takes 0.1 s.

    Raises:
        ToolError: The program is missing.
    """
    found = require("cmake", "Install it: pip install cmake, or apt install cmake")
    if found.parent != Path(sysconfig.get_path("scripts")):
        return found
    package = importlib.util.find_spec("cmake")
    folders = package.submodule_search_locations if package else None
    behind = [Path(folder) / "data" / "bin" / found.name for folder in folders or ()]
    return next((path for path in behind if path.is_file()), found)


def version(path: Path, arguments: tuple[str, ...] = ("--version",)) -> str:
    """Returns the version that a program prints.

    Args:
        path: The program.
        arguments: Arguments that make the program print its version and end.

    Raises:
        ToolError: The program cannot be run, fails, or prints no version.
    """
    return _version(path, arguments, path.stat().st_mtime_ns)


@functools.lru_cache(maxsize=64)
def _version(path: Path, arguments: tuple[str, ...], modified_ns: int) -> str:
    del modified_ns  # part of the cache key: after an upgrade, the program is asked again
    command = " ".join((str(path), *arguments))
    try:
        done = subprocess.run(
            [path, *arguments],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except OSError as error:
        raise ToolError(f"{path}: cannot be run, got {error.strerror}, expected a program. Install it again") from error
    except subprocess.TimeoutExpired as error:
        raise ToolError(
            f"{command}: did not end, expected a version within {_TIMEOUT_S} s. Install it again"
        ) from error
    text = f"{done.stdout}\n{done.stderr}"
    found = _VERSION.search(text)
    if done.returncode != 0 or found is None:
        first = text.strip().splitlines()[:1]
        raise ToolError(
            f"{command}: failed, got exit code {done.returncode} and {first}, expected a version. Install it again"
        )
    return found.group()


# Ends a program and its children when standard input ends. The system closes standard input when this process ends.
_TETHER = """
exec 3<&0
"$@" </dev/null 3<&- &
child=$!
{
  read -r line <&3
  trap "" TERM
  kill -TERM 0
  sleep 1
  kill -KILL 0
} >/dev/null 2>&1 &
watcher=$!
exec 3<&-
wait "$child"
status=$?
kill -KILL "$watcher"
exit $status
"""


def run_tethered(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], timeout_s: float
) -> tuple[int, str]:
    """Runs a command as `run` does, and also ends the command if this process is killed."""
    log_start(command, folder)
    reading, writing = os.pipe()
    try:
        return _run(["/bin/sh", "-c", _TETHER, "aboard", *command], folder, environment, timeout_s, reading)
    finally:
        os.close(reading)
        os.close(writing)


def run(command: Sequence[str], folder: Path, environment: Mapping[str, str], timeout_s: float) -> tuple[int, str]:
    """Runs a command. On an interrupt or a timeout, the command and its children are ended.

    Args:
        command: Program and arguments.
        folder: Working folder of the command.
        environment: Environment variables of the command.
        timeout_s: Timeout in seconds.

    Returns:
        Exit code, and the text of standard output and standard error together.

    Raises:
        OSError: The command cannot be started.
        subprocess.TimeoutExpired: The command ran longer than `timeout_s`.
    """
    log_start(command, folder)
    return _run(command, folder, environment, timeout_s, subprocess.DEVNULL)


def log_start(command: Sequence[str], folder: Path | None = None) -> None:
    """Logs that a command is started, which `aboard -v` prints."""
    where = "" if folder is None else f" in {folder}"
    _LOG.debug("starting%s: %s", where, shlex.join(command))


def _run(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], timeout_s: float, stdin: int
) -> tuple[int, str]:
    running = subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    with running:
        try:
            output, _ = running.communicate(timeout=timeout_s)
        except BaseException:
            # An interrupt or a timeout: CMake has started Ninja, and Ninja compilers. All of them would keep writing.
            _end_group(running)
            raise
    return running.returncode, output


def _end_group(leader: subprocess.Popen[str]) -> None:
    """Ends a process and its children, and waits until all of them have ended. On Windows, ends the process alone."""
    if sys.platform == "win32":
        leader.kill()
        return
    with contextlib.suppress(ProcessLookupError):
        # Compilers remove their temporary files on SIGTERM, but cannot do so on SIGKILL.
        for demand in (signal.SIGTERM, signal.SIGKILL):
            os.killpg(leader.pid, demand)
            deadline = time.monotonic() + _END_TIMEOUT_S
            while time.monotonic() < deadline:
                leader.poll()  # reaps the leader: a zombie would still count as a member of the group
                os.killpg(leader.pid, 0)
                time.sleep(0.01)
