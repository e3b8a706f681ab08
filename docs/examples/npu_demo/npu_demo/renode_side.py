"""The device in Renode: what stands between `core` and a Python peripheral's requests.

Runs in Renode's IronPython 2.7: types stand in comments.
"""

# ruff: noqa: F401, UP004, UP031 - rules for Python 3 alone, and names in comments with types

from npu_demo.arithmetic import compute
from npu_demo.commands import BusError, UsageError
from npu_demo.core import Device

MYPY = False
if MYPY:
    from typing import Any


class Machine(object):
    """Memory and time of the machine that a peripheral is part of."""

    def __init__(self, peripheral, megahertz):
        # type: (Any, int) -> None
        self._peripheral = peripheral
        self._megahertz = megahertz

    def read(self, address, size):
        # type: (int, int) -> bytes
        """Returns bytes of memory."""
        self._check(address, size)
        return bytes(bytearray(self._bus().ReadBytes(address, size)))

    def write(self, address, data):
        # type: (int, bytes) -> None
        """Changes bytes of memory."""
        self._check(address, len(data))
        bus = self._bus()
        for offset, value in enumerate(bytearray(data)):
            bus.WriteByte(address + offset, value)

    def clock(self):
        # type: () -> int
        """Returns cycles: virtual time at the clock of the CPU."""
        elapsed = self._peripheral.GetMachine().ElapsedVirtualTime.TimeElapsed
        return int(elapsed.TotalMicroseconds * self._megahertz)

    def _bus(self):
        # type: () -> Any
        return self._peripheral.GetMachine().SystemBus

    def _check(self, address, size):
        # type: (int, int) -> None
        # What is not mapped reads as 0 in Renode, and is no error.
        for place in (address, address + size - 1):
            if self._bus().WhatIsAt(place) is None:
                raise BusError(
                    "memory at %#010x: a device cannot read or write %d bytes there, expected an address in one of the "
                    "memories" % (address, size)
                )


def make(peripheral, version, scratchpad, megahertz):
    # type: (Any, int, int, int) -> Device
    """Returns the device of a peripheral."""
    machine = Machine(peripheral, megahertz)
    return Device(version, scratchpad, machine, machine.clock, compute)


def handle(device, request, peripheral):
    # type: (Device, Any, Any) -> None
    """Does what a request asks for.

    Raises:
        UsageError: The device is used wrongly; Renode's log has the text.
    """
    size = {"Byte": 1, "1": 1, "Word": 2, "2": 2}.get(str(getattr(request, "Length", "")), 4)
    try:
        if request.IsInit:
            device.reset()
        elif request.IsRead:
            request.Value = device.read(request.Offset, size)
        else:
            device.write(request.Offset, size, int(request.Value))
    except UsageError as error:
        peripheral.ErrorLog(str(error))
        raise
