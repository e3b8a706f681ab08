"""Emulates microcontrollers in this process: Unicorn executes the core, these modules model the rest.

machine.py       loads an image and runs it in a thread: memory, instruction count, the line to the host
cortex_m.py      exceptions, SysTick, NVIC and system control of Cortex-M
riscv.py         traps of RISC-V
interrupts.py    interrupt controllers of RISC-V cores by IP block
uart.py          the base class of serial ports
uarts.py         serial ports by IP block
registers.py     clocks, resets and pins: registers that hold what is written
boot.py          boot ROMs: the steps before the image starts
timers.py        counters outside the core
bus.py           the interfaces between device models and the machine
"""

from __future__ import annotations

from collections.abc import Iterable

from aboard.boards import cpu as cpus
from aboard.boards.board import Board
from aboard.emulation import uarts
from aboard.emulation.bus import Bus, DeviceModel
from aboard.emulation.cortex_m import MODELS, CortexM
from aboard.emulation.machine import Machine
from aboard.emulation.riscv import RiscV
from aboard.errors import ToolError

__all__ = ["Bus", "DeviceModel", "Machine", "machine"]


def machine(board: Board, devices: Iterable[DeviceModel] = ()) -> Machine:
    """Returns a machine that emulates a board, not started.

    Args:
        board: The board.
        devices: Models of devices in addition to the board's own parts.

    Raises:
        ToolError: There is no model of the board's core or serial port, or a device overlaps another part.
    """
    made = _board(board)
    for model in devices:
        made.attach(model)
    return made


def _board(board: Board) -> Machine:
    core = cpus.find(board.core().mcpu)
    emulator, port, counter = board.emulator.unicorn, board.uart, board.counter
    if emulator is None or port is None or counter is None or port.driver not in uarts.MODELS:
        raise ToolError(
            f"{board.id}: cannot be emulated in this process, got a board without [emulator.unicorn] or with another "
            f"serial port, expected one of: {', '.join(uarts.MODELS)}. Use another runner"
        )
    uart = uarts.MODELS[port.driver](port.address)
    if core.is_riscv:
        return RiscV(board, uart, counter, emulator.instructions_per_second)
    if core.base not in MODELS:
        raise ToolError(
            f"{board.id}: Unicorn does not have the core, got {core.name}, expected one of: {', '.join(MODELS)} or a "
            "RISC-V core. Use another runner"
        )
    return CortexM(board, uart, counter, emulator.instructions_per_second)
