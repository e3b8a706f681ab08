"""`aboard run --state --save-state`: the steps of a sequence, one command each."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import aboard
from aboard import cli
from aboard.api import create
from aboard.base import resources
from support import oracle, streams

BOARD = "host/native"
Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("run")
    for name, model in (("wake", streams.window()), ("digits", resources.models() / "digits.tflite")):
        create(aboard.compile(model, board=BOARD, name=name), BOARD, path=made / name).build()
    return made


def run(capsys: Capture, code: int, *words: str | Path) -> dict[str, object]:
    assert cli.invoke(["run", *map(str, words), "--json"]) == code
    result: dict[str, object] = json.loads(capsys.readouterr().out)
    return result


def test_a_sequence_continues_from_command_to_command(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    steps = streams.draws([(1, 2, 1, 6)], 3)
    wanted = [outputs[0] for outputs in oracle.tflm_steps(streams.window(), steps)]
    state = tmp_path / "state.npz"
    for number, (x,) in enumerate(steps):
        np.save(tmp_path / "x.npy", x)
        words = ["--input", tmp_path / "x.npy", "--save-state", state, *(["--state", state] if number else [])]
        (values,) = run(capsys, 0, folder / "wake", *words, *(["--profile"] if number == 1 else []))["outputs"].values()  # type: ignore[attr-defined]
        np.testing.assert_array_equal(values, wanted[number])
    # Without --state it is a first step again.
    np.save(tmp_path / "x.npy", steps[0][0])
    (values,) = run(capsys, 0, folder / "wake", "--input", tmp_path / "x.npy")["outputs"].values()  # type: ignore[attr-defined]
    np.testing.assert_array_equal(values, wanted[0])


def test_a_wrong_state_is_refused_before_the_run(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    wake, digits = folder / "wake", folder / "digits"
    good, short, other, foreign = (tmp_path / f"{name}.npz" for name in ("good", "short", "other", "foreign"))
    run(capsys, 0, wake, "--save-state", good)
    with np.load(good) as file:
        arrays = {name: file[name] for name in file.files}
    names = list(arrays)
    np.savez(short, **{names[0]: arrays[names[0]]})
    np.savez(other, **{**arrays, names[0]: np.zeros(3, np.int8)})
    foreign.write_bytes(b"someone's")
    cases: list[tuple[list[str | Path], str]] = [
        (
            [wake, "--state", tmp_path / "none.npz"],
            "cannot be read, got: No such file or directory. Check the path of --state",
        ),
        ([wake, "--state", foreign], "not a .npz file of numbers"),
        ([wake, "--state", "x.npy"], "--state x.npy: got .npy, expected .npz. Name a file of --save-state"),
        ([wake, "--state", short], f"array {names[1]} is missing, got {names[0]}"),
        ([wake, "--state", other], f"wake: state {names[0]} has a wrong shape, got (3,), expected (1, 4, 1, 6)"),
        ([wake, "--save-state", "x.bin"], "--save-state x.bin: got .bin, expected .npz. Name it x.npz"),
        ([wake, "--save-state", foreign], "holds 9 bytes that aboard did not"),
        ([wake, "--save-state", good, "--output", good], "is the file of --output too. Name two files"),
        ([digits, "--state", good], "--state: digits has no state. Leave --state out"),
        ([digits, "--save-state", good], "--save-state: digits has no state. Leave --save-state out"),
    ]
    for words, message in cases:
        assert message in run(capsys, 1, *words)["error"]["message"], words  # type: ignore[index]
    assert foreign.read_bytes() == b"someone's"
    run(capsys, 0, wake, "--save-state", foreign, "--force")
    run(capsys, 0, wake, "--state", foreign)
