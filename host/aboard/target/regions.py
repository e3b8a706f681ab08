"""Memory regions in a target: regions of the arenas (`-arena=dtcm:64K,sram`) and of the weights (`-weights=itcm`).

If the target names a board with known memory, this file checks the names against the board. A kind of memory (`dtcm`,
`external`) may then stand for a region of that kind. Without a board every name is accepted, and a project that uses
the bundle checks the names against its own board.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from aboard import boards
from aboard.boards.board import Board, Memory
from aboard.errors import BoardError, TargetError, did_you_mean
from aboard.target.kind import Value

#: Bytes of the board's data region that are left for stack, buffers and data of the firmware if the user gives no
#: limit. In a small region, a quarter is left.
FIRMWARE_BYTES = 16 * 1024

#: Values of `-state` that name no region: a block of its own, and the end of the arena.
STATE_SEPARATE, STATE_IN_ARENA = "separate", "arena"

_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20}
_SIZE = re.compile(r"(\d+)\s*([km]?)(?:i?b)?")
_NAME = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True)
class ArenaRegion:
    """A memory region for an arena.

    Attributes:
        name: Name of the region.
        limit: Bytes of the region that the arena may take; None for no limit.
    """

    name: str
    limit: int | None = None

    def __str__(self) -> str:
        return self.name if self.limit is None else f"{self.name}:{_amount(self.limit)}"


def _amount(number: int) -> str:
    return str(number) if number % 1024 else f"{number // 1024}K"


def size(text: str) -> int | None:
    """Returns a number of bytes from text (`65536`, `64K`, `64KiB`, `1M`); None if the text is not such a number."""
    found = _SIZE.fullmatch(text.strip().lower())
    return None if found is None else int(found[1]) * _UNITS[found[2]]


def parse(text: str, where: str) -> tuple[ArenaRegion, ...]:
    """Returns the regions in a value of `-arena`, fastest first.

    Args:
        text: `region` or `region:limit`, separated by commas.
        where: The target, for messages.

    Raises:
        TargetError: A name or a limit is not valid, or a region is named twice.
    """
    found = tuple(_arena(part.strip(), where) for part in text.split(","))
    names = [arena.name for arena in found]
    for name in names:
        if names.count(name) > 1:
            raise TargetError(f"{where}: -arena: a region is named twice, got {name}, expected each once. Remove one")
    return found


def _arena(text: str, where: str) -> ArenaRegion:
    name, colon, limit = text.partition(":")
    number = size(limit) if colon else None
    if colon and not number:
        raise TargetError(
            f"{where}: -arena: the limit of {name} is not a size, got {limit!r}, expected bytes above 0. "
            f"Write it as in {name}:64K"
        )
    return ArenaRegion(_name(name, where, "-arena"), number)


def _name(name: str, where: str, attribute: str) -> str:
    if _NAME.fullmatch(name) is None:
        raise TargetError(
            f"{where}: {attribute}: not the name of a memory region, got {name!r}, expected a small letter, then small "
            f"letters, digits and underscores. Write it as in {attribute}=dtcm"
        )
    return name


def complete(attrs: Mapping[str, Value], where: str) -> dict[str, Value]:
    """Returns the attributes of a target with `arena`, `state` and `weights` in their canonical form.

    Defaults are left out: one arena without a limit in the data region, state in memory of its own, and weights in the
    region of the code.

    Args:
        attrs: All attributes.
        where: The target, for messages.

    Raises:
        TargetError: A region is unknown, not writable, too small or out of reach of the core; or a limit is missing.
    """
    changed = dict(attrs)
    board = _board(attrs)
    if "weights" in attrs:
        name = _name(str(changed.pop("weights")), where, "-weights")
        region = find(board, name, where, "-weights") if board is not None else None
        if region is None or not region.load:
            changed["weights"] = name if region is None else region.name
    state = _state(str(changed.pop("state", STATE_SEPARATE)), board, where)
    changed |= {} if state == STATE_SEPARATE else {"state": state}
    changed |= {name: _limited(attrs[name], name, where) for name in ("flash-max", "ram-max") if name in attrs}
    if "arena" in attrs:
        arenas = parse(str(changed.pop("arena")), where)
        arenas = _unlimited(arenas, where) if board is None else _on_board(arenas, board, where)
        is_default = board is not None and board.data_memory and arenas == (ArenaRegion(board.data_memory.name),)
        if not is_default:
            changed["arena"] = ",".join(map(str, arenas))
    return changed


def _state(given: str, board: Board | None, where: str) -> str:
    """Returns a value of `-state` in its canonical form: a region by its name, not by its kind."""
    if given in (STATE_SEPARATE, STATE_IN_ARENA):
        return given
    name = _name(given, where, "-state")
    return name if board is None else writable(board, name, where, "-state").name


def _limited(value: Value, name: str, where: str) -> str:
    limit = size(str(value))
    if not limit:
        raise TargetError(
            f"{where}: -{name} is not a size, got {value!r}, expected bytes above 0. Write it as in -{name}=16K"
        )
    return _amount(limit)


def limit(attrs: Mapping[str, Value], name: str) -> int | None:
    """Returns the bytes that `-ram-max` or `-flash-max` allows; None for no limit.

    Args:
        attrs: All attributes of a target, canonical.
        name: `ram-max` or `flash-max`.
    """
    value = attrs.get(name)
    return None if value is None else size(str(value))


def _board(attrs: Mapping[str, Value]) -> Board | None:
    """Returns the board of a target if its memory is known, else None."""
    if "hardware" not in attrs:
        return None
    board = boards.of_hardware(str(attrs["hardware"]))
    return board if board.memory else None


def _unlimited(arenas: tuple[ArenaRegion, ...], where: str) -> tuple[ArenaRegion, ...]:
    for arena in arenas[:-1]:
        if arena.limit is None:
            raise TargetError(
                f"{where}: -arena: the size of {arena.name} is unknown without a board, got no limit, expected one "
                f"for each region but the last. Write it as in {arena.name}:64K, or name a board"
            )
    return arenas


def _on_board(arenas: tuple[ArenaRegion, ...], board: Board, where: str) -> tuple[ArenaRegion, ...]:
    found = []
    for arena in arenas:
        region = writable(board, arena.name, where)
        if arena.limit is not None and arena.limit > region.size_bytes:
            raise TargetError(
                f"{where}: -arena: the limit of {region.name} is above its size, got {arena.limit} bytes, expected at "
                f"most {region.size_bytes} on {board.target}. Lower it or leave it out"
            )
        found.append(replace(arena, name=region.name))
    return parse(",".join(map(str, found)), where)


def find(board: Board, name: str, where: str, attribute: str) -> Memory:
    """Returns the memory region of a board by name or by kind of memory, as the board's core sees it.

    A kind selects the region of the board's code or data if that region is of this kind, else the first region of the
    kind by address.

    Raises:
        TargetError: No region has that name or kind, or the core does not reach the region.
    """
    named = [region for region in board.memory if region.name == name]
    of_kind = [region for region in board.memory if region.kind == name]
    of_kind.sort(key=lambda region: not (region.load or region.data))
    for region in (*named, *of_kind):
        return region
    cores = _reached_by(board, name)
    if cores:
        raise TargetError(
            f"{where}: {attribute}: memory region is not reached by the core, got {name} of {board.id}, which "
            f"{', '.join(cores)} reaches, expected one of {board.core().name}: {_names(board)}. Name another region"
        )
    known = [word for region in board.memory for word in (region.name, region.kind)]
    raise TargetError(
        f"{where}: {attribute}: unknown memory region of {board.target}, got {name}. {did_you_mean(name, known)} "
        f"`aboard hardware show {board.target}` lists them"
    )


def writable(board: Board, name: str, where: str, attribute: str = "-arena") -> Memory:
    """Returns the region that `find` returns, if it can store an arena or state.

    Raises:
        TargetError: As for `find`; or the region is not writable at run time, because it is flash or holds the code.
    """
    region = find(board, name, where, attribute)
    if region.kind == "flash" or region.load:
        fitting = [other.name for other in board.memory if other.kind != "flash" and not other.load]
        why = "holds the code" if region.load else "is flash"
        raise TargetError(
            f"{where}: {attribute}: memory region is not writable, got {region.name} of {board.target}, which {why}, "
            f"expected one of: {', '.join(fitting)}. Name another region"
        )
    return region


def _names(board: Board) -> str:
    return ", ".join(region.name for region in board.memory)


def _reached_by(board: Board, name: str) -> list[str]:
    """Returns the other cores of a board that reach a region."""
    found = []
    for core in board.cores:
        try:
            view = boards.of_hardware(f"{board.id}:{core.name}")
        except BoardError:
            continue  # the board has no board file, so its other cores are not known
        if any(region.name == name for region in view.memory):
            found.append(core.name)
    return found


def arenas(attrs: Mapping[str, Value], weights_bytes: int) -> tuple[ArenaRegion, ...]:
    """Returns the arenas of a target, fastest first, with the limits of its board; empty for the default arena.

    Args:
        attrs: All attributes of a target, canonical.
        weights_bytes: Bytes of the weights, which reduce the free space of their region.
    """
    if "arena" not in attrs:
        return ()
    named = parse(str(attrs["arena"]), "target")
    board = _board(attrs)
    if board is None:
        return named
    taken = {attrs.get("weights"): weights_bytes}
    rooms = {region.name: region.size_bytes - taken.get(region.name, 0) for region in board.memory}
    shared = {region.name: min(FIRMWARE_BYTES, region.size_bytes // 4) for region in board.memory if region.data}
    return tuple(replace(a, limit=_limit(a.limit, rooms[a.name], shared.get(a.name, 0))) for a in named)


def _limit(given: int | None, room: int, firmware: int) -> int:
    """Returns the bytes for an arena: the user's limit if the region is large enough, else the rest of the region."""
    return max(room - firmware, 0) if given is None else max(min(given, room), 0)
