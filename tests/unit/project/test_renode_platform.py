"""Platform descriptions for boards that Renode does not ship: what they hold is what the board's files say."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest

from aboard import boards
from aboard.errors import ProjectError
from aboard.project import renode_platform
from support.renode_script import Peripheral, read_platform

MADE = [
    *("arm/mps2_an385", "arm/mps2_an386", "arm/mps2_an500", "arm/mps2_an505", "arm/mps3_an547"),
    *("raspberrypi/rpi_pico", "st/nucleo_l4r5zi"),
]
SHIPPED = {
    "arduino/nano_33_ble": ("platforms/boards/arduino_nano_33_ble.repl", "uart0"),
    "nordic/nrf52840dk": ("platforms/cpus/nrf52840.repl", "uart0"),
    "sifive/hifive1": ("platforms/cpus/sifive-fe310.repl", "uart0"),
    "st/nucleo_f746zg": ("platforms/cpus/stm32f746.repl", "usart3"),
    "st/nucleo_h743zi": ("platforms/cpus/stm32h743.repl", "usart3"),
    "st/stm32f4_disco": ("platforms/boards/stm32f4_discovery-kit.repl", "usart2"),
}


def test_boards_that_renode_can_be() -> None:
    able = {name: board.emulator.renode for name in boards.names() if (board := boards.load(name)).emulator.renode}
    assert set(able) == {*MADE, *SHIPPED}
    assert {name: (able[name].platform, able[name].uart) for name in SHIPPED} == SHIPPED
    for name, renode in able.items():
        assert renode.instructions_per_second % 1_000_000 == 0, name
        assert renode.source, name
        assert (f"/v1.16.1/{renode.platform}" in renode.source) == (name in SHIPPED), name


@pytest.mark.parametrize("name", MADE)
def test_a_description_says_what_the_files_say(name: str) -> None:
    board = boards.load(name)
    renode, uart, counter = board.emulator.renode, board.uart, board.counter
    assert renode is not None
    assert uart is not None
    assert counter is not None
    platform = read_platform(renode_platform.describe(board))
    for region in board.memory:
        assert region.address in platform[region.name].addresses
        assert int(platform[region.name].properties["size"], 16) == region.size_bytes
    port = platform[renode.uart]
    assert uart.address in port.addresses
    assert port.properties["frequency"] == str(uart.clock_hz)
    assert ("nvic", uart.irq) in port.lines.values()
    # A tick of the counter is one instruction.
    assert platform["nvic"].properties["systickFrequency"] == str(counter.hz)
    assert renode.instructions_per_second == counter.hz
    assert platform["cpu"].properties["cpuType"] == board.core().mcpu.split("+")[0].replace("m0plus", "m0+")
    pages = {entry.address & ~0xFFF for entry in board.status}
    assert {p.addresses[0] for p in platform.values() if p.type == "Python.PythonPeripheral"} == pages
    assert overlaps(platform) == []


def overlaps(platform: dict[str, Peripheral]) -> list[tuple[int, int]]:
    spans = sorted(
        (address, address + int(part.properties.get("size", "0x1000"), 16))
        for part in platform.values()
        for address in part.addresses
    )
    return [(one[0], other[0]) for one, other in pairwise(spans) if one[1] > other[0]]


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_nothing_is_made_where_renode_ships_one(name: str) -> None:
    board = boards.load(name)
    assert renode_platform.describe(board, own_drivers=False) == ""
    assert bool(renode_platform.describe(board)) == (board.soc == "nordic/nrf52840")


def test_secure_aliases() -> None:
    platform = read_platform(renode_platform.describe(boards.load("arm/mps3_an547")))
    assert platform["itcm"].addresses == (0x0000_0000, 0x1000_0000)
    assert platform["uart0"].addresses == (0x4930_3000, 0x5930_3000)


def test_a_core_or_port_without_a_model_is_refused() -> None:
    board = boards.load("sifive/hifive1")
    renode = board.emulator.renode
    assert renode is not None
    bare = renode.model_copy(update={"platform": None})
    made = board.model_copy(update={"emulator": board.emulator.model_copy(update={"renode": bare})})
    with pytest.raises(
        ProjectError, match=r"sifive/hifive1: emulator.renode: no platform .* got rv32imac with sifive, .*"
    ):
        renode_platform.describe(made)


class Registers:
    """Runs the script of a peripheral as Renode does: once for each access, in a scope that stays."""

    def __init__(self, script: str) -> None:
        self.code = compile(script, "status", "exec")
        self.scope: dict[str, Any] = {}
        self.access("Init", 0, 0)

    def access(self, kind: str, offset: int, value: int) -> int:
        fields = {
            "IsInit": False,
            "IsRead": False,
            "IsWrite": False,
            "Offset": offset,
            "Value": value,
            f"Is{kind}": True,
        }
        request = SimpleNamespace(**fields)
        self.scope["request"] = request
        exec(self.code, self.scope)
        return int(request.Value)


def test_status_bits_follow_their_control_bits() -> None:
    platform = read_platform(renode_platform.describe(boards.load("raspberrypi/rpi_pico")))
    (resets,) = (p for p in platform.values() if p.addresses == (0x4000_C000,))
    registers = Registers(resets.properties["script"])
    # RESETS: what is written is kept; RESET_DONE is set for what is out of reset.
    registers.access("Write", 0, 0x0040_0001)
    assert registers.access("Read", 0, 0) == 0x0040_0001
    assert registers.access("Read", 8, 0) == 0x01FF_FFFF & ~0x0040_0001
    registers.access("Write", 0, 0x0000_0001)
    assert registers.access("Read", 8, 0) == 0x01FF_FFFE
