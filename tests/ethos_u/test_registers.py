"""The driver in an image of a Cortex-M33, on the registers of the functional model in the emulated machine."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

import aboard
from aboard import boards, emulation
from aboard.api import Project
from aboard.emulation import Bus
from aboard.errors import DeviceFault, DeviceStatusError, ToolError
from aboard.runners import all_runners, choose, devices_of, needed, unicorn
from aboard.target import Target
from aboard_ethos_u import peripheral
from aboard_ethos_u.peripheral import EthosU55
from support import ethos_u, npu_models, oracle

BOARD, REGISTERS, INTERRUPT = "arm/mps2_an505", 0x4810_2000, 9
TARGET = f"{BOARD} + ethos-u55 -macs=128 -address={REGISTERS:#x}"
BY_INTERRUPT = f"{TARGET} -irq={INTERRUPT} -wait=interrupt"
OK, UNSUPPORTED, TIMEOUT, DEVICE = 0, 6, 11, 12
RUNNING, IRQ, BUS, PARSE, END = 1 << 0, 1 << 1, 1 << 2, 1 << 4, 1 << 5
NOWHERE, FLASH = 0x6000_0000, 0x1030_0000
#: Command and register of streams: one that there is not, and that of the activation.
UNKNOWN, ACTIVATION = 0x021, 0x125
STATUS = 0x04
#: Instructions of the machine in a second, and until SysTick wraps, of which a tick is 50.
SECOND, ONE_WRAP = 1_000_000_000, 50 << 24


@dataclass(frozen=True)
class Step:
    """A job: what is special about it, and how the NPU is before it."""

    word: int = 0xFFFFFFFF
    value: int = 0
    target: int = 0
    id: int = 0
    sleeps: int = 0
    polls: int = 2000
    busy: int | None = peripheral.BUSY
    by_interrupt: bool = False


@dataclass(frozen=True)
class Outcome:
    """What the driver returned, its report, and the output."""

    status: int
    id: int
    config: int
    registers: int
    read: int
    calls: int
    y: bytes
    problem: str | None

    @property
    def end(self) -> int:
        return self.registers & (RUNNING | BUS | PARSE | END)


@dataclass
class Script:
    """The device of the test: it tells the image the next step, and takes what came of it."""

    npu: EthosU55
    steps: Sequence[Step]
    bytes: int
    id: int
    name = "script"
    base = 0x5030_0000
    size = 0x1000
    outcomes: list[Outcome] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.ended = threading.Event()

    def attach(self, bus: Bus) -> None:
        self.bus = bus

    def reset(self) -> None:
        self.words: list[int] = []
        self.output = 0

    def read(self, offset: int, size: int) -> int:
        if offset == 0:
            more = len(self.outcomes) < len(self.steps)
            if more:
                self.npu.busy = self.steps[len(self.outcomes)].busy
            return int(more)
        step = self.steps[len(self.outcomes)]
        values = (step.word, step.value, step.target, step.id or self.id, step.sleeps, step.polls, step.by_interrupt)
        return int(values[(offset - 0x10) // 4])

    def write(self, offset: int, size: int, value: int) -> None:
        if offset == 0x08:
            self.words.append(value)
        elif offset == 0x0C:
            self.output = value or self.output
            if value == 0:
                self.ended.set()
        else:
            self.outcomes.append(Outcome(*self.words, self.bus.read(self.output, self.bytes), self.npu.problem))
            self.words = []


@dataclass(frozen=True)
class Image:
    """An image that runs jobs of one layer; the layer's stream and its right output."""

    project: Project
    stream: list[int]
    expected: bytes
    id: int
    config: int

    def play(self, *steps: Step, macs: int = 128, npu: EthosU55 | None = None) -> list[Outcome]:
        """Returns what came of each step; the NPU and the image are as after a reset before the first."""
        npu = npu or EthosU55(REGISTERS, macs, INTERRUPT)
        script = Script(npu, steps, len(self.expected), self.id)
        machine = emulation.machine(boards.load(BOARD), [npu, script])
        machine.start(self.project.image)
        finished = script.ended.wait(30)
        machine.stop()
        assert finished, machine.failure
        assert len(script.outcomes) == len(steps)
        return script.outcomes


def array(name: str, values: np.ndarray, ctype: str, *, constant: bool = True) -> str:
    words = ", ".join(map(str, values.ravel().tolist()))
    return f"static {'const ' * constant}{ctype} {name}[] __attribute__((aligned(16))) = {{{words}}};\n"


@pytest.fixture(scope="module")
def product() -> aboard.Module:
    return aboard.compile(npu_models.product(), target=TARGET, name="product")


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    """An image with another `main`, that of `driver_on_board.c`; everything else is that of projects."""
    made, placed = ethos_u.compiled(npu_models.product(), ethos_u.device(128))
    x = np.random.default_rng(1).integers(-128, 128, (1, 37)).astype(np.int8)
    (expected,) = oracle.tflm(npu_models.product(), x)
    stream = placed.stream.astype(np.uint32)
    buffers = "{0u, weights, sizeof weights, false}, "
    buffers += f"{{{made.scratch_region}u, scratch, sizeof scratch, true}}, " if made.scratch else ""
    buffers += f"{{{placed.inputs[0]}u, x, sizeof x, false}}, {{{placed.outputs[0]}u, (target), sizeof y, true}}"
    header = array("weights", made.constants, "uint8_t") + array("x", x, "int8_t")
    header += array("stream", stream, "uint32_t", constant=False)
    header += array("y", np.zeros(expected.size, np.int8), "int8_t", constant=False)
    header += array("scratch", np.zeros(max(made.scratch, 1), np.uint8), "uint8_t", constant=False)
    macros = {"JOB_WORDS": stream.size, "JOB_CONFIG": f"{made.config:#x}u", "JOB_REGISTERS": f"{REGISTERS:#x}u"}
    macros |= {"JOB_INTERRUPT": INTERRUPT, "JOB_BUFFERS(target)": f"{{{buffers}}}"}
    header += "".join(f"#define {name} {value}\n" for name, value in macros.items())
    module = aboard.compile(npu_models.product(), target=BY_INTERRUPT, name="product")
    project = aboard.create(module, BOARD, path=tmp_path_factory.mktemp("driver") / "project")
    source = (ethos_u.SHIM / "driver_on_board.c").read_text(encoding="utf-8")
    (driver,) = project.path.rglob("ethos_u.h")
    (project.path / "src/main.c").write_text(source.replace('"ethos_u.h"', f'"{driver}"'), encoding="utf-8")
    (project.path / "src/job.h").write_text(header, encoding="utf-8")
    project.build()
    return Image(project, stream.tolist(), expected.tobytes(), made.id, made.config)


def test_two_jobs_after_one_another(image: Image) -> None:
    first, second = image.play(Step(), Step())
    assert (first.status, second.status) == (OK, OK)
    assert first.y == second.y == image.expected
    assert first.calls > 1


def test_an_error_in_the_stream_does_not_outlive_the_reset(image: Image) -> None:
    wrong, right = image.play(Step(word=0, value=UNKNOWN), Step())
    assert (wrong.status, wrong.end, wrong.read) == (DEVICE, PARSE, 0)
    assert (wrong.id, wrong.config & 0xFFFF) == (image.id, image.config & 0xFFFF)
    assert wrong.problem == "an unknown command"
    assert not any(wrong.y)
    assert (right.status, right.y, right.problem) == (OK, image.expected, None)


def test_an_error_within_the_stream_says_where(image: Image) -> None:
    last = len(image.stream) - 1
    (outcome,) = image.play(Step(word=last, value=UNKNOWN))
    assert (outcome.status, outcome.end, outcome.read) == (DEVICE, PARSE, 4 * last)


@pytest.mark.parametrize(
    ("target", "problem"),
    [(NOWHERE, "a region whose base pointer is not set"), (FLASH, "a write to a read-only region")],
)
def test_an_address_that_cannot_be_written_is_a_bus_error(image: Image, target: int, problem: str) -> None:
    wrong, right = image.play(Step(target=target), Step())
    assert (wrong.status, wrong.end, wrong.problem) == (DEVICE, BUS, problem)
    assert (right.status, right.y) == (OK, image.expected)


def test_an_output_that_reaches_beyond_the_memory_is_a_bus_error(image: Image) -> None:
    memory = next(m for m in boards.load(BOARD).memory if m.name == "ssram23")
    (outcome,) = image.play(Step(target=memory.address + memory.size_bytes - 16))
    assert (outcome.status, outcome.end) == (DEVICE, BUS)
    assert outcome.problem == "a feature map reaches outside of its region"


def test_a_job_that_does_not_end(image: Image) -> None:
    late, right = image.play(Step(busy=None, polls=300), Step())
    assert (late.status, late.end, late.calls) == (TIMEOUT, RUNNING, 301)
    assert not any(late.y)
    assert (right.status, right.y) == (OK, image.expected)


def test_a_job_that_was_given_up_does_not_end_in_the_next(image: Image) -> None:
    late, right = image.play(Step(busy=30_000, polls=100), Step(busy=60_000, polls=10_000))
    assert (late.status, any(late.y)) == (TIMEOUT, False)
    assert (right.status, right.y) == (OK, image.expected)
    assert right.calls > 10 * late.calls


def test_the_core_sleeps_until_the_interrupt(image: Image) -> None:
    first, second = image.play(Step(sleeps=1, busy=1_000_000), Step(sleeps=1, busy=1_000_000))
    assert (first.status, first.y, first.calls) == (OK, image.expected, 1)
    assert (second.status, second.y, second.calls) == (OK, image.expected, 1)


class Watched(EthosU55):
    """An NPU that counts how often its status is read."""

    looks = 0

    def read(self, offset: int, size: int) -> int:
        self.looks += offset == STATUS
        return super().read(offset, size)


def test_the_driver_waits_for_the_interrupt(image: Image) -> None:
    npu = Watched(REGISTERS, 128, INTERRUPT)
    asleep = Step(by_interrupt=True, busy=1_000_000)
    first, second, polled = image.play(asleep, asleep, Step(busy=20_000), npu=npu)
    assert (first.status, first.y, first.calls) == (OK, image.expected, 0)
    assert (second.status, second.y, second.calls) == (OK, image.expected, 0)
    assert (polled.status, polled.y) == (OK, image.expected)
    assert npu.looks < polled.calls + 20


def test_no_interrupt_is_lost_between_the_look_and_the_sleep(image: Image) -> None:
    npu = Watched(REGISTERS, 128, INTERRUPT)
    outcomes = image.play(*(Step(by_interrupt=True, busy=busy) for busy in range(1, 151)), npu=npu)
    assert {(outcome.status, outcome.y) for outcome in outcomes} == {(OK, image.expected)}
    assert npu._bus.count < ONE_WRAP


def test_errors_by_interrupt(image: Image) -> None:
    last = len(image.stream) - 1
    parse, bus, right = image.play(
        Step(by_interrupt=True, word=last, value=UNKNOWN),
        Step(by_interrupt=True, target=FLASH),
        Step(by_interrupt=True),
    )
    assert (parse.status, parse.end, parse.read) == (DEVICE, PARSE, 4 * last)
    assert (bus.status, bus.end) == (DEVICE, BUS)
    assert (right.status, right.y) == (OK, image.expected)


def test_an_interrupt_that_never_comes(image: Image) -> None:
    npu = Watched(REGISTERS, 128, INTERRUPT)
    late, right = image.play(Step(by_interrupt=True, busy=None), Step(by_interrupt=True), npu=npu)
    assert (late.status, late.end) == (TIMEOUT, RUNNING)
    assert not any(late.y)
    assert (right.status, right.y) == (OK, image.expected)
    assert 10 < npu._bus.count / SECOND < 12
    assert npu.looks < 40


def test_an_end_without_an_interrupt_is_found_at_the_next_wake_up(image: Image) -> None:
    (outcome,) = image.play(Step(by_interrupt=True, busy=2 * ONE_WRAP), npu=EthosU55(REGISTERS, 128))
    assert (outcome.status, outcome.y) == (OK, image.expected)


def test_a_job_that_was_given_up_raises_no_interrupt_in_the_next(image: Image) -> None:
    npu = Watched(REGISTERS, 128, INTERRUPT)
    almost = 10 * SECOND + 2 * ONE_WRAP
    late, right = image.play(Step(by_interrupt=True, busy=almost), Step(by_interrupt=True, busy=2 * ONE_WRAP), npu=npu)
    assert (late.status, any(late.y)) == (TIMEOUT, False)
    assert (right.status, right.y) == (OK, image.expected)


def test_an_npu_of_another_size(image: Image) -> None:
    (outcome,) = image.play(Step(), macs=256)
    assert (outcome.status, outcome.config & 15, image.config & 15) == (UNSUPPORTED, 8, 7)
    assert not any(outcome.y)


@pytest.mark.parametrize(("change", "status"), [(1 << 16, UNSUPPORTED), (1 << 28, DEVICE), (1 << 12, DEVICE)])
def test_another_npu(image: Image, change: int, status: int) -> None:
    wrong, right = image.play(Step(id=image.id + change), Step())
    assert (wrong.status, wrong.id) == (status, image.id)
    assert (right.status, right.y) == (OK, image.expected)


def test_what_the_model_does_not_know_ends_the_machine(image: Image) -> None:
    npu = EthosU55(REGISTERS, 128)
    at = next(i for i, word in enumerate(image.stream) if word & 0xFFFF == ACTIVATION)
    script = Script(npu, [Step(word=at, value=ACTIVATION | 1 << 16)], len(image.expected), image.id)
    machine = emulation.machine(boards.load(BOARD), [npu, script])
    machine.start(image.project.image)
    while machine.alive() and not script.ended.wait(0.05):
        pass
    machine.stop()
    assert re.match(
        r"ethos-u55 at 0x48102000: the functional model cannot compute the stream: an activation other than a clamp or "
        r"a table, got 1, expected what Vela emits\. Run it on the hardware",
        machine.failure,
    ), script.outcomes


def test_a_register_is_a_word() -> None:
    npu = EthosU55(REGISTERS, 64)
    with pytest.raises(DeviceFault, match=r"0x48102000: a wrong access to a register, got 1 bytes at offset 0x4, exp"):
        npu.read(4, 1)
    with pytest.raises(DeviceFault, match=r"got 4 bytes at offset 0x82, expected an aligned word\. Correct the d"):
        npu.write(0x82, 4, 0)


def test_a_model_in_an_image_with_the_driver_alone(product: aboard.Module, tmp_path: Path) -> None:
    x = np.random.default_rng(3).integers(-128, 128, (1, 37)).astype(np.int8)
    project = aboard.create(product, BOARD, path=tmp_path / "project")
    project.build()
    with project.session() as session:
        np.testing.assert_array_equal(session.run(x), oracle.tflm(npu_models.product(), x)[0])
    assert choose(project.board, devices=devices_of(project)).name == "unicorn"


def test_without_an_address_there_is_no_npu(tmp_path: Path) -> None:
    assert peripheral.peripherals(ethos_u.device(128)) == ()
    wired = ethos_u.device(128, f"-address={REGISTERS:#x} -irq=5")
    assert peripheral.peripherals(wired) == (EthosU55(REGISTERS, 128, 5),)
    module = aboard.compile(npu_models.product(), target=f"{BOARD} + ethos-u55", name="product")
    project = aboard.create(module, BOARD, path=tmp_path / "project")
    project.build()
    with project.session(runner="unicorn") as session, pytest.raises(DeviceStatusError) as caught:
        session.run(np.zeros((1, 37), np.int8))
    assert caught.value.status == UNSUPPORTED


def test_a_runner_without_the_npu_needs_the_model_in_the_image() -> None:
    board, devices = boards.load(BOARD), Target(TARGET).devices
    text = rf"runner qemu: cannot be {BOARD}, whose device ethos-u55 \(without -O npu=model\) it does not model"
    with pytest.raises(ToolError, match=text):
        choose(board, "qemu", devices=devices)
    qemu = all_runners()["qemu"]
    assert [qemu.lacks(needed(devices, {"npu": value})) is None for value in ("model", "hardware")] == [True, False]


def test_two_models_use_one_npu(product: aboard.Module, tmp_path: Path) -> None:
    modules = [product, aboard.compile(npu_models.product(), target=f"{TARGET} -optimise=size", name="small")]
    project = aboard.create(modules, BOARD, path=tmp_path / "project")
    (npu,) = unicorn.models(project)
    assert npu == EthosU55(REGISTERS, 128) != EthosU55(REGISTERS, 256)
    assert len({npu, EthosU55(REGISTERS, 128)}) == 1


def test_an_image_with_the_model_uses_no_registers(product: aboard.Module, tmp_path: Path) -> None:
    project = aboard.create(product, BOARD, path=tmp_path / "project", options={"npu": "model"})
    assert unicorn.models(project) == []
