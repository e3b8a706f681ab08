"""A farm on this machine loses and repeats no result, whatever dies, stops or hangs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import aboard
from aboard import cli
from aboard.base import resources
from aboard.device import input_files
from aboard.farm import shipping
from aboard.farm.jobs import Failure
from aboard.farm.submission import Shared, Step, Submission, Ticket
from support import farm as farms
from support import html_tables, pretended_board
from support.fake_device import RUNS, fake_device
from support.farm import Farm

FULL = bool(os.environ.get("ABOARD_FULL"))
MODEL = resources.models() / "digits.tflite"
_TTL_S = 3.0


@pytest.fixture(scope="module")
def farm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Farm]:
    """A scheduler that gives up a silent worker after some seconds, and one machine that emulates and builds."""
    with farms.running(tmp_path_factory.mktemp("farm"), _TTL_S) as farm:
        farm.worker("--emulators", "1")
        farm.until(lambda workers: len(workers) == 2)
        yield farm


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The model for this machine, as it is sent to workers."""
    module = aboard.compile(MODEL, board="host/native")
    project = aboard.create(module, board="host/native", path=tmp_path_factory.mktemp("native") / "digits")
    project.build()
    return shipping.pack(project)


@pytest.fixture(scope="module")
def labels() -> list[int]:
    """What the model takes each picture for."""
    module = aboard.compile(MODEL, target="c -runtime=host")
    return [int(np.argmax(module.run(picture))) for picture in farms.PICTURES]


def table(farm: Farm, folder: Path) -> subprocess.Popen[str]:
    boards = "arm/mps2_an385,arm/mps2_an386,host/native"
    return farm.command("farm", "verify", "digits", "--boards", boards, "--samples", "1", "-o", str(folder))


def rows(process: subprocess.Popen[str]) -> dict[str, dict[str, Any]]:
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    found = json.loads(out)["rows"]
    assert len(found) == len({row["board"] for row in found}) == 3
    return {row["board"]: row for row in found}


def timeless(row: dict[str, Any]) -> dict[str, Any]:
    """Returns a row without the time of a run, which only the clock of a real machine gives."""
    return {**row, "seconds": None}


def test_a_table_is_filled_while_a_worker_is_killed_and_continues_where_it_was(farm: Farm, tmp_path: Path) -> None:
    folder = tmp_path / "table"
    filling = table(farm, folder)
    farm.until(lambda workers: any(worker["holder"] or worker["jobs"] for worker in workers))
    for pid in farms.worker_pids(farm.workers[0].pid):
        os.kill(pid, signal.SIGKILL)
    first = rows(filling)
    assert {row["state"] for row in first.values()} == {"exact"}
    assert {row["samples"] for row in first.values()} == {3}
    assert (first["arm/mps2_an386"]["runner"], first["host/native"]["runner"]) == ("qemu", "native")
    assert first["arm/mps2_an386"]["instructions"] > 10_000
    suites = ElementTree.parse(folder / "junit.xml").getroot()
    assert [(suite.get("name"), suite.get("failures")) for suite in suites] == [(board, "0") for board in first]
    (shown,) = html_tables.tables((folder / "table.html").read_text())
    assert [line[1] for line in shown[1:]] == list(first)

    # The rows that a killed command left are not run again; a complete table is compared with itself.
    kept = (folder / "rows.jsonl").read_text().splitlines(keepends=True)
    (folder / "rows.jsonl").write_text("".join(kept[:2]))
    done = sum(worker["done"] for worker in farm.status() if worker["kind"] == "emulator")
    second = rows(table(farm, folder))
    assert [timeless(row) for row in second.values()] == [timeless(row) for row in first.values()]
    assert sum(worker["done"] for worker in farm.status() if worker["kind"] == "emulator") == done + 1
    again = rows(table(farm, folder))
    changes = {"state": "exact", "instructions": 0, "ram_bytes": 0, "flash_bytes": 0}
    assert again["arm/mps2_an386"]["change"] == changes


def test_run_is_as_with_a_runner_of_this_machine(farm: Farm, tmp_path: Path) -> None:
    module = aboard.compile(MODEL, board="arm/mps2_an386")
    project = aboard.create(module, board="arm/mps2_an386", path=tmp_path / "project")
    project.build()
    out, err = farm.command("run", str(project.path), "--input", "random:3", "--profile").communicate(timeout=120)
    assert err == ""
    with project.session() as session:
        feed = input_files.load("random:3", session.models[0].inputs)
        session.reset_state()
        here = session.profile(feed)
    there = json.loads(out)
    assert (there["runner"], there["instructions"]) == ("farm", here.run.instructions)
    assert there["outputs"] == {name: value.tolist() for name, value in here.run.outputs.items()}
    assert [node["instructions"] for node in there["profile"]] == [node.duration.instructions for node in here.nodes]


def test_models_are_measured_on_the_boards_of_a_farm(farm: Farm, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["bench", "digits", "--board", "arm/mps2_an386", "--json"]
    assert cli.invoke([*words, "--farm", farm.address]) == 0
    there = json.loads(capsys.readouterr().out)
    assert cli.invoke(words) == 0
    here = json.loads(capsys.readouterr().out)
    assert (there["runner"], here["runner"], there["unit"]) == ("farm", "qemu", "instructions")
    assert there["models"] == here["models"]


def test_points_are_tried_on_the_boards_of_a_farm(
    farm: Farm, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = ["tune", "digits", "--target", "arm/mps2_an386 + fake", "--samples", "0", "--points", "2", "--json"]
    with fake_device(RUNS):
        assert cli.invoke([*words, "--only", "fake", "--tuning", str(tmp_path / "t.json"), "--farm", farm.address]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["ran_on"], found["unit"]) == ("arm/mps2_an386 (farm)", "instructions")
    assert [best["values"] for best in found["best"]] == [{"runs": 1}] * 2
    assert found["records"] == str(tmp_path / "t.json")


def test_what_no_worker_can_ever_do_is_told_at_once(farm: Farm) -> None:
    began = time.monotonic()
    out, _ = farm.command("farm", "verify", "digits", "--boards", "st/nucleo_f303re").communicate(timeout=60)
    assert "farm: no worker has st/nucleo_f303re, got " in json.loads(out)["error"]["message"]
    assert time.monotonic() < began + 20


def submitted(
    farm: Farm, packed: bytes, count: int, pause_s: float = 0.0
) -> tuple[list[tuple[str, Any]], threading.Thread]:
    """Begins jobs on a farm; returns the list to which each result is added, and the thread that waits for the end."""
    results: list[tuple[str, Any]] = []
    shared = Shared(packed)
    tickets = [Ticket(str(n), [Step(farms.classify, (n, pause_s, shared), "host/native")]) for n in range(count)]
    submission = Submission(farm.address, lambda key, result: results.append((key, result)), patience_s=60)
    thread = threading.Thread(target=submission.run, args=(tickets,))
    thread.start()
    return results, thread


def grown(results: list[tuple[str, Any]], wanted: int, all_of_them: int) -> None:
    """Waits for a number of results; there must be jobs left, so that what happens next happens to some."""
    deadline = time.monotonic() + 180
    while len(results) < wanted:
        assert time.monotonic() < deadline, len(results)
        time.sleep(0.02)
    assert len(results) < all_of_them


def test_no_result_is_lost_or_counted_twice(farm: Farm, native: bytes, labels: list[int]) -> None:
    second = farm.worker("--emulators", "1", "--builds", "0")
    farm.until(lambda workers: len(workers) == 3)
    count = 10_000 if FULL else 200
    results, thread = submitted(farm, native, count, 0.02 if FULL else 0.1)
    grown(results, 20, count)
    for pid in farms.worker_pids(second.pid):
        os.kill(pid, signal.SIGKILL)
    grown(results, 40, count)
    farm.scheduler.kill()
    farm.scheduler.wait()
    farm.start_scheduler()
    farm.until(lambda workers: len(workers) == 3)
    grown(results, 60, count)
    (stopped,) = farms.worker_pids(second.pid)
    os.kill(stopped, signal.SIGSTOP)
    # Past the lease: the scheduler gives the jobs to the other worker, and takes no result of the stopped one any more.
    farm.until(lambda workers: len(workers) == 2)
    os.kill(stopped, signal.SIGCONT)
    grown(results, len(results), count)
    thread.join(timeout=1200 if FULL else 300)
    assert not thread.is_alive()
    second.kill()
    assert len(results) == count
    assert dict(results) == {str(n): (n, labels[n % len(labels)]) for n in range(count)}


def test_boards_that_hang_vanish_and_come_back(farm: Farm, native: bytes, labels: list[int], tmp_path: Path) -> None:
    with ExitStack() as stack:
        project = stack.enter_context(shipping.unpacked(native))
        for number in range(3):
            port = tmp_path / f"board{number}"
            # The last one never answers, and has no power switch.
            board = stack.enter_context(
                pretended_board.running(project.image, port, seed=number if number < 2 else None)
            )
            power = f"sh -c 'kill -USR1 {board.pid}; sleep 0.3'"
            words = ["--attach", f"host/native@{port}", "--builds", "0", "--power-cycle", power, "--quarantine", "1000"]
            if number == 2:
                os.kill(pretended_board.firmware(board.pid), signal.SIGSTOP)
                words = ["--attach", f"host/native@{port}", "--builds", "0", "--quarantine", "2"]
            stack.callback(farm.worker(*words).terminate)
        farm.workers[0].terminate()  # its emulator would be the same board
        farm.until(lambda workers: [worker["kind"] for worker in workers] == ["board"] * 3)
        count = 200 if FULL else 30
        results, thread = submitted(farm, native, count)
        thread.join(timeout=count * 20)
        assert not thread.is_alive()
        farm.until(lambda workers: [w["boards"] for w in workers if w["state"] == "quarantined"] == [[]])
        log = [line for worker in farm.status() for line in worker["log"]]
    assert sorted(int(key) for key, _ in results) == list(range(count))
    failures = [result for _, result in results if isinstance(result, Failure)]
    assert all(result.of_board and result.message for result in failures), failures
    right = [result for _, result in results if not isinstance(result, Failure)]
    assert all(label == labels[number % len(labels)] for number, label in right)
    # How many depends on how fast the machine is beside the moments at which boards hang.
    assert len(right) >= count * 0.2
    assert any("power cycle: sh -c" in line for line in log)
    assert any("in quarantine after 2 failures in a row" in line for line in log)
