"""Counters that are narrower than 64 bits: what is read never goes back and never jumps, whenever it is read."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from aboard import boards, runners
from aboard.api import Project, create
from support.bundles import tiny_bundle

READS = 100_000

# Reads the counter again and again, and says: reads that went back, the largest step, ticks in all.
_MAIN = """
#include "aboard/port.h"

static void put(uint64_t value) {
    uint8_t bytes[8];
    for (unsigned i = 0; i < 8; i++) {
        bytes[i] = (uint8_t)(value >> 8 * i);
    }
    aboard_port_write(bytes, 8);
}

int main(void) {
    aboard_port_init();
    uint64_t back = 0;
    uint64_t step = 0;
    const uint64_t first = aboard_port_ticks();
    uint64_t last = first;
    for (volatile uint32_t i = 0; i < READS; i = i + 1) {
        const uint64_t now = aboard_port_ticks();
        back += now < last;
        step = now >= last && now - last > step ? now - last : step;
        last = now;
    }
    put(back);
    put(step);
    put(last - first);
    for (;;) {
        aboard_port_idle();
    }
}
"""


def measure(project: Project, runner: str) -> tuple[int, int, int]:
    with runners.choose(project.board, runner) as running:
        line = running.start(project)
        received = b""
        deadline = time.monotonic() + 60
        while len(received) < 24 and time.monotonic() < deadline:
            received += line.read(1)
        line.close()
    back, step, total = (int.from_bytes(received[i : i + 8], "little") for i in (0, 8, 16))
    return back, step, total


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Project]:
    """Builds the image of a board with a definition, once for all emulators."""
    return functools.cache(lambda board, definition: built(tmp_path_factory.mktemp("image"), board, definition))


def built(folder: Path, board: str, definition: str) -> Project:
    project = create(tiny_bundle(folder / "bundle", boards.load(board).core().mcpu), board, path=folder / "project")
    (project.path / "src" / "main.c").write_text(_MAIN)
    with (project.path / "CMakeLists.txt").open("a") as lists:
        lists.write(f"target_compile_definitions(firmware PRIVATE READS={READS} {definition})\n")
    project.build()
    return project


@pytest.mark.parametrize("runner", ["qemu", "unicorn"])
@pytest.mark.parametrize(
    ("board", "narrow", "turn"),
    [
        ("arm/mps2_an386", "ABOARD_SYSTICK_BITS=6", 1 << 6),
        ("arm/mps2_an505", "ABOARD_SYSTICK_BITS=7", 1 << 7),
        ("bbc/microbit", "ABOARD_TIMER_BITS=16", 1 << 16),
    ],
)
def test_a_narrow_counter_tells_the_same_time(image, board, narrow, turn, runner):
    _, _, expected = measure(image(board, ""), runner)
    back, step, total = measure(image(board, narrow), runner)
    assert back == 0
    # A turn that was missed or counted twice would be a step of a whole turn.
    assert 0 < step < turn // 2
    assert total > (5 * turn if turn < 1000 else turn // 2)
    # The interrupts of the many turns take time of their own, and so do narrower shifts on Cortex-M0.
    assert expected <= total + 1
    assert total < 1.15 * expected + 2


@pytest.mark.parametrize("runner", ["qemu", "unicorn"])
def test_a_wide_counter_never_goes_back(image, runner):
    back, step, total = measure(image("riscv/qemu_virt32", ""), runner)
    assert back == 0
    assert step <= 2
    assert READS * 15 // 100 < total < READS * 60 // 100
