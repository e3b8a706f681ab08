"""Boards as the data sheets have them: the clocks that the set-up makes, the baud rate, the boot block, memory regions.

The clock trees stand here a second time, as the reference manuals have them, read from the registers as the image left
them: what the SoC files say of their clocks has to agree.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile

from aboard import boards, cli, emulation
from aboard.api import Project, create
from aboard.emulation import boot
from aboard.emulation.machine import Machine
from aboard.errors import TransportError
from boards import page
from support.bundles import BYTES, tiny_bundle

MANUAL = Path(__file__).parents[2] / "docs" / "how-to" / "adding_a_board.md"
M = 1_000_000
Values = Mapping[int, int]


def stm32f4(values: Values) -> tuple[int, int]:
    """Clocks of the core and of the serial port on APB1, in Hz: RM0090, 7.3.2 and 7.3.3; the F7's are the same."""
    pll, config = values[0x4002_3804], values[0x4002_3808]
    assert config & 3 == 2
    assert not pll >> 22 & 1  # from the HSI
    vco_input = 16 * M // (pll & 63)
    assert 1 * M <= vco_input <= 2 * M
    vco = vco_input * (pll >> 6 & 511)
    assert 100 * M <= vco <= 432 * M
    assert vco // (pll >> 24 & 15) == 48 * M  # USB
    core = vco // (2, 4, 6, 8)[pll >> 16 & 3] // prescaler(config >> 4 & 15, 4)
    apb1 = core // prescaler(config >> 10 & 7, 3)
    assert apb1 <= 54 * M
    assert core // prescaler(config >> 13 & 7, 3) <= 108 * M
    return core, apb1


def stm32h7(values: Values) -> tuple[int, int]:
    """RM0433, 8.7."""
    rcc = 0x5802_4400
    source, config, dividers = values[rcc + 0x28], values[rcc + 0x2C], values[rcc + 0x30]
    assert values[rcc + 0x10] & 7 == 3
    assert source & 3 == 0
    vco_input = 64 * M // (source >> 4 & 63)
    assert (1 * M, 2 * M, 4 * M, 8 * M)[config >> 2 & 3] <= vco_input
    assert config >> 16 & 1
    vco = vco_input * ((dividers & 511) + 1)
    assert 192 * M <= vco <= 836 * M
    core = vco // ((dividers >> 9 & 127) + 1) // prescaler(values[rcc + 0x18] >> 8 & 15, 4)
    bus = core // prescaler(values[rcc + 0x18] & 15, 4)
    assert bus <= 240 * M
    return core, bus // prescaler(values[rcc + 0x1C] >> 4 & 7, 3)


def stm32l4(values: Values) -> tuple[int, int]:
    """RM0432, 6.4."""
    pll, config = values[0x4002_100C], values[0x4002_1008]
    assert (pll & 3, config & 3, pll >> 24 & 1) == (2, 3, 1)
    vco = 16 * M // ((pll >> 4 & 15) + 1) * (pll >> 8 & 127)
    assert 64 * M <= vco <= 344 * M
    core = vco // (2, 4, 6, 8)[pll >> 25 & 3] // prescaler(config >> 4 & 15, 4)
    return core, core // prescaler(config >> 8 & 7, 3)


def stm32f4_apb2(values: Values) -> tuple[int, int]:
    """Clocks of the core and of a serial port on APB2."""
    core, _ = stm32f4(values)
    return core, core // prescaler(values[0x4002_3808] >> 13 & 7, 3)


def stm32wb(values: Values) -> tuple[int, int]:
    """RM0434, chapter RCC: the core, and a serial port on APB2."""
    rcc = 0x5800_0000
    pll, config = values[rcc + 0x0C], values[rcc + 0x08]
    assert (pll & 3, config & 3, pll >> 28 & 1) == (2, 3, 1)
    vco = 16 * M // ((pll >> 4 & 7) + 1) * (pll >> 8 & 127)
    assert 96 * M <= vco <= 344 * M
    core = vco // ((pll >> 29) + 1) // prescaler(config >> 4 & 15, 4)
    assert core // prescaler(values[rcc + 0x108] >> 4 & 15, 4) <= 32 * M  # the second core
    return core, core // prescaler(config >> 11 & 7, 3)


def stm32u5(values: Values) -> tuple[int, int]:
    """RM0456, chapter RCC: the core, and a serial port on APB2."""
    rcc = 0x4602_0C00
    source, dividers = values[rcc + 0x28], values[rcc + 0x34]
    assert (source & 3, source >> 18 & 1, values[rcc + 0x1C] & 3) == (2, 1, 3)
    vco_input = 16 * M // ((source >> 8 & 15) + 1)
    assert 8 * M <= vco_input <= 16 * M
    assert source >> 2 & 3 == 3
    vco = vco_input * ((dividers & 511) + 1)
    assert 128 * M <= vco <= 544 * M
    core = vco // ((dividers >> 24 & 127) + 1)
    assert values[0x4602_080C] >> 16 == 7  # range 1, booster
    return core, core


def rp2040(values: Values, clocks: int = 0x4000_8000, pll: int = 0x4002_8000) -> tuple[int, int]:
    """RP2040 data sheet, 2.15.7 and 2.18.4."""
    assert values[clocks + 0x3C] & 0xE1 == 1
    assert values[clocks + 0x48] == 0x800
    assert values[clocks + 0x30] & 3 == 2
    vco = 12 * M // (values[pll] & 63) * values[pll + 0x08]
    assert 750 * M <= vco <= 1600 * M
    assert values[pll + 0x04] & 0x29 == 0
    dividers = values[pll + 0x0C]
    core = vco // (dividers >> 16 & 7) // (dividers >> 12 & 7)
    return core, core


def rp2350(values: Values) -> tuple[int, int]:
    """RP2350 data sheet, 8.1 and 8.6: as RP2040, at other addresses."""
    return rp2040(values, 0x4001_0000, 0x4005_0000)


def imxrt1060(values: Values) -> tuple[int, int]:
    """i.MX RT1060 Reference Manual, chapter CCM: the core from PLL1, and LPUART1 from the crystal."""
    ccm, pll = 0x400F_C000, values[0x400D_8000]
    assert (pll >> 13 & 1, pll >> 16 & 1, pll >> 12 & 1) == (1, 0, 0)  # on, not bypassed, powered
    vco = 24 * M * (pll & 127) // 2
    assert 648 * M <= vco <= 1300 * M
    assert values[ccm + 0x14] >> 25 & 1 == 0
    assert values[ccm + 0x18] >> 18 & 3 == 3
    core = vco // ((values[ccm + 0x10] & 7) + 1) // ((values[ccm + 0x14] >> 10 & 7) + 1)
    assert core // ((values[ccm + 0x14] >> 8 & 3) + 1) <= 150 * M
    assert values[0x4008_000C] & 31 == 0x13  # 1.275 V
    assert values[ccm + 0x24] & 0x7F == 0x40
    assert values[ccm + 0x7C] >> 24 & 3 == 3
    assert values[0x400B_C000] & 0xA0 == 0x20  # the watchdog is off
    return core, 24 * M


def esp32c3(values: Values) -> tuple[int, int]:
    """ESP32-C3 Technical Reference Manual, chapters Reset and Clock, Watchdog Timers."""
    assert values[0x600C_0058] == 0
    assert values[0x600C_0010] & 0x2100_0004 == 0x2100_0004
    assert values[0x600C_0018] & 0x2100_0004 == 0
    assert values[0x6000_8090] >> 31 == values[0x6001_F048] >> 31 == 0
    assert values[0x6000_80AC] >> 31 == 1
    return 40 * M, 40 * M


def esp32c6(values: Values) -> tuple[int, int]:
    """ESP32-C6 Technical Reference Manual, chapters Reset and Clock, Watchdog Timers."""
    assert values[0x6009_6110] >> 16 & 3 == 0
    assert values[0x6009_6000] & 3 == values[0x6009_6054] & 3 == 1
    assert values[0x6009_6004] == 0x0070_0000
    assert values[0x600B_1C00] >> 31 == values[0x6000_8048] >> 31 == 0
    assert values[0x600B_1C1C] >> 18 & 1 == 1
    return 40 * M, 40 * M


def prescaler(field: int, bits: int) -> int:
    """Divisor of a prescaler's field: 1 while its highest bit is clear, then powers of two (4 bits leave out 32)."""
    if not field >> bits - 1:
        return 1
    power = (field & (1 << bits - 1) - 1) + 1
    return 1 << power + (bits == 4 and power > 4)


CLOCKS: list[tuple[str, Callable[[Values], tuple[int, int]]]] = [
    ("st/stm32f4_disco", stm32f4),
    ("st/nucleo_f746zg", stm32f4),
    ("st/nucleo_h743zi", stm32h7),
    ("st/nucleo_l4r5zi", stm32l4),
    ("raspberrypi/rpi_pico", rp2040),
    ("raspberrypi/rpi_pico2", rp2350),
    ("st/nucleo_f411re", stm32f4),
    ("st/nucleo_f446re", stm32f4),
    ("st/nucleo_g431kb", stm32l4),
    ("st/nucleo_u575zi_q", stm32u5),
    ("st/nucleo_wb55rg", stm32wb),
    ("weact/blackpill_f411ce", stm32f4_apb2),
    ("raspberrypi/rpi_pico2:hazard3", rp2350),
    ("nxp/mimxrt1060_evk", imxrt1060),
    ("espressif/esp32c3_devkitm", esp32c3),
    ("espressif/esp32c6_devkitc", esp32c6),
]
#: Steps of the baud rate divisor in a clock of the serial port.
DIVISOR_STEPS = {"esp": 16, "lpuart": 1, "pl011": 4}


def test_the_page_names_the_ports_whose_clocks_are_computed():
    assert sorted(name for name, _ in CLOCKS) == sorted(page.COMPUTED)


def built(folder: Path, board: str, toolchain: str = "arm-none-eabi-gcc") -> Project:
    if toolchain == "gnu":
        toolchain = "riscv64-unknown-elf-gcc" if boards.load(board).interrupts else "arm-none-eabi-gcc"
    project = create(tiny_bundle(folder / "bundle", boards.load(board).core().mcpu), board, path=folder / "project")
    project.build(toolchain)
    return project


def booted(project: Project) -> Machine:
    """The machine after it has said that it is ready; it sleeps, and is stopped."""
    machine = emulation.machine(project.board)
    machine.start(project.image)
    try:
        assert machine.read(20), machine.failure
    finally:
        machine.stop()
    return machine


@pytest.mark.parametrize(("name", "tree"), CLOCKS)
def test_the_clocks_are_those_that_the_files_say(tmp_path, name, tree):
    board = boards.load(name)
    machine = booted(built(tmp_path, name, "gnu"))
    core, port = tree(machine.registers)
    assert (core, port) == (board.core().clock_hz, board.uart.clock_hz)
    assert board.counter.hz == (16 * M if board.counter.driver == "esp_systimer" else core)
    caches = board.core().caches
    assert caches == (board.core().mcpu.startswith("cortex-m7"))
    if board.interrupts is None:
        assert int.from_bytes(machine.uc.mem_read(0xE000_ED14, 4), "little") == (0x30000 if caches else 0)
    # Each wait ended by its bits: 100,000 reads and more are given up.
    assert machine.count < 50_000
    steps = DIVISOR_STEPS.get(board.uart.driver, board.uart.params.get("divisor_scale", 1))
    ticks_in_a_bit = machine.uart.divisor / steps
    assert abs(board.uart.clock_hz / ticks_in_a_bit / board.rpc.baud - 1) < 0.005


def test_a_wait_without_an_answer_is_given_up(tmp_path):
    project = built(tmp_path, "st/stm32f4_disco")
    deaf = project.board.model_copy(update={"status": ()})
    machine = emulation.machine(deaf)
    machine.start(project.image)
    assert machine.read(60)
    machine.stop()
    assert 3 * 300_000 < machine.count < 3 * 1_000_000


@pytest.mark.parametrize("toolchain", ["arm-none-eabi-gcc", "zig"])
def test_the_boot_block_has_the_right_checksum(tmp_path, toolchain):
    project = built(tmp_path, "raspberrypi/rpi_pico", toolchain)
    with project.image.open("rb") as stream:
        elf = ELFFile(stream)
        section = elf.get_section_by_name(".boot")
        vectors = elf.get_section_by_name(".vectors")
        block = section.data()
    assert (section["sh_addr"], len(block), vectors["sh_addr"]) == (0x1000_0000, 256, 0x1000_0100)
    assert boot.crc32(block[:252]) == int.from_bytes(block[252:], "little")
    machine = booted(project)
    # SSI: the command 03h with 24 bits of address, on one line.
    assert machine.registers[0x1800_00F4] == 0x0300_0218
    assert machine.registers[0x1800_0008] == 1


def test_constants_of_an_esp32c3_are_read_on_the_data_bus(tmp_path):
    project = built(tmp_path, "espressif/esp32c3_devkitm", "gnu")
    with project.image.open("rb") as stream:
        elf = ELFFile(stream)
        vectors = elf.get_section_by_name(".vectors")
        constants = elf.get_section_by_name(".rodata")
        stored = [part for part in elf.iter_segments("PT_LOAD") if part["p_filesz"]]
        symbols = {one.name: one["st_value"] for one in elf.get_section_by_name(".symtab").iter_symbols()}
    assert vectors["sh_addr"] == 0x4200_0008  # where direct boot enters
    assert constants["sh_addr"] >> 24 == 0x3C
    on_the_bus = [part for part in stored if part["p_vaddr"] >> 24 == 0x3C]
    assert on_the_bus
    assert all(part["p_paddr"] - 0x4200_0000 == part["p_vaddr"] - 0x3C00_0000 for part in on_the_bus)
    assert symbols["aboard_trap_table"] % 256 == 0
    # The core has no mie, an access to which would be a fault.
    listing = subprocess.run(
        ["riscv64-unknown-elf-objdump", "-d", str(project.image)], capture_output=True, text=True, check=True
    ).stdout
    assert "csr" in listing
    assert not re.search(r"\bmie\b", listing)


def test_an_image_with_a_wrong_boot_block_does_not_start(tmp_path):
    project = built(tmp_path, "raspberrypi/rpi_pico")
    image = bytearray(project.image.read_bytes())
    at = image.index((0x0300_0218).to_bytes(4, "little"))
    image[at] ^= 1
    project.image.write_bytes(image)
    with pytest.raises(TransportError, match=r"boot block of rp2040: wrong checksum, got 0x[0-9a-f]{8}, expected 0x"):
        project.session("unicorn").close()


@pytest.mark.parametrize(
    ("board", "runner"),
    [
        ("bbc/microbit", "qemu"),
        ("netduino/netduinoplus2", "qemu"),
        ("sifive/hifive1", "qemu"),
        ("raspberrypi/rpi_pico", "unicorn"),
        ("st/nucleo_f746zg -arena=dtcm", "unicorn"),
        ("st/nucleo_h743zi -arena=dtcm,sram123 -weights=itcm", "unicorn"),
        ("espressif/esp32c3_devkitm -weights=sram1", "unicorn"),
        ("nxp/mimxrt1060_evk", "unicorn"),
    ],
)
def test_digits_is_exact(board, runner, capsys):
    words = ["verify", "digits", "--target", board, "--runner", runner, "--samples", "2", "--json"]
    code = cli.invoke(words)
    out, err = capsys.readouterr()
    assert code == 0, err or out
    result = json.loads(out)
    assert (result["runner"], result["samples"], result["differing_bytes"]) == (runner, 4, 0)


def test_the_example_of_the_manual_runs(tmp_path, monkeypatch):
    for name, text in re.findall(r"```toml\n# boards/(\S+)\n(.*?)```", MANUAL.read_text(encoding="utf-8"), re.DOTALL):
        path = tmp_path / "boards" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    monkeypatch.setenv(boards.SEARCH_PATH, str(tmp_path / "boards"))
    project = built(tmp_path, "acme/fast_kit")
    text = (project.path / "board" / "setup.c").read_text(encoding="utf-8")
    order = ["PLL: 16 MHz times 3", "PLL locked", "Clock of UART 0", "Pin 2: UART 0 TX"]
    assert sorted(order, key=text.index) == order
    machine = booted(project)
    assert machine.registers == {
        0x4000_0000: 0x7,  # the lock is read, and written back with the next bit
        0x4000_0004: 3,
        0x4000_0008: 0x20,
        0x4000_3008: 1,
        0x4000_300C: 1,
    }
    with project.session("unicorn") as device:
        x = np.zeros((1, BYTES), np.int8)
        np.testing.assert_array_equal(device.run(x), ~x)
