"""Places blocks: pieces of memory whose parts live at different times.

A buffer lives as a whole, from one step to another (`aboard.memory.problem`). The parts of a block do not: of two rows
that are computed together, one may die long before the other, and the scratch of a node lives whenever a stripe of the
node is computed, but not in between. So a block is a set of rectangles in time and memory that keep their distances,
and time is counted in moments: a moment is one call of a kernel.

Blocks are placed by first fit in several orders. Then the best order is changed, for as long as a budget lasts: blocks
that end too high are placed earlier the next time ("squeaky wheel" optimisation), all of them by a part of the whole
order that is drawn. No clock is read, and the seed is fixed, so that the same model gives the same plan on every
machine.
"""

from __future__ import annotations

import functools
import operator
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from aboard.errors import VerifyError
from aboard.memory import ejection
from aboard.memory.problem import WORD, round_up

#: Pairs of blocks that all changed orders of a problem may compare, and the most and the fewest of these orders.
BUDGET, MOST_ORDERS, FEWEST_ORDERS = 2_400_000, 400, 4


class Part(NamedTuple):
    """Bytes [low, high) of a block that are live from moment `first` to moment `last`, inclusive."""

    first: int
    last: int
    low: int
    high: int


@dataclass(frozen=True)
class Block:
    """Memory that needs an address.

    Attributes:
        name: Name in error messages.
        parts: Its parts, in the order of their first moment. Two of them may share bytes in the moment in which one
            ends and the other begins.
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
#: that they may share bytes in the moment that reads one and writes the other.
MinOffsets = Mapping[tuple[int, int], int]


@dataclass(frozen=True)
class BlockPlan:
    """Addresses of blocks.

    Attributes:
        offsets: For each block, bytes from the start of the arena.
        peak: Bytes of the arena.
        bound: Most bytes that are live in one moment.
    """

    offsets: tuple[int, ...]
    peak: int
    bound: int


def place(
    blocks: Sequence[Block], min_offsets: MinOffsets, budget: int = BUDGET, limit: int | None = None
) -> BlockPlan:
    """Places blocks so that the arena is as small as the search can find.

    Args:
        blocks: The blocks.
        min_offsets: Pairs that may share bytes in the one moment in which both are live.
        budget: Pairs of blocks that the search may compare.
        limit: Bytes for which a longer search is worth it; None for none.

    Returns:
        A validated plan.
    """
    return _placed(tuple(blocks), tuple(min_offsets.items()), budget, limit)


@functools.lru_cache(maxsize=32)
def _placed(
    blocks: tuple[Block, ...], pairs: tuple[tuple[tuple[int, int], int], ...], budget: int, limit: int | None
) -> BlockPlan:
    """Returns the plan. Searches for less RAM and for advice often end at a problem that is solved already."""
    min_offsets = dict(pairs)
    search = _Search(blocks, min_offsets)
    search.run(budget)
    if limit is not None:
        search.keep_to(limit)
    plan = BlockPlan(tuple(search.offsets), search.peak, search.bound)
    validate(blocks, plan.offsets, min_offsets)
    return plan


def live_bound(blocks: Sequence[Block], min_offsets: MinOffsets) -> int:
    """Returns the most bytes that are live in one moment: a lower bound of the bytes of an arena."""
    return round_up(max(live_bytes(blocks, min_offsets), default=0), WORD)


def live_bytes(blocks: Sequence[Block], min_offsets: MinOffsets) -> list[int]:
    """Returns a lower bound of the bytes of an arena in each moment; bytes that parts may share count once."""
    end = max((part.last for block in blocks for part in block.parts), default=0) + 1
    change = np.zeros(end + 1, np.int64)
    for block in blocks:
        for part in block.parts:
            change[part.first] += part.high - part.low
            change[part.last + 1] -= part.high - part.low
    live = np.cumsum(change)[:-1]
    for block in blocks:
        for moment, shared in _in_place(block.parts):
            live[moment] -= shared
    for (operand, result), least in min_offsets.items():
        size = blocks[result].bytes
        moment = max(part.last for part in blocks[operand].parts)
        live[moment] -= max(min(blocks[operand].bytes, size, size - least), 0)
    return [int(each) for each in live]


def _in_place(parts: Sequence[Part]) -> list[tuple[int, int]]:
    """Returns the moments in which a part begins over an earlier part that ends, and the bytes that they share."""
    ending: dict[int, list[Part]] = {}
    found = []
    for part in parts:
        for other in ending.get(part.first, ()):
            shared = min(part.high, other.high) - max(part.low, other.low)
            if shared > 0:
                found.append((part.first, shared))
        ending.setdefault(part.last, []).append(part)
    return found


class Conflicts:
    """The pairs of blocks that are live together.

    Attributes:
        neighbours: For each block, the blocks that are live with it: for each of them, the forbidden ranges of offsets
            relative to it, bounds excluded, in ascending order.
    """

    def __init__(self, blocks: Sequence[Block], min_offsets: MinOffsets) -> None:
        found: list[dict[int, list[tuple[int, int]]]] = [{} for _ in blocks]
        parts = sorted((*part, index) for index, block in enumerate(blocks) for part in block.parts)
        now: list[tuple[int, int, int, int, int]] = []
        for part in parts:
            first, _, low, high, index = part
            now = [each for each in now if each[1] >= first]
            for _, _, other_low, other_high, other in now:
                if other != index:
                    found[index].setdefault(other, []).append((other_low - high, other_high - low))
                    found[other].setdefault(index, []).append((low - other_high, high - other_low))
            now.append(part)
        for (operand, result), least in min_offsets.items():
            size, other = blocks[operand].bytes, blocks[result].bytes
            found[result][operand] = [(-min(least, other), size)]
            found[operand][result] = [(-size, min(least, other))]
        self.neighbours = [[(other, _joined(ranges)) for other, ranges in each.items()] for each in found]


def _joined(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Returns ranges without those that others contain; ranges that share more than their bounds become one."""
    found: list[tuple[int, int]] = []
    for begin, end in sorted(set(ranges)):
        if found and begin < found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((begin, end))
    return found


class _Search:
    """Orders tried on a problem, and the best plan among them."""

    def __init__(self, blocks: Sequence[Block], min_offsets: MinOffsets) -> None:
        self.blocks = blocks
        self.sizes = [block.bytes for block in blocks]
        #: For each block, the forbidden ranges of offsets relative to other blocks: (block, begin, end).
        self.ranges = [
            [(other, begin, end) for other, ranges in each for begin, end in ranges]
            for each in Conflicts(blocks, min_offsets).neighbours
        ]
        self.bound = live_bound(blocks, min_offsets)
        self.offsets: list[int] = []
        self.order: list[int] = []
        self.peak = 1 << 62

    def run(self, budget: int) -> None:
        """Tries orders until the peak is the bound or the budget ends."""
        blocks, size = self.blocks, self.sizes
        born = [min(part.first for part in block.parts) for block in blocks]
        lasts = [max(part.last for part in block.parts) - born[i] for i, block in enumerate(blocks)]
        area = [sum((p.last - p.first + 1) * (p.high - p.low) for p in block.parts) for block in blocks]
        keys: list[Callable[[int], tuple[int, ...]]] = [
            lambda i: (-size[i], born[i]),
            lambda i: (-area[i], born[i]),
            lambda i: (-lasts[i], -size[i]),
            lambda i: (born[i], -lasts[i]),
            lambda i: (-lasts[i] * size[i], born[i]),
        ]
        for key in keys:
            self._place(sorted(range(len(blocks)), key=key), most=self.peak)
            if self.peak <= self.bound:
                return
        pairs = sum(map(len, self.ranges)) + 1
        self._raise(min(max(budget // pairs, FEWEST_ORDERS), MOST_ORDERS) if budget else 0)

    def keep_to(self, limit: int) -> None:
        """Searches on if the plan is above a limit that is not below the bound."""
        if self.bound <= limit < self.peak:
            aligns = [block.align for block in self.blocks]
            found = ejection.within(limit - limit % WORD, self.offsets, self.sizes, aligns, self.ranges)
            if found is not None:
                self.offsets, self.peak = found, round_up(max(map(operator.add, found, self.sizes)), WORD)

    def _raise(self, orders: int) -> None:
        """Places blocks earlier that end above the best peak, again and again."""
        rng = random.Random(0)  # noqa: S311 - not for secrets
        count = len(self.blocks)
        rank, order = [0.0] * count, self.order
        for place, index in enumerate(order):
            rank[index] = float(place)
        for _ in range(orders):
            if self.peak <= self.bound:
                return
            offsets = self._place(order)
            for index in range(count):
                if offsets[index] + self.sizes[index] > self.peak - WORD:
                    rank[index] -= rng.random() * count
            order = sorted(range(count), key=rank.__getitem__)

    def _place(self, order: Sequence[int], most: int | None = None) -> Sequence[int]:
        """Places in an order by first fit, keeps the result unless it is worse than the best so far, and returns it.

        Args:
            order: The blocks.
            most: Bytes of the arena from which on the rest is not placed; None to place all blocks.
        """
        offsets = [-1] * len(self.blocks)
        for index in order:
            offsets[index] = at = self._first_fit(index, offsets)
            if most is not None and at + self.sizes[index] > most:
                return offsets
        peak = round_up(max(map(operator.add, offsets, self.sizes), default=0), WORD)
        if peak <= self.peak:
            self.offsets, self.order, self.peak = offsets, list(order), peak
        return offsets

    def _first_fit(self, index: int, offsets: Sequence[int]) -> int:
        """Returns the lowest address at which a block shares no live byte with the placed ones."""
        # Most of the time of a search is spent here.
        found = [(offsets[o] + begin, offsets[o] + end) for o, begin, end in self.ranges[index] if offsets[o] >= 0]
        found.sort()
        at, align = 0, self.blocks[index].align
        for begin, end in found:
            if at <= begin:
                break
            if at < end:
                at = round_up(end, align)
        return at


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
