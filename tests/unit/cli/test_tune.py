"""`aboard tune` in this process, and what `aboard compile` says of records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import aboard
from aboard import cli
from aboard.base import resources
from aboard.cli.schema import RESULTS
from aboard.ops.subgraph import attributes
from aboard.partition.workload import workload
from aboard.tuning.record_file import Records, store
from aboard.tuning.records import TuningRecord
from support import tuning_records
from support.fake_device import RUNS, SUITS, ZERO, fake_device

HOST = "c -runtime=host + fake"


@pytest.fixture(autouse=True)
def own_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ABOARD_TUNING", str(tmp_path / "own.json"))
    return tmp_path / "own.json"


def call(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert cli.invoke([*words, "--json"]) == 0, capsys.readouterr().err
    result = json.loads(capsys.readouterr().out)
    jsonschema.validate(result, RESULTS[words[0]].model_json_schema(), cls=jsonschema.Draft202012Validator)
    return result


def record() -> TuningRecord:
    """Returns a record for the second region of digits."""
    module = aboard.compile(resources.models() / "digits.tflite", target=HOST)
    assert module.graph is not None
    region = [attributes(node) for node in module.graph.nodes if node.op == "subgraph"][1]
    text = workload(region.graph, region.patterns)
    return tuning_records.record(HOST, text, {"runs": 1}, count=5)


def test_without_a_board_points_are_checked_and_not_measured(
    capsys: pytest.CaptureFixture[str], own_records: Path
) -> None:
    with fake_device(RUNS, SUITS):
        words = ("tune", "digits", "--target", HOST, "--only", "fake")
        result = call(capsys, *words, "--points", "3", "--samples", "1")
        assert cli.invoke([*words, "--points", "1", "--samples", "0"]) == 0
    assert [trial["values"]["runs"] for trial in result["trials"]] == [2, 2, 1]
    assert all(trial["exact"] and trial["run"] is None for trial in result["trials"])
    assert (result["best"], result["records"], result["ran_on"], result["samples"]) == ([], None, "this process", 3)
    assert "Nothing is recorded: points were checked in this process" in capsys.readouterr().out
    assert not own_records.exists()


def test_a_point_that_is_not_exact_ends_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    with fake_device(RUNS, ZERO):
        assert cli.invoke(["tune", "digits", "--target", HOST, "--only", "fake"]) == 1
    assert "error: tuning of fake, runs=2, zero=wrong: is not exact, got" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (
            ("--target", "c -mcpu=cortex-m4 + fake"),
            "names no board, so that nothing can be measured, expected hardware",
        ),
        (("--board", "arm/mps2_an386", "--only", "fake"), "tuning: no such part, got fake. Choose one of: host"),
        (("--target", HOST, "--tuning", "."), ".: records cannot be read, got Is a directory"),
    ],
)
def test_what_cannot_be_tuned(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], text: str) -> None:
    with fake_device(RUNS):
        assert cli.invoke(["tune", "digits", *words]) == 1
    assert text in capsys.readouterr().err


def test_compile_says_what_was_taken_from_where(capsys: pytest.CaptureFixture[str], own_records: Path) -> None:
    with fake_device(RUNS):
        before = call(capsys, "compile", "digits", "--target", HOST)
        assert [op["tuning_origin"] for op in before["ops"] if op["tuning"]] == ["default", "default"]
        assert before["records"] is None
        store(own_records, [record()])
        after = call(capsys, "compile", "digits", "--target", HOST)
        assert [(op["tuning"], op["tuning_origin"]) for op in after["ops"] if op["tuning"]] == [
            ({"runs": 2}, "default"),
            ({"runs": 1}, "record"),
        ]
        assert after["records"] == str(own_records)
        assert cli.invoke(["compile", "digits", "--target", HOST]) == 0
        out = capsys.readouterr().out
        assert cli.invoke(["compile", "digits", "--target", HOST, "--tuning", "none.json"]) == 1
    lines = [line.split() for line in out.splitlines()]
    assert ["#", "name", "device", "tuning", "from"] in lines
    assert ["4", "sequential_1_1/dense_1/MatMul", "fake", "runs=1", "record"] in lines
    assert out.endswith(f"Tuning records of {own_records}\n")
    assert "none.json: records cannot be read, got No such file or directory, expected" in capsys.readouterr().err
    assert len(Records(own_records).entries) == 1
