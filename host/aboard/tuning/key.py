"""Keys of tuning records: the device, its host and SoC, the clock, the toolchain and the workload."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from aboard import boards
from aboard.errors import ToolError
from aboard.project import toolchain as toolchains
from aboard.target import Target

#: Kind of the core itself.
HOST = "host"

#: Placeholder for the SoC if a target names no hardware, and for the toolchain if none is installed.
NONE = ""


class DeviceKey(NamedTuple):
    """A device with its host and SoC, without the other devices of the composite target.

    Attributes:
        soc: SoC of the host, such as `nordic/nrf5340`; boards with the same SoC share records. Empty if none is named.
        core: Core of the host with its modifiers: `cortex-m33+nodsp`.
        kind: Kind of the device, with its identity attributes (`-model=v2`); `host` for the core itself.
        opt: `-opt` of the host, which also applies to the device's code.
    """

    soc: str
    core: str
    kind: str
    opt: str


class Clock(NamedTuple):
    """The speed of a core and of the flash that it runs from, on which ticks depend.

    Attributes:
        hz: Clock of the core, as the board's start-up code sets it; None if its file does not give it.
        wait_states: Of the flash at this clock; None if the file does not give them.
    """

    hz: int | None = None
    wait_states: int | None = None

    def __str__(self) -> str:
        at = "an unknown clock" if self.hz is None else f"{self.hz / 1e6:g} MHz"
        return at if self.wait_states is None else f"{at} with {self.wait_states} wait states"


class Key(NamedTuple):
    """The key of a record.

    Attributes:
        device: The device with its host and SoC.
        clock: The clock at which ticks were measured; None for instructions, which do not depend on it.
        toolchain: Name and version of the compiler.
        workload: The computation in canonical form.
    """

    device: DeviceKey
    clock: Clock | None
    toolchain: str
    workload: str


def device_key(target: Target, device: Target) -> DeviceKey:
    """Returns the key of one of a target's devices.

    Args:
        target: The whole target.
        device: One of its devices, or its host.
    """
    kind = HOST if device == target.host else _kind(device)
    return DeviceKey(_soc(target.hardware), target.cpu.name, kind, target.opt)


def clock(target: Target) -> Clock:
    """Returns the clock of a target's host; unknown if the target names no hardware."""
    if target.hardware is None:
        return Clock()
    core = boards.of_hardware(target.hardware).core()
    return Clock(core.clock_hz, core.wait_states)


def _soc(hardware: str | None) -> str:
    return NONE if hardware is None else boards.of_hardware(hardware).soc


def _kind(device: Target) -> str:
    """Returns kind and identity of a device. A core of a board is named by its SoC, so that boards share records."""
    if device.hardware is None:
        return device.key
    board, _, core = device.hardware.partition(":")
    soc = boards.of_hardware(board).soc
    return device.key.replace(device.hardware, f"{soc}:{core}" if core else soc)


def toolchain(target: Target, override: str | None = None) -> str:
    """Returns name and version of the toolchain for a target's host; empty if there is no toolchain.

    Args:
        target: The target.
        override: Name of a toolchain or path of a compiler.
    """
    return _toolchain(target.cpu.name, override)


@cache
def _toolchain(core: str, override: str | None) -> str:
    try:
        found = toolchains.choose(core, override)
    except ToolError:
        return NONE
    return f"{found.name} {found.version}"
