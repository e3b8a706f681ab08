"""Waits for the flash of a board: figures of kernels, what a board adds to cycles, and what it leaves as it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import aboard
from aboard import boards
from aboard.boards.memory_records import Lines
from aboard.kernels import loops
from aboard.kernels.select import measured, stalls
from aboard.target import Target
from bench import core_data, fetch_fit, fetches
from support import models
from support.examples import either

SAMPLES: list[dict[str, Any]] = json.loads(fetches.SAMPLES.read_text(encoding="utf-8"))
WORK = {"setup": 1.0, "mac": 512_000, "element": 8_000, "read": 8_000, "window": 8_000, "line": 1_600, "pixel": 125}
WORK["loops"] = 126 * 64 * (64 + loops.RESULT)
BLOCKS = ("conv2d", "dsp_blocks_s8", "aboard_conv2d_blocks_dsp")


def test_the_figures_are_what_the_samples_say() -> None:
    content = core_data.read("cortex-m4")
    timings = fetches.timings()
    assert {timing.fetch.key for timing in timings} == {"16/1024/128", "8/1024/256"}
    for timing in either(timings, timings[:1]):
        rows = [row for row in content["fetches"] if row["fetch"] == timing.fetch.key]
        assert rows == fetch_fit.table(SAMPLES, timing)
    for timing in timings:
        found = content["fetch_errors"][timing.fetch.key]
        assert found["typical"] == fetch_fit.typical(SAMPLES, timing)
        # Waits of models that were left out: a share of all cycles.
        assert found["waited"]["median"] < 0.06
        assert found["cycles"]["median"] < 0.08


def test_weights_are_read_from_flash_for_every_pair_of_pixels() -> None:
    """64 x 64 weights, packed to 4,864 bytes, are read for 63 pairs of pixels; 128 bytes of cache hold none of them."""
    row = measured.fetches("cortex-m4", "16/1024/128")
    assert row is not None
    awaited = sum(price * WORK.get(term, 0) for term, price in row.kernels[BLOCKS][0].items())
    assert awaited == pytest.approx(63 * 4_864 / 16, rel=0.1)


def test_a_kernel_waits_by_lines_and_wait_states() -> None:
    slow, fast = Target("st/nucleo_f446re"), Target("st/nucleo_f411re")
    both = [boards.load(str(target.hardware)).flash_timing for target in (slow, fast)]
    assert [stalls.timing(target) for target in (slow, fast)] == both
    waited = [stalls.cycles(target, BLOCKS, WORK, 600_000) for target in (slow, fast)]
    # Lines are the same; three wait states hide lines that are read ahead.
    assert 1.6 < waited[0] / waited[1] < 2.4
    assert 0.1 < waited[0] / 600_000 < 0.3


def test_a_kernel_without_figures_waits_as_others_of_its_op() -> None:
    target = Target("st/nucleo_f446re")
    row, flash = measured.fetches("cortex-m4", "16/1024/128"), stalls.timing(target)
    assert row is not None
    assert flash is not None
    unknown = stalls.cycles(target, ("conv2d", "mine", ""), WORK, 10_000)
    assert unknown == flash.cycles(Lines(*(10_000 * rate for rate in row.typical["conv2d"])))
    other = stalls.cycles(target, ("no_such", "mine", ""), WORK, 10_000)
    assert other == flash.cycles(Lines(*(10_000 * rate for rate in row.typical[""])))
    assert 0 < other < unknown


@pytest.mark.parametrize("target", ["c -mcpu=cortex-m4", "arm/mps2_an386", "st/nucleo_f746zg", "st/nucleo_h743zi"])
def test_other_targets_never_wait(target: str) -> None:
    assert stalls.timing(Target(target)) is None
    assert stalls.cycles(Target(target), BLOCKS, WORK, 600_000) == 0


def test_sizes_that_were_not_measured_add_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(boards.SEARCH_PATH, str(tmp_path))
    soc = Path(__file__).resolve().parents[3] / "boards" / "soc" / "st" / "stm32f446re.toml"
    (tmp_path / "soc" / "acme").mkdir(parents=True)
    text = soc.read_text(encoding="utf-8").replace("data_cache_bytes = 128", "data_cache_bytes = 512")
    (tmp_path / "soc" / "acme" / "other.toml").write_text(text, encoding="utf-8")
    target = Target("acme/other")
    assert boards.of_hardware("acme/other").flash_timing is not None
    assert stalls.timing(target) is None


def test_a_board_changes_cycles_and_says_so() -> None:
    plain = aboard.compile(models.path(models.SHIPPED), target="c -mcpu=cortex-m4").manifest
    board = aboard.compile(models.path(models.SHIPPED), target="st/nucleo_f446re").manifest
    assert plain.prediction is not None
    assert board.prediction is not None
    assert (plain.prediction.flash, board.prediction.flash) == (
        None,
        "5 wait states, 1,024 bytes of instruction cache",
    )
    assert board.prediction.instructions == plain.prediction.instructions
    assert board.prediction.cycles != plain.prediction.cycles
    cycles = [sum(node.estimated_cycles or 0 for node in manifest.nodes) for manifest in (plain, board)]
    assert 1.05 < cycles[1] / cycles[0] < 1.4
