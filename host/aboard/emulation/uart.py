"""The base class of models of serial ports. Received bytes queue without limit, as in QEMU."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable

_PAGE = 0x1000


class Uart(ABC):
    """A serial port.

    Attributes:
        base: Address of its first register.
        size: Bytes of its registers.
        send: Receives the bytes that the image sends.
        changed: Called when the interrupt request may have changed.
        load: Reads memory, for a port with DMA: takes address and number of bytes.
        store: Writes memory, for a port with DMA: takes address and bytes.
    """

    size = _PAGE

    def __init__(self, base: int) -> None:
        self.base = base
        self.send: Callable[[bytes], None] = _nobody
        self.changed: Callable[[], None] = _nothing
        self.load: Callable[[int, int], bytes] = _zeros
        self.store: Callable[[int, bytes], None] = _dropped
        self.interrupts = False
        self._waiting: deque[int] = deque()

    def receive(self, data: bytes) -> None:
        """Queues bytes from the host."""
        self._waiting.extend(data)
        self.changed()

    def reset(self) -> None:
        """Puts it into the state after a reset; what waits on the line stays."""
        self.interrupts = False

    @property
    def requests(self) -> bool:
        """True while it requests its receive interrupt."""
        return self.interrupts and bool(self._waiting)

    @abstractmethod
    def read(self, offset: int, size: int) -> int:
        """Returns the value of a register."""

    @abstractmethod
    def write(self, offset: int, size: int, value: int) -> None:
        """Takes a value for a register."""

    def _take(self) -> int:
        return self._waiting.popleft() if self._waiting else 0

    def _enable(self, on: int) -> None:
        self.interrupts = bool(on)
        self.changed()


def _nobody(data: bytes) -> None:
    del data


def _nothing() -> None:
    pass


def _zeros(address: int, count: int) -> bytes:
    del address
    return bytes(count)


def _dropped(address: int, data: bytes) -> None:
    del address, data
