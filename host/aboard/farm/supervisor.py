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

from aboard.errors import InputError, ToolError
from aboard.farm import engine
from aboard.farm.station import StationSpec
from aboard.runners.process import Supervised

_POLL_S = 0.2
#: Pause before a process that ended is started again; twice as long each time, up to the longest.
_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 30.0
_STEADY_S = 60.0


@dataclass
class _Place:
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
    try:
        parts = urlsplit(scheduler)
        is_address = parts.scheme in ("tcp", "tls") and parts.hostname is not None and parts.port is not None
    except ValueError:
        is_address = False
    if not is_address:
        raise InputError(
            f"{scheduler}: not an address of a scheduler, expected tcp://HOST:PORT or tls://HOST:PORT. Give the address "
            "that `dask scheduler` prints"
        )
    if host is not None:
        return host
    if parts.hostname in ("127.0.0.1", "localhost", "::1"):
        return str(parts.hostname) if parts.hostname != "localhost" else "127.0.0.1"
    raise InputError(
        f"{scheduler}: on which address of this machine workers listen, got none, as the scheduler is on another "
        "machine. Name one with --host"
    )


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
    places = [_place(scheduler, host, number, spec) for number, spec in enumerate(stations)]
    try:
        while True:
            for place in places:
                _tend(place, note)
            time.sleep(_POLL_S)
    finally:
        for place in places:
            if place.process is not None:
                place.process.stop()


def _place(scheduler: str, host: str, number: int, spec: StationSpec) -> _Place:
    what = spec.board or spec.kind
    name = f"{socket.gethostname()}-{os.getpid()}-{number}-{what}"
    words = json.dumps({"scheduler": scheduler, "host": host, "name": name, "station": asdict(spec)})
    return _Place(name, [sys.executable, "-m", "aboard.farm.process", words])


def _tend(place: _Place, note: Callable[[str], None]) -> None:
    """Starts the process if it is time, passes on what it says, and notices its end."""
    if place.process is None:
        if time.monotonic() < place.start_at:
            return
        place.process, place.is_ready = Supervised(f"worker {place.name}", place.command), False
    while (line := place.process.line(0)) is not None:
        place.is_ready = place.is_ready or line == "ready"
        note(f"{place.name}: {line}")
    if place.process.alive():
        return
    reason = place.process.end_reason()
    place.process.stop()
    place.pause_s = _PAUSE_S if place.is_ready else min(place.pause_s * 2, _LONGEST_PAUSE_S)
    note(f"{reason}; starts again in {place.pause_s:g} s")
    place.process, place.start_at = None, time.monotonic() + place.pause_s


__all__ = ["ToolError", "host_of", "run"]
