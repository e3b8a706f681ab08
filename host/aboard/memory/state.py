"""The state block: memory of the values that a model keeps from one run to the next.

They are live from run to run, so that none shares memory with anything else. The block is the caller's memory, apart
from the arenas, or the end of one of them (`-state=arena`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aboard.errors import CapacityError
from aboard.memory.problem import WORD, round_up
from aboard.target.regions import ArenaRegion

#: Alignment of the block in bytes: that of an arena.
ALIGN = 16

#: Bytes of the position of rolling windows (`aboard.schedule.rolling`).
POSITION_BYTES = 2


@dataclass(frozen=True)
class StatePlace:
    """Where the state block is.

    Attributes:
        home: Number of its memory: that of an arena, or the number of arenas for memory of its own.
        start: Bytes from the start of that memory.
        bytes: Size.
        region: The memory region it is meant for; None without a named one.
        apart: True for memory of its own.
    """

    home: int
    start: int
    bytes: int
    region: str | None = None
    apart: bool = True


def offsets(sizes: Sequence[tuple[int, int]]) -> tuple[tuple[int, ...], int]:
    """Returns the offset of each buffer in the block, and the size of the block.

    Args:
        sizes: Bytes and alignment of each buffer. Those with the largest alignment come first.
    """
    found, end = [0] * len(sizes), 0
    for index in sorted(range(len(sizes)), key=lambda i: -sizes[i][1]):
        bytes_, align = sizes[index]
        found[index] = round_up(end, align)
        end = found[index] + bytes_
    return tuple(found), round_up(end, WORD)


def at_end(peaks: Sequence[int], bytes_: int, arenas: Sequence[ArenaRegion], where: str) -> StatePlace:
    """Returns the place at the end of the first arena that has room.

    Args:
        peaks: Bytes of each arena without the block.
        bytes_: Size of the block.
        arenas: Regions and limits of these arenas; empty for one arena without either.
        where: The model, for messages.

    Raises:
        CapacityError: The block fits none.
    """
    limits = [arena.limit for arena in arenas] or [None]
    for home, (peak, limit) in enumerate(zip(peaks, limits, strict=True)):
        start = round_up(peak, ALIGN)
        if limit is None or start + bytes_ <= limit:
            return StatePlace(home, start, bytes_, apart=False)
    got = ", ".join(f"{(limit or 0) - peak} bytes left" for peak, limit in zip(peaks, limits, strict=True))
    raise CapacityError(
        f"{where}: state does not fit behind the tensors, got {got}, expected {bytes_} in one arena. "
        "Raise a limit of -arena, or leave -state=arena out"
    )
