"""What happens to a command: a signal, a second one at the same time, or surroundings that lack something."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

#: Files that disturbances put beside what commands make.
OWN_FILES = ("disk",)

_FILE_BYTES = 6000
_DISK_BYTES = 48 << 10


def _nothing() -> None:
    """Ends nothing."""


@dataclass(frozen=True)
class How:
    """How a command is started.

    Attributes:
        environment: Variables that are set, or removed (None).
        arguments: More for `subprocess.Popen`.
        end: Undoes what the disturbance did to the machine.
    """

    environment: Mapping[str, str | None] = field(default_factory=dict)
    arguments: Mapping[str, Any] = field(default_factory=dict)
    end: Callable[[], None] = _nothing


def _as_it_is(work: Path) -> How:
    del work
    return How()


@dataclass(frozen=True)
class Disturbance:
    """One kind of disturbance.

    Attributes:
        name: For counts and cases.
        weight: How often it is drawn.
        how: Returns how the command is started, given its folder.
        signal: Sent at some moment.
        harmless: Whether the command must work all the same.
        at_once: Whether it is started twice at once.
    """

    name: str
    weight: int = 1
    how: Callable[[Path], How] = _as_it_is
    signal: signal.Signals | None = None
    harmless: bool = False
    at_once: bool = False


def _environment(**change: str | None) -> Callable[[Path], How]:
    return lambda work: How(environment={name: value and value.format(work=work) for name, value in change.items()})


def _limited(work: Path) -> How:
    """Files may not grow beyond a few kilobytes: what a full disk is like for who writes."""
    del work

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (_FILE_BYTES, _FILE_BYTES))

    return How(arguments={"preexec_fn": limit})


def _full_disk(work: Path) -> How:
    """Temporary files go to a disk of 48 KB; where none can be mounted, files are limited instead."""
    disk = work / "disk"
    disk.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={_DISK_BYTES}", "aboard-fuzz", str(disk)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode != 0:
        return _limited(work)

    def end() -> None:
        subprocess.run(["umount", "-l", str(disk)], check=False)

    return How(environment={"TMPDIR": str(disk)}, end=end)


def _full_stdout(work: Path) -> How:
    del work
    return How(arguments={"stdout": os.open("/dev/full", os.O_WRONLY)})


def _closed_stdout(work: Path) -> How:
    """Nobody reads what it says."""
    del work
    reader, writer = os.pipe()
    os.close(reader)
    return How(arguments={"stdout": writer})


ALL: tuple[Disturbance, ...] = (
    Disturbance("kill", 5, signal=signal.SIGKILL),
    Disturbance("interrupt", 4, signal=signal.SIGINT),
    Disturbance("terminate", signal=signal.SIGTERM),
    Disturbance("file size", 2, _limited),
    Disturbance("full disk", 1, _full_disk),
    Disturbance("full stdout", 1, _full_stdout),
    Disturbance("closed stdout", 1, _closed_stdout),
    Disturbance("no home", 1, _environment(HOME=None, XDG_CACHE_HOME=None, XDG_CONFIG_HOME=None), harmless=True),
    Disturbance("home not writable", 1, _environment(HOME="/proc/1"), harmless=True),
    Disturbance("locale C", 1, _environment(LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0"), harmless=True),
    Disturbance("locale Turkish", 1, _environment(LC_ALL="tr_TR.UTF-8", LANG="tr_TR.UTF-8"), harmless=True),
    Disturbance("no TMPDIR", 1, _environment(TMPDIR="{work}/missing"), harmless=True),
    Disturbance("two at once", 2, at_once=True),
)
BY_NAME: Mapping[str, Disturbance] = {each.name: each for each in ALL}
