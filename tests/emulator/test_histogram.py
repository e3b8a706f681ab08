"""The instructions that QEMU's plugin counts one by one are those that the board's own counter tells."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from elftools.elf.elffile import ELFFile

import aboard
from aboard import boards
from aboard.api import Project
from aboard.boards.board import Fetch, FlashTiming
from aboard.boards.memory_records import Lines
from aboard.cycles import core_times
from aboard.cycles.histogram import total
from bench import histogram, measure
from bench.fetches import with_flash
from bench.histogram import Executed
from support import models
from support.bundles import tiny_bundle

#: Boards, and instructions in a tick of their counters, rounded up.
TICKS = {
    "bbc/microbit": 63,
    "arm/mps2_an385": 40,
    "arm/mps2_an386": 40,
    "arm/mps2_an505": 50,
    "arm/mps3_an547": 32,
    "riscv/qemu_virt32": 100,
}


#: Instructions that change the program counter, by their mnemonic or by `pc` among their results.
BRANCH = re.compile(r"^(b|cb|tb|j|ret|le|wls|dls)")

#: A loop whose fourth instruction is the last halfword of a page of QEMU (1,024 bytes) and the first of the next.
ACROSS_A_PAGE = """\
static ABOARD_NOINLINE void across(void) {
    __asm volatile(
        "b.w 1f\\n .balign 1024\\n .skip 1014\\n 1: movs r0, #50\\n 2: nop\\n nop\\n nop\\n"
        "add.w r1, r1, #0\\n subs r0, #1\\n bne 2b" ::: "r0", "r1", "cc");
}

"""


#: Functions that only a profiled run calls, before and after each step of a node, and what reads the counter.
MEASURING = ("begin_node", "end_node", "aboard_port_ticks")


def addresses(project: Project, function: str) -> range:
    """Returns the addresses of a function of an image, bit 0 of Thumb code left out."""
    with project.image.open("rb") as stream:
        table: Any = ELFFile(stream).get_section_by_name(".symtab")
        (symbol,) = table.get_symbol_by_name(function)
    start = symbol["st_value"] & ~1
    return range(start, start + symbol["st_size"])


def build(board: str, folder: Path) -> Project:
    """Builds the shipped model for a board."""
    module = aboard.compile(models.path(models.SHIPPED), board=board)
    project = aboard.create(module, board=board, path=folder / "project")
    project.build()
    return project


@pytest.mark.parametrize("board", TICKS)
def test_the_plugin_counts_what_the_counter_tells(board: str, tmp_path: Path) -> None:
    project = build(board, tmp_path)
    executed = histogram.run(project)
    assert executed is not None
    told = executed.profile.run.instructions
    assert told is not None
    assert abs(executed.instructions - told) <= TICKS[board]
    assert set(executed.nodes) == set(range(len(project.models[0].nodes)))
    # What lies between nodes are a few instructions; the hooks' own are in neither.
    inside = sum(total(counts) for counts in executed.nodes.values())
    assert 0.98 * executed.instructions < inside < executed.instructions
    hooks = [address for name in MEASURING for address in addresses(project, name)]
    assert not set(hooks) & {address for counts in executed.nodes.values() for address in counts}
    listed = {instruction.address for instruction in executed.listing}
    assert set(executed.run) <= listed
    timing = core_times.timing(executed.core)
    assert sum(timing.mix(executed.run, executed.listing).values()) == executed.instructions
    left = sum(count.left for count in executed.run.values())
    assert executed.instructions / 200 < left < executed.instructions / 3
    # An interrupt may come once or twice.
    assert left_without_branch(executed) <= 2


def left_without_branch(executed: Executed) -> int:
    """Returns how often control seemed to leave instructions that are no branches."""
    plain = [each for each in executed.listing if not BRANCH.match(each.mnemonic) and "pc" not in each.registers]
    plain = [each for each in plain if not each.mnemonic.startswith(("ldm", "pop")) or "pc" not in each.operands]
    return sum(executed.run[each.address].left for each in plain if each.address in executed.run)


@pytest.mark.parametrize("core", ["m3", "m4"])
def test_control_does_not_leave_an_instruction_before_the_end_of_a_page(core: str, tmp_path: Path) -> None:
    board = measure.BOARDS[core]
    bundle = tiny_bundle(tmp_path / "bundle", boards.load(board).core().mcpu)
    (source,) = (bundle / "src").iterdir()
    text = source.read_text(encoding="utf-8")
    for place, more in (("static aboard_status_t run(", ACROSS_A_PAGE), ("    ABOARD_END(0);", "    across();\n")):
        text = text.replace(place, f"{more}{place}")
    source.write_text(text, encoding="utf-8")
    project = aboard.create(bundle, board=board, path=tmp_path / "project")
    project.build()
    executed = histogram.run(project)
    assert executed is not None
    across = [each for each in executed.listing if each.address % 1024 == 1022 and each.mnemonic == "add.w"]
    assert [executed.run[each.address].executed for each in across if each.address in executed.run] == [50]
    assert left_without_branch(executed) == 0


def test_lines_of_flash_are_read_as_often_as_the_caches_lose_them(tmp_path: Path) -> None:
    project = build("arm/mps2_an386", tmp_path)

    def counted(code: int, data: int) -> tuple[Executed, float]:
        fetch = Fetch(line_bytes=16, code_cache_bytes=code, data_cache_bytes=data)
        executed = histogram.run(project, board=with_flash(project.board, FlashTiming(5, fetch)))
        assert executed is not None
        return executed, sum(sum(lines) for lines in executed.lines.values())

    plain = histogram.run(project)
    assert plain is not None
    assert set(plain.lines.values()) == {Lines(0, 0)}
    whole, whole_lines = counted(16_384, 16_384)
    # The profiled run comes second, so that large caches hold nearly everything.
    assert whole.instructions == plain.instructions
    small, small_lines = counted(1_024, 128)
    none, none_lines = counted(0, 0)
    assert 10 * whole_lines < small_lines < none_lines
    # Without a cache of code each branch to another line is awaited.
    left = sum(count.left for count in none.run.values())
    assert none_lines > left / 2
    assert small.instructions == none.instructions
