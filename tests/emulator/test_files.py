"""Commands that run a model keep the files of others, in the project and as results."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from aboard import cli
from aboard.base import resources

BOARD = ["--board", "host/native"]


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_results_of_others_stay(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    deploy = ["deploy", "digits", *BOARD, "--output", "y.npz"]
    for words in (deploy, deploy, ["run", "build/digits-host_native", "--output", "y.npz"]):
        assert cli.invoke(words) == 0
    np.savez("y.npz", mine=np.zeros(3))
    mine = (work / "y.npz").read_bytes()
    for words in (deploy, ["run", "build/digits-host_native", "--output", "y.npz"]):
        assert cli.invoke(words) == 1
        assert "y.npz: holds" in capsys.readouterr().err
        assert (work / "y.npz").read_bytes() == mine
    assert cli.invoke(["run", "build/digits-host_native", "--output", "y.npz", "--force"]) == 0
    with np.load("y.npz") as found:
        assert found.files != ["mine"]


def test_a_project_that_was_worked_on_stays(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = str(resources.models() / "digits_test.npz")
    further = {"verify": ["--samples", "1"], "evaluate": ["--data", data, "--samples", "1"], "deploy": []}
    assert cli.invoke(["deploy", "digits", *BOARD, "-o", "app"]) == 0
    (work / "app/src/main.c").write_text("mine")
    (work / "app/src/sensor.c").write_text("mine, too")
    for command, words in further.items():
        assert cli.invoke([command, "digits", *BOARD, *words, "-o", "app"]) == 1
        assert "which would overwrite src/main.c and keep the rest" in capsys.readouterr().err
        assert (work / "app/src/main.c").read_text() == "mine"
    for command, words in further.items():
        assert cli.invoke([command, "digits", *BOARD, *words, "-o", "app", "--force"]) == 0
        assert (work / "app/src/main.c").read_text() != "mine"
        assert (work / "app/src/sensor.c").read_text() == "mine, too"


def test_a_project_of_another_model_stays_where_no_folder_was_named(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.invoke(["deploy", "digits", *BOARD]) == 0
    capsys.readouterr()
    assert cli.invoke(["deploy", "digits_f32", "--name", "digits", *BOARD, "--json"]) == 1
    message = json.loads(capsys.readouterr().out)["error"]["message"]
    assert message.startswith("build/digits-host_native: holds the project of digits.tflite (")
    assert "expected that of digits_f32.tflite (" in message


def test_a_build_folder_with_files_of_others_is_refused(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["create", "digits", *BOARD, "-o", "app"]) == 0
    (work / "app/build").mkdir()
    (work / "app/build/notes.txt").write_text("mine")
    assert cli.invoke(["build", "app"]) == 1
    assert "app/build: holds files that no build made, got notes.txt" in capsys.readouterr().err
    assert (work / "app/build/notes.txt").read_text() == "mine"
    (work / "app/build/notes.txt").unlink()
    (work / "app/build").rmdir()
    (work / "disk").mkdir()
    (work / "app/build").symlink_to(work / "disk")
    assert cli.invoke(["build", "app"]) == 0
    assert (work / "app/build").is_symlink()
    assert (work / "disk/CMakeCache.txt").is_file()
