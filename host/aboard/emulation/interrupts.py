"""Interrupt controllers of RISC-V cores by IP block, as far as aboard's drivers use them, for one source: the port."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping

from typing_extensions import override

from aboard.boards.board import Interrupts
from aboard.emulation.uart import Uart

_EXTERNAL = 11
_PAGE = 0x1000


class Controller(ABC):
    """An interrupt controller.

    Attributes:
        base: Address of its first register; 0 if it has control registers of the core only.
        size: Bytes of its registers.
        masks: True if the core's register `mie` enables the interrupt as well.
        vectored: True if an interrupt enters at its place in a table, aligned to 256 bytes.
    """

    size = _PAGE
    masks = True
    vectored = False

    def __init__(self, stated: Interrupts, uart: Uart, irq: int) -> None:
        self.base = stated.address or 0
        self._uart = uart
        self._irq = irq
        self.reset()

    def parts(self) -> tuple[Controller | Control, ...]:
        """Returns the peripherals that it consists of."""
        return (self,) if self.base else ()

    @property
    def cause(self) -> int:
        """Number of the interrupt for the core, as in `mcause`."""
        return _EXTERNAL

    @abstractmethod
    def reset(self) -> None:
        """Puts it into the state after a reset."""

    @property
    @abstractmethod
    def requests(self) -> bool:
        """True while it requests the core's interrupt."""

    def read(self, offset: int, size: int) -> int:
        """Returns the value of a register."""
        del offset, size
        return 0

    def write(self, offset: int, size: int, value: int) -> None:
        """Takes a value for a register."""
        del offset, size, value

    def csr(self, number: int, value: int) -> int | None:
        """Returns a control register of the core that belongs to the controller; None if there is no such register.

        Args:
            number: Number of the register.
            value: Value that the same instruction writes, which selects a part of some registers.
        """
        del number, value
        return None

    def set_csr(self, number: int, bits: int) -> None:
        """Sets bits of a control register of the core."""
        del number, bits


class Plic(Controller):
    """Platform-level interrupt controller: context 0, one source."""

    size = 0x400000

    @override
    def reset(self) -> None:
        self._enabled: dict[int, int] = {}
        self._claimed = False

    @property
    @override
    def requests(self) -> bool:
        enabled = self._enabled.get(self._irq // 32, 0) >> self._irq % 32 & 1
        return bool(enabled) and not self._claimed and self._uart.requests

    @override
    def read(self, offset: int, size: int) -> int:
        """Reads the enable and claim registers."""
        if offset == 0x200004 and self.requests:
            self._claimed = True
            return self._irq
        return self._enabled.get((offset - 0x2000) // 4, 0) if 0x2000 <= offset < 0x2080 else 0

    @override
    def write(self, offset: int, size: int, value: int) -> None:
        """Writes the enable and complete registers."""
        if 0x2000 <= offset < 0x2080:
            self._enabled[(offset - 0x2000) // 4] = value
        elif offset == 0x200004:
            self._claimed = False
        self._uart.changed()


class Xh3irq(Controller):
    """Interrupt controller of Hazard3 (RP2350 data sheet, 3.8.6), in control registers of the core."""

    _MEIEA, _MEINEXT = 0xBE0, 0xBE4
    _NONE = 1 << 31

    @override
    def reset(self) -> None:
        self._enabled: set[int] = set()

    @property
    @override
    def requests(self) -> bool:
        return self._irq in self._enabled and self._uart.requests

    @override
    def csr(self, number: int, value: int) -> int | None:
        if number == self._MEIEA:
            window = range(16 * (value & 31), 16 * (value & 31) + 16)
            return sum(1 << 16 + n % 16 for n in window if n in self._enabled)
        if number == self._MEINEXT:
            return self._irq << 2 if self.requests else self._NONE
        return None

    @override
    def set_csr(self, number: int, bits: int) -> None:
        if number == self._MEIEA:
            self._enabled |= {16 * (bits & 31) + n for n in range(16) if bits >> 16 + n & 1}


class Esp(Controller):
    """Interrupt matrix of ESP32-C3 and ESP32-C6: each source has a line; priorities and the threshold are by line."""

    vectored = True

    def __init__(self, stated: Interrupts, uart: Uart, irq: int) -> None:
        self.masks = "mie" in stated.params
        self.control = Control(stated.params["control"], self.changed)
        super().__init__(stated, uart, irq)

    @override
    def parts(self) -> tuple[Controller | Control, ...]:
        return (self, self.control)

    @override
    def reset(self) -> None:
        self._lines: dict[int, int] = {}
        self.control.reset()

    @property
    @override
    def cause(self) -> int:
        """Line of the serial port."""
        return self._lines.get(4 * self._irq, 0)

    @property
    @override
    def requests(self) -> bool:
        return self._uart.requests and self.control.lets(self.cause)

    @override
    def read(self, offset: int, size: int) -> int:
        return self._lines.get(offset, 0)

    @override
    def write(self, offset: int, size: int, value: int) -> None:
        self._lines[offset] = value & 31
        self.changed()

    def changed(self) -> None:
        """Makes the core test for interrupts."""
        self._uart.changed()


class Control:
    """The lines of a core: enabled or not, level or edge, with a priority."""

    size = 0x98

    def __init__(self, base: int, changed: Callable[[], None]) -> None:
        self.base = base
        self._changed = changed
        self._values: dict[int, int] = {}

    def reset(self) -> None:
        """Puts it into the state after a reset."""
        self._values.clear()

    def lets(self, line: int) -> bool:
        """True if a request on a line, which is a level, reaches the core."""
        priority = self._values.get(0x10 + 4 * line, 0) & 15
        enabled = self._values.get(0x00, 0) >> line & 1 and not self._values.get(0x04, 0) >> line & 1
        return bool(line and enabled and priority >= max(self._values.get(0x90, 0), 1))

    def read(self, offset: int, size: int) -> int:
        """Returns the stored value."""
        del size
        return self._values.get(offset, 0)

    def write(self, offset: int, size: int, value: int) -> None:
        """Stores a value."""
        del size
        self._values[offset] = value
        self._changed()


#: Models by the driver name in SoC files.
MODELS: Mapping[str, type[Controller]] = {"esp": Esp, "plic": Plic, "xh3irq": Xh3irq}
