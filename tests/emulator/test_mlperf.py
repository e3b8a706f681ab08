"""Images that speak MLPerf Tiny's protocol, driven as the published runner drives them: over a pseudo-terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest

from aboard import boards, cli
from aboard.api import Project, Session, create
from aboard.base import manifest
from aboard.errors import ProjectError
from aboard.runners.native import NativeRunner
from aboard.runners.qemu import QemuRunner
from support.bundles import BYTES, LINGER, tiny_bundle
from support.mlperf_runner import Runner

BOARDS = {"qemu": "arm/mps2_an386", "native": "host/native"}
GREETING = ["m-timestamp-mode-performance", "m-lap-us-", "m-init-done", "m-ready"]
SCALE, ZERO_POINT = 0.25, 3
PLAIN = np.arange(BYTES, dtype=np.uint8) * 3


def make(folder: Path, board: str, **options: str) -> Project:
    """Builds a project with the hand-written model, whose output is the complement of its input."""
    bundle = tiny_bundle(folder / "bundle", boards.load(board).core().mcpu)
    model = manifest.read(bundle)
    quantized = {"scale": SCALE, "zero_point": ZERO_POINT}
    inputs = [tensor.model_copy(update=quantized) for tensor in model.inputs]
    outputs = [tensor.model_copy(update=quantized) for tensor in model.outputs]
    manifest.write(model.model_copy(update={"inputs": tuple(inputs), "outputs": tuple(outputs)}), bundle)
    project = create(bundle, board, path=folder / "project", options={"protocol": "mlperf", **options})
    project.build()
    return project


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Project]:
    return {name: make(tmp_path_factory.mktemp(name), board) for name, board in BOARDS.items()}


@contextmanager
def booted(project: Project) -> Iterator[Runner]:
    """Boots an image and gives the runner a line to it on which the greeting is over."""
    chosen = NativeRunner(project.board) if project.board.is_host else QemuRunner(project.board, serial="pty")
    with chosen, closing(chosen.start(project)) as line:
        runner = Runner(line)
        runner.greeting()
        yield runner


@pytest.fixture(params=BOARDS)
def device(request: pytest.FixtureRequest, projects: dict[str, Project]) -> Iterator[Runner]:
    with booted(projects[request.param]) as runner:
        yield runner


def answers(inputs: np.ndarray) -> list[float]:
    """What the model answers to an input, to three decimals."""
    outputs = ~inputs.view(np.int8)
    return [float(f"{SCALE * (int(value) - ZERO_POINT):.3f}") for value in outputs]


def test_a_device_greets_and_says_who_it_is(projects: dict[str, Project]) -> None:
    # QEMU starts the machine when the line is connected; on a pseudo-terminal, whoever opens it late misses words.
    project = projects["qemu"]
    with QemuRunner(project.board) as machine, closing(machine.start(project)) as line:
        runner = Runner(line)
        lines = runner.greeting()
        assert [line[: len(wanted)] for line, wanted in zip(lines, GREETING, strict=True)] == GREETING
        assert runner.name() == "arm/mps2_an386"
        assert runner.model() == "tiny"
        assert {line.split()[0].rstrip(":") for line in runner.command("help")} >= {"name", "db", "infer", "results"}


def test_a_benchmark_as_the_runner_runs_it(device: Runner) -> None:
    assert device.name() in BOARDS.values()
    device.load(PLAIN.tobytes())
    first = device.infer(5, 2)
    assert list(first.results) == answers(PLAIN)
    assert first.microseconds >= 0
    assert list(device.results()) == answers(PLAIN)
    device.load(PLAIN[::-1].tobytes())
    assert list(device.infer(1, 0).results) == answers(PLAIN[::-1].copy())


def test_times_are_those_of_the_inferences(projects: dict[str, Project]) -> None:
    x = PLAIN.copy()
    x[0] = LINGER
    with booted(projects["qemu"]) as device:
        device.load(x.tobytes())
        one, five = device.infer(1, 3).microseconds, device.infer(5, 0).microseconds
        clock = [int(device.command("timestamp")[0].removeprefix("m-lap-us-")) for _ in range(2)]
    # A million turns of a loop of three to eight instructions at a nanosecond each.
    assert 3_000 < one < 8_000
    assert five == pytest.approx(5 * one, rel=0.001)
    assert clock[1] > clock[0] > 9 * one


def test_commands_without_a_gap_are_all_answered(device: Runner) -> None:
    device.send("%".join(["name"] * 8))
    for _ in range(8):
        (line,) = device.answer()
        assert line.startswith("m-name-dut-[")


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("frobnicate 3", "e-[Unknown command: frobnicate]"),
        ("", "e-[Unknown command: ]"),
        ("x" * 81, "e-[The command is too long]"),
        ("db", "e-[Command 'db' requires a subcommand]"),
        ("db load", "e-[Command 'db load' requires the # of bytes]"),
        ("db load 0", "e-[Command 'db load' must be >0 bytes]"),
        ("db load -4", "e-[Command 'db load' must be >0 bytes]"),
        ("db load 65", "e-[The input has 64 bytes]"),
        ("db load 99999999999999999999", "e-[Command 'db load' must be >0 bytes]"),
        ("db 00", "e-[Command 'db' requires 'db load' first]"),
        ("infer 0", "e-[Inference iterations must be >0]"),
        ("infer x", "e-[Inference iterations must be >0]"),
        ("infer 1 -1", "e-[Inference warmup must be >=0]"),
        ("infer 1 0", "e-[The input has 64 bytes, of which 0 were loaded]"),
        ("results", "e-[There was no inference yet]"),
    ],
)
def test_a_wrong_command_is_refused_with_a_reason(command: str, answer: str, native: Runner) -> None:
    assert native.command(command) == [answer]
    assert native.name() == "host/native"


@pytest.fixture
def native(projects: dict[str, Project]) -> Iterator[Runner]:
    with booted(projects["native"]) as runner:
        yield runner


def test_bytes_are_taken_in_any_pieces(native: Runner) -> None:
    assert native.command("db load 10") == ["m-[Expecting 10 bytes]"]
    assert native.command("db 0aF") == ["e-[Insufficent number of hex digits]"]
    assert native.command("db 0A0bfZ") == ["e-[Invalid hex digit 'fZ']"]
    assert native.command("db print") == ["m-buffer-0a-0b"]
    assert native.command("db 02030405060708FFEEDD") == ["m-load-done"]
    assert native.command("db print") == ["m-buffer-0a-0b-02-03-04-05-06-07", "m-buffer-08-ff"]
    assert native.command("db 11") == ["e-[Command 'db' requires 'db load' first]"]
    assert native.command("infer") == ["e-[The input has 64 bytes, of which 10 were loaded]"]


def test_what_people_type_is_taken_too(native: Runner) -> None:
    assert native.command("\r\nname\r\n") == ["m-name-dut-[host/native]"]
    native.load(PLAIN.tobytes())
    assert native.command("infer   2")[0] == "m-warmup-start-10"


def test_pixels_become_int8(tmp_path: Path) -> None:
    with booted(make(tmp_path, "host/native", mlperf_model="vww01")) as device:
        assert device.model() == "vww01"
        device.load(PLAIN.tobytes())
        assert list(device.infer(3, 1).results) == answers((PLAIN ^ 0x80).view(np.uint8))


def test_floats_are_quantized_and_compared_with_the_output(tmp_path: Path) -> None:
    floats = np.linspace(-40, 40, BYTES, dtype=np.float32)
    floats[5] = SCALE * 1.5  # a tie
    quantized = np.clip(np.trunc(floats / SCALE + np.copysign(0.5, floats)) + ZERO_POINT, -128, 127).astype(np.int8)
    outputs = SCALE * (~quantized).astype(np.float64) - SCALE * ZERO_POINT
    with booted(make(tmp_path, "arm/mps2_an386", mlperf_model="ad01")) as device:
        device.load(floats.tobytes())
        (error,) = device.infer(2, 1).results
    assert error == pytest.approx(float(np.mean((outputs - floats) ** 2)), abs=0.002)


def test_the_buffers_are_as_large_as_the_benchmark_needs(projects: dict[str, Project]) -> None:
    main = (projects["qemu"].path / "src/main.c").read_text()
    assert f"static uint8_t db[{BYTES}];" in main
    assert "quantized" not in main
    assert "node_ticks" not in main
    assert projects["qemu"].info.options["profile"] is False
    assert not (projects["qemu"].path / "firmware/rpc").exists()


def test_a_session_says_why_it_cannot_be(projects: dict[str, Project]) -> None:
    wanted = r"project: speaks another protocol, got mlperf, expected rpc\. Drive it with MLPerf Tiny's runner"
    with pytest.raises(ProjectError, match=wanted):
        Session.open(projects["native"])


def test_commands_know_that_there_is_no_session(
    projects: dict[str, Project], capfd: pytest.CaptureFixture[str]
) -> None:
    assert cli.invoke(["build", str(projects["native"].path)]) == 0
    assert "aboard run" not in capfd.readouterr().out
    words = ["deploy", "digits", "--board", "host/native", "-O", "protocol=mlperf"]
    assert cli.invoke(words) == cli.EXIT_USER
    assert "speaks another protocol, got mlperf, expected rpc" in capfd.readouterr().err
