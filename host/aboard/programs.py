"""Finds the programs that aboard runs, and asks them for their version."""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

from aboard.errors import ToolError

_VERSION = re.compile(r"\d+\.\d+[\w.+-]*|\d+(?=\s*$)", re.MULTILINE)
_TIMEOUT_S = 20


def find(name: str) -> Path | None:
    """Returns the program of that name on PATH, or beside this Python, where packages install theirs.

    Args:
        name: Name without folder, or a path.
    """
    beside_python = sysconfig.get_path("scripts")
    found = shutil.which(name) or shutil.which(name, path=beside_python)
    return None if found is None else Path(found)


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
