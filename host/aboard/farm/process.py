"""A worker process: a worker of Dask for one station. `supervisor` starts it as `python -m aboard.farm.process`.

The process ends when the scheduler is gone, or has given up on it; its supervisor starts another one. What it ran ends
with it, so that a process that was stopped for long writes to no board any more.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from dataclasses import dataclass
from typing import Any

import dask
from distributed import Worker

from aboard.base.scratch import Scratch
from aboard.device import board_lock
from aboard.errors import AboardError
from aboard.farm import station
from aboard.farm.jobs import BUILD
from aboard.farm.station import Station, StationSpec

_WATCH_S = 1.0
#: Exit codes that tell the supervisor what happened.
REFUSED, LOST = 3, 4


@dataclass(frozen=True)
class ProcessSpec:
    """How a worker process runs.

    Attributes:
        scheduler: Address of the scheduler.
        host: Address of this machine on which it listens.
        name: Name of the worker.
        station: What it gives to the farm.
    """

    scheduler: str
    host: str
    name: str
    station: StationSpec

    @classmethod
    def parsed(cls, text: str) -> ProcessSpec:
        """Returns the specification that `json.dumps(asdict(spec))` wrote."""
        fields = json.loads(text)
        return cls(**{**fields, "station": StationSpec(**fields["station"])})


class FarmWorker(Worker):  # type: ignore[misc]
    """A worker that serves no HTTP: Dask's own would listen on another port, which nobody asked for."""

    def start_http_server(self, *_: Any, **__: Any) -> None:
        """Starts nothing."""


def resources(here: Station) -> dict[str, float]:
    """Returns what a station offers to the scheduler: each hardware key once, or builds."""
    return {BUILD: 1.0} if here.spec.kind == "builds" else dict.fromkeys(here.boards, 1.0)


async def serve(spec: ProcessSpec, here: Station, folder: str) -> None:
    """Runs the worker until the scheduler is gone."""
    offered = resources(here)
    worker = FarmWorker(
        spec.scheduler,
        host=spec.host,
        name=spec.name,
        nthreads=1,
        memory_limit=0,
        dashboard=False,
        resources=offered,
        local_directory=folder,
        metrics={"aboard": lambda _: here.described()},
    )
    async with worker:
        print("ready", flush=True)
        watch = asyncio.create_task(_withdraw(worker, here, offered))
        await worker.finished()
        watch.cancel()


async def _withdraw(worker: Worker, here: Station, offered: dict[str, float]) -> None:
    """Tells the scheduler when the board is in quarantine, so that it gets no more jobs.

    The worker's own count stays, so that jobs which are here already run, and leave for other workers by themselves. A
    board that is gone for a moment keeps its place: Dask would not look at waiting jobs when a board is back.
    """
    while not here.quarantined:
        await asyncio.sleep(_WATCH_S)
    await worker.scheduler.set_resources(resources=dict.fromkeys(offered, 0.0), worker=worker.contact_address)
    here.note("takes no more jobs until its worker is started again")


def main() -> None:
    """Runs a worker process for the specification in the first argument."""
    spec = ProcessSpec.parsed(sys.argv[1])
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(logging.Formatter("%(message)s"))
    logging.getLogger("aboard.farm").addHandler(handler)
    logging.getLogger("aboard.farm").setLevel(logging.INFO)
    board_lock.HOLDER = "aboard farm worker"
    # Nobody looks at the profile of a worker, which costs some percent of the time of short jobs.
    dask.config.set({"distributed.worker.profile.enabled": False})
    try:
        here = station.begin(spec.station)
    except AboardError as error:
        print(f"refused {error}", flush=True)
        os._exit(REFUSED)
    with Scratch() as folder:
        asyncio.run(serve(spec, here, str(folder)))
    # A job may still run in a thread; it must not go on.
    os._exit(LOST)


if __name__ == "__main__":
    main()
