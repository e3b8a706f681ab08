"""A small part of the campaigns on the firmware's RPC server (`tests/fuzz/wire.py`), and bugs that they must notice."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from aboard.base import resources
from fuzz import wire
from support.rpc_device import compile_c

RPC = resources.firmware() / "rpc"


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cases")


def test_every_answer_to_wild_frames_is_right(tmp_path: Path, cases: Path) -> None:
    outcome = wire.run_own(wire.build_own(tmp_path), seed=1, frames=200_000, cases=cases)
    assert outcome.failure == ""
    counts = outcome.counts
    assert counts["frames"] >= 200_000
    # Not everything is refused: much is asked that a device has to do.
    assert counts["accepted"] > 0.2 * counts["frames"]
    assert counts["runs"] > 0.03 * counts["frames"]


def test_the_same_where_size_t_has_32_bits(tmp_path: Path, cases: Path) -> None:
    outcome = wire.run_own(wire.build_narrow(tmp_path), seed=2, frames=200_000, cases=cases)
    assert (outcome.failure, outcome.counts["frames"] >= 200_000) == ("", True)


def test_libfuzzer_finds_nothing(tmp_path: Path, cases: Path) -> None:
    program = wire.build_libfuzzer(tmp_path)
    outcome = wire.run_libfuzzer(program, seed=3, seconds=60, cases=cases, corpus=tmp_path / "corpus", runs=4000)
    assert (outcome.failure, outcome.case) == ("", None)
    assert outcome.counts["inputs"] >= 4000


def test_the_fuzzer_reaches_nearly_all_lines_of_the_server(tmp_path: Path) -> None:
    reached = wire.coverage(tmp_path, seed=1, frames=100_000)
    assert sorted(reached) == sorted(source.name for source in RPC.glob("*.c"))
    lines, of = (sum(pair[index] for pair in reached.values()) for index in (0, 1))
    assert lines >= 0.95 * of, reached
    assert reached["rows.c"][0] == reached["rows.c"][1]


#: Bugs that were put in by hand, and went unnoticed once: file, what is there, what is there instead.
BUGS = {
    "WRITE wraps around": (
        "requests.c",
        "offset <= region->bytes && count <= region->bytes - offset",
        "{sum} <= region->bytes",
    ),
    "PROFILE wraps around": (
        "requests.c",
        "first + aboard_get_u16(payload + 2) > server",
        "(uint16_t)(first + aboard_get_u16(payload + 2)) > server",
    ),
    "READ is not bounded by the frame": ("requests.c", " || count > aboard_payload_max(server)", ""),
    "an index of its own": ("requests.c", "index >= model->input_count", "index > model->input_count"),
    "another model's input is as good": ("run.c", "server->input_model == number && ", ""),
    "rows may come twice": ("rows.c", "aboard_get_u32(payload + 4) != server->fed || ", ""),
    "a row too many": ("rows.c", "count > missing", "count > missing + 1"),
    "rows beside each other with taps": ("rows.c", "|| count <= room", "|| count <= room + 1"),
    "the most is the fewest": ("run.c", "ABOARD_MIN(series->fewest, ticks)", "ABOARD_MAX(series->fewest, ticks)"),
    "a series that nothing ends": ("server.c", "server->waiting = true;", "server->stats.strange++;"),
    "a repetition runs again": ("server.c", "known && id == server->id && server", "known && false && server"),
    "rows outlive their session": ("server.c", "    server->feeding = 0;\n", ""),
    "damage is not told": ("server.c", "aboard_signal(server, ABOARD_RPC_DAMAGED);", ""),
}  # fmt: skip


def _compile_with(bug: tuple[str, str, str], folder: Path, compiler: str | tuple[str, ...], *flags: str) -> Path:
    name, text, instead = bug
    copy = Path(shutil.copytree(RPC, folder / "bugs" / "rpc"))
    source = copy / name
    before = source.read_text(encoding="utf-8")
    assert before.count(text) == 1
    source.write_text(before.replace(text, instead), encoding="utf-8")
    return compile_c(folder / "buggy", wire.OWN, *flags, compiler=compiler, rpc=copy)


@pytest.mark.parametrize("name", BUGS)
def test_a_bug_is_noticed(name: str, tmp_path: Path) -> None:
    file, text, instead = BUGS[name]
    # As the sum would wrap on a device, where size_t has 32 bits.
    bug = (file, text, instead.replace("{sum}", "(uint32_t)(offset + count)"))
    program = _compile_with(bug, tmp_path, "gcc", "-O1", "-fsanitize=address", "-Wno-error")
    done = subprocess.run([program, "1", "200", "500"], capture_output=True, text=True)
    assert done.returncode != 0


def test_a_sum_that_wraps_around_is_noticed_where_size_t_has_32_bits(tmp_path: Path) -> None:
    file, text, instead = BUGS["WRITE wraps around"]
    bug = (file, text, instead.replace("{sum}", "offset + count"))
    zig, flags = wire.narrow_compiler()
    done = subprocess.run([_compile_with(bug, tmp_path, zig, *flags), "1", "20", "500"], capture_output=True, text=True)
    assert (done.returncode, "got 0, expected 5" in done.stdout) == (1, True), done.stdout
