"""A small part of each campaign, with a fixed seed; and that campaigns notice what they are there for."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aboard.compiler.host_runtime import HostModel
from fuzz import campaign, differential, graphs, minimise, mutations, page, random_graph, run, sandbox, seeds
from support.examples import either

HERE = Path(__file__).resolve().parent
#: Cases in `make test-full`, and in every test run; one of `process` takes ten seconds, one of `boards` three.
CASES = {
    "models": either(40, 8), "graphs": either(25, 6), "boards": either(5, 2), "process": either(2, 1),
    "elementwise": either(20, 5),
    "wire": either(20_000, 5_000), "wire_narrow": either(20_000, 5_000), "wire_libfuzzer": either(2000, 500),
    "hostile": either(400, 100),
}  # fmt: skip
SECONDS = "60"
HOST = "c -runtime=host"


@pytest.mark.parametrize("name", run.campaigns())
def test_a_small_part_of_a_campaign(name: str, tmp_path: Path) -> None:
    command = [sys.executable, str(HERE / f"{name}.py"), "--seed", "1", "--out", str(tmp_path), "--seconds", SECONDS]
    command += ["--cases", str(CASES.get(name, either(200, 50)))]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    counts = json.loads(lines[-1])
    assert lines[0] == f"{name}: seed 1"
    assert (counts["campaign"], counts["seed"], counts["failures"]) == (name, 1, 0)
    assert counts["compared"] >= 0.25 * counts["cases"] > 0
    assert list(tmp_path.iterdir()) == []


def test_the_same_seed_draws_the_same() -> None:
    known = seeds.sources()

    def drawn(seed: int) -> list[bytes]:
        rng = np.random.default_rng(seed)
        return [mutations.mutated(seeds.draw(rng, known), rng)[0] for _ in range(5)]

    assert drawn(4) == drawn(4) != drawn(5)


def test_a_wrong_result_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    case = differential.Case(random_graph.draw(np.random.default_rng(3), "int8"), HOST, 1)
    assert differential.judge(case).outcome == "compared"
    right = HostModel.run_named

    def wrong(self: HostModel, feed: dict) -> dict:
        outputs = right(self, feed)
        name = list(outputs)[-1]
        return outputs | {name: np.asarray(outputs[name]) ^ np.int8(1)}

    monkeypatch.setattr(HostModel, "run_named", wrong)
    verdict = differential.judge(case)
    assert (verdict.outcome, verdict.kind) == ("failed", "the C differs from the op in numpy")


def test_floats_within_the_tolerance_are_equal() -> None:
    data = random_graph.draw(np.random.default_rng(8), "float32", random_graph.Limits(500, 5000, 2))
    graph = differential.load(data)
    feed = differential.inputs(graph, 1)
    values = differential.interpreter.run_all(graph, feed)
    wanted = [values[tensor.name] for tensor in graph.outputs]
    near = [value + np.float32(0.5 * differential.TOLERANCE) for value in wanted]
    assert differential.check(graph, feed, near, wanted, "floats")
    far = [value + np.float32(1) for value in wanted]
    with pytest.raises(differential.Failure, match=f"floats: output 0: {wanted[0].size} of {wanted[0].size} differ"):
        differential.check(graph, feed, far, wanted, "floats")


def _crash() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def _spin() -> None:
    while True:
        pass


def _flood() -> None:
    len(bytes(1 << 40))


def _raise() -> None:
    raise KeyError("what it says")


@pytest.mark.parametrize(
    ("function", "wrong"), [(_crash, "signal 11"), (_spin, "timeout"), (_flood, "memory"), (_raise, "exception")]
)
def test_a_process_of_its_own_survives_nothing_and_hurts_nobody(function, wrong: str) -> None:
    def called(stage: sandbox.Stage) -> None:
        stage("one")
        stage("two")
        function()

    start = time.monotonic()
    ended = sandbox.call(called, seconds=1, megabytes=512)
    assert (ended.wrong, ended.stage, ended.value) == (wrong, "two", None)
    assert ("what it says" in ended.text) == (wrong == "exception")
    assert time.monotonic() - start < 10


def test_a_failure_is_made_as_small_as_it_goes() -> None:
    data = random_graph.draw(np.random.default_rng(10), "int8", random_graph.Limits(operators=10))
    kinds = minimise.kinds(data).split()
    assert len(kinds) > 4
    rarest = min(kinds, key=kinds.count)
    smaller = minimise.smallest(data, lambda model: rarest in minimise.kinds(model).split())
    assert minimise.kinds(smaller) == rarest
    assert differential.judge(differential.Case(smaller, HOST, 0)).outcome == "compared"


def test_failures_of_one_kind_are_kept_a_few_times(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = campaign.Campaign("graphs", campaign.options("", ["--seed", "9", "--cases", "5", "--out", str(tmp_path)]))
    model = random_graph.draw(np.random.default_rng(3), "int8", random_graph.Limits(500, 5000, 2))
    for _ in one.numbers():
        verdict = differential.Verdict("failed", "no such kind", "no such kind: 1 of 2 differ")
        graphs.count(one, differential.Case(model, HOST, 0), verdict)
    assert one.finish() == 1
    counts = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (counts["cases"], counts["failures"]) == (5, 5)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"graphs-9-{number}{suffix}" for number in range(3) for suffix in (".json", ".tflite")
    ]
    case = tmp_path / "graphs-9-0.json"
    assert json.loads(case.read_text())["repeat"] == f"python tests/fuzz/graphs.py --replay {case}"
    assert graphs.replay(case, "graphs") == 0


def test_a_flag_of_one_campaign() -> None:
    help_ = {"coverage": "tell what is reached"}
    assert campaign.options("", ["--coverage"], flags=help_).flags == {"coverage"}
    assert campaign.options("", [], flags=help_).flags == set()


def test_a_campaign_without_counts_has_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "silent.py").write_text("print('nothing')")
    monkeypatch.setattr(run, "HERE", tmp_path)
    assert run.run(run.Part("silent", 7, None, 1.0), tmp_path) == {
        "campaign": "silent", "seed": 7, "cases": 0, "failures": 1, "seconds": 0.0,
    }  # fmt: skip


def test_parts_of_a_campaign_add_up() -> None:
    first = {"campaign": "models", "seed": 1, "cases": 10, "failures": 0, "seconds": 1.5}
    second = {"campaign": "models", "seed": 2, "cases": 11, "failures": 1, "seconds": 2.0, "gcc": 3}
    total = {"campaign": "models", "seeds": [1, 2], "cases": 21, "failures": 1, "seconds": 3.5, "gcc": 3}
    assert run.merged([first, second]) == [total]


def test_a_run_of_one_campaign_keeps_what_is_recorded_of_others() -> None:
    before = {"campaigns": [_counts("models", 62, 27), _counts("wire", 9, 0)]}
    new = {"campaign": "models", "seeds": [7], "cases": 5}
    hostile = {"campaign": "hostile", "seeds": [8], "cases": 6}
    after = run.recorded(before, [new, hostile], "2026-11-30")
    assert [(one["campaign"], one["date"], one["cases"]) for one in after["campaigns"]] == [
        ("hostile", "2026-11-30", 6),
        ("models", "2026-11-30", 5),
        ("wire", "2026-11-22", 9),
    ]


def test_the_page_says_what_was_recorded() -> None:
    text = page.PAGE.read_text(encoding="utf-8")
    record = json.loads(run.RECORD.read_text(encoding="utf-8"))
    assert page.filled(text, record) == text
    assert {one["campaign"] for one in record["campaigns"]} <= set(run.campaigns())
    assert sum(one["failures"] for one in record["campaigns"]) == 0


def test_counts_have_words() -> None:
    hostile = {"DeviceError": 2751, "errors": 56805, "results": 143195}
    campaigns = [
        {**_counts("boards", 35, 0), "mps2_an385": 35},
        {**_counts("hostile", 200_000, 0), **hostile},
        {**_counts("models", 62, 27), "ran": 3, "tcc": 32},
        {**_counts("wire", 200_440, 114_728), "damaged": 125015, "accepted": 49893, "runs": 11383},
        {**_counts("wire_libfuzzer", 5000, 0), "edges": 768},
    ]
    rows = page.table({"campaigns": campaigns}).splitlines()[4:]
    common, date = "0 | 0.5 | 1, 2", "2026-11-22"
    in_words = {
        "hostile": "calls with a result 143,195, calls with an error 56,805, DeviceError 2,751",
        "wire": "requests accepted 49,893, damaged frames besides 125,015, runs of models and operators 11,383",
    }
    assert rows == [
        f"| boards | {date} | 35 graphs | 35 | 0 | {common} | mps2_an385 35 |",
        f"| hostile | {date} | 200,000 calls | 200,000 | 0 | {common} | {in_words['hostile']} |",
        f"| models | {date} | 62 files | 62 | 27 | {common} | compiled by tcc 32, run without a reference 3 |",
        f"| wire | {date} | 200,440 frames | 200,440 | 114,728 | {common} | {in_words['wire']} |",
        f"| wire_libfuzzer | {date} | 5,000 inputs | 5,000 | 0 | {common} | branches reached 768 |",
    ]


def _counts(name: str, cases: int, refused: int) -> dict[str, Any]:
    common = {"cases": cases, "compared": cases, "refused": refused, "failures": 0}
    return {"campaign": name, "date": "2026-11-22", "seeds": [1, 2], **common, "seconds": 30.0}


def test_the_page_names_tests_and_campaigns_that_exist() -> None:
    root, text = page.PAGE.parents[2], page.PAGE.read_text(encoding="utf-8")
    promises, rest = text.split("## Campaigns")
    held = [line.split("|")[-2] for line in promises.splitlines() if line.startswith("| ")]
    held = [cell for cell in held if cell.strip() != "held by"]
    assert len(held) > 30
    named = set(re.findall(r"`([^`]+)`", " ".join(held)))
    assert all(re.search(r"`[^`]+`", cell) for cell in held)
    paths = {name for name in named if name.startswith("tests/")}
    assert {name for name in paths if not (root / name).exists()} == set()
    # Each campaign holds a promise and is described; what its cases are stands in the table.
    assert named - paths == set(run.campaigns()) == set(page.CASES)
    assert set(re.findall(r"^- `(\w+)`:", rest, re.MULTILINE)) == set(run.campaigns())
    elsewhere = set(re.findall(r"`(tests/[\w/.-]+)`", rest))
    assert {name for name in elsewhere if not (root / name).exists()} == set()
