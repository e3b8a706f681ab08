"""What the workers of a farm offer, as the scheduler knows it from their heartbeats, and the choice among boards."""

from __future__ import annotations

import difflib
import getpass
import re
import socket
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aboard import boards
from aboard.base.version import VERSION
from aboard.boards import cpu as cpus
from aboard.boards.board import Board
from aboard.errors import BoardError, InputError, ToolError
from aboard.farm.jobs import BUILD

if TYPE_CHECKING:
    from distributed import Client

_CONDITION = re.compile(r"\s*(?P<name>\w+)\s*(?P<relation>>=|<=|=|>|<)\s*(?P<value>[^\s=<>]+)\s*$")
_SIZE = re.compile(r"(\d+)([KM]?)$", re.IGNORECASE)
_SCALE = {"": 1, "K": 1 << 10, "M": 1 << 20}
_NAMES = ("board", "core", "flash", "ram", "soc", "feature")
_POLL_S = 0.25


@dataclass(frozen=True)
class Offer:
    """A worker of a farm.

    Attributes:
        address: Its address.
        name: Its name.
        kind: `board`, `emulator` or `builds`.
        boards: Hardware keys that it takes jobs for now.
        version: Version of aboard in it.
        device: Serial number or port of its board; None for emulators.
        state: `free`, `busy`, `gone` or `quarantined`.
        holder: Who runs a job on it.
        since: When that job began, as seconds since 1970.
        failures: Failures in a row.
        done: Number of jobs that ended.
        log: Its last lines.
        seen: When the scheduler last heard of it, as seconds since 1970.
        jobs: Number of jobs that wait for it or run on it.
    """

    address: str
    name: str
    kind: str
    boards: tuple[str, ...]
    version: str
    device: str | None
    state: str
    holder: str
    since: float
    failures: int
    done: int
    log: tuple[str, ...]
    seen: float
    jobs: int

    @property
    def builds(self) -> bool:
        """True if it builds projects."""
        return self.kind == "builds"


def offers(client: Client) -> list[Offer]:
    """Returns the workers of a farm that `aboard farm worker` started, by name."""
    workers, queued = client.scheduler_info()["workers"], client.processing()
    found = [
        _offer(address, worker, len(queued.get(address, ())))
        for address, worker in workers.items()
        if worker["metrics"].get("aboard")
    ]
    return sorted(found, key=lambda offer: offer.name)


def _offer(address: str, worker: dict[str, Any], jobs: int) -> Offer:
    stated = worker["metrics"]["aboard"]
    able = tuple(sorted(key for key, count in worker["resources"].items() if count and key != BUILD))
    known = {name: stated.get(name) for name in ("kind", "version", "device", "state", "holder", "since", "failures")}
    return Offer(
        address=address,
        name=str(worker["name"]),
        boards=able if stated["state"] in ("free", "busy") else (),
        done=stated["done"],
        log=tuple(stated["log"]),
        seen=worker["last_seen"],
        jobs=jobs,
        **known,
    )


def settled(client: Client, wanted: Iterable[str], patience_s: float, *, builds: bool = False) -> list[Offer]:
    """Returns the workers, as soon as each wanted board has one; while no worker has a board, they may be starting.

    Args:
        client: The client.
        wanted: Hardware keys.
        patience_s: Longest time to wait for a farm that has no board at all, in seconds.
        builds: Whether a worker that builds is needed, too.

    Raises:
        ToolError: No worker can ever match: none has one of the boards, or builds.
        InputError: Workers run another version of aboard.
    """
    give_up_at = time.monotonic() + patience_s
    keys = set(wanted)
    while True:
        found = offers(client)
        missing = sorted(keys - {key for offer in found for key in offer.boards})
        if not missing and (not builds or any(offer.builds for offer in found)):
            _check_versions(found)
            return found
        has_boards = any(offer.boards for offer in found)
        if (missing and has_boards) or time.monotonic() >= give_up_at:
            raise _none(missing, found)
        time.sleep(_POLL_S)


def _check_versions(found: Iterable[Offer]) -> None:
    others = sorted({offer.version for offer in found} - {VERSION})
    if others:
        raise InputError(
            f"farm: workers run other versions of aboard, got {', '.join(others)}, expected {VERSION} as here. Install "
            "one version everywhere"
        )


def _none(missing: Sequence[str], found: Sequence[Offer]) -> ToolError:
    if not missing:
        return ToolError("farm: no worker builds, expected one. Start `aboard farm worker` without --builds 0")
    able = sorted({key for offer in found for key in offer.boards})
    near = difflib.get_close_matches(missing[0], able, n=3)
    return ToolError(
        f"farm: no worker has {', '.join(missing)}, got {len(able)} kinds of board"
        f"{f', such as {near[0]}' if near else ''}. Start `aboard farm worker` where the board is, or choose another "
        "one: `aboard farm status` lists them"
    )


def matching(where: str, found: Iterable[Offer]) -> list[str]:
    """Returns the hardware keys of the boards of a farm that fulfil all conditions, sorted.

    Args:
        where: Conditions with `and` between them, such as `core=cortex-m4 and ram>=128K`. Names are `board`, `core`,
            `soc`, `feature` (of the core), `ram` and `flash` (bytes, or K or M).
        found: The workers of the farm.

    Raises:
        InputError: A condition cannot be read.
        ToolError: No board fulfils them.
    """
    conditions = [_parsed(text, where) for text in re.split(r"\band\b", where)]
    able = sorted({key for offer in found for key in offer.boards})
    chosen = [key for key in able if (board := _loaded(key)) is not None and all(_holds(c, board) for c in conditions)]
    if not chosen:
        raise ToolError(
            f"--where {where!r}: no board of the farm fulfils it, got {len(able)} kinds of board. Choose other "
            "conditions: `aboard farm status` lists the boards"
        )
    return chosen


def _parsed(text: str, where: str) -> tuple[str, str, str]:
    match = _CONDITION.match(text)
    is_size = match is not None and match["name"] in ("ram", "flash")
    if match is None or match["name"] not in _NAMES or (is_size and _SIZE.match(match["value"]) is None):
        raise InputError(
            f"--where {where!r}: cannot be read, got {text.strip()!r}, expected NAME=VALUE with a name of "
            f"{', '.join(_NAMES)}, or ram>=SIZE. Write it like core=cortex-m4 and ram>=128K"
        )
    if not is_size and match["relation"] != "=":
        raise InputError(
            f"--where {where!r}: {match['name']} has no order, got {match['relation']}. Write {match['name']}=VALUE"
        )
    return match["name"], match["relation"], match["value"]


def _holds(condition: tuple[str, str, str], board: Board) -> bool:
    name, relation, value = condition
    if name in ("ram", "flash"):
        size = board.ram_bytes if name == "ram" else board.flash_bytes
        match = _SIZE.match(value)
        if size is None or match is None:
            return False
        number, unit = match.groups()
        limit = int(number) * _SCALE[unit.upper()]
        return {"=": size == limit, ">=": size >= limit, "<=": size <= limit, ">": size > limit, "<": size < limit}[
            relation
        ]
    cpu = cpus.find(board.core().mcpu)
    words = {"board": {board.id}, "core": {cpu.name, cpu.base}, "soc": {board.soc}, "feature": cpu.features}
    return value in words[name]


def _loaded(key: str) -> Board | None:
    try:
        return boards.load(key)
    except BoardError:
        return None  # a board file that only the worker has


def this_holder() -> str:
    """Returns the name under which the farm lists the jobs of this process."""
    return f"{getpass.getuser()}@{socket.gethostname()}"
