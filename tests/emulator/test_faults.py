"""Faults that firmware is made to take, as the host tells them: cause, function, file and line, on real images."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from aboard import boards, cli
from aboard.api import Project, create
from aboard.errors import DeviceFault
from aboard.faults import Cause, FaultReport
from support.bundles import BYTES, CRASH, LOST, NOWHERE, OVERFLOW, UNALIGNED, UNMAPPED, tiny_bundle

SOURCE = "models/tiny/src/tiny.c"
Build = Callable[..., Project]

#: What comes of each fault: cause, function, and what the board's file says of the address.
WANTED = {
    CRASH: (Cause.UNDEFINED, "misbehave", ""),
    OVERFLOW: (Cause.STACK_OVERFLOW, "dig", "below the stack"),
    UNALIGNED: (Cause.UNALIGNED, "read_unaligned", ""),
    UNMAPPED: (Cause.BUS, "read_at", "where the board's file has no memory"),
    LOST: (Cause.JUMP, "leave", "where the board's file has no memory"),
}
PLACES = [
    *(("arm/mps2_an386", "qemu", what) for what in WANTED),
    *(("arm/mps2_an505", "qemu", what) for what in WANTED),
    *(("riscv/qemu_virt32", "qemu", what) for what in WANTED),
    # 0x90000000 is memory of this board.
    *(("arm/mps3_an547", "qemu", what) for what in (CRASH, OVERFLOW, UNALIGNED)),
    # These let unaligned accesses pass.
    *(("bbc/microbit", "qemu", what) for what in (CRASH, OVERFLOW, UNMAPPED, LOST)),
    *(("arm/mps2_an386", "unicorn", what) for what in (CRASH, OVERFLOW, UNMAPPED, LOST)),
    *(("riscv/qemu_virt32", "unicorn", what) for what in (CRASH, OVERFLOW, UNMAPPED, LOST)),
    *(("host/native", "native", what) for what in (CRASH, OVERFLOW, UNMAPPED, LOST)),
]


@pytest.fixture(scope="module")
def project_of(tmp_path_factory: pytest.TempPathFactory) -> Build:
    @functools.cache
    def build(board: str, toolchain: str | None = None) -> Project:
        folder: Path = tmp_path_factory.mktemp("faults")
        bundle = tiny_bundle(folder / "bundle", boards.load(board).core().mcpu)
        project = create(bundle, board, path=folder / "project")
        project.build(toolchain)
        return project

    return build


def fault_of(project: Project, runner: str, what: int) -> FaultReport:
    """Makes a device crash, and returns what the error says of it; checks that it works again."""
    x = np.zeros((1, BYTES), np.int8)
    with project.session(runner) as device:
        x[0, 0] = what
        with pytest.raises(DeviceFault, match=r"RUN: the device crashed and restarted, got fault \d+: ") as caught:
            device.run(x)
        assert device.fault(clear=True) == caught.value.fault
        assert device.fault() is None
        x[0, 0] = 0
        np.testing.assert_array_equal(device.run(x), ~x)
    assert isinstance(caught.value.fault, FaultReport)
    assert str(caught.value.fault) in str(caught.value)
    return caught.value.fault


def line_of(project: Project, text: str) -> int:
    """Number of the only line of the model's source with a text."""
    lines = (project.path / SOURCE).read_text().splitlines()
    (number,) = [number for number, line in enumerate(lines, 1) if text in line]
    return number


@pytest.mark.parametrize(("board", "runner", "what"), PLACES)
def test_a_fault_is_told_with_cause_function_and_line(project_of: Build, board: str, runner: str, what: int) -> None:
    project = project_of(board)
    report = fault_of(project, runner, what)
    cause, function, region = WANTED[what]
    if what == CRASH and board.startswith("riscv"):
        cause = Cause.BREAKPOINT  # what a trap is there
    assert report.cause is cause
    if board == "host/native":
        region = region.replace("board's file", "process")
    if what != UNALIGNED:
        assert report.region == region
    if what in (UNMAPPED, LOST):
        assert report.address is not None
        assert report.address & ~1 == NOWHERE & ~1
    if what == LOST and board == "host/native":
        assert report.place is None  # a process tells no callers
        return
    assert (report.function, report.file) == (function, SOURCE)
    if what == CRASH:
        assert report.line == line_of(project, "__builtin_trap")
    if what == UNMAPPED:
        assert report.line == line_of(project, "return *(const volatile uint32_t *)address;")


@pytest.mark.parametrize("board", ["arm/mps2_an386", "riscv/qemu_virt32"])
def test_callers_are_told_down_to_the_request(project_of: Build, board: str) -> None:
    report = fault_of(project_of(board), "qemu", UNMAPPED)
    called = [place.function for place in report.callers]
    # The record has room for the innermost calls; those of the server's own loop come after them.
    path = ["misbehave", "run", "aboard_run_once", "aboard_request_run"]
    assert [name for name in called if name in path and name != "run"] == [name for name in path if name != "run"]
    assert "run" in called[: called.index("aboard_run_once")]
    text = str(report)
    assert text.splitlines()[0].endswith(f"in read_at ({SOURCE}:{report.line})")
    assert "\n  called from aboard_request_run (" in text
    assert "registers r0=" in text or "registers ra=" in text


def test_an_overflow_is_told_once_and_not_over_and_over(project_of: Build) -> None:
    text = str(fault_of(project_of("arm/mps2_an386"), "qemu", OVERFLOW))
    assert "stack overflow at 0x1fff" in text
    assert "below the stack, called from dig (models/tiny/src/tiny.c:" in text
    assert "), 6 times and more\n" in text


@pytest.mark.parametrize("board", ["arm/mps2_an386", "riscv/qemu_virt32", "host/native"])
def test_images_of_zig_tell_as_much(project_of: Build, board: str) -> None:
    project = project_of(board, "zig")
    report = fault_of(project, "native" if board == "host/native" else "qemu", UNMAPPED)
    assert (report.cause, report.function, report.file) == (Cause.BUS, "read_at", SOURCE)
    assert report.line == line_of(project, "return *(const volatile uint32_t *)address;")


def test_a_project_that_was_moved_still_names_its_files(project_of: Build, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere"
    project_of("bbc/microbit").path.rename(moved)
    try:
        report = fault_of(Project.open(moved), "qemu", CRASH)
    finally:
        moved.rename(project_of("bbc/microbit").path)
    assert report.file == SOURCE


def test_aboard_run_shows_it(project_of: Build, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    x = np.zeros((1, BYTES), np.int8)
    x[0, 0] = UNMAPPED
    np.save(tmp_path / "x.npy", x)
    folder = str(project_of("arm/mps2_an386").path)
    assert cli.invoke(["run", folder, "--input", str(tmp_path / "x.npy"), "--runner", "qemu"]) == cli.EXIT_USER
    shown = capfd.readouterr().err
    assert "bus fault at 0x90000000, where the board's file has no memory, in read_at (models/tiny/src/tiny.c:" in shown
    assert "called from misbehave (models/tiny/src/tiny.c:" in shown
