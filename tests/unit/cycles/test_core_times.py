"""Cycles are what the table says, for listings whose cycles are reckoned by hand."""

from __future__ import annotations

import pytest

from aboard.cycles import core_times, listing
from aboard.cycles.histogram import Count
from bench import measure

ARM = """
00000100 <loop>:
     100:	e890 1ff0 	ldmia.w	r0, {r4, r5, r6, r7, r8, r9, sl, fp, ip}
     104:	6801      	ldr	r1, [r0, #0]
     106:	6842      	ldr	r2, [r0, #4]
     108:	6853      	ldr	r3, [r2, #4]
     10a:	fb21 2103 	smlad	r1, r1, r3, r2	@ a comment
     10e:	fb81 2303 	smull	r2, r3, r1, r3
     112:	f7ff fff5 	bne.w	100 <loop>
     116:	4770      	bx	lr
     118:	00000100 	.word	0x00000100
"""
DUAL = """
     100:	1840      	adds	r0, r0, r1
     102:	6813      	ldr	r3, [r2, #0]
     104:	189b      	adds	r3, r3, r2
     106:	fb01 f000 	mul.w	r0, r1, r0
     10a:	fb01 f404 	mul.w	r4, r1, r4
"""
VECTOR = """
     100:	eca1 7f04 	vldrw.u32	q3, [r1], #16
     104:	eca1 3f04 	vldrw.u32	q1, [r1], #16
     108:	eef2 0e03 	vmlava.s8	r0, q1, q3
     10c:	eef2 2e03 	vmlava.s8	r2, q1, q2
     110:	fc93 0e04 	vldrb.s16	q0, [r3, q2]
     114:	f00f c001 	le	lr, 100 <loop>
"""
RISCV = """
80000100:	0005a503          	lw	a0,0(a1)
80000104:	952a                	add	a0,a0,a0
80000106:	02b51533          	mulh	a0,a0,a1
8000010a:	fe051be3          	bnez	a0,80000100 <loop> # a comment
"""


def times(core: str, text: str, *left: int, executed: int = 10) -> int:
    """Returns the cycles of a listing, each instruction executed so often; `left` are addresses of branches taken."""
    found = listing.parse(text)
    counts = {i.address: Count(executed, executed if i.address in left else 0) for i in found}
    return core_times.timing(core).cycles(counts, found)


def test_a_listing_is_read_with_sizes_and_without_data() -> None:
    found = listing.parse(ARM)
    assert [(i.address, i.size, i.mnemonic) for i in found[:2]] == [(0x100, 4, "ldmia.w"), (0x104, 2, "ldr")]
    assert [i.address for i in found] == [0x100, 0x104, 0x106, 0x108, 0x10A, 0x10E, 0x112, 0x116]
    assert found[0].listed == 9
    assert found[0].writes("load") == {"r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12"}
    assert found[3].address_registers == {"r2"}
    assert found[4].operands == "r1, r1, r3, r2"
    assert found[5].writes("multiply") == {"r2", "r3"}


def test_lists_of_wide_registers_count_their_words() -> None:
    (vpop,) = listing.parse("     100:	ecbd 8b06 	vpop	{d8-d10}\n")
    assert vpop.listed == 6
    (push,) = listing.parse("     100:	b5f0      	push	{r4-r7, lr}\n")
    assert push.listed == 5


@pytest.mark.parametrize(
    ("core", "expected"),
    [
        # LDM 9 registers 10, load 2, load behind it 1, load at the address just loaded 2, products 1 each, branches.
        ("cortex-m4", 10 * (10 + 2 + 1 + 2 + 1 + 1 + (1 + 2) + 1)),
        # SMULL takes 4; SMLAD is none of its instructions, and counts as any other.
        ("cortex-m3", 10 * (10 + 2 + 1 + 2 + 1 + 4 + (1 + 2) + 1)),
        ("cortex-m33", 10 * (10 + 2 + 1 + 2 + 1 + 1 + (1 + 1) + 1)),
    ],
)
def test_cycles_of_a_loop(core: str, expected: int) -> None:
    assert times(core, ARM, 0x112) == expected


def test_a_branch_that_is_not_taken_costs_no_refill() -> None:
    assert times("cortex-m4", ARM) == times("cortex-m4", ARM, 0x112) - 10 * 2


def test_what_is_jumped_to_is_behind_nothing() -> None:
    found = listing.parse(ARM)[1:3]
    first, second = (i.address for i in found)
    # Ten times behind the first load, five times jumped to.
    counts = {first: Count(10, 0), second: Count(15, 0)}
    assert core_times.timing("cortex-m4").cycles(counts, found) == 10 * 2 + 10 * 1 + 5 * 2


def test_two_issue_slots_take_what_does_not_depend() -> None:
    # ADDS with LDR; ADDS needs what was loaded: a cycle later; MUL with it; the second MUL needs the same unit.
    assert times("cortex-m7", DUAL) == 10 * (1 + 0 + (1 + 1) + 0 + 1)


def test_vector_instructions_overlap_with_those_of_other_units() -> None:
    # Two loads 2 + 2, product behind a load 1, another product 2, a gather of 8 elements 8, LE 0.
    assert times("cortex-m55", VECTOR, 0x114) == 10 * (2 + 2 + 1 + 2 + 8 + 0)


def test_riscv_waits_for_what_it_loads() -> None:
    assert times("rv32imac", RISCV, 0x8000010A) == 10 * (1 + (1 + 1) + 5 + (1 + 2))


def test_kinds_of_instructions_are_counted() -> None:
    found = listing.parse(ARM)
    counts = {i.address: Count(3, 0) for i in found}
    assert core_times.timing("cortex-m4").mix(counts, found) == {"multiply": 6, "memory": 12, "branch": 6, "other": 0}


@pytest.mark.parametrize(
    ("name", "fewest"), [("m0", 2), ("m3", 0.5), ("m4", 0.5), ("m7", 0.5), ("m33", 0.5), ("m55", 0.0625), ("rv32", 2)]
)
def test_every_core_of_the_benchmarks_has_times_and_a_source(name: str, fewest: float) -> None:
    found = measure.timing()[name]
    assert found["instructions_per_mac"] == fewest
    assert found["basis"] in ("table", "approximation")
    assert len(found["source"]) > 40
