"""What a measurement depends on, beside what is computed: the device, what surrounds it, and what compiled the code."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from aboard import boards
from aboard.errors import ToolError
from aboard.project import toolchain as toolchains
from aboard.target import Target

#: The SoC of a target without hardware, and the toolchain where none is installed.
NONE = ""


class DeviceKey(NamedTuple):
    """A device in its surroundings. Other devices of the composite target are no part of it.

    Attributes:
        soc: SoC of the host, such as `nordic/nrf5340`: boards with one SoC share records. Empty where none is named.
        core: Core of the host, with what it is made without: `cortex-m33+nodsp`.
        kind: Kind of the device with the attributes that make up its identity (`-model=v2`).
        opt: `-opt` of the host, which also compiles the device's code.
    """

    soc: str
    core: str
    kind: str
    opt: str


class Key(NamedTuple):
    """What a record is found by.

    Attributes:
        device: The device in its surroundings.
        toolchain: Name and version of the compiler.
        workload: What is computed, in canonical form.
    """

    device: DeviceKey
    toolchain: str
    workload: str


def device_key(target: Target, device: Target) -> DeviceKey:
    """Returns the key of one of a target's devices.

    Args:
        target: The whole target.
        device: One of its devices.
    """
    return DeviceKey(_soc(target.hardware), target.cpu.name, _kind(device), target.opt)


def _soc(hardware: str | None) -> str:
    return NONE if hardware is None else boards.load(hardware).soc


def _kind(device: Target) -> str:
    """Returns kind and identity of a device; a core of a board is named by the SoC, which all such boards share."""
    if device.hardware is None:
        return device.key
    board, _, core = device.hardware.partition(":")
    soc = boards.load(board).soc
    return device.key.replace(device.hardware, f"{soc}:{core}" if core else soc)


def toolchain(target: Target, override: str | None = None) -> str:
    """Returns name and version of the toolchain that would build for a target's host; empty where there is none.

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
