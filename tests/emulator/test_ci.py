"""`aboard ci init`: what it writes is executed: the half for QEMU as it stands, that for Renode behind a stand-in.

Where `renode-test` is installed, it runs the suites too.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from robot.result import ExecutionResult

import aboard
from aboard.api import Project
from aboard.base import programs, resources
from aboard.cli import invoke
from aboard.errors import ProjectError
from aboard.testing import ci
from support.bundles import tiny_bundle
from support.renode_keywords import suite_of

BOARD = "arm/mps2_an386"
MODEL = resources.models() / "digits.tflite"
GOLDEN = {f"app/ci/golden/digits_{n}_{what}.npz" for n in range(2) for what in ("input", "output")}


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a built project, and what `aboard ci init` writes."""
    top = tmp_path_factory.mktemp("repository")
    (top / ".git").mkdir()
    project = aboard.create(aboard.compile(MODEL, board=BOARD), board=BOARD, path=top / "app")
    project.build()
    assert invoke(["ci", "init", str(top / "app"), "--reference", str(MODEL), "--samples", "2"]) == 0
    return top


def workflow(top: Path) -> Any:
    return yaml.safe_load((top / ci.WORKFLOW).read_text(encoding="utf-8"))


def steps(top: Path, job: str) -> list[str]:
    return [step["run"] for step in workflow(top)["jobs"][job]["steps"] if "run" in step]


def test_what_is_written(repository: Path) -> None:
    found = {path.relative_to(repository).as_posix() for path in (repository / "app/ci").rglob("*") if path.is_file()}
    assert found == {"app/ci/qemu.robot", "app/ci/renode.robot", *GOLDEN}
    content = workflow(repository)
    assert content["permissions"] == {"contents": "read"}
    assert content["env"] == {"PROJECT": "app", "ABOARD": ci.DEFAULT_PACKAGE, "RENODE_VERSION": "1.16.1"}
    assert list(content["jobs"]) == ["qemu", "renode"]
    for job in content["jobs"].values():
        uses = [step["uses"] for step in job["steps"] if "uses" in step]
        assert uses == ["actions/checkout@v4", "actions/setup-python@v5", "actions/upload-artifact@v4"]
    assert "qemu-system-arm" in steps(repository, "qemu")[0]
    for text in (repository / "app/ci").rglob("*.robot"):
        assert str(repository) not in text.read_text(encoding="utf-8")


def run_step(command: str, top: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Executes a step of the workflow as its machine does: by bash, in the repository, with the same variables."""
    scripts = folder / "bin"
    scripts.mkdir(exist_ok=True)
    for name, call in (("aboard", "-c 'from aboard.cli import main; main()'"), ("python", "")):
        (scripts / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {call} "$@"\n', encoding="utf-8")
        (scripts / name).chmod(0o755)
    path = f"{scripts}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PROJECT": workflow(top)["env"]["PROJECT"]}
    return subprocess.run(
        ["bash", "-e", "-c", command], cwd=top, env=environment, capture_output=True, text=True, check=False
    )


def test_the_qemu_half_as_it_stands(repository: Path, tmp_path: Path) -> None:
    top = tmp_path / "checkout"
    shutil.copytree(repository, top, ignore=shutil.ignore_patterns("build"))
    install, get, build, check = steps(top, "qemu")
    assert install.startswith("sudo apt-get update -q && ")
    assert get == 'pip install "$ABOARD" ziglang unicorn robotframework'
    for command in (build, check):
        done = run_step(command, top, tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
    assert "1 test, 1 passed, 0 failed" in done.stdout
    assert (top / "results/output.xml").is_file()


def test_another_output_fails_the_suite_and_is_named(repository: Path, tmp_path: Path) -> None:
    top = tmp_path / "checkout"
    shutil.copytree(repository, top)
    golden = top / "app/ci/golden/digits_1_output.npz"
    with np.load(golden) as file:
        ((name, values),) = file.items()
    changed = values.copy()
    changed.flat[3] += 1
    np.savez(golden, **{name: changed})
    done = run_step(steps(top, "qemu")[-1], top, tmp_path)
    assert done.returncode == 1
    message = " ".join(done.stdout.split())
    assert f"{name}: 1 of 10 elements differ, got {values.flat[3]} at [0, 3], expected {changed.flat[3]}." in message


def results(suite: Any, folder: Path, **options: Any) -> dict[str, tuple[str, str]]:
    with (folder / "said").open("w", encoding="utf-8") as said:
        suite.run(output=folder / "output.xml", stdout=said, **options)
    found: dict[str, tuple[str, str]] = {}
    pending = [ExecutionResult(folder / "output.xml").suite]
    while pending:
        one = pending.pop()
        pending += one.suites
        found.update({test.name: (test.status, test.message) for test in one.tests})
    return found


@pytest.mark.parametrize("name", ["ci/renode.robot", "ci/qemu.robot", "renode/board.robot"])
def test_suites_are_accepted_by_a_dry_run(name: str, repository: Path, tmp_path: Path) -> None:
    found = results(suite_of(repository / "app" / name), tmp_path, dryrun=True)
    assert set(found.values()) == {("PASS", "")}


def test_the_renode_half_behind_a_stand_in(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RENODE_STAND_IN_BOARD", BOARD)
    found = results(suite_of(repository / "app/ci/renode.robot"), tmp_path)
    assert found == {"Golden Outputs Of digits": ("PASS", "")}


TESTER = programs.find_renode("renode-test")


@pytest.mark.parametrize("program", [TESTER] if TESTER else [])
@pytest.mark.parametrize("name", ["renode/board.robot", "ci/renode.robot"])
def test_the_renode_half_in_renode(program: Path, name: str, repository: Path, tmp_path: Path) -> None:
    command = [program, "-r", str(tmp_path), str(repository / "app" / name)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_outputs_may_be_recorded_and_changes_are_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = aboard.create([tiny_bundle(tmp_path / "b", "cortex-m4", "tiny")], BOARD, path=tmp_path / "app")
    project.build()
    words = ["ci", "init", str(project.path), "--samples", "1", "--json"]
    assert invoke(words) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["emulator"], told["renode"], told["samples"]) == ("qemu", True, 1)
    assert told["origin"] == "what the image gave with qemu when they were recorded"
    assert told["root"] == str(project.path)
    assert set(told["files"]) == {
        *(ci.WORKFLOW, "ci/qemu.robot", "ci/renode.robot"),
        *("ci/golden/tiny_0_input.npz", "ci/golden/tiny_0_output.npz"),
    }
    golden = project.path / "ci/golden"
    with np.load(golden / "tiny_0_input.npz") as fed, np.load(golden / "tiny_0_output.npz") as given:
        assert (next(iter(given.values())) == ~next(iter(fed.values()))).all()
    assert workflow(project.path)["env"]["PROJECT"] == "."
    assert (told["package"], told["package_present"]) == (ci.DEFAULT_PACKAGE, False)
    assert invoke(words) == 0
    capsys.readouterr()
    (project.path / "ci/qemu.robot").write_text("mine\n", encoding="utf-8")
    assert invoke(words) == 1
    assert "ci/qemu.robot: holds 5 bytes that aboard did not write, or that were changed" in capsys.readouterr().err
    assert invoke([*words, "--force"]) == 0
    assert "Golden Outputs Of tiny" in (project.path / "ci/qemu.robot").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("package", "present"),
    [("wheels/aboard.whl", True), ("lib/aboard.whl", False), ("https://files.test/aboard.whl", None)],
)
def test_the_workflow_installs_the_package_that_is_named(
    package: str, present: bool | None, repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    top = tmp_path / "top"
    shutil.copytree(repository, top)
    (top / "wheels").mkdir()
    (top / "wheels/aboard.whl").touch()
    words = ["ci", "init", str(top / "app"), "--reference", str(MODEL), "--samples", "2", "--package", package]
    assert invoke([*words, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["package"], result["package_present"]) == (package, present)
    assert workflow(top)["env"]["ABOARD"] == package
    assert invoke(words) == 0
    missing = f"The workflow installs aboard from {package}, which is not there. Put the wheel there (make wheel"
    assert (missing in capsys.readouterr().out) == (present is False)


def test_a_reference_of_another_model_is_refused(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.tflite"
    other.write_bytes(b"TFL3")
    assert invoke(["ci", "init", str(repository / "app"), "--reference", str(other)]) == 1
    assert "--reference: no file is what digits was compiled from, got" in capsys.readouterr().err


def test_a_root_beside_the_project_is_refused(repository: Path, tmp_path: Path) -> None:
    project = Project.open(repository / "app")
    with pytest.raises(ProjectError, match=r"does not hold the project, got .*app\. Name a folder above it"):
        ci.write(project, [], "nowhere", tmp_path)


def test_a_board_that_nothing_emulates_is_refused(repository: Path) -> None:
    project = Project.open(repository / "app")
    none = project.board.emulator.model_copy(update={"qemu": None, "unicorn": None, "renode": None})
    board = project.board.model_copy(update={"emulator": none})
    bare = Project(project.path, project.info.model_copy(update={"board": board}))
    golden = [ci.Golden("digits", [({}, {})])]
    with pytest.raises(ProjectError, match=r"no emulator can be this board, got a board file without one, expected"):
        ci.write(bare, golden, "nowhere", repository)


@pytest.mark.parametrize(
    ("board", "core", "jobs", "sdk"),
    [
        ("nordic/nrf52840dk", "cortex-m4", ["renode"], "arm-zephyr-eabi"),
        ("arm/mps3_an547", "cortex-m55", ["qemu", "renode"], "arm-zephyr-eabi"),
    ],
)
def test_workflow_of_a_zephyr_application(board: str, core: str, jobs: list[str], sdk: str, tmp_path: Path) -> None:
    project = aboard.create([tiny_bundle(tmp_path / "b", core, "tiny")], board, "zephyr", tmp_path / "repo/app")
    files = ci.write(project, [ci.Golden("tiny", [({}, {})])], "nowhere", tmp_path / "repo")
    content = workflow(tmp_path / "repo")
    assert list(content["jobs"]) == jobs
    assert content["env"]["PROJECT"] == "repository/app"
    assert content["env"]["ABOARD"] == f"repository/{ci.DEFAULT_PACKAGE}"
    assert content["env"]["RENODE_VERSION"] == ("latest" if core == "cortex-m55" else "1.16.1")
    for job in content["jobs"].values():
        assert job["steps"][0]["with"] == {"path": "repository"}
        assert job["steps"][2]["with"] == {"app-path": "repository/app", "toolchains": sdk}
    assert (tmp_path / "repo/app/ci/renode.robot") in files
