"""Fault records as architectures define them, without an image or with a small one."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from aboard.base.fault_record import FaultRecord, _shortened
from aboard.boards.board import Memory
from aboard.faults import Cause, CodePlace, FaultReport, decode

FLASH = Memory(name="flash", kind="flash", address=0, size_bytes=0x40000, load=True)
RAM = Memory(name="sram", kind="ram", address=0x20000000, size_bytes=0x10000, data=True)
PC, SP = 0x1234, 0x20000800


def record(kind: int, *registers: int, status: int = 0, address: int = 0) -> FaultRecord:
    return FaultRecord(kind, (*registers, *[0] * (16 - len(registers))), status, address)


def of(fault: FaultRecord, core: str, image: Path = Path("none.elf"), root: Path = Path()) -> FaultReport:
    return decode(fault, core, image, root, () if core == "x86-64" else (FLASH, RAM))


def arm(status: int, address: int = 0) -> FaultRecord:
    return record(3, 0, 1, 2, 3, 12, 0x1001, PC, 0x61000000, SP, status=status, address=address)


@pytest.mark.parametrize(
    ("status", "cause"),
    [
        (1 << 0, Cause.JUMP),
        (1 << 1, Cause.BUS),
        (1 << 3, Cause.RETURN),
        (1 << 4, Cause.STACK_OVERFLOW),
        (1 << 5, Cause.BUS),
        (1 << 8, Cause.JUMP),
        (1 << 9, Cause.BUS),
        (1 << 10, Cause.BUS),
        (1 << 11, Cause.RETURN),
        (1 << 12, Cause.STACK_OVERFLOW),
        (1 << 13, Cause.BUS),
        (1 << 16, Cause.UNDEFINED),
        (1 << 17, Cause.STATE),
        (1 << 18, Cause.RETURN),
        (1 << 19, Cause.COPROCESSOR),
        (1 << 20, Cause.STACK_OVERFLOW),
        (1 << 24, Cause.UNALIGNED),
        (1 << 25, Cause.DIVISION),
        (0, Cause.UNKNOWN),
        (1 << 20 | 1 << 24, Cause.STACK_OVERFLOW),
    ],
)
def test_every_bit_of_cfsr_is_told(status: int, cause: Cause) -> None:
    assert of(arm(status), "cortex-m4").cause is cause


@pytest.mark.parametrize(
    ("address", "region"),
    [
        (0x20000010, "in sram (ram)"),
        (0x3FFFF, "in flash (flash)"),
        (0x40000, "where the board's file has no memory"),
        (0x60000000, "where the board's file has no memory"),
    ],
)
def test_the_region_of_an_address_is_named(address: int, region: str) -> None:
    report = of(arm(0x8200, address), "cortex-m4")
    assert (report.address, report.region) == (address, region)
    assert report.summary() == f"fault 3: bus fault at {address:#010x}, {region}"


def test_an_address_is_only_told_where_there_is_one() -> None:
    assert of(arm(0x400), "cortex-m4").address is None
    assert of(arm(0x8200, 0), "cortex-m4").address == 0
    assert decode(arm(0x8200, 8), "cortex-m4", Path("none"), Path(), (RAM,)).region == "as through a NULL pointer"


def test_registers_have_their_names() -> None:
    assert of(arm(1 << 16), "cortex-m4").registers == {
        "r0": 0,
        "r1": 1,
        "r2": 2,
        "r3": 3,
        "r12": 12,
        "lr": 0x1001,
        "pc": PC,
        "xpsr": 0x61000000,
        "sp": SP,
    }
    lost = record(3, *[0] * 8, 0x1FFFFFF0, status=1 << 12)
    assert of(lost, "cortex-m4").registers == {"sp": 0x1FFFFFF0}
    assert of(record(6, *range(9), status=5), "rv32imac").registers["a5"] == 7


@pytest.mark.parametrize(
    ("status", "cause"),
    [
        (1, Cause.JUMP),
        (2, Cause.UNDEFINED),
        (3, Cause.BREAKPOINT),
        (4, Cause.UNALIGNED),
        (5, Cause.BUS),
        (6, Cause.UNALIGNED),
        (7, Cause.BUS),
        (11, Cause.CALL),
        (24, Cause.UNKNOWN),
    ],
)
def test_every_cause_of_riscv_is_told(status: int, cause: Cause) -> None:
    fault = record(status + 1, 0x100, SP, *[0] * 6, PC, status=status, address=0x20000001)
    report = of(fault, "rv32imac")
    assert report.cause is cause
    assert report.address == {Cause.JUMP: PC, Cause.UNALIGNED: 0x20000001, Cause.BUS: 0x20000001}.get(cause)


def process(signal: int, address: int, code: int = 1) -> FaultRecord:
    words = (0x1139, 0x5555_5555_5139, 0x7FFF_FFFF_0000, address)
    halves = [half for word in words for half in (word & 0xFFFFFFFF, word >> 32)]
    return record(signal, *halves, status=code, address=address & 0xFFFFFFFF)


@pytest.mark.parametrize(
    ("signal", "address", "cause", "told"),
    [
        (4, 0x5555_5555_5139, Cause.UNDEFINED, None),
        (5, 0, Cause.BREAKPOINT, None),
        (7, 0x7000_0000_0001, Cause.UNALIGNED, 0x7000_0000_0001),
        (8, 0, Cause.DIVISION, None),
        (11, 0x10, Cause.BUS, 0x10),
        (11, 0x1_2345_6789, Cause.BUS, 0x1_2345_6789),
        (11, 0x7FFF_FFFE_FFF8, Cause.STACK_OVERFLOW, 0x7FFF_FFFE_FFF8),
    ],
)
def test_signals_of_a_process_are_told(signal: int, address: int, cause: Cause, told: int | None) -> None:
    report = of(process(signal, address), "x86-64")
    assert (report.cause, report.address) == (cause, told)
    assert report.registers == {"pc": 0x5555_5555_5139, "sp": 0x7FFF_FFFF_0000}


@pytest.fixture(scope="module")
def m0(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An image for a core without CFSR: its functions lie where the linker is told."""
    folder = tmp_path_factory.mktemp("m0")
    (folder / "src").mkdir()
    (folder / "src/m0.s").write_text(
        ".syntax unified\n.thumb\n.cpu cortex-m0\n.text\n.global load\n.thumb_func\n.type load, %function\nload:\n"
        "    ldr r2, [r1, #4]\n    ldrh r2, [r1, #2]\n    ldrb r2, [r1]\n    ldr r2, [r7]\n    push {r0}\n    udf #0\n"
        "    bkpt #1\n    adds r0, #1\n.size load, . - load\n"
    )
    command = ["arm-none-eabi-gcc", "-mcpu=cortex-m0", "-nostdlib", "-g", "-Wl,-Ttext=0x1000", "-Wl,-e,load"]
    command += ["-Wl,--defsym=__stack_bottom=0x20000000", "src/m0.s", "-o", "m0.elf"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "m0.elf"


@pytest.mark.parametrize(
    ("at", "base", "cause", "address"),
    [
        (0, 0x60000000, Cause.BUS, 0x60000004),
        (0, 0x20000002, Cause.UNALIGNED, 0x20000006),
        (2, 0x20000001, Cause.UNALIGNED, 0x20000003),
        (4, 0x60000001, Cause.BUS, 0x60000001),
        (6, 0, Cause.LOAD_OR_STORE, None),
        (10, 0, Cause.UNDEFINED, None),
        (12, 0, Cause.BREAKPOINT, None),
        (14, 0, Cause.UNKNOWN, None),
        (0x100, 0, Cause.JUMP, 0x1100),
    ],
)
def test_where_a_core_tells_no_cause_the_instruction_does(
    m0: Path, at: int, base: int, cause: Cause, address: int | None
) -> None:
    fault = record(3, 0, base, 0, 0, 0, 0xFFFFFFFF, 0x1000 + at, 0x61000000, SP)
    report = of(fault, "cortex-m0", m0, m0.parent)
    assert (report.cause, report.address) == (cause, address)
    if cause is not Cause.JUMP:
        assert report.places == (CodePlace(0x1000 + at, "load", "src/m0.s", 8 + at // 2 + 1),)


def test_memory_right_below_the_stack_is_the_stacks(m0: Path) -> None:
    fault = arm(0x8200, 0x1FFFFFF8)
    assert of(fault, "cortex-m4", m0).cause is Cause.STACK_OVERFLOW
    assert of(fault, "cortex-m4", m0).region == "below the stack"
    assert of(arm(0x8200, 0x1FFFE000), "cortex-m4", m0).cause is Cause.BUS
    low = record(3, 0, 1, 2, 3, 12, 0, PC, 0, 0x1FFFFF00, status=1 << 16)
    assert of(low, "cortex-m4", m0).cause is Cause.STACK_OVERFLOW


def test_a_fault_of_another_core_is_not_held_against_this_ones_stack(m0: Path) -> None:
    low = record(1 << 16 | 3, 0, 1, 2, 3, 12, 0, PC, 0, 0x1FFFFF00, status=1 << 16)
    report = of(low, "cortex-m4", m0)
    assert (report.core, report.cause) == (1, Cause.UNDEFINED)


def test_an_image_that_is_none_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "text.elf").write_text("this is no image")
    for name in ("missing.elf", "text.elf"):
        report = of(arm(1 << 24), "cortex-m4", tmp_path / name)
        assert (report.cause, report.place, report.function, report.line) == (Cause.UNALIGNED, None, None, None)
        assert str(report).startswith("fault 3: unaligned access\n  registers r0=00000000 r1=00000001")
        assert str(report).endswith("\n  status 0x01000000, address 0x00000000")


def test_what_calls_itself_is_named_once() -> None:
    assert _shortened(["a", "b", "b", "b", "b", "c", "c"]) == ["a", "b, 4 times and more", "c", "c"]
    assert _shortened([]) == []
