"""The interfaces of device models: a model implements `DeviceModel` and uses a `Bus`.

The package of a device returns its models in the column `peripherals`. A model that detects wrong use raises
`aboard.errors.DeviceFault`: the machine stops, and the session reports the text.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from typing import ClassVar, Protocol

import unicorn

from aboard.boards.board import Board, Memory
from aboard.errors import DeviceFault

_CORRECT = "Correct the address that the code writes into the device's registers"


class Bus(Protocol):
    """The operations that a device model may use in its machine.

    Attributes:
        count: Instructions that the core has executed: the machine's time.
        memories: The machine's memories.
    """

    @property
    def count(self) -> int:
        """Instructions that the core has executed."""

    @property
    def memories(self) -> tuple[Memory, ...]:
        """The machine's memories."""

    def read(self, address: int, size: int) -> bytes:
        """Returns bytes of the machine's memory.

        Raises:
            DeviceFault: They do not lie in one of its memories.
        """

    def write(self, address: int, data: bytes) -> None:
        """Changes bytes of the machine's memory.

        Raises:
            DeviceFault: They do not lie in one of its memories, or that memory cannot be written.
        """

    def schedule(self, count: int, event: Callable[[], None]) -> None:
        """Calls a function once the instruction count is reached; at the start of the next block if it has passed."""

    def interrupt(self, number: int, *, active: bool) -> None:
        """Sets the level of an external interrupt line, which keeps its level until the next call.

        Raises:
            DeviceFault: The machine's core has no such lines.
        """


class DeviceModel(Protocol):
    """A model of a device.

    Attributes:
        name: Name in messages.
        base: Address of its first register.
        size: Bytes of its registers.
    """

    name: str
    base: int
    size: int

    def attach(self, bus: Bus) -> None:
        """Receives the bus of the device's machine; called once, before any other method."""

    def reset(self) -> None:
        """Puts it into the state after a reset of the machine."""

    def read(self, offset: int, size: int) -> int:
        """Returns the value of a register.

        Args:
            offset: Bytes from the first register.
            size: Bytes of the access: 1, 2 or 4.

        Raises:
            DeviceFault: The access is not allowed in this size or at this time.
        """

    def write(self, offset: int, size: int, value: int) -> None:
        """Writes a register; arguments and errors as for `read`."""


class Core(Protocol):
    """The properties of a machine that its bus uses.

    Attributes:
        uc: The emulator of the core.
        board: The board.
        count: Instructions that the core has executed.
        has_lines: True if device models can raise interrupts.
    """

    uc: unicorn.Uc
    board: Board
    count: int
    has_lines: ClassVar[bool]

    def look(self) -> None:
        """Makes the core test for interrupts before the next block."""

    def set_deadline(self) -> None:
        """Stops the core when the next event is due."""


class MachineBus:
    """The bus of a machine.

    Attributes:
        deadline: Count at which the next event is due.
        lines: Numbers of the external interrupt lines that are set.
    """

    def __init__(self, machine: Core, never: int) -> None:
        self.deadline = never
        self.lines: set[int] = set()
        self._machine = machine
        self._never = never
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._order = itertools.count()

    @property
    def count(self) -> int:
        """Instructions that the core has executed."""
        return self._machine.count

    @property
    def memories(self) -> tuple[Memory, ...]:
        """The machine's memories."""
        return tuple(self._machine.board.memory)

    def read(self, address: int, size: int) -> bytes:
        """Returns bytes of the machine's memory; see `Bus.read`."""
        self._check(address, size, "read")
        try:
            return bytes(self._machine.uc.mem_read(address, size))
        except unicorn.UcError as error:
            raise DeviceFault(
                f"memory at {address:#010x}: the emulator cannot read it for a device, got {error}. This is a bug of "
                "aboard"
            ) from error

    def write(self, address: int, data: bytes) -> None:
        """Changes bytes of the machine's memory; see `Bus.write`."""
        self._check(address, len(data), "write")
        self._machine.uc.mem_write(address, data)

    def schedule(self, count: int, event: Callable[[], None]) -> None:
        """Calls a function once the instruction count is reached; see `Bus.schedule`."""
        heapq.heappush(self._events, (count, next(self._order), event))
        self._update()

    def interrupt(self, number: int, *, active: bool) -> None:
        """Sets the line of an external interrupt; see `Bus.interrupt`."""
        if not self._machine.has_lines:
            raise DeviceFault(
                f"interrupt {number}: the core has no line for it, got {self._machine.board.core().mcpu}, expected a "
                "Cortex-M. Poll the device"
            )
        (self.lines.add if active else self.lines.discard)(number)
        self._machine.look()

    def run(self, count: int) -> None:
        """Calls the functions that are due."""
        while self._events and self._events[0][0] <= count:
            heapq.heappop(self._events)[2]()
        self._update()

    def reset(self) -> None:
        """Clears all scheduled functions and interrupt lines."""
        self._events.clear()
        self.lines.clear()
        self._update()

    def _update(self) -> None:
        self.deadline = self._events[0][0] if self._events else self._never
        self._machine.set_deadline()

    def _check(self, address: int, size: int, what: str) -> None:
        for memory in self._machine.board.memory:
            if memory.address <= address and address + size <= memory.address + memory.size_bytes:
                if what == "write" and memory.kind == "flash":
                    raise DeviceFault(
                        f"memory at {address:#010x}: a device cannot write {memory.name}, which is flash, expected "
                        f"RAM. {_CORRECT}"
                    )
                return
        known = ", ".join(
            f"{m.address:#010x} to {m.address + m.size_bytes - 1:#010x}" for m in self._machine.board.memory
        )
        raise DeviceFault(
            f"memory at {address:#010x}: a device cannot {what} {size:,} bytes there, expected an address in one of "
            f"the memories {known}. {_CORRECT}"
        )
