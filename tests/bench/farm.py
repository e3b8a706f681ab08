"""Measures what a farm adds to the work of its jobs: the same runs by a local pool of processes, and by two workers.

    python tests/bench/farm.py [--runs 10000] [--board arm/mps2_an386]

Each run boots the image, runs one picture and ends the emulator. The results of both are compared.
"""

from __future__ import annotations

import argparse
import functools
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import aboard
from aboard.base import resources
from aboard.farm import shipping, station
from aboard.farm.station import StationSpec
from aboard.farm.submission import Shared, Step, Submission, Ticket
from support import farm as farms

_WORKERS = 2
_WARM_UP, _BATCH = 20, 500


def by_pool(pool: ProcessPoolExecutor, packed: bytes, numbers: Sequence[int]) -> dict[str, Any]:
    """Returns the results of a local pool."""
    futures = {str(n): pool.submit(farms.classify, n, 0.0, packed) for n in numbers}
    return {key: future.result() for key, future in futures.items()}


def by_farm(address: str, shared: Shared, numbers: Sequence[int], board: str) -> dict[str, Any]:
    """Returns the results of a farm."""
    found: dict[str, Any] = {}
    tickets = [Ticket(str(n), [Step(farms.classify, (n, 0.0, shared), board)]) for n in numbers]
    Submission(address, found.__setitem__).run(tickets)
    return found


def timed(run: Callable[[], dict[str, Any]]) -> tuple[float, dict[str, Any]]:
    """Returns seconds and results."""
    began = time.monotonic()
    found = run()
    return time.monotonic() - began, found


def compare(address: str, packed: bytes, runs: int, board: str) -> tuple[float, float, int]:
    """Returns the seconds of pool and farm, and the number of wrong results. They take turns, against other load."""
    pool_s = farm_s = 0.0
    wrong = 0
    shared = Shared(packed)
    with ProcessPoolExecutor(_WORKERS, initializer=station.begin, initargs=(StationSpec("emulator"),)) as pool:
        by_pool(pool, packed, range(_WARM_UP))
        by_farm(address, shared, range(_WARM_UP), board)
        for first in range(0, runs, _BATCH):
            numbers = range(first, min(first + _BATCH, runs))
            here_s, expected = timed(functools.partial(by_pool, pool, packed, numbers))
            there_s, found = timed(functools.partial(by_farm, address, shared, numbers, board))
            pool_s, farm_s = pool_s + here_s, farm_s + there_s
            wrong += expected != found
    return pool_s, farm_s, wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--board", default="arm/mps2_an386")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, farms.running(Path(folder)) as farm:
        module = aboard.compile(resources.models() / "digits.tflite", board=given.board)
        project = aboard.create(module, board=given.board, path=Path(folder) / "digits")
        project.build()
        farm.worker("--emulators", str(_WORKERS), "--builds", "0")
        farm.until(lambda workers: len(workers) == _WORKERS)
        pool_s, farm_s, wrong = compare(farm.address, shipping.pack(project), given.runs, given.board)
    print(
        f"{given.runs} runs on {given.board} by {_WORKERS} processes: pool {pool_s:.1f} s, farm {farm_s:.1f} s", end=""
    )
    print(f", {100 * (farm_s / pool_s - 1):+.1f} %")
    sys.exit(f"{wrong} batches have results that are lost or differ" if wrong else 0)


if __name__ == "__main__":
    main()
