"""Registers: what they answer, the sequence they ask for, and what is refused."""

from __future__ import annotations

import re

import pytest

from npu_demo import core
from npu_demo.commands import END, UsageError
from npu_demo.core import ACTIVE, BASES, BUSY, CTRL, CYCLES, DONE, ID, JOB, SCRATCHPAD, START, STATUS, WORDS
from npu_machine import PARAMETERS, WEIGHTS, Machine, X, Y

# One row of two inputs, two outputs: weights [[1, 2], [3, 4]] transposed, scales of 1.
_JOB = (1, 2, 2, 0, 5)
_RESULT = bytes([5 + 1 * 10 + 3 * 20, 5 + 2 * 10 + 4 * 20])


def ready(version: int = 1) -> Machine:
    machine = Machine(version, 1024 if version == 2 else 0)
    machine.activate()
    machine.place_bases()
    machine.write(X, bytes([10, 20]))
    machine.write(WEIGHTS, bytes([1, 2, 3, 4]))
    half = (0).to_bytes(4, "little") + (1 << 30).to_bytes(4, "little") + (1).to_bytes(4, "little")
    machine.write(PARAMETERS, half * 2)
    for offset, value in zip(JOB if version == 1 else (), _JOB, strict=version == 1):
        machine.put(offset, value)
    return machine


def test_a_job_of_v1_takes_its_time() -> None:
    machine = ready()
    assert machine.get(ID) == 0x4E505501
    assert machine.get(SCRATCHPAD) == 0
    machine.put(CTRL, ACTIVE | START)
    assert machine.get(STATUS) == ACTIVE | BUSY
    cycles = machine.get(CYCLES)
    # 4 products at 4 a cycle, 2 + 4 + 24 + 2 bytes at 4 a cycle, and the start.
    assert cycles == 32 + 1 + 8
    machine.now = cycles - 1
    assert machine.get(STATUS) == ACTIVE | BUSY
    assert machine.read(Y, 2) == b"\0\0"
    machine.now = cycles
    assert machine.get(STATUS) == ACTIVE | DONE
    assert machine.read(Y, 2) == _RESULT
    machine.put(CTRL, 0)
    assert machine.get(STATUS) == 0


def test_registers_can_be_read_back_until_the_device_is_given_back() -> None:
    machine = ready()
    assert [machine.get(offset) for offset in BASES[:2]] == [X, Y]
    machine.put(CTRL, 0)
    assert machine.get(BASES[0]) == 0
    assert Machine(2, 512).get(SCRATCHPAD) == 512


def start(machine: Machine) -> None:
    machine.put(CTRL, ACTIVE | START)


@pytest.mark.parametrize(
    ("misuse", "message"),
    [
        (lambda m: m.device.read(0x60, 4), "offset 0x60: is accessed, got 4 bytes, expected one of the registers"),
        (lambda m: m.device.read(STATUS, 2), "offset 0x8: is accessed, got 2 bytes, expected one of the registers"),
        (lambda m: m.get(CTRL), "CTRL: is read, got offset 0x4, expected a register that can be read. Read STATUS"),
        (lambda m: m.put(STATUS, 1), "STATUS: is written, got 0x1, expected no write. It can only be read"),
        (lambda m: m.put(CTRL, 4), "CTRL: value, got 0x4, expected 0, ACTIVE or ACTIVE | START"),
        (lambda m: m.put(CTRL, ACTIVE), "CTRL: ACTIVE, got it while ACTIVE, expected 0 before. Close the device first"),
        (lambda m: m.put(BASES[2], 8), "BASE2: address is misaligned, got 0x00000008, expected a multiple of 16"),
        (lambda m: m.put(JOB[0], 0) or start(m), "JOB: rows, inputs, outputs, got 0, 2, 2, expected 1 to 65535 each"),
        (lambda m: m.put(JOB[3], 128) or start(m), "JOB: zero points, got 128 and 5, expected -128 to 127"),
        (
            lambda m: start(m) or m.put(BASES[0], X),
            "BASE0: is written, got 0x1000 while BUSY, expected STATUS.DONE. Wait for the job",
        ),
        (
            lambda m: start(m) or start(m),
            "CTRL: is written, got 0x3 while BUSY, expected STATUS.DONE. Wait for the job",
        ),
    ],
)
def test_misuse_of_v1(misuse: object, message: str) -> None:
    machine = ready()
    with pytest.raises(UsageError, match=re.escape(f"npu-demo v1: {message}")):
        misuse(machine)  # type: ignore[operator]


def test_nothing_goes_before_activation() -> None:
    machine = Machine(1)
    with pytest.raises(UsageError, match=r"BASE0: is written, got 0x1000 while not ACTIVE, expected CTRL.ACTIVE first"):
        machine.put(BASES[0], X)
    with pytest.raises(
        UsageError, match=r"CTRL: START, got it while not ACTIVE, expected CTRL.ACTIVE in a write before"
    ):
        start(machine)


def test_a_job_needs_all_its_registers() -> None:
    machine = Machine(1)
    machine.activate()
    with pytest.raises(UsageError, match=r"CTRL: START, got no value in BASE0, expected one\. Write it"):
        start(machine)


@pytest.mark.parametrize(
    ("base", "message"),
    [(0, "BASE0: nothing at 0x7ffff001"), (1, "BASE1: nothing at 0x7ffff001"), (3, "BASE3: nothing at 0x7ffff017")],
)
def test_memory_that_is_not_there(base: int, message: str) -> None:
    machine = ready()
    machine.put(BASES[base], 0x7FFF_F000)
    start(machine)
    machine.now = machine.get(CYCLES)
    with pytest.raises(UsageError, match=f"npu-demo v1: {message}"):
        machine.get(STATUS)


def test_registers_of_the_other_version_are_none() -> None:
    with pytest.raises(UsageError, match="npu-demo v1: offset 0x34: is accessed"):
        ready().put(WORDS, 1)
    with pytest.raises(UsageError, match="npu-demo v2: offset 0x40: is accessed"):
        ready(2).put(JOB[0], 1)


def test_the_list_of_v2_is_looked_at_when_it_is_started() -> None:
    machine = ready(2)
    with pytest.raises(UsageError, match=r"npu-demo v2: LIST: address is misaligned, got 0x00000004, expected a mult"):
        machine.put(core.LIST, 4)
    machine.put(core.LIST, 0x1F_FFF0)
    machine.put(WORDS, 5)
    with pytest.raises(UsageError, match="npu-demo v2: LIST: nothing at 0x200003"):
        start(machine)
    machine.put(WORDS, 0)
    with pytest.raises(UsageError, match=r"npu-demo v2: WORDS: got 0 words, expected 1 to 1048575"):
        start(machine)
    machine.start_list([END])
    machine.finish()
    assert machine.get(CYCLES) == 32


def test_a_reset_stops_a_job() -> None:
    machine = ready()
    start(machine)
    machine.device.reset()
    machine.now = 1000
    assert machine.get(STATUS) == 0
    assert machine.read(Y, 2) == b"\0\0"
