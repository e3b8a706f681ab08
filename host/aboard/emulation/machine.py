"""A machine: a core with memory and peripherals, which runs an image in a thread of this process.

Time is counted in instructions, block by block. Between blocks the core handles events: a byte from the host, an
expired timer, a stop.
"""

from __future__ import annotations

import ctypes
import threading
from abc import ABC, abstractmethod
from collections import deque
from pathlib import Path
from typing import Any, ClassVar, Protocol

import unicorn
from elftools.elf.elffile import ELFFile

from aboard.boards.board import Board, Memory
from aboard.emulation import registers
from aboard.emulation.bus import DeviceModel, MachineBus
from aboard.emulation.uart import Uart
from aboard.errors import DeviceFault, ToolError

#: A deadline beyond every run: no event is due.
NEVER = 1 << 62
_PAGE = 4096
# Nothing is mapped at this address, so execution never reaches it.
_NOWHERE = 0xFFFFFFF0


class Peripheral(Protocol):
    """Registers at an address."""

    base: int
    size: int

    def read(self, offset: int, size: int) -> int:
        """Returns the value of a register."""

    def write(self, offset: int, size: int, value: int) -> None:
        """Takes a value for a register."""


class LockupError(Exception):
    """The core cannot execute the next instruction and cannot take an exception either."""


class Machine(ABC):
    """A board in this process.

    Attributes:
        uc: The emulator of the core.
        board: The emulated board.
        uart: The serial port of the RPC.
        count: Instructions executed, up to the end of the current block.
        deadline: Instruction count at which the next event is due.
        attention: True if an event may have to be handled before the next block.
        failure: Why the machine stopped; empty while it runs.
        device_fault: The fault that a device model raised and that stopped the machine; None without one.
        bus: The bus for device models.
        registers: Values of registers without a model that the image's set-up wrote, by address.
        has_lines: True if device models can raise interrupts.
    """

    has_lines: ClassVar[bool] = False

    def __init__(self, uc: unicorn.Uc, board: Board, uart: Uart, instructions_per_second: int) -> None:
        self.uc = uc
        self.board = board
        self.uart = uart
        self.instructions_per_second = instructions_per_second
        self.count = 0
        self.deadline = NEVER
        self.attention = False
        self.failure = ""
        self.device_fault: DeviceFault | None = None
        self._devices: list[DeviceModel] = []
        self._pages: dict[int, list[Peripheral]] = {}
        self._shared: list[ctypes.Array[ctypes.c_char]] = []
        self.bus = MachineBus(self, NEVER)
        self._lengths: dict[int, int] = {}
        self._sent = bytearray()
        self._arriving: deque[bytes] = deque()
        self._changed = threading.Condition()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name=f"unicorn {board.id}", daemon=True)
        for region in board.memory:
            self._map_memory(region)
        uc.hook_add(unicorn.UC_HOOK_BLOCK, self._block)
        uart.send = self._send
        uart.changed = self.look
        uart.load = lambda address, count: bytes(uc.mem_read(address, count))
        uart.store = uc.mem_write
        self.add(uart)
        self.registers: dict[int, int] = {}
        for page in registers.pages(board, self.registers):
            self.add(page)

    # The parts that each core implements.

    @abstractmethod
    def reset(self) -> int:
        """Puts the core into the state after a reset; returns where execution starts."""

    @abstractmethod
    def service(self, pc: int) -> bool:
        """Takes an interrupt before the block at `pc`, if one is pending and enabled.

        Returns:
            True if execution continues elsewhere than at `pc`.
        """

    @abstractmethod
    def wake(self) -> bool:
        """True if a sleeping core has to wake up."""

    @abstractmethod
    def resume_address(self) -> int:
        """Returns the address at which execution continues, in Unicorn's form."""

    @abstractmethod
    def fault(self, error: unicorn.UcError) -> int:
        """Takes the exception that an instruction caused; returns the address at which execution continues.

        Raises:
            LockupError: The core cannot take a further exception.
        """

    @abstractmethod
    def count_instructions(self, code: bytes) -> int:
        """Returns how many instructions a block has."""

    # The interface for peripherals and runners.

    def add(self, peripheral: Peripheral) -> None:
        """Maps a peripheral. Peripherals may share pages: the smallest that has an address gets the access."""
        first = peripheral.base & -_PAGE
        for page in range(first, peripheral.base + peripheral.size, _PAGE):
            sharing = self._pages.setdefault(page, [])
            sharing.append(peripheral)
            sharing.sort(key=lambda part: part.size)
        end = -(-(peripheral.base + peripheral.size) // _PAGE) * _PAGE
        new = {page for page in range(first, end, _PAGE) if len(self._pages[page]) == 1}
        for start in [page for page in new if page - _PAGE not in new]:
            stop = next(page for page in range(start, end + _PAGE, _PAGE) if page not in new)
            self._map(start, stop - start)

    def _map_memory(self, region: Memory) -> None:
        """Maps a memory at its address or those of both buses, where the instruction bus reads aligned words only."""
        size = -(-region.size_bytes // _PAGE) * _PAGE
        if region.data_address is None:
            self.uc.mem_map(region.address, size)
            return

        def check(_uc: unicorn.Uc, _access: int, address: int, bytes_read: int, *_rest: object) -> None:
            if bytes_read != 4 or address % 4:
                raise DeviceFault(
                    f"memory at {address:#010x}: the instruction bus of {region.name} cannot read {bytes_read} bytes "
                    "there, expected an aligned word. Read constants through the data bus"
                )

        memory = (ctypes.c_char * size)()
        self._shared.append(memory)
        for address in (region.address, region.data_address):
            self.uc.mem_map_ptr(address, size, unicorn.UC_PROT_ALL, ctypes.addressof(memory))
        self.uc.hook_add(unicorn.UC_HOOK_MEM_READ, check, None, region.address, region.address + size - 1)

    def _map(self, base: int, size: int) -> None:
        """Maps pages whose accesses go to the peripherals there. An address without one reads as 0."""

        def part(address: int) -> Peripheral | None:
            sharing = self._pages[address & -_PAGE]
            return next((one for one in sharing if one.base <= address < one.base + one.size), None)

        def read(_uc: unicorn.Uc, offset: int, size: int, _data: Any) -> int:
            found = part(base + offset)
            return found.read(base + offset - found.base, size) if found else 0

        def write(_uc: unicorn.Uc, offset: int, size: int, value: int, _data: Any) -> None:
            found = part(base + offset)
            if found:
                found.write(base + offset - found.base, size, value)

        self.uc.mmio_map(base, size, read, None, write, None)

    def attach(self, model: DeviceModel) -> None:
        """Maps a device.

        Raises:
            ToolError: The addresses of its registers are already mapped.
        """
        model.attach(self.bus)
        self._devices.append(model)
        try:
            if any(page in self._pages for page in range(model.base & -_PAGE, model.base + model.size, _PAGE)):
                raise unicorn.UcError(unicorn.UC_ERR_MAP)
            self.add(model)
        except unicorn.UcError as error:
            raise ToolError(
                f"{self.board.id}: device {model.name} cannot be mapped at {model.base:#010x}, got {error}, expected "
                "an address where the board has nothing. Give the device another address"
            ) from error

    def reset_devices(self) -> None:
        """Puts all devices, and the registers without a model, into the state after a reset."""
        self.registers.clear()
        self.bus.reset()
        for model in self._devices:
            model.reset()

    def set_deadline(self) -> None:
        """Sets the deadline to the next instruction count at which an event is due."""
        self.deadline = self.bus.deadline

    def look(self) -> None:
        """Makes the core test for interrupts before the next block."""
        self.attention = True

    def ticks(self, tick_hz: int, since: int = 0) -> int:
        """Returns the ticks of a counter that began at an instruction count."""
        return (self.count - since) * tick_hz // self.instructions_per_second

    def at_tick(self, tick: int, tick_hz: int, since: int = 0) -> int:
        """Returns the instruction count at which that counter reaches a tick."""
        return since - -tick * self.instructions_per_second // tick_hz

    # The interface for the host.

    def start(self, image: Path) -> None:
        """Loads an image and starts it."""
        with image.open("rb") as stream:
            for segment in ELFFile(stream).iter_segments("PT_LOAD"):
                if segment["p_filesz"]:
                    self.uc.mem_write(segment["p_paddr"], segment.data())
        self._thread.start()

    def stop(self) -> None:
        """Stops the machine and waits for its end. A second call does nothing."""
        with self._changed:
            self._stopping = True
            self.attention = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join()

    def alive(self) -> bool:
        """True while it runs."""
        return self._thread.is_alive()

    def write(self, data: bytes) -> None:
        """Sends bytes to the serial port."""
        with self._changed:
            self._arriving.append(data)
            self.attention = True
            self._changed.notify_all()

    def read(self, timeout_s: float) -> bytes:
        """Waits for the first byte from the serial port and returns all bytes sent so far; empty after the time-out."""
        with self._changed:
            self._changed.wait_for(lambda: self._sent or not self._thread.is_alive() or self.failure, timeout_s)
            data = bytes(self._sent)
            self._sent.clear()
            return data

    # The thread.

    def _send(self, data: bytes) -> None:
        with self._changed:
            self._sent += data
            self._changed.notify_all()

    def _run(self) -> None:
        try:
            self._execute(self.reset())
        except DeviceFault as error:
            self.device_fault = error
            self.failure = str(error)
        except LockupError as error:
            self.failure = f"the core is locked up: {error}"
        except Exception as error:
            self.failure = f"the emulation failed: {type(error).__name__}: {error}"
        finally:
            with self._changed:
                self.failure = self.failure or "it was stopped"
                self._changed.notify_all()

    def _execute(self, address: int) -> None:
        while not self._stopping:
            try:
                self.uc.emu_start(address, _NOWHERE)
                address = self.resume_address()
            except unicorn.UcError as error:
                address = self.fault(error)
                continue
            self._sleep()

    def _sleep(self) -> None:
        """The core waits for an interrupt.

        While a device works, time advances at once to the next event of a device or a timer of the core; else time
        stands still until a byte arrives.
        """
        if self.bus.deadline < NEVER and not self.wake():
            self.count = max(self.count, self.deadline)
            self.bus.run(self.count)
            return
        with self._changed:
            self._changed.wait_for(lambda: self._stopping or self._arriving or self.wake())
        self._take_arriving()

    def _take_arriving(self) -> None:
        while self._arriving:
            self.uart.receive(self._arriving.popleft())

    def _block(self, _uc: unicorn.Uc, address: int, size: int, _data: Any) -> None:
        key = address << 16 | size
        length = self._lengths.get(key)
        if length is None:
            length = self._lengths[key] = self.count_instructions(bytes(self.uc.mem_read(address, size)))
        if (self.attention or self.count >= self.deadline) and self._attend(address):
            return
        self.count += length

    def _attend(self, address: int) -> bool:
        self.attention = False
        if self._stopping:
            self.uc.emu_stop()
            return True
        self._take_arriving()
        self.bus.run(self.count)
        return self.service(address)
