"""Tuning the kernels and the schedule of a core: in instructions of emulated boards, in ticks of a pretended one."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import aboard
from aboard import boards, cli
from aboard.base import resources
from aboard.base.manifest_records import NodeRecord
from aboard.kernels.arm_dsp import depthwise_conv2d
from aboard.kernels.arm_mve import packed_layer
from aboard.tuner.bench import OnBoard
from aboard.tuner.found import Best, Found
from aboard.tuner.run import run
from aboard.tuner.search import TuningSearch
from aboard.tuner.trials import Trials
from aboard.tuning.record_file import Records, store
from support.examples import either
from support.pretended_runner import PretendedRunner

M4, M55 = "arm/mps2_an386", "arm/mps3_an547"
DIGITS = resources.models() / "digits.tflite"


def found_for(op: str, found: Found) -> Best:
    """Returns the best point of the first layer of an op."""
    return next(best for best in found.best if f" = {op}(" in best.record.workload)


def layer(best: Best, tuning: Path | None) -> NodeRecord:
    """Returns the layer of a best point, compiled with a file of records."""
    module = aboard.compile(DIGITS, board=M4, opt="speed", tuning=tuning)
    return next(node for node in module.manifest.nodes if node.name in best.names)


def search(board: str, trials: Path | None = None, **options: Any) -> Found:
    bench = OnBoard(boards.load(board))
    target = f"{board} -opt={options.pop('opt', 'speed')}"
    return run(TuningSearch.prepare(DIGITS, target, bench, samples=0, trials=Trials(trials), **options))


def take_single_rows(patch: pytest.MonkeyPatch) -> None:
    """Lets depthwise layers default to strips of one row, predicted to cost as little as strips of two."""
    few_rows = depthwise_conv2d.of_few_rows
    patch.setattr(depthwise_conv2d.DspS8, "own_strip", lambda kernel, node: 1)
    patch.setattr(depthwise_conv2d, "of_few_rows", lambda node, rows: few_rows(node, 2))


def test_a_bad_default_is_found_and_corrected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        take_single_rows(patch)
        found = search(M4, tmp_path / "trials", points=either(None, 6))
        best = found_for("depthwise_conv2d", found)
        assert best.record.values["strip"] != 1
        assert best.cost.count < 0.9 * best.default.count
        assert found.default is not None
        assert found.tuned is not None
        assert found.tuned.count < found.default.count
        store(tmp_path / "t.json", [each.record for each in found.best])
        node, plain = (layer(best, tuning) for tuning in (tmp_path / "t.json", None))
    assert (node.tuning["strip"], node.tuning_origin) == (best.record.values["strip"], "record")
    # What was measured takes the place of the prediction.
    assert node.estimated_instructions == best.cost.count
    assert plain.estimated_instructions != best.cost.count
    # The same search again builds nothing but what its inputs are compared with.
    lines = (tmp_path / "trials").read_text()
    with monkeypatch.context() as patch:
        take_single_rows(patch)
        assert search(M4, tmp_path / "trials", points=either(None, 6)).best == found.best
    assert (tmp_path / "trials").read_text() == lines


@pytest.mark.skipif(not os.environ.get("ABOARD_FULL"), reason="as on Cortex-M4; in make test-full")
def test_helium_finds_a_bad_default_too(monkeypatch: pytest.MonkeyPatch) -> None:
    # Windows of single taps are much slower: nothing is shared between neighbours.
    monkeypatch.setattr(packed_layer, "GROUP", dict.fromkeys(packed_layer.Packing, 1000))
    found = search(M55, points=6)
    best = found_for("depthwise_conv2d", found)
    assert best.default.count > best.cost.count
    assert best.record.values["form"] != "sixteen_channels"


def test_the_command_keeps_to_the_ram_of_the_default(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = [
        "tune",
        str(DIGITS),
        "--board",
        M4,
        "--samples",
        "0",
        "--points",
        either("3", "2"),
        "--tuning",
        str(tmp_path / "t.json"),
    ]
    assert cli.invoke([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["tuned_memory"]["ram_bytes"] <= found["default_memory"]["ram_bytes"]
    assert not found["unfinished"]
    refused = [trial["refused"] for trial in found["trials"] if trial["refused"]]
    assert all("bytes of RAM, more than" in text for text in refused)
    # The time is over before the first point: the defaults are recorded, with what they cost.
    assert cli.invoke([*words[:-1], str(tmp_path / "u.json"), "--seconds", "0.001", "--json"]) == 0
    late = json.loads(capsys.readouterr().out)
    assert late["unfinished"]
    assert late["tuned"] == late["default"]
    assert {entry.unit for entry in Records(tmp_path / "u.json").entries.values()} == {"instructions"}


def test_a_pretended_board_is_measured_in_ticks(tmp_path: Path) -> None:
    board = boards.load("host/native")
    bench = OnBoard(board, PretendedRunner(board, port=str(tmp_path / "port")), repeats=3)
    target = "host/native -runtime=standalone"
    found = run(TuningSearch.prepare(DIGITS, target, bench, samples=0, points=2))
    store(tmp_path / "t.json", [best.record for best in found.best])
    assert found.bench == "host/native (serial)"
    for record in Records(tmp_path / "t.json").entries.values():
        assert (record.unit, record.kind, record.soc) == ("ticks", "host", "host/native")
        assert record.provenance is not None
        assert record.provenance.tick_hz
    tuned = aboard.compile(DIGITS, target=target, tuning=tmp_path / "t.json")
    assert {node.tuning_origin for node in tuned.manifest.nodes if node.tuning} == {"record"}
