"""Models of devices in an emulated machine: registers, memory, time, interrupts, faults."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from aboard import boards, emulation, runners
from aboard.api import Project, create
from aboard.boards.board import Board
from aboard.emulation.bus import Bus
from aboard.errors import DeviceFault, ToolError, TransportError
from aboard.runners.unicorn import UnicornRunner, models
from aboard.target import DeviceOption, Runtime
from support.bundles import tiny_bundle
from support.device import device

M4 = boards.load("arm/mps2_an386")
BASE, IRQ = 0x5000_0000, 7
COPY, DONE, REPORT, FAULT = 0x00, 0x04, 0x08, 0x0C

# Copies four bytes through the device, sleeps until it says so, and reports what it found.
_MAIN = """\
#include <stdint.h>
#define REG(offset) (*(volatile uint32_t *)(0x50000000u + (offset)))
#define NVIC(offset) (*(volatile uint32_t *)(0xE000E000u + (offset)))
static volatile uint32_t words[2] __attribute__((aligned(16))) = {0x12345678u, 0u};
int main(void) {
    __asm volatile("cpsid i" ::: "memory");
    NVIC(0x100) = 1u << 7;
    REG(0) = (uint32_t)(uintptr_t)words;
    uint32_t turns = 0;
    while (REG(4) == 0u) {
        __asm volatile("wfi" ::: "memory");
        turns++;
    }
    NVIC(0x180) = 1u << 7;
    REG(8) = words[1];
    REG(8) = turns;
    REG(12) = NVIC(0x100);
    for (;;) {
    }
}
"""


class Copier:
    """Copies a word to the place behind it, a million instructions later."""

    name = "copier"
    base = BASE
    size = 0x10

    def attach(self, bus: Bus) -> None:
        self.bus = bus
        self.resets = 0

    def reset(self) -> None:
        self.resets += 1
        self.done = False
        self.reported: list[int] = []
        self.started = self.took = 0

    def read(self, offset: int, size: int) -> int:
        assert (offset, size) == (DONE, 4)
        self.bus.interrupt(IRQ, active=False)
        return int(self.done)

    def write(self, offset: int, size: int, value: int) -> None:
        assert size == 4
        if offset == FAULT:
            raise DeviceFault(f"copier: told so, got {value}, expected nothing. Do not")
        if offset == REPORT:
            self.reported.append(value)
            return
        self.started = self.bus.count
        self.bus.schedule(self.started + 1_000_000, lambda: self._copy(value))

    def _copy(self, address: int) -> None:
        self.bus.write(address + 4, self.bus.read(address, 4))
        self.took = self.bus.count - self.started
        self.done = True
        self.bus.interrupt(IRQ, active=True)


def built(folder: Path, main: str, board: Board = M4) -> Project:
    project = create(tiny_bundle(folder / "bundle", board.core().mcpu), board, path=folder / "project")
    (project.path / "src/main.c").write_text(main)
    project.build()
    return project


def test_a_device_copies_while_the_core_sleeps(tmp_path: Path) -> None:
    project = built(tmp_path, _MAIN)
    copier = Copier()
    machine = emulation.machine(M4, [copier])
    machine.start(project.image)
    deadline = time.monotonic() + 10
    while machine.alive() and time.monotonic() < deadline:
        time.sleep(0.01)
    machine.stop()
    assert copier.resets == 1
    assert copier.reported == [0x12345678, 1]
    assert copier.took == 1_000_000
    assert machine.count < 1_100_000
    # The interrupt was disabled again, and the fault ended the machine.
    assert machine.failure == "copier: told so, got 0, expected nothing. Do not"


def test_the_line_says_what_a_device_found(tmp_path: Path) -> None:
    project = built(tmp_path, "int main(void) { *(volatile unsigned *)0x5000000Cu = 3u; for (;;) { } }\n")
    kinds = {"v1": (), "v2": ()}
    with device(kinds, peripherals=lambda target: (Copier(),)), runners.choose(M4, "unicorn") as runner:
        assert isinstance(runner, UnicornRunner)
        runner_models = models(_with_target(project, "arm/mps2_an386 + fake -model=v2"))
        assert [model.name for model in runner_models] == ["copier"]
        line = runner.start(_with_target(project, "arm/mps2_an386 + fake"))
        with pytest.raises(
            DeviceFault, match=r"unicorn arm/mps2_an386: copier: told so, got 3, expected nothing\. Do not"
        ):
            line.read(10)
        assert runner.end_reason() == "unicorn: copier: told so, got 3, expected nothing. Do not"
        with pytest.raises(DeviceFault, match="told so"):
            line.read(1)


def test_models_of_equal_devices_are_one(tmp_path: Path) -> None:
    project = _with_target(
        create(tiny_bundle(tmp_path / "b", "cortex-m4"), M4, path=tmp_path / "p"),
        "arm/mps2_an386 + fake -claim-ops=conv2d",
        "arm/mps2_an386 + fake",
        "arm/mps2_an386 + fake -model=v2",
        "arm/mps2_an386 + cmsis-nn",
    )
    with device({"v1": (), "v2": ()}, peripherals=lambda target: (str(target.get("model")),)):
        assert models(project) == ["v1", "v2"]


class _Project:
    """A project whose models have other targets."""

    def __init__(self, project: Project, targets: tuple[str, ...]) -> None:
        self.image = project.image
        self.path = project.path
        self.info = project.info
        (model,) = project.models
        self.models = tuple(model.model_copy(update={"target": target}) for target in targets)


def _with_target(project: Project, *targets: str) -> Project:
    return _Project(project, targets)  # type: ignore[return-value]


def test_memory_that_a_device_may_not_touch() -> None:
    bus = emulation.machine(M4, [Copier()]).bus
    assert [memory.address for memory in bus.memories][:2] == [0, 0x2000_0000]
    bus.write(0x2000_0000, b"abcd")
    assert bus.read(0x2000_0002, 2) == b"cd"
    with pytest.raises(
        DeviceFault,
        match=r"memory at 0x203ffffe: a device cannot read 4 bytes there, expected an address in one of the memories "
        r"0x00000000 to 0x003fffff, 0x20000000 to 0x203fffff, .*\. Correct the address",
    ):
        bus.read(0x203F_FFFE, 4)
    with pytest.raises(
        DeviceFault, match=r"memory at 0x00000010: a device cannot write ssram1, which is flash, expected RAM\. Correct"
    ):
        bus.write(0x10, b"x")


def test_events_come_in_order() -> None:
    machine = emulation.machine(M4)
    seen: list[str] = []
    machine.bus.schedule(20, lambda: seen.append("b"))
    machine.bus.schedule(10, lambda: seen.append("a"))
    machine.bus.schedule(20, lambda: seen.append("c"))
    assert machine.bus.deadline == 10
    machine.bus.run(9)
    assert seen == []
    machine.bus.run(20)
    assert seen == ["a", "b", "c"]
    machine.bus.schedule(30, lambda: seen.append("d"))
    machine.bus.reset()
    machine.bus.run(40)
    assert seen == ["a", "b", "c"]


def test_what_cannot_be_mapped_or_interrupted() -> None:
    clash = Copier()
    clash.base = 0x4000_4000
    with pytest.raises(ToolError, match=r"device copier cannot be mapped at 0x40004000, got .*Give the device another"):
        emulation.machine(M4, [clash])
    machine = emulation.machine(boards.load("riscv/qemu_virt32"))
    with pytest.raises(DeviceFault, match=r"interrupt 7: the core has no line for it, got rv32imac.*Poll the device"):
        machine.bus.interrupt(7, active=True)


def test_the_line_is_gone_with_the_machine(tmp_path: Path) -> None:
    project = built(tmp_path, "int main(void) { for (;;) { } }\n")
    with runners.choose(M4, "unicorn") as runner:
        line = runner.start(project)
        runner.stop()
        with pytest.raises(TransportError, match="it was stopped"):
            line.read(1)


def test_runners_without_a_model_of_a_device_are_passed_over(tmp_path: Path) -> None:
    project = create(tiny_bundle(tmp_path / "b", "cortex-m4"), M4, path=tmp_path / "p")
    with device({"v1": (), "v2": ()}, peripherals=lambda target: ()):
        devices = runners.devices_of(_with_target(project, "arm/mps2_an386 + fake"))
        assert [d.kind.name for d in devices] == ["fake"]
        assert runners.choose(M4, devices=devices).name == "unicorn"
        with pytest.raises(
            ToolError,
            match=r"runner qemu: cannot be arm/mps2_an386, whose device fake it does not model, expected a board "
            r"it can be. Choose one for this board: unicorn",
        ):
            runners.choose(M4, "qemu", devices=devices)
    with device({"v1": (), "v2": ()}):
        assert runners.choose(M4, devices=devices).name == "qemu"


def test_an_option_of_a_project_replaces_a_device(tmp_path: Path) -> None:
    option = DeviceOption("fake", "The device.", {"hardware": None, "model": Runtime({})})
    columns = {"peripherals": lambda target: (str(target.get("model")),), "options": lambda target: (option,)}
    project = create(tiny_bundle(tmp_path / "b", "cortex-m4"), M4, path=tmp_path / "p")
    with device({"v1": (), "v2": ()}, **columns):
        fake = _with_target(project, "arm/mps2_an386 + fake")
        assert (models(fake), len(runners.devices_of(fake))) == (["v1"], 1)
        with pytest.raises(ToolError, match=r"whose device fake \(without -O fake=model\) it does not model, expected"):
            runners.choose(M4, "qemu", devices=runners.devices_of(fake))
        fake.info.options["fake"] = "model"
        assert (models(fake), runners.devices_of(fake)) == ([], [])
        assert runners.choose(M4, devices=runners.devices_of(fake)).name == "qemu"
