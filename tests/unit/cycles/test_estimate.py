"""Cycles are counted if the counts are those of the image's own counter and the core has a table; else predicted."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from aboard import boards
from aboard.base import programs
from aboard.base.manifest_records import NodeRecord
from aboard.boards.memory_records import Lines
from aboard.cli import run_estimate
from aboard.cli.verdict import time_info, time_text
from aboard.cycles import core_times, estimate, histogram, listing
from aboard.cycles.estimate import CountedCycles
from aboard.cycles.histogram import Count, CountedRun
from aboard.device.timing import Duration, NodeTime, Profile, RunResult
from aboard.errors import ToolError
from support.bundles import tiny_manifest, tiny_node

LISTING = """
     100:	6801      	ldr	r1, [r0, #0]
     102:	3901      	subs	r1, #1
     104:	d1fc      	bne.n	100 <loop>
"""
#: Two cycles of LDR, one of SUBS, and one of BNE, which is taken nine times with a refill of two.
CYCLES = 10 * 2 + 10 + 10 + 9 * 2
LOOP = CountedRun({0x100: Count(10, 0), 0x102: Count(10, 0), 0x104: Count(10, 9)})
DURATION = Duration(3, 1000, 30, is_real=False)


class OneProject:
    """What the estimate asks of a project."""

    def __init__(self, board: str, image: Path) -> None:
        self.board = boards.load(board)
        self.image = image


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A project whose image has the listing."""
    objdump = tmp_path / "objdump"
    objdump.write_text(f"#!/bin/sh\ncat <<'END'\n{LISTING}\nEND\n")
    objdump.chmod(0o755)
    monkeypatch.setattr(programs, "find", lambda name: objdump if name == "arm-none-eabi-objdump" else None)
    return OneProject("arm/mps2_an386", tmp_path / "firmware.elf")


def test_executed_instructions_take_the_cycles_of_the_table(project: Any) -> None:
    assert estimate.of(project, [LOOP], DURATION, 1) == CountedCycles(CYCLES, None)
    profiled = CountedRun(LOOP.counts, {0: LOOP, 1: CountedRun({0x102: Count(4, 0)})})
    assert estimate.of(project, [LOOP, profiled], DURATION, 2) == CountedCycles(CYCLES, (CYCLES, 4))


def test_lines_of_flash_take_the_wait_states_of_the_board(project: Any) -> None:
    run = replace(LOOP, lines=Lines(7, 3))
    profiled = CountedRun(LOOP.counts, {0: run})
    assert estimate.of(project, [run, profiled], DURATION, 1) == CountedCycles(CYCLES, (CYCLES,))
    project.board = boards.load("netduino/netduinoplus2")
    waited = 7 * 5 + 3 * (5 + 1 - 4)
    assert estimate.of(project, [run, profiled], DURATION, 1) == CountedCycles(CYCLES + waited, (CYCLES + waited,))
    found = run_estimate.time(project.board, tiny_manifest("cortex-m4", "m"), 30, CountedCycles(50, None))
    assert found is not None
    assert time_text(None, time_info(found)) == (
        "about 0.298 us, estimated: 50 cycles of Cortex-M4 at 168 MHz with 5 wait states, 1,024 bytes of instruction "
        "cache, counted instruction by instruction"
    )


def test_the_plugin_is_told_and_tells_of_lines() -> None:
    assert histogram.fetch_arguments(boards.load("arm/mps2_an386")) == []
    assert histogram.fetch_arguments(boards.load("netduino/netduinoplus2")) == [
        "flash=8000000:8100000",
        "line=10",
        "caches=40:8",
    ]
    (run,) = histogram.parse("run\n100 10 9\nlines 7 3\nnode 2\n100 5 4\nlines 4 1\n")
    assert run == CountedRun({0x100: Count(10, 9)}, {2: CountedRun({0x100: Count(5, 4)}, {}, Lines(4, 1))}, Lines(7, 3))


def test_nodes_are_counted_all_or_none(project: Any) -> None:
    profiled = CountedRun(LOOP.counts, {0: LOOP})
    assert estimate.of(project, [LOOP, profiled], DURATION, 2) == CountedCycles(CYCLES, None)


def test_counts_that_the_counter_of_the_image_contradicts_do_not_count(project: Any) -> None:
    assert estimate.of(project, [LOOP], replace(DURATION, instructions=50), 1) == CountedCycles(CYCLES, None)
    assert estimate.of(project, [LOOP], replace(DURATION, instructions=100), 1) is None
    assert estimate.of(project, [LOOP], replace(DURATION, instructions=None), 1) is None
    assert estimate.of(project, [], DURATION, 1) is None


def test_without_objdump_or_a_table_the_reason_is_logged(
    project: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "aboard.cycles.estimate")
    monkeypatch.setattr(programs, "find", lambda name: None)
    assert estimate.of(project, [LOOP], DURATION, 1) is None
    assert "no objdump for cortex-m4 on PATH, expected that of arm-none-eabi-gcc" in caplog.text


def test_an_objdump_that_fails_is_named(project: Any) -> None:
    found = listing.objdump("cortex-m4")
    assert found is not None
    found.write_text("#!/bin/sh\nexit 3\n")
    with pytest.raises(ToolError, match=r"firmware\.elf: .*objdump failed, got exit code 3, expected a listing"):
        listing.of_image(project.image, "cortex-m4")
    assert estimate.of(project, [LOOP], DURATION, 1) is None


def test_a_core_without_a_table_is_named() -> None:
    with pytest.raises(ToolError, match=r"core cortex-m23: no cycles of instructions, expected cortex-m0, cortex-m3,"):
        core_times.timing("cortex-m23")


def record(cycles: int | None, device: str | None = None) -> NodeRecord:
    instructions = None if cycles is None else cycles // 2
    return tiny_node(device=device, estimated_instructions=instructions, estimated_cycles=cycles)


def test_predicted_cycles_are_scaled_to_the_instructions() -> None:
    manifest = tiny_manifest("cortex-m4", "m").model_copy(update={"nodes": (record(200), record(100))})
    assert run_estimate.of_run(manifest, None, None) == (300, "predicted")
    assert run_estimate.of_run(manifest, 300, None) == (600, "predicted")
    assert run_estimate.of_run(manifest, 300, CountedCycles(550, None)) == (550, "counted")
    unknown = manifest.model_copy(update={"nodes": (record(200), record(None))})
    assert run_estimate.of_run(unknown, 300, None) == (None, None)


def test_nodes_on_a_device_have_no_counted_cycles() -> None:
    nodes = [NodeTime(i, node, DURATION) for i, node in enumerate((record(200), record(None, "npu")))]
    profile = Profile("m", tuple(nodes), RunResult({}, DURATION, 0))
    assert run_estimate.of_nodes(profile, None) == [(200, "predicted"), (None, None)]
    assert run_estimate.of_nodes(profile, CountedCycles(9, None)) == [(200, "predicted"), (None, None)]
    assert run_estimate.of_nodes(profile, CountedCycles(9, (5, 3))) == [(5, "counted"), (None, None)]
    assert "cycles" not in profile.table()
    assert profile.table((5, 3), 9).splitlines()[-1].split() == ["whole", "run", "30", "9"]


def test_a_time_from_counted_cycles_says_so() -> None:
    board, manifest = boards.load("arm/mps2_an386"), tiny_manifest("cortex-m4", "m")
    found = run_estimate.time(board, manifest, 30, CountedCycles(50, None))
    assert found is not None
    assert time_info(found).basis == "counted"
    assert time_text(None, time_info(found)) == (
        "about 2 us, estimated: 50 cycles of Cortex-M4 at 25 MHz without wait states, "
        "counted instruction by instruction"
    )
