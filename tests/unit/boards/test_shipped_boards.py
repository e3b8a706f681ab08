"""The boards that there are: their figures, sources, drivers and aliases."""

from __future__ import annotations

import pytest

from aboard import boards
from aboard.base import resources
from aboard.boards import cpu
from aboard.boards.board import Board
from aboard.target import Target

FIGURES = {
    "arduino/nano_33_ble": ("cortex-m4", 1 << 20, 256 << 10, "nrf51", 0x4000_2000, 64_000_000, {"unicorn"}),
    "bbc/microbit_v2": ("cortex-m4", 512 << 10, 128 << 10, "nrf51", 0x4000_2000, 64_000_000, {"unicorn"}),
    "espressif/esp32c3_devkitm": ("rv32imc", 4 << 20, 384 << 10, "esp", 0x6000_0000, 16_000_000, {"unicorn"}),
    "espressif/esp32c6_devkitc": ("rv32imac", 8 << 20, 512 << 10, "esp", 0x6000_0000, 16_000_000, {"unicorn"}),
    "nxp/mimxrt1060_evk": ("cortex-m7", 8 << 20, 768 << 10, "lpuart", 0x4018_4000, 600_000_000, {"unicorn"}),
    "nordic/nrf52833dk": ("cortex-m4", 512 << 10, 128 << 10, "nrf51", 0x4000_2000, 64_000_000, {"unicorn"}),
    "nordic/nrf52dk": ("cortex-m4", 512 << 10, 64 << 10, "nrf51", 0x4000_2000, 64_000_000, {"unicorn"}),
    "nordic/nrf5340dk": ("cortex-m33", 1 << 20, 512 << 10, "nrf_uarte", 0x5000_8000, 128_000_000, {"unicorn"}),
    "raspberrypi/rpi_pico2": ("cortex-m33", 4 << 20, 520 << 10, "pl011", 0x4007_0000, 150_000_000, {"unicorn"}),
    "st/nucleo_f411re": ("cortex-m4", 512 << 10, 128 << 10, "stm32_usart_v1", 0x4000_4400, 96_000_000, {"unicorn"}),
    "st/nucleo_f446re": ("cortex-m4", 512 << 10, 128 << 10, "stm32_usart_v1", 0x4000_4400, 168_000_000, {"unicorn"}),
    "st/nucleo_g431kb": ("cortex-m4", 128 << 10, 32 << 10, "stm32_usart_v2", 0x4000_4400, 170_000_000, {"unicorn"}),
    "st/nucleo_u575zi_q": ("cortex-m33", 2 << 20, 768 << 10, "stm32_usart_v2", 0x4001_3800, 160_000_000, {"unicorn"}),
    "st/nucleo_wb55rg": ("cortex-m4", 808 << 10, 192 << 10, "stm32_usart_v2", 0x4001_3800, 64_000_000, {"unicorn"}),
    "weact/blackpill_f411ce": (
        "cortex-m4",
        512 << 10,
        128 << 10,
        "stm32_usart_v1",
        0x4001_1000,
        96_000_000,
        {"unicorn"},
    ),
    "arm/mps2_an385": ("cortex-m3", 4 << 20, 4 << 20, "cmsdk", 0x4000_4000, 25_000_000, {"qemu", "unicorn"}),
    "arm/mps2_an386": ("cortex-m4", 4 << 20, 4 << 20, "cmsdk", 0x4000_4000, 25_000_000, {"qemu", "unicorn"}),
    "arm/mps2_an500": ("cortex-m7", 4 << 20, 4 << 20, "cmsdk", 0x4000_4000, 25_000_000, {"qemu", "unicorn"}),
    "arm/mps2_an505": ("cortex-m33", 4 << 20, 4 << 20, "cmsdk", 0x5020_0000, 20_000_000, {"qemu", "unicorn"}),
    "arm/mps2_an521": ("cortex-m33+nodsp+nofp", 4 << 20, 2 << 20, "cmsdk", 0x5020_0000, 20_000_000, {"qemu"}),
    "arm/mps3_an547": ("cortex-m55", 512 << 10, 512 << 10, "cmsdk", 0x5930_3000, 32_000_000, {"qemu"}),
    "bbc/microbit": ("cortex-m0", 256 << 10, 16 << 10, "nrf51", 0x4000_2000, 16_000_000, {"qemu", "unicorn"}),
    "netduino/netduinoplus2": (
        "cortex-m4",
        1 << 20,
        128 << 10,
        "stm32_usart_v1",
        0x4001_1400,
        168_000_000,
        {"qemu", "unicorn"},
    ),
    "olimex/stm32_h405": (
        "cortex-m4",
        1 << 20,
        128 << 10,
        "stm32_usart_v1",
        0x4000_4400,
        168_000_000,
        {"unicorn"},
    ),
    "nordic/nrf52840dk": ("cortex-m4", 1 << 20, 256 << 10, "nrf51", 0x4000_2000, 64_000_000, {"unicorn"}),
    "raspberrypi/rpi_pico": ("cortex-m0plus", 2 << 20, 264 << 10, "pl011", 0x4003_4000, 133_000_000, {"unicorn"}),
    "sifive/hifive1": ("rv32imac", 12 << 20, 16 << 10, "sifive", 0x1001_3000, 16_000_000, {"qemu"}),
    "st/nucleo_f746zg": (
        "cortex-m7+nofp.dp",
        1 << 20,
        256 << 10,
        "stm32_usart_v2",
        0x4000_4800,
        216_000_000,
        {"unicorn"},
    ),
    "st/nucleo_h743zi": (
        "cortex-m7",
        2 << 20,
        512 << 10,
        "stm32_usart_v2",
        0x4000_4800,
        400_000_000,
        {"unicorn"},
    ),
    "st/nucleo_l4r5zi": (
        "cortex-m4",
        2 << 20,
        640 << 10,
        "stm32_usart_v2",
        0x4000_8000,
        120_000_000,
        {"unicorn"},
    ),
    "st/stm32f4_disco": (
        "cortex-m4",
        1 << 20,
        128 << 10,
        "stm32_usart_v1",
        0x4000_4400,
        168_000_000,
        {"unicorn"},
    ),
    "riscv/qemu_virt32b": ("rv32imac_zbb", 16 << 20, 16 << 20, "ns16550", 0x1000_0000, 10_000_000, {"qemu"}),
    "riscv/qemu_virt32v": ("rv32imac_zve32x_zvl128b", 16 << 20, 16 << 20, "ns16550", 0x1000_0000, 10_000_000, {"qemu"}),
    "riscv/qemu_virt32": ("rv32imac", 16 << 20, 16 << 20, "ns16550", 0x1000_0000, 10_000_000, {"qemu", "unicorn"}),
    "ti/lm3s6965evb": ("cortex-m3", 256 << 10, 64 << 10, "pl011", 0x4000_C000, 12_500_000, {"qemu", "unicorn"}),
}


@pytest.mark.parametrize("name", sorted(FIGURES))
def test_figures_of_the_boards(name: str) -> None:
    found = boards.load(name)
    assert found.uart is not None
    assert found.counter is not None
    assert FIGURES[name] == (
        found.core().mcpu,
        found.flash_bytes,
        found.ram_bytes,
        found.uart.driver,
        found.uart.address,
        found.counter.hz,
        set(found.emulators) - {"renode"},
    )


def test_the_host_is_a_board_without_limits() -> None:
    host = boards.load("host/native")
    assert host.is_host
    assert (host.flash_bytes, host.ram_bytes, host.uart, host.emulators) == (None, None, None, {})
    assert host.core().mcpu == cpu.host().name
    assert host.load_memory is None
    assert host.data_memory is None


def test_every_file_is_a_board_with_a_target_and_a_source() -> None:
    files = {f"{path.parent.name}/{path.stem}" for path in resources.boards().glob("*/*.toml")}
    assert {*boards.names(), *boards.gpus()} == files
    assert set(FIGURES) <= files
    for name in boards.names():
        found = boards.load(name)
        assert found.id == name
        assert found.source
        assert found.soc_source
        assert Target(found.target).cpu.name == found.core().mcpu


def test_boards_without_a_port_are_those_that_no_emulator_can_be() -> None:
    ported = {name for name in boards.names() if boards.load(name).rpc is not None}
    assert ported == set(FIGURES)


def test_every_wait_ends_by_a_status_bit_that_the_soc_file_names() -> None:
    waits = [(name, step) for name in FIGURES for step in boards.load(name).setup if step.wait_set or step.wait_clear]
    assert len(waits) > 30
    for name, step in waits:
        found = boards.load(name)
        if "unicorn" in found.emulators:
            bits = step.wait_set or step.wait_clear or 0
            kept = {s.address for s in found.setup if s.write == bits}  # a register that is read back
            if step.wait_clear and all(s.address != step.address for s in found.setup if s.wait_clear is None):
                continue  # A flag of work under way, in a register that nothing writes; an emulator is never at work.
            ruled = [rule for rule in found.status if rule.address == step.address and rule.bits & bits]
            assert ruled or step.address in kept, (name, step)
            assert bits & ~sum(rule.bits for rule in ruled) == 0 or step.address in kept, (name, step)


def test_every_soc_file_is_used() -> None:
    socs = {f"{path.parent.name}/{path.stem}" for path in (resources.boards() / "soc").glob("*/*.toml")}
    assert socs == {boards.load(name).soc for name in boards.names()}


def test_drivers_exist() -> None:
    ports = resources.firmware() / "ports"
    for found in map(boards.load, boards.names()):
        assert found.counter is None or (ports / "counter" / f"{found.counter.driver}.c").is_file()
        assert found.uart is None or (ports / "uart" / f"{found.uart.driver}.c").is_file()


def test_a_board_can_be_stored_without_its_files() -> None:
    for found in map(boards.load, boards.names()):
        assert Board.model_validate(found.model_dump()) == found
        assert Board.model_validate_json(found.model_dump_json()) == found


def test_the_board_adds_its_pins_to_the_uart() -> None:
    microbit = boards.load("bbc/microbit")
    assert microbit.uart is not None
    assert microbit.uart.params == {"tx_pin": 24, "rx_pin": 25}
    assert microbit.uarts["uart0"].params == {}


def test_aliases() -> None:
    assert boards.aliases()["microbit"] == "bbc/microbit"
    assert boards.load("mps2-an386") == boards.load("arm/mps2_an386")
    assert boards.path_of("mps2-an386") == resources.boards() / "arm" / "mps2_an386.toml"
    assert boards.is_known("microbit")
    assert not boards.is_known("macrobit")
