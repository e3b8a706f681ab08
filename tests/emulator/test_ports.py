"""Every port on every runner: boots, keeps its counter, survives faults, leaves nothing behind."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from aboard import boards, runners
from aboard.api import Project, Session, create
from aboard.errors import DeviceFault, ToolError, TransportError
from aboard.rpc.exchange import Timing
from aboard.runners.native import NativeRunner
from aboard.runners.qemu import QemuRunner
from support.bundles import BYTES, CRASH, HANG, LINGER, tiny_bundle

# In both emulators.
EMULATED = [
    "arm/mps2_an385",
    "arm/mps2_an386",
    "arm/mps2_an500",
    "arm/mps2_an505",
    "arm/mps3_an547",
    "bbc/microbit",
    "netduino/netduinoplus2",
    "riscv/qemu_virt32",
    "ti/lm3s6965evb",
]
REAL = ["nordic/nrf52840dk", "nordic/nrf5340dk", "raspberrypi/rpi_pico"]
REAL += ["espressif/esp32c3_devkitm", "nxp/mimxrt1060_evk", "raspberrypi/rpi_pico2:hazard3"]
REAL += ["st/nucleo_f746zg", "st/nucleo_h743zi", "st/nucleo_l4r5zi", "st/stm32f4_disco"]
BOTH = ("qemu", "unicorn")
PLACES = [(board, runner) for board in EMULATED for runner in BOTH]
PLACES.remove(("arm/mps3_an547", "unicorn"))
PLACES += [(board, "unicorn") for board in REAL]
# Ports with the drivers and the start-up code of others. test_board_setup.py tries the clocks of the STM32s, and
# unit/boards/test_pins.py the pins. Everything else here runs with ABOARD_FULL.
KIN = ["arduino/nano_33_ble", "bbc/microbit_v2", "nordic/nrf52833dk", "nordic/nrf52dk", "st/nucleo_f411re"]
KIN += [
    "espressif/esp32c6_devkitc",
    "raspberrypi/rpi_pico2",
    "st/nucleo_f446re",
    "st/nucleo_g431kb",
    "st/nucleo_u575zi_q",
    "st/nucleo_wb55rg",
    "weact/blackpill_f411ce",
]
KIN_PLACES = [(board, "unicorn") for board in KIN]
FIRST_OF_KIN = [(name, "unicorn") for name in ("bbc/microbit_v2", "espressif/esp32c6_devkitc", "st/nucleo_u575zi_q")]
PLACES += [("sifive/hifive1", "qemu"), ("host/native", "native")]
PLACES += KIN_PLACES if os.environ.get("ABOARD_FULL") else []


@pytest.fixture(scope="module")
def project_of(tmp_path_factory):
    @functools.cache
    def build(board: str, toolchain: str | None = None) -> Project:
        folder: Path = tmp_path_factory.mktemp("port")
        bundle = tiny_bundle(folder / "bundle", boards.load(board).core().mcpu)
        project = create(bundle, board, path=folder / "project")
        project.build(toolchain)
        return project

    return build


def sample(first: int = 0) -> np.ndarray:
    x = np.arange(BYTES, dtype=np.int8).reshape(1, BYTES) * 3
    x[0, 0] = first
    return x


def ends(pid: int) -> bool:
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        state = subprocess.run(["ps", "-o", "state=", "-p", str(pid)], capture_output=True, text=True, check=False)
        if state.stdout.strip() in ("", "Z"):
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize(("board", "runner"), list(dict.fromkeys([*PLACES, *FIRST_OF_KIN])))
def test_a_port_boots_and_runs(project_of, board, runner):
    project = project_of(board)
    with project.session(runner) as device:
        assert device.hello.board == boards.load(board).id
        assert device.hello.build == project.build_id
        assert device.hello.tick_hz == project.board.counter.hz
        for first in (0, -1, 99):
            np.testing.assert_array_equal(device.run(sample(first)), ~sample(first))
        assert 0 < device.infer(sample()).stack_bytes <= 1024
        assert device.fault() is None


@pytest.mark.parametrize(
    ("board", "runner"),
    [
        *((board, runner) for board in ("arm/mps2_an386", "bbc/microbit", "riscv/qemu_virt32") for runner in BOTH),
        ("raspberrypi/rpi_pico", "unicorn"),
        ("sifive/hifive1", "qemu"),
        ("st/nucleo_f746zg", "unicorn"),
        ("espressif/esp32c3_devkitm", "unicorn"),
    ],
)
def test_the_same_with_zig(project_of, board, runner):
    with project_of(board, "zig").session(runner) as device:
        np.testing.assert_array_equal(device.run(sample()), ~sample())


@pytest.mark.parametrize("board", ["arm/mps2_an386", "arm/mps2_an505", "bbc/microbit", "riscv/qemu_virt32"])
def test_unicorn_counts_as_qemu_does(project_of, board):
    counts = []
    for runner in ("qemu", "unicorn"):
        # Asking again during the run would cost the instructions of the receive interrupt.
        with Session.open(project_of(board), runner, timing=Timing(attempt_s=60)) as device:
            counts.append(device.run_n(sample(LINGER), 2).fewest.instructions)
    tick = 10**9 // project_of(board).board.counter.hz + 1
    assert abs(counts[0] - counts[1]) <= 2 * tick
    # A million turns of a loop of three to eight instructions.
    assert 3_000_000 < counts[0] < 8_000_000


@pytest.mark.parametrize(("board", "runner"), [place for place in PLACES if place[0] != "arm/mps2_an500"])
def test_a_fault_is_recorded_and_the_device_restarts(project_of, board, runner):
    with project_of(board).session(runner) as device:
        with pytest.raises(DeviceFault, match="RUN: the device crashed and restarted"):
            device.run(sample(CRASH))
        record = device.fault(clear=True)
        assert record is not None
        breakpoint_ends = board == "host/native" or boards.load(board).core().mcpu.startswith("rv")
        assert record.kind == (4 if breakpoint_ends else 3)
        assert device.fault() is None
        np.testing.assert_array_equal(device.run(sample()), ~sample())


def where_it_stopped(report):
    """What the core itself records. The callers are found by a scan of the stack, which also meets words of calls that
    have returned, and those depend on how often the host has greeted the device."""
    record = report.record
    return record.kind, record.status, record.address, record.registers[:9], report.places


def test_both_emulators_record_the_same_fault(project_of):
    records = []
    for runner in ("qemu", "unicorn"):
        with project_of("arm/mps2_an386").session(runner) as device:
            with pytest.raises(DeviceFault):
                device.run(sample(CRASH))
            records.append(device.fault())
    assert [where_it_stopped(record) for record in records] == [where_it_stopped(records[0])] * 2
    for record in records:
        called = [place.function for place in record.callers]
        path = [called.index(name) for name in ("run", "aboard_run_once", "aboard_request_run", "aboard_server_poll")]
        assert path == sorted(path)
    code = project_of("arm/mps2_an386").board.load_memory
    assert code.address <= records[0].registers["pc"] < code.end
    assert records[0].status == 0x10000  # UNDEFINSTR


@pytest.mark.parametrize("board", ["arm/mps2_an386", "ti/lm3s6965evb", "riscv/qemu_virt32"])
def test_qemu_over_a_serial_port(project_of, board):
    project = project_of(board)
    runner = QemuRunner(project.board, serial="pty")
    with Session.open(project, runner) as device:
        np.testing.assert_array_equal(device.run(sample()), ~sample())
        assert runner.pid
    assert ends(runner.pid)


@pytest.mark.parametrize("board", ["arm/mps2_an386", "host/native"])
def test_an_emulator_that_is_killed_during_a_run(project_of, board):
    project = project_of(board)
    runner = runners.choose(project.board)
    assert isinstance(runner, (QemuRunner, NativeRunner))
    with Session.open(project, runner) as device:
        device.run(sample())
        assert runner.pid
        threading.Timer(0.3, os.kill, (runner.pid, signal.SIGKILL)).start()
        with pytest.raises(TransportError):
            device.run(sample(HANG))
        assert ends(runner.pid)
    assert not runner.alive()
    assert "was killed by signal 9" in runner.end_reason()


def test_unicorn_ends_during_a_run(project_of):
    project = project_of("arm/mps2_an386")
    runner = runners.choose(project.board, "unicorn")
    with Session.open(project, runner) as device:
        device.run(sample())
        threading.Timer(0.3, runner.stop).start()
        with pytest.raises(TransportError):
            device.run(sample(HANG))
    assert not runner.alive()
    assert runner.end_reason() == "unicorn: it was stopped"


@pytest.mark.parametrize("runner", ["qemu", "unicorn"])
def test_bytes_that_come_during_a_run_are_kept(project_of, runner):
    project = project_of("arm/mps2_an386")
    chosen = runners.choose(project.board, runner)
    with Session.open(project, chosen) as device:
        before = device.stats()
        # The run takes longer than the client waits before it asks again, unless the device says it is busy.
        np.testing.assert_array_equal(device.run(sample(LINGER)), ~sample(LINGER))
        after = device.stats()
    assert after.damaged == before.damaged == 0
    assert after.requests > before.requests


def test_a_reset_clears_what_was_on_the_device(project_of):
    for board, runner in (("arm/mps2_an386", "qemu"), ("arm/mps2_an386", "unicorn"), ("host/native", "native")):
        with project_of(board).session(runner) as device:
            device.run(sample())
            device.reset()
            assert device.fault() is None
            np.testing.assert_array_equal(device.run(sample(5)), ~sample(5))


def test_an_image_that_was_not_built(project_of, tmp_path):
    for board in ("arm/mps2_an386", "host/native"):
        bundle = tiny_bundle(tmp_path / board / "bundle", boards.load(board).core().mcpu)
        project = create(bundle, board, path=tmp_path / board / "project")
        with pytest.raises(ToolError, match=r"no image, expected a built project. Run `aboard build"):
            project.session().close()


def test_an_emulator_that_does_not_start(project_of):
    project = project_of("arm/mps2_an386")
    qemu = project.board.emulator.qemu.model_copy(update={"machine": "mps9"})
    emulator = project.board.emulator.model_copy(update={"qemu": qemu})
    runner = QemuRunner(project.board.model_copy(update={"emulator": emulator}))
    with pytest.raises(
        ToolError, match=r"QEMU: did not start, got QEMU ended with exit code 1, and said: .*machine type"
    ):
        runner.start(project)
    assert not runner.alive()


@pytest.mark.parametrize("board", ["arm/mps2_an386", "arm/mps3_an547", "bbc/microbit"])
def test_a_run_takes_the_same_ticks_every_time(project_of, board):
    with project_of(board).session("qemu") as device:
        seen = {device.infer(sample(LINGER)).duration.ticks for _ in range(8)}
        series = device.run_n(sample(LINGER), 4)
    assert seen == {series.fewest.ticks} == {series.most.ticks}
