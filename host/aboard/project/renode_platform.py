"""Generates platform descriptions (.repl) from board files, for boards that Renode does not ship.

A description has the memories, the core, the interrupt controller, the cycle counter and the serial port of the RPC. If
start-up code waits for status bits of the SoC's clocks, the description also has registers that store writes and set
these bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from aboard.boards import cpu as cpus
from aboard.boards.board import Board, BoardStatus, Uart
from aboard.errors import ProjectError

_PAGE_BYTES = 0x1000
#: Addresses of the interrupt controller and of the counter in Cortex-M, fixed by the architecture.
_NVIC = 0xE000E000
_DWT = 0xE0001000


@dataclass(frozen=True)
class _Port:
    """Renode's model of a serial port.

    Attributes:
        model: Type of the model.
        interrupts: Interrupt outputs, in the order of the interrupt numbers, from the port's `irq` on.
        has_clock: True if the description gives the clock to the model.
        size_bytes: Bytes on the bus; 0 if the model defines its size.
    """

    model: str
    interrupts: tuple[str, ...] = ("IRQ",)
    has_clock: bool = True
    size_bytes: int = 0


#: Renode's models by the driver of the serial port (`[uart.*] driver`).
_PORTS: Mapping[str, _Port] = {
    "cmsdk": _Port("UART.CMSDK_APB_UART", ("RxInterrupt", "TxInterrupt")),
    "pl011": _Port("UART.PL011"),
    "stm32_usart_v1": _Port("UART.STM32_UART", size_bytes=0x400),
    "stm32_usart_v2": _Port("UART.STM32F7_USART"),
}

# IronPython 2.7. Renode executes the script at each access and keeps its variables.
_REGISTERS = """\
if request.IsInit:
    words = {}
elif request.IsWrite:
    words[request.Offset] = int(request.Value)
else:
    value = words.get(request.Offset, 0)
    for place, bit, of, control, inverted in %s:
        if place == request.Offset:
            shown = (words.get(of, 0) & control != 0) != inverted
            value = value | bit if shown else value & ~bit
    request.Value = value"""


def describe(board: Board, *, own_drivers: bool = True) -> str:
    """Returns the platform description of a board; empty if Renode ships one or does not support the board.

    Args:
        board: The board.
        own_drivers: True for images with the drivers of the board file, which may need changes of the platform.

    Raises:
        ProjectError: No description can be generated for the core or the serial port of the board.
    """
    renode = board.emulator.renode
    if renode is None:
        return ""
    if renode.platform is not None:
        changed = own_drivers and renode.overrides
        return f'using "{renode.platform}"\n\n{renode.overrides.strip()}\n' if changed else ""
    core = cpus.find(board.core().mcpu)
    port = _PORTS.get(board.uart.driver) if board.uart else None
    if not core.is_arm_m or port is None or board.uart is None or board.counter is None:
        driver = board.uart.driver if board.uart else "no [rpc]"
        raise ProjectError(
            f"{board.id}: emulator.renode: no platform can be made, got {core.name} with {driver}, "
            f"expected a Cortex-M core and one of: {', '.join(_PORTS)}. "
            "Name a description that Renode ships as `platform`"
        )
    parts = [
        f"// {board.name}: memories, core and serial port, as the board's files have them.",
        *_memories(board, renode.secure_bit),
        _core(core.base, board.counter.hz),
        _serial(renode.uart, port, board.uart, renode.secure_bit),
        *_status(board.status),
    ]
    return "\n".join(parts) + "\n"


def _places(address: int, secure_bit: int | None) -> str:
    """Returns the address of a peripheral on the bus; with secure aliases, both addresses."""
    if not secure_bit:
        return f"sysbus 0x{address:08X}"
    return f"{{\n        sysbus 0x{address & ~secure_bit:08X};\n        sysbus 0x{address | secure_bit:08X}\n    }}"


def _memories(board: Board, secure_bit: int | None) -> Iterator[str]:
    for region in board.memory:
        place = _places(region.address, secure_bit)
        yield f"{region.name}: Memory.MappedMemory @ {place}\n    size: 0x{region.size_bytes:X}"


def _core(base: str, counter_hz: int) -> str:
    name = base.replace("cortex-m0plus", "cortex-m0+")
    return (
        f"nvic: IRQControllers.NVIC @ sysbus 0x{_NVIC:08X}\n"
        f"    systickFrequency: {counter_hz}\n"
        "    IRQ -> cpu@0\n"
        "cpu: CPU.CortexM @ sysbus\n"
        f'    cpuType: "{name}"\n'
        "    nvic: nvic\n"
        f"dwt: Miscellaneous.DWT @ sysbus 0x{_DWT:08X}\n"
        f"    frequency: {counter_hz}"
    )


def _serial(name: str, port: _Port, uart: Uart, secure_bit: int | None) -> str:
    place = _places(uart.address, secure_bit)
    if port.size_bytes:
        place = f"sysbus <0x{uart.address:08X}, +0x{port.size_bytes:X}>"
    lines = [f"{name}: {port.model} @ {place}"]
    lines += [f"    frequency: {uart.clock_hz}"] if port.has_clock else []
    if uart.irq is not None:
        lines += [f"    {line} -> nvic@{uart.irq + number}" for number, line in enumerate(port.interrupts)]
    return "\n".join(lines)


def _status(entries: Iterable[BoardStatus]) -> Iterator[str]:
    """Yields the description of a peripheral for each memory page with status bits."""
    pages: dict[int, list[BoardStatus]] = {}
    for entry in entries:
        pages.setdefault(entry.address & -_PAGE_BYTES, []).append(entry)
    for number, (page, found) in enumerate(sorted(pages.items())):
        rules = [rule for entry in found for rule in _rules(entry, page)]
        yield (
            f"status{number}: Python.PythonPeripheral @ sysbus 0x{page:08X}\n"
            f"    size: 0x{_PAGE_BYTES:X}\n    initable: true\n    script: '''\n{_REGISTERS % (rules,)}\n'''"
        )


def _rules(entry: BoardStatus, page: int) -> Iterator[tuple[int, int, int, int, bool]]:
    of = entry.address if entry.of is None else entry.of
    for bit, control in zip(_bits(entry.bits), _bits(entry.follows), strict=True):
        yield entry.address - page, bit, of - page, control, entry.inverted


def _bits(mask: int) -> Iterator[int]:
    yield from (1 << place for place in range(32) if mask >> place & 1)
