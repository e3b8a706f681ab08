"""A machine for tests: memory that is bytes, a clock that is moved by hand, and the device on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from npu_demo import core, fast
from npu_demo.commands import BusError

X, Y, WEIGHTS, PARAMETERS, LIST = 0x1000, 0x2_0000, 0x4_0000, 0x6_0000, 0x8_0000
BYTES = 0x20_0000


class Machine:
    """Memory, clock and device.

    Args:
        version: Of the device.
        scratchpad: Its bytes.
        compute: Its arithmetic.
    """

    def __init__(self, version: int, scratchpad: int = 0, compute: Any = fast.compute) -> None:
        self.memory = bytearray(BYTES)
        self.now = 0
        self.device = core.Device(version, scratchpad, self, lambda: self.now, compute)

    def read(self, address: int, size: int) -> bytes:
        self._check(address, size)
        return bytes(self.memory[address : address + size])

    def write(self, address: int, data: bytes) -> None:
        self._check(address, len(data))
        self.memory[address : address + len(data)] = data

    def _check(self, address: int, size: int) -> None:
        if address + size > BYTES:
            raise BusError(f"nothing at {address + size - 1:#x}")

    def put(self, offset: int, value: int) -> None:
        self.device.write(offset, 4, value)

    def get(self, offset: int) -> int:
        return self.device.read(offset, 4)

    def activate(self) -> None:
        self.put(core.CTRL, core.ACTIVE)

    def place_bases(self) -> None:
        for offset, value in zip(core.BASES, (X, Y, WEIGHTS, PARAMETERS), strict=True):
            self.put(offset, value)

    def start_list(self, words: Sequence[int]) -> None:
        """Writes a command list and starts it; the device is active."""
        self.write(LIST, b"".join(word.to_bytes(4, "little") for word in words))
        self.place_bases()
        self.put(core.LIST, LIST)
        self.put(core.WORDS, len(words))
        self.put(core.CTRL, core.ACTIVE | core.START)

    def finish(self) -> None:
        """Lets time go by until the job has ended."""
        self.now += self.get(core.CYCLES)
        assert self.get(core.STATUS) == core.ACTIVE | core.DONE
