"""Timers outside the core, as far as aboard's drivers use them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from aboard.emulation.machine import NEVER

_PAGE = 0x1000
_CHANNELS = 4
# Width by the value of BITMODE.
_BITS = (16, 8, 24, 32)


class Clock(Protocol):
    """The clock of a machine, as its timers see it."""

    count: int

    def ticks(self, tick_hz: int, since: int = 0) -> int:
        """Returns the ticks of a counter that began at an instruction count."""

    def look(self) -> None:
        """Makes the core test for interrupts before the next block."""

    def at_tick(self, tick: int, tick_hz: int, since: int = 0) -> int:
        """Returns the instruction count at which that counter reaches a tick."""


class Nrf51Timer:
    """TIMER of nRF51, without prescaler.

    Attributes:
        base: Address of its first register.
        size: Bytes of its registers.
        hz: Ticks a second.
    """

    size = _PAGE

    def __init__(self, base: int, hz: int, clock: Clock) -> None:
        self.base = base
        self.hz = hz
        self._clock = clock
        self.reset()

    def reset(self) -> None:
        """Puts it into the state after a reset."""
        self._started: int | None = None
        self._enabled = 0
        self._period = 1 << _BITS[0]
        self._compare = [0] * _CHANNELS
        self._events = [False] * _CHANNELS
        self._due = [NEVER] * _CHANNELS

    @property
    def requests(self) -> bool:
        """True while it requests its interrupt."""
        return any(event and self._enabled >> 16 + n & 1 for n, event in enumerate(self._events))

    @property
    def deadline(self) -> int:
        """Instruction count of the next compare event."""
        return min(self._due)

    def update(self, count: int) -> None:
        """Raises the compare events that are due."""
        for n, due in enumerate(self._due):
            if count >= due:
                self._events[n] = True
                self._schedule(n)

    def read(self, offset: int, size: int) -> int:
        """Reads EVENTS_COMPARE and CC."""
        del size
        if 0x140 <= offset < 0x140 + 4 * _CHANNELS:
            return int(self._events[(offset - 0x140) // 4])
        if 0x540 <= offset < 0x540 + 4 * _CHANNELS:
            return self._compare[(offset - 0x540) // 4]
        return 0

    def write(self, offset: int, size: int, value: int) -> None:
        """Writes the tasks, EVENTS_COMPARE, INTENSET, BITMODE and CC."""
        del size
        if offset in (0x000, 0x00C):
            self._started = self._clock.count
            self._schedule_all()
        elif 0x040 <= offset < 0x040 + 4 * _CHANNELS:
            self._compare[(offset - 0x040) // 4] = self._now() % self._period
        elif 0x140 <= offset < 0x140 + 4 * _CHANNELS:
            self._events[(offset - 0x140) // 4] = bool(value)
        elif offset == 0x508:
            self._period = 1 << _BITS[value & 3]
        elif offset == 0x304:
            self._enabled |= value
            self._schedule_all()
        elif 0x540 <= offset < 0x540 + 4 * _CHANNELS:
            self._compare[(offset - 0x540) // 4] = value
            self._schedule_all()
        self._clock.look()

    def _now(self) -> int:
        return 0 if self._started is None else self._clock.ticks(self.hz, self._started)

    def _schedule_all(self) -> None:
        for n in range(_CHANNELS):
            self._schedule(n)

    def _schedule(self, n: int) -> None:
        if self._started is None or not self._enabled >> 16 + n & 1:
            self._due[n] = NEVER
            return
        ahead = (self._compare[n] - self._now() - 1) % self._period + 1
        self._due[n] = self._clock.at_tick(self._now() + ahead, self.hz, self._started)


class Mtime:
    """The mtime register of RISC-V's CLINT.

    Attributes:
        base: Its address.
        size: Its bytes.
    """

    size = 8

    def __init__(self, base: int, hz: int, clock: Clock) -> None:
        self.base = base
        self._hz = hz
        self._clock = clock

    def read(self, offset: int, size: int) -> int:
        """Reads the lower or upper half."""
        return self._clock.ticks(self._hz) >> 8 * offset & (1 << 8 * size) - 1

    def write(self, offset: int, size: int, value: int) -> None:
        """Ignores the value: aboard's driver does not set mtime."""


class EspSystimer:
    """SYSTIMER of ESP32-C3 and ESP32-C6, unit 0.

    Attributes:
        base: Address of its first register.
        size: Bytes of its registers.
    """

    size = _PAGE

    def __init__(self, base: int, hz: int, clock: Clock) -> None:
        self.base = base
        self._hz = hz
        self._clock = clock
        self._running = False
        self._value = 0

    def read(self, offset: int, size: int) -> int:
        """Reads CONF, OP and VALUE: the value is that of the last update, which is valid at once."""
        del size
        running = 1 << 30 if self._running else 0
        known = {0x00: running, 0x04: 1 << 29, 0x40: self._value >> 32 & 0xFFFFF, 0x44: self._value & 0xFFFFFFFF}
        return known.get(offset, 0)

    def write(self, offset: int, size: int, value: int) -> None:
        """Writes CONF and OP."""
        del size
        if offset == 0x00:
            self._running = bool(value >> 30 & 1 and value >> 31 & 1)
        elif offset == 0x04 and value >> 30 & 1 and self._running:
            self._value = self._clock.ticks(self._hz)


#: Counters of RISC-V cores by the driver name in SoC files.
COUNTERS: Mapping[str, type[Mtime | EspSystimer]] = {"esp_systimer": EspSystimer, "riscv_mtime": Mtime}
