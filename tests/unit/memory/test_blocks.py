"""Blocks: parts of memory that live at different times never share a byte with a part that is live."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard.errors import VerifyError
from aboard.memory import blocks
from aboard.memory.blocks import Block, Part
from support.examples import examples

MOMENTS = 12


@st.composite
def parts(draw: st.DrawFn) -> tuple[Part, ...]:
    """Returns parts of a block, one above the other."""
    found, low = [], 0
    for _ in range(draw(st.integers(1, 3))):
        first = draw(st.integers(0, MOMENTS - 1))
        high = low + draw(st.integers(1, 40))
        found.append(Part(first, draw(st.integers(first, MOMENTS - 1)), low, high))
        low = high
    return tuple(sorted(found))


def owners(placed: list[Block], offsets: tuple[int, ...]) -> dict[tuple[int, int], list[int]]:
    """Returns the blocks that need each byte in each moment."""
    found: dict[tuple[int, int], list[int]] = {}
    for number, (block, at) in enumerate(zip(placed, offsets, strict=True)):
        for part in block.parts:
            for moment in range(part.first, part.last + 1):
                for byte in range(at + part.low, at + part.high):
                    found.setdefault((moment, byte), []).append(number)
    return found


@given(st.lists(st.tuples(parts(), st.sampled_from((1, 4, 16))), min_size=1, max_size=14))
@settings(max_examples=examples(100), deadline=None)
def test_live_blocks_share_no_byte(drawn: list[tuple[tuple[Part, ...], int]]) -> None:
    made = [Block(f"b{number}", each, align) for number, (each, align) in enumerate(drawn)]
    plan = blocks.place(made, {})
    needed = owners(made, plan.offsets)
    assert all(len(found) == 1 for found in needed.values())
    assert all(at % block.align == 0 for block, at in zip(made, plan.offsets, strict=True))
    assert max(byte for _, byte in needed) < plan.peak
    assert max(blocks.live_bytes(made, {})) <= plan.bound <= plan.peak
    assert blocks.place(made, {}) == plan


@given(st.lists(parts(), min_size=2, max_size=10), st.integers(0, 60), st.integers(1, 40))
@settings(max_examples=examples(60), deadline=None)
def test_a_pair_shares_bytes_from_its_minimum_offset_on(drawn: list[tuple[Part, ...]], least: int, size: int) -> None:
    operand, result = Block("operand", (Part(0, 5, 0, size),)), Block("result", (Part(5, 9, 0, 30),))
    made = [operand, result, *(Block(f"b{number}", each) for number, each in enumerate(drawn))]
    plan = blocks.place(made, {(0, 1): least})
    shared = [found for found in owners(made, plan.offsets).values() if len(found) > 1]
    assert all(sorted(found) == [0, 1] for found in shared)
    assert not shared or plan.offsets[0] >= plan.offsets[1] + least


@given(st.lists(parts(), min_size=2, max_size=14), st.integers(0, 100))
@settings(max_examples=examples(60), deadline=None)
def test_a_limit_is_kept_to_or_changes_nothing(drawn: list[tuple[Part, ...]], percent: int) -> None:
    made = [Block(f"b{number}", each) for number, each in enumerate(drawn)]
    free = blocks.place(made, {}, budget=0)
    limit = free.bound + percent * (free.peak - free.bound) // 100
    held = blocks.place(made, {}, budget=0, limit=limit)
    assert all(len(found) == 1 for found in owners(made, held.offsets).values())
    assert held == free or held.peak <= limit
    assert held.bound == free.bound


def test_blocks_in_the_way_are_taken_out_for_a_limit() -> None:
    # Rows of one size that live for long, and others between them: no order of first fit is within the limit.
    rng = random.Random(4)
    made = []
    for number in range(120):
        first, size = rng.randrange(60), rng.choice((16, 24, 40, 64))
        made.append(Block(f"b{number}", (Part(first, first + rng.randrange(20), 0, size),)))
    free = blocks.place(made, {})
    assert (free.bound, free.peak) == (1288, 1296)
    assert blocks.place(made, {}, limit=1292).peak == 1292


def test_a_limit_below_the_bound_changes_nothing() -> None:
    made = [Block(f"b{number}", (Part(0, 1, 0, 8),)) for number in range(3)]
    assert blocks.place(made, {}, limit=20) == blocks.place(made, {})


def test_parts_of_a_block_share_bytes_in_the_turn_of_a_stripe_in_place() -> None:
    over = Block("rows", (Part(0, 3, 0, 64), Part(3, 6, 0, 64)))
    assert blocks.live_bytes([over], {}) == [64] * 7
    assert blocks.place([over, Block("scratch", (Part(3, 3, 0, 8),))], {}).peak == 72


def test_a_block_lies_over_rows_that_have_died() -> None:
    whole = Block("input", tuple(Part(0, row, 16 * row, 16 * row + 16) for row in range(4)))
    rows = [Block(f"row {row}", (Part(row + 1, 4, 0, 16),)) for row in range(3)]
    plan = blocks.place([whole, *rows], {})
    assert plan.peak == plan.bound == 64


def test_a_wrong_plan_is_refused() -> None:
    made = [Block("a", (Part(0, 2, 0, 8),)), Block("b", (Part(2, 3, 0, 8),))]
    blocks.validate(made, (0, 8), {})
    blocks.validate(made, (4, 0), {(0, 1): 4})
    with pytest.raises(VerifyError, match=re.escape("memory plan: b and a are live together and share bytes")):
        blocks.validate(made, (0, 4), {})
    with pytest.raises(VerifyError, match=re.escape("memory plan: b and a are live together and share bytes")):
        blocks.validate(made, (4, 0), {(0, 1): 5})
    with pytest.raises(VerifyError, match=re.escape("memory plan: b at 6, expected a multiple of 4 from 0 on")):
        blocks.validate(made, (16, 6), {})
