"""The device in machines that run in this process: `core` with numpy, and with the machine's memory and time."""

from __future__ import annotations

from aboard.emulation import Bus
from aboard.errors import DeviceFault
from aboard.target import Target
from npu_demo import fast
from npu_demo.commands import BusError, UsageError
from npu_demo.core import SIZE, Device


class _Memory:
    """The machine's memory, with the exceptions of `core`."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    def read(self, address: int, size: int) -> bytes:
        try:
            return self._bus.read(address, size)
        except DeviceFault as error:
            raise BusError(str(error)) from error

    def write(self, address: int, data: bytes) -> None:
        try:
            self._bus.write(address, data)
        except DeviceFault as error:
            raise BusError(str(error)) from error


class NpuDemo:
    """The device.

    Attributes:
        name: What messages call it.
        base: Address of its first register.
        size: Bytes of its registers.
    """

    name = "npu-demo"
    size = SIZE

    def __init__(self, target: Target) -> None:
        self.base = int(target.attrs["address"])
        self._version = 1 if target.get("model") == "v1" else 2
        self._scratchpad = int(target.get("scratchpad") or 0)

    def attach(self, bus: Bus) -> None:
        """Takes the bus; see `DeviceModel`."""
        self._bus = bus
        self._device = Device(self._version, self._scratchpad, _Memory(bus), lambda: bus.count, fast.compute)

    def reset(self) -> None:
        """Puts it into the state after a reset."""
        self._device.reset()

    def read(self, offset: int, size: int) -> int:
        """Returns the value of a register; see `DeviceModel`."""
        try:
            return self._device.read(offset, size)
        except UsageError as error:
            raise DeviceFault(str(error)) from error

    def write(self, offset: int, size: int, value: int) -> None:
        """Takes a value for a register; see `DeviceModel`."""
        try:
            self._device.write(offset, size, value)
        except UsageError as error:
            raise DeviceFault(str(error)) from error
        if self._device.until is not None:
            self._bus.schedule(self._device.until, self._update)

    def _update(self) -> None:
        try:
            self._device.update()
        except UsageError as error:
            raise DeviceFault(str(error)) from error
