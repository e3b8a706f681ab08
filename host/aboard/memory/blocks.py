"""Places blocks: pieces of memory whose parts live at different times.

A buffer lives as a whole, from one step to another (`aboard.memory.problem`). The parts of a block do not: of two rows
that are computed together, one may die long before the other, and the scratch of a node lives whenever a stripe of the
node is computed, but not in between. So a block is a set of rectangles in time and memory that keep their distances,
and time is counted in turns: a turn is one call of a kernel.

Blocks are placed by first fit in several orders. Then the blocks at the top are moved in the best order, for as long as
a budget lasts. No clock is read, so that the same model gives the same plan on every machine.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from aboard.errors import VerifyError
from aboard.memory.problem import WORD, round_up

#: Rectangles that all orders of a problem may place, and the most and the fewest orders.
BUDGET, MOST_ORDERS, FEWEST_ORDERS = 40_000, 60, 8
#: Turns of a bucket: a rectangle is compared with those of its buckets alone.
_BUCKET = 32


class Part(NamedTuple):
    """Bytes [low, high) of a block that are live from turn `first` to turn `last`, inclusive."""

    first: int
    last: int
    low: int
    high: int


@dataclass(frozen=True)
class Block:
    """Memory that needs an address.

    Attributes:
        name: Name in error messages.
        parts: Its parts, in the order of their first turn. Two of them may share bytes in the turn in which the one ends
            and the other begins.
        align: Alignment of its address, a power of two.
    """

    name: str
    parts: tuple[Part, ...]
    align: int = 4

    @property
    def bytes(self) -> int:
        """Bytes from its start to its end."""
        return max(part.high for part in self.parts)


#: For a pair (operand, result) of blocks: bytes from the start of the result to the start of the operand, at least, so
#: that they may share bytes in the turn that reads one and writes the other.
MinOffsets = Mapping[tuple[int, int], int]


@dataclass(frozen=True)
class BlockPlan:
    """Addresses of blocks.

    Attributes:
        offsets: For each block, bytes from the start of the arena.
        peak: Bytes of the arena.
        bound: Most bytes that are live in one turn.
    """

    offsets: tuple[int, ...]
    peak: int
    bound: int


def place(blocks: Sequence[Block], min_offsets: MinOffsets) -> BlockPlan:
    """Places blocks so that the arena is as small as the search can find.

    Args:
        blocks: The blocks.
        min_offsets: Pairs that may share bytes in the one turn in which both are live.

    Returns:
        A validated plan.
    """
    search = _Search(blocks, min_offsets)
    search.run()
    plan = BlockPlan(tuple(search.offsets), search.peak, search.bound)
    validate(blocks, plan.offsets, min_offsets)
    return plan


def live_bytes(blocks: Sequence[Block], min_offsets: MinOffsets) -> list[int]:
    """Returns a lower bound of the bytes of an arena in each turn; bytes that parts may share count once."""
    end = max((part.last for block in blocks for part in block.parts), default=0) + 1
    change = np.zeros(end + 1, np.int64)
    for block in blocks:
        for part in block.parts:
            change[part.first] += part.high - part.low
            change[part.last + 1] -= part.high - part.low
    live = np.cumsum(change)[:-1]
    for block in blocks:
        for turn, shared in _in_place(block.parts):
            live[turn] -= shared
    for (operand, result), least in min_offsets.items():
        size = blocks[result].bytes
        turn = max(part.last for part in blocks[operand].parts)
        live[turn] -= max(min(blocks[operand].bytes, size, size - least), 0)
    return [int(each) for each in live]


def _in_place(parts: Sequence[Part]) -> list[tuple[int, int]]:
    """Returns the turns in which a part begins where an earlier part of the block ends, and the bytes that they share."""
    ending: dict[int, list[Part]] = {}
    found = []
    for part in parts:
        for other in ending.get(part.first, ()):
            shared = min(part.high, other.high) - max(part.low, other.low)
            if shared > 0:
                found.append((part.first, shared))
        ending.setdefault(part.last, []).append(part)
    return found


class _Search:
    """Orders tried on a problem, and the best plan among them."""

    def __init__(self, blocks: Sequence[Block], min_offsets: MinOffsets) -> None:
        self.blocks = blocks
        self.partners: dict[int, list[tuple[int, int, int]]] = {}
        for (operand, result), least in min_offsets.items():
            size, other = blocks[operand].bytes, blocks[result].bytes
            # Forbidden offsets of the one relative to the other, as far as they share the turn.
            self.partners.setdefault(result, []).append((operand, -min(least, other), size))
            self.partners.setdefault(operand, []).append((result, -size, min(least, other)))
        self.parts = [np.array(block.parts, np.int64) for block in blocks]
        self.bound = round_up(max(live_bytes(blocks, min_offsets), default=0), WORD)
        self.offsets: list[int] = []
        self.order: list[int] = []
        self.peak = 1 << 62

    def run(self) -> None:
        count = range(len(self.blocks))
        born = [int(part[:, 0].min()) for part in self.parts]
        lasts = [int(part[:, 1].max()) - born[i] for i, part in enumerate(self.parts)]
        size = [block.bytes for block in self.blocks]
        area = [int(((p[:, 1] - p[:, 0] + 1) * (p[:, 3] - p[:, 2])).sum()) for p in self.parts]
        keys: list[Callable[[int], tuple[int, ...]]] = [
            lambda i: (-size[i], born[i]),
            lambda i: (-area[i], born[i]),
            lambda i: (-lasts[i], -size[i]),
            lambda i: (born[i], -lasts[i]),
            lambda i: (-lasts[i] * size[i], born[i]),
        ]
        for key in keys:
            self._place(sorted(count, key=key))
            if self.peak <= self.bound:
                return
        self._move_topmost()

    def _move_topmost(self) -> None:
        """Moves blocks at the top forward in the best order; a fixed seed makes the search deterministic."""
        rng = random.Random(0)  # noqa: S311 - not for secrets
        total = sum(map(len, self.parts))
        for _ in range(min(max(BUDGET // total, FEWEST_ORDERS), MOST_ORDERS)):
            if self.peak <= self.bound:
                return
            top = [i for i in self.order if self.offsets[i] + self.blocks[i].bytes >= self.peak - 2 * WORD]
            order = list(self.order)
            for index in rng.sample(top, min(len(top), rng.choice((1, 2, 4)))):
                order.remove(index)
                order.insert(rng.randrange(max(1, len(order) // rng.choice((1, 2, 4, 16)))), index)
            self._place(order)

    def _place(self, order: Sequence[int]) -> None:
        """Places in an order by first fit, and keeps the result unless it is worse than the best so far."""
        placed = _Placed(sum(map(len, self.parts)))
        offsets = [-1] * len(self.blocks)
        peak = 0
        for index in order:
            at = self._first_fit(index, placed, offsets)
            offsets[index] = at
            peak = max(peak, round_up(at + self.blocks[index].bytes, WORD))
            if peak > self.peak:
                return
            placed.add(index, self.parts[index], at)
        self.offsets, self.order, self.peak = offsets, list(order), peak

    def _first_fit(self, index: int, placed: _Placed, offsets: Sequence[int]) -> int:
        """Returns the lowest address at which a block shares no live byte with the placed ones."""
        align = self.blocks[index].align
        exempt = [other for other, _, _ in self.partners.get(index, ()) if offsets[other] >= 0]
        found = placed.forbidden(self.parts[index], exempt)
        found += [
            (offsets[other] + below, offsets[other] + above)
            for other, below, above in self.partners.get(index, ())
            if offsets[other] >= 0
        ]
        at = 0
        for begin, end in sorted(found):
            if at <= begin:
                break
            if at < end:
                at = round_up(end, align)
        return at


class _Placed:
    """The parts of the placed blocks, by time."""

    def __init__(self, count: int) -> None:
        self.parts = np.empty((count, 5), np.int64)
        self.count = 0
        self.buckets: dict[int, list[int]] = {}

    def add(self, index: int, parts: npt.NDArray[np.int64], at: int) -> None:
        for first, last, low, high in parts.tolist():
            self.parts[self.count] = first, last, low + at, high + at, index
            for bucket in range(first // _BUCKET, last // _BUCKET + 1):
                self.buckets.setdefault(bucket, []).append(self.count)
            self.count += 1

    def forbidden(self, parts: npt.NDArray[np.int64], exempt: Sequence[int]) -> list[tuple[int, int]]:
        """Returns the ranges between which a block with some parts may not start, bounds excluded.

        Args:
            parts: The parts.
            exempt: Blocks that have ranges of their own.
        """
        found: list[tuple[int, int]] = []
        for first, last, low, high in parts.tolist():
            buckets = range(first // _BUCKET, last // _BUCKET + 1)
            numbers = [number for bucket in buckets for number in self.buckets.get(bucket, ())]
            near = self.parts[numbers]
            near = near[(near[:, 0] <= last) & (near[:, 1] >= first)]
            if exempt:
                near = near[~np.isin(near[:, 4], exempt)]
            found += zip((near[:, 2] - high).tolist(), (near[:, 3] - low).tolist(), strict=True)
        return found


def validate(blocks: Sequence[Block], offsets: Sequence[int], min_offsets: MinOffsets) -> None:
    """Checks a plan independently of the search: addresses are aligned, and live blocks share no byte.

    Raises:
        VerifyError: The plan is wrong; this is a bug of aboard.
    """
    for block, at in zip(blocks, offsets, strict=True):
        if at < 0 or at % block.align:
            raise VerifyError(f"memory plan: {block.name} at {at}, expected a multiple of {block.align} from 0 on")
    live = sorted(
        (part.first, part.last, at + part.low, at + part.high, index)
        for index, (block, at) in enumerate(zip(blocks, offsets, strict=True))
        for part in block.parts
    )
    now: list[tuple[int, int, int, int]] = []
    for first, last, low, high, index in live:
        now = [each for each in now if each[0] >= first]
        for _, other_low, other_high, other in now:
            if other != index and low < other_high and other_low < high:
                _check_pair(blocks, offsets, min_offsets, index, other)
        now.append((last, low, high, index))


def _check_pair(
    blocks: Sequence[Block], offsets: Sequence[int], min_offsets: MinOffsets, index: int, other: int
) -> None:
    for operand, result in ((index, other), (other, index)):
        least = min_offsets.get((operand, result))
        if least is not None and offsets[operand] >= offsets[result] + least:
            return
    raise VerifyError(f"memory plan: {blocks[index].name} and {blocks[other].name} are live together and share bytes")
