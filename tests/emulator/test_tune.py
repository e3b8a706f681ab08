"""Tuning on an emulated board: the best is found, recorded, and taken by the next compilation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from aboard import cli
from support.fake_device import RUNS, SUITS, fake_device

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
        found = call(capsys, "tune", "digits", "--target", TARGET, "--samples", "0", "--limit", "4")
        run = call(capsys, "deploy", "digits", "--target", TARGET, "--profile")
        ops = call(capsys, "compile", "digits", "--target", TARGET)["ops"]
    assert found["ran_on"] == "arm/mps2_an386 (qemu)"
    assert len(found["trials"]) == 4
    assert all(trial["exact"] and trial["instructions"] for trial in found["trials"])
    wide, narrow = found["best"]
    assert (wide["values"], narrow["values"]) == ({"runs": 1, "suits": "many"}, {"runs": 1, "suits": "few"})
    assert wide["default_instructions"] == pytest.approx(3 * wide["instructions"], rel=0.01)
    assert narrow["default_instructions"] == pytest.approx(2 * narrow["instructions"], rel=0.01)
    saved = sum(best["default_instructions"] - best["instructions"] for best in found["best"])
    assert found["tuned_instructions"] == pytest.approx(found["default_instructions"] - saved, abs=8 * TICK)
    assert found["host_instructions"] < found["tuned_instructions"] < found["default_instructions"]
    assert run["instructions"] == pytest.approx(found["tuned_instructions"], abs=8 * TICK)
    assert [(op["tuning"]["suits"], op["tuning_origin"]) for op in ops if op["tuning"]] == [
        ("many", "record"),
        ("few", "record"),
    ]
    assert [row["instructions"] for row in run["profile"] if row["device"]] == [
        pytest.approx(best["instructions"], abs=8 * TICK) for best in found["best"]
    ]
