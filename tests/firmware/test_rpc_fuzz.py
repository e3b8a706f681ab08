"""A small part of the campaigns on the firmware's RPC server, `tests/fuzz/wire*.py`, and bugs that they must notice."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from aboard.base import resources
from fuzz import wire, wire_libfuzzer, wire_narrow
from fuzz.campaign import Campaign, Options
from support import rpc_device
from support.examples import either
from support.rpc_device import compile_c

RPC = resources.firmware() / "rpc"
#: Compiles a player that has a bug, of which no warning is an error.
_BUGGY = ("gcc", *rpc_device.WARNINGS, "-Wno-error", *rpc_device.INCLUDES, "-O1", "-fsanitize=address")


@pytest.fixture(scope="module")
def player(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return wire.build(tmp_path_factory.mktemp("player"))


@pytest.fixture(scope="module")
def libfuzzer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return wire_libfuzzer.build(tmp_path_factory.mktemp("libfuzzer"))


def campaign(name: str, seed: int, cases: int, out: Path) -> Campaign:
    return Campaign(name, Options(seed, cases, seconds=600, out=out))


def test_every_answer_to_wild_frames_is_right(tmp_path: Path, player: Path) -> None:
    cases = either(200_000, 60_000)
    one = campaign("wire", 1, cases, tmp_path)
    wire.play(one, player)
    counts = one.counts
    assert (one.finish(), counts["compared"]) == (0, counts["cases"])
    assert cases <= counts["cases"] < cases + 2_000
    # Not everything is refused: much is asked that a device has to do.
    assert counts["accepted"] > 0.2 * counts["cases"]
    assert counts["runs"] > 0.03 * counts["cases"]


def test_the_same_where_size_t_has_32_bits(tmp_path: Path) -> None:
    cases = either(200_000, 10_000)
    one = campaign("wire_narrow", 2, cases, tmp_path)
    wire.play(one, wire_narrow.build(tmp_path))
    assert (one.finish(), one.counts["cases"] >= cases) == (0, True)


def test_libfuzzer_finds_nothing(tmp_path: Path, libfuzzer: Path) -> None:
    one = campaign("wire_libfuzzer", 3, 4000, tmp_path)
    wire_libfuzzer.play(one, libfuzzer, tmp_path)
    counts = one.counts
    assert (one.finish(), counts["compared"]) == (0, counts["cases"])
    assert counts["cases"] >= 4000
    assert counts["edges"] > 500


def test_the_fuzzer_reaches_nearly_all_lines_of_the_server(tmp_path: Path) -> None:
    reached = wire.coverage(tmp_path, Options(seed=1, cases=100_000, seconds=600, out=tmp_path))
    assert sorted(reached) == sorted(source.name for source in RPC.glob("*.c"))
    lines, of = (sum(pair[index] for pair in reached.values()) for index in (0, 1))
    assert lines >= 0.95 * of, reached
    for name in ("rows.c", "states.c"):
        assert reached[name][0] == reached[name][1]


#: Bugs that were put in by hand, and went unnoticed once: file, what is there, what is there instead.
BUGS = {
    "WRITE wraps around": (
        "regions.c",
        "offset <= region->bytes && count <= region->bytes - offset",
        "{sum} <= region->bytes",
    ),
    "PROFILE wraps around": (
        "requests.c",
        "first + count > server",
        "(uint16_t)(first + count) > server",
    ),
    "READ is not bounded by the frame": ("regions.c", " || count > aboard_payload_max(server)", ""),
    "an index of its own": ("requests.c", "index >= model->input_count", "index > model->input_count"),
    "another model's input is as good": ("run.c", "server->input_model == number && ", ""),
    "rows may come twice": ("rows.c", "aboard_get_u32(payload + 4) != server->streamed || ", ""),
    "a row too many": ("rows.c", "count > missing", "count > missing + 1"),
    "rows beside each other in a trace": ("rows.c", "|| count <= room", "|| count <= room + 1"),
    "the most is the fewest": ("run.c", "ABOARD_MIN(series->fewest, ticks)", "ABOARD_MAX(series->fewest, ticks)"),
    "a series that nothing ends": ("receive.c", "server->waiting = true;", "server->stats.strange++;"),
    "a repetition runs again": ("receive.c", "known && same_id && server", "known && false && server"),
    "rows outlive their session": ("server.c", "    server->streaming = 0;\n", ""),
    "a state too many": ("states.c", "payload[2] >= model->state_count", "payload[2] > model->state_count"),
    "a state that rows have changed": ("states.c", "server->streaming == payload[0] + 1", "false"),
    "outputs outlive the state": ("states.c", "status == ABOARD_OK && request->type", "false && request->type"),
    "damage is not reported": ("receive.c", "aboard_send_signal(server, ABOARD_RPC_DAMAGED);", ""),
}  # fmt: skip


def _server_with(bug: tuple[str, str, str], folder: Path) -> Path:
    """Returns a copy of the server's folder that has a bug."""
    name, text, instead = bug
    copy = Path(shutil.copytree(RPC, folder / "bugs" / "rpc"))
    source = copy / name
    before = source.read_text(encoding="utf-8")
    assert before.count(text) == 1
    source.write_text(before.replace(text, instead), encoding="utf-8")
    return copy


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The object files of the player without a bug: a bug is in one of them."""
    folder = tmp_path_factory.mktemp("objects")
    sources = [*wire.SOURCES, *rpc_device.RPC_SOURCES]
    subprocess.run([*_BUGGY, "-c", *sources], check=True, cwd=folder)
    return folder


@pytest.mark.parametrize("name", BUGS)
def test_a_bug_is_noticed(name: str, objects: Path, tmp_path: Path) -> None:
    file, text, instead = BUGS[name]
    # As the sum would wrap on a device, where size_t has 32 bits.
    server = _server_with((file, text, instead.replace("{sum}", "(uint32_t)(offset + count)")), tmp_path)
    others = [path for path in objects.glob("*.o") if path.stem != Path(file).stem]
    subprocess.run([*_BUGGY, server / file, *others, "-o", tmp_path / "buggy"], check=True)
    done = subprocess.run([tmp_path / "buggy", "1", "200", "500"], capture_output=True, text=True)
    assert done.returncode != 0


def test_a_sum_that_wraps_around_is_noticed_where_size_t_has_32_bits(tmp_path: Path) -> None:
    file, text, instead = BUGS["WRITE wraps around"]
    program = wire_narrow.build(
        tmp_path, _server_with((file, text, instead.replace("{sum}", "offset + count")), tmp_path)
    )
    done = subprocess.run([program, "1", "20", "500"], capture_output=True, text=True)
    assert (done.returncode, "got 0, expected 5" in done.stdout) == (1, True), done.stdout


def test_a_failure_is_kept_and_repeated(tmp_path: Path, player: Path) -> None:
    # Without sanitizers, which the bug does not need.
    server = _server_with(BUGS["the most is the fewest"], tmp_path)
    buggy = compile_c(tmp_path / "buggy", wire.SOURCES, "-O1", rpc=server)
    one = campaign("wire", 1, 200_000, tmp_path / "kept")
    wire.play(one, buggy)
    assert (one.finish(), one.counts["failures"]) == (1, 1)
    (case,) = (tmp_path / "kept").iterdir()
    content = json.loads(case.read_text())
    assert (content["campaign"], content["devices"], content["rounds"]) == ("wire", 1, 500)
    assert content["repeat"] == f"python tests/fuzz/wire.py --replay {case}"
    assert "got " in content["what"]
    assert wire.replay(case, "wire", buggy) == 1
    assert wire.replay(case, "wire", player) == 0


def test_a_failure_of_libfuzzer_is_kept_and_repeated(
    tmp_path: Path, libfuzzer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire_libfuzzer, "MINIMISE_SECONDS", 2)
    server = _server_with(BUGS["an index of its own"], tmp_path)
    flags = wire_libfuzzer.FLAGS
    buggy = compile_c(tmp_path / "buggy", wire_libfuzzer.SOURCES, *flags, compiler="clang", rpc=server)
    one = campaign("wire_libfuzzer", 3, 50_000, tmp_path / "kept")
    wire_libfuzzer.play(one, buggy, tmp_path)
    assert (one.finish(), one.counts["failures"]) == (1, 1)
    case, data = sorted((tmp_path / "kept").iterdir(), key=lambda path: path.suffix, reverse=True)
    assert (case.suffix, data.suffix, data.stem) == (".json", ".bin", case.stem)
    assert 4 < data.stat().st_size < 200
    # What is minimised may fail by the sanitizer or by the comparison with the reference, as far as time allows.
    what = json.loads(case.read_text())["what"]
    assert "global-buffer-overflow" in what or "deadly signal" in what
    assert wire_libfuzzer.replay(case, buggy) == 1
    assert wire_libfuzzer.replay(case, libfuzzer) == 0
