"""Finds the programs that aboard runs, asks them for their version, and runs them to their end."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shutil
import signal
import subprocess
import sysconfig
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from aboard.errors import ToolError

_VERSION = re.compile(r"\d+\.\d+[\w.+-]*|\d+(?=\s*$)", re.MULTILINE)
_TIMEOUT_S = 20
_END_TIMEOUT_S = 5


#: Environment variable with Renode's folder, or its program.
RENODE_PATH = "RENODE_PATH"
#: Oldest release of Renode. 1.15 computes SSUB8 wrongly, which kernels for the DSP extension use.
RENODE_OLDEST = (1, 16)
#: Renode is in no package index.
RENODE_SOURCE = (
    "unpack Renode from https://github.com/renode/renode/releases and put its folder on PATH, or name it in RENODE_PATH"
)


def find(name: str) -> Path | None:
    """Returns the program of that name on PATH, or beside this Python, where packages install theirs.

    Args:
        name: Name without folder, or a path.
    """
    beside_python = sysconfig.get_path("scripts")
    found = shutil.which(name) or shutil.which(name, path=beside_python)
    return None if found is None else Path(found)


def find_renode(name: str = "renode") -> Path | None:
    """Returns a program of Renode: where `RENODE_PATH` says, else on PATH; None where it is not installed.

    Args:
        name: `renode` or `renode-test`.
    """
    named = os.environ.get(RENODE_PATH)
    if not named:
        return find(name)
    folder = Path(named).parent if Path(named).is_file() else Path(named)
    return find(str(folder / name))


def renode_problem(program: Path) -> str | None:
    """Returns why this Renode does not serve; None where it does.

    Args:
        program: Renode's program.
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
        how_to_get: What to do where it is missing, a sentence without a full stop.

    Raises:
        ToolError: It is missing.
    """
    found = find(name)
    if found is None:
        raise ToolError(f"{name}: not found, got no such program on PATH, expected it to be installed. {how_to_get}")
    return found


def version(path: Path, arguments: tuple[str, ...] = ("--version",)) -> str:
    """Returns the version a program states.

    Args:
        path: The program.
        arguments: What makes it print the version and end.

    Raises:
        ToolError: It cannot be run, fails, or prints no version.
    """
    return _version(path, arguments, path.stat().st_mtime_ns)


@functools.lru_cache(maxsize=64)
def _version(path: Path, arguments: tuple[str, ...], modified_ns: int) -> str:
    del modified_ns  # part of the key: a program that was upgraded is asked again
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


# Ends a program and all that it has started when standard input ends, which the system closes with this process.
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
    """Runs a command as `run` does, and ends it also when this process is killed: it writes no more after that."""
    reading, writing = os.pipe()
    try:
        return run(["/bin/sh", "-c", _TETHER, "aboard", *command], folder, environment, timeout_s, reading)
    finally:
        os.close(reading)
        os.close(writing)


def run(
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    timeout_s: float,
    stdin: int = subprocess.DEVNULL,
) -> tuple[int, str]:
    """Runs a command; when that is interrupted, it and its children are ended.

    Args:
        command: Program and arguments.
        folder: Where it runs.
        environment: Its variables.
        timeout_s: Longest time it may take, in seconds.
        stdin: File number of its standard input.

    Returns:
        Exit code, and what it wrote to standard output and error.

    Raises:
        OSError: It cannot be started.
        subprocess.TimeoutExpired: It took too long.
    """
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
            # An interrupt or a deadline: CMake has Ninja below it, and that has compilers, which would write on.
            _end_group(running)
            raise
    return running.returncode, output


def _end_group(leader: subprocess.Popen[str]) -> None:
    """Ends a process with its children, and waits until none of them writes any more."""
    with contextlib.suppress(ProcessLookupError):
        # Compilers remove their temporary files when they are asked to end, and only then.
        for demand in (signal.SIGTERM, signal.SIGKILL):
            os.killpg(leader.pid, demand)
            deadline = time.monotonic() + _END_TIMEOUT_S
            while time.monotonic() < deadline:
                leader.poll()  # one that has ended counts until it is asked
                os.killpg(leader.pid, 0)
                time.sleep(0.01)
