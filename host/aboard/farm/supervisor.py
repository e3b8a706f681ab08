"""Keeps the worker processes of a machine running: one for each attached board, emulator and place for builds."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from urllib.parse import urlsplit

from aboard.errors import InputError
from aboard.farm import engine
from aboard.farm.station import StationSpec
from aboard.runners.process import Supervised

_POLL_S = 0.2
#: Pause before a process that ended is started again; twice as long each time, up to the longest.
_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 30.0
_LOOPBACK = {"127.0.0.1": "127.0.0.1", "localhost": "127.0.0.1", "::1": "::1"}


@dataclass
class _Slot:
    """A worker process, and when to start the next one."""

    name: str
    command: Sequence[str]
    process: Supervised | None = None
    is_ready: bool = False
    pause_s: float = _PAUSE_S
    start_at: float = 0.0


def host_of(scheduler: str, host: str | None) -> str:
    """Returns the address on which workers listen.

    Args:
        scheduler: Address of the scheduler.
        host: The address that the user named; None for the loopback, if the scheduler is there.

    Raises:
        InputError: The scheduler is on another machine and no address is named, or its address is not one.
    """
    named = _host_in(scheduler)
    if named is None:
        raise InputError(
            f"{scheduler}: not an address of a scheduler, expected tcp://HOST:PORT or tls://HOST:PORT. Give the "
            "address that `dask scheduler` prints"
        )
    if host is not None:
        return host
    if named in _LOOPBACK:
        return _LOOPBACK[named]
    raise InputError(
        f"{scheduler}: on which address of this machine workers listen, got none, as the scheduler is on another "
        "machine. Name one with --host"
    )


def _host_in(scheduler: str) -> str | None:
    """Returns the host in an address; None if it is not an address of a scheduler."""
    try:
        parts = urlsplit(scheduler)
        return parts.hostname if parts.scheme in ("tcp", "tls") and parts.port else None
    except ValueError:
        return None


def run(scheduler: str, host: str, stations: Sequence[StationSpec], note: Callable[[str], None]) -> None:
    """Runs worker processes until this process ends. A process that ends is started again after a pause.

    Args:
        scheduler: Address of the scheduler.
        host: Address on which the workers listen.
        stations: What the processes give to the farm.
        note: Receives lines of information.

    Raises:
        ExtraError: Dask is not installed.
        ToolError: A process cannot be started.
    """
    engine.require()
    slots = [_slot(scheduler, host, number, spec) for number, spec in enumerate(stations)]
    try:
        while True:
            for slot in slots:
                _tend(slot, note)
            time.sleep(_POLL_S)
    finally:
        for slot in slots:
            if slot.process is not None:
                slot.process.stop()


def _slot(scheduler: str, host: str, number: int, spec: StationSpec) -> _Slot:
    what = spec.board or spec.kind
    name = f"{socket.gethostname()}-{os.getpid()}-{number}-{what}"
    words = json.dumps({"scheduler": scheduler, "host": host, "name": name, "station": asdict(spec)})
    return _Slot(name, [sys.executable, "-m", "aboard.farm.process", words])


def _tend(slot: _Slot, note: Callable[[str], None]) -> None:
    """Starts the process if it is time, passes on what it says, and notices its end."""
    if slot.process is None:
        if time.monotonic() < slot.start_at:
            return
        slot.process, slot.is_ready = Supervised(f"worker {slot.name}", slot.command), False
    while (line := slot.process.line(0)) is not None:
        slot.is_ready = slot.is_ready or line == "ready"
        note(f"{slot.name}: {line}")
    if slot.process.alive():
        return
    reason = slot.process.end_reason()
    slot.process.stop()
    slot.pause_s = _PAUSE_S if slot.is_ready else min(slot.pause_s * 2, _LONGEST_PAUSE_S)
    note(f"{reason}; starts again in {slot.pause_s:g} s")
    slot.process, slot.start_at = None, time.monotonic() + slot.pause_s
