"""Tuning on an emulated and on a pretended board: the best is found, recorded, and taken by the next compilation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import aboard
from aboard import boards, cli
from aboard.base import resources
from aboard.target import Knob
from aboard.tuner.bench import OnBoard
from aboard.tuner.run import run
from aboard.tuner.search import TuningSearch
from aboard.tuning.record_file import Records, store
from support.fake_device import RUNS, SUITS, fake_device
from support.pretended_runner import PretendedRunner

TARGET = "arm/mps2_an386 + fake"
#: Instructions in a tick of the board's counter.
TICK = 40


def call(capsys: pytest.CaptureFixture[str], *words: str | Path) -> dict:
    assert cli.invoke([*map(str, words), "--json"]) == 0, capsys.readouterr().err
    result: dict = json.loads(capsys.readouterr().out)
    return result


def test_the_best_is_measured_recorded_and_taken(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ABOARD_TUNING", str(tmp_path / "records.json"))
    with fake_device(RUNS, SUITS):
        found = call(capsys, "tune", "digits", "--target", TARGET, "--samples", "0", "--only", "fake")
        run = call(capsys, "deploy", "digits", "--target", TARGET, "--profile")
        ops = call(capsys, "compile", "digits", "--target", TARGET)["ops"]
    assert (found["unit"], found["stale"]) == ("instructions", [])
    assert found["ran_on"] == "arm/mps2_an386 (qemu)"
    assert len(found["trials"]) == 6
    assert all(trial["exact"] and trial["run"]["count"] for trial in found["trials"])
    wide, narrow = found["best"]
    assert (wide["values"], narrow["values"]) == ({"runs": 1, "suits": "many"}, {"runs": 1, "suits": "few"})
    assert wide["default"]["count"] == pytest.approx(3 * wide["tuned"]["count"], rel=0.01)
    assert narrow["default"]["count"] == pytest.approx(2 * narrow["tuned"]["count"], rel=0.01)
    saved = sum(best["default"]["count"] - best["tuned"]["count"] for best in found["best"])
    host, default, tuned = (found[name]["count"] for name in ("host", "default", "tuned"))
    assert tuned == pytest.approx(default - saved, abs=8 * TICK)
    assert host < tuned < default
    assert run["instructions"] == pytest.approx(tuned, abs=8 * TICK)
    assert [(op["tuning"]["suits"], op["tuning_origin"]) for op in ops if op["tuning"]] == [
        ("many", "record"),
        ("few", "record"),
    ]
    assert [row["instructions"] for row in run["profile"] if row["device"]] == [
        pytest.approx(best["tuned"]["count"], abs=8 * TICK) for best in found["best"]
    ]


def test_a_board_is_measured_in_ticks_and_a_bad_default_is_corrected(tmp_path: Path) -> None:
    board = boards.load("host/native")
    bench = OnBoard(board, PretendedRunner(board, port=str(tmp_path / "port")), repeats=15)
    # Ticks of this machine are noisy: many runs, each too short to be interrupted often, and a default far too slow.
    often = Knob("runs", (40, 1), "How often each layer is computed")
    target = "host/native -runtime=standalone + fake"
    with fake_device(often):
        model = resources.models() / "digits.tflite"
        found = run(TuningSearch.prepare(model, target, bench, samples=0, only=["fake"]))
        store(tmp_path / "t.json", [best.record for best in found.best])
        tuned = aboard.compile(model, target=target, tuning=tmp_path / "t.json")
    assert found.bench == "host/native (serial)"
    assert found.default is not None
    assert found.tuned is not None
    assert found.default.unit == "ticks"
    assert found.tuned.count < found.default.count
    for record in Records(tmp_path / "t.json").entries.values():
        assert (record.unit, record.values, record.clock_hz) == ("ticks", {"runs": 1}, None)
        assert record.provenance is not None
        assert record.provenance.tick_hz
    regions = [node for node in tuned.manifest.nodes if node.device]
    assert [(node.tuning, node.tuning_origin) for node in regions] == [({"runs": 1}, "record")] * 2
