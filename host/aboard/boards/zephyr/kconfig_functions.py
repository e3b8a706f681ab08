"""Functions that Kconfig files of Zephyr call, for the package `kconfiglib`: no device tree is known here.

kconfiglib imports the module that `KCONFIG_FUNCTIONS` names and reads `functions` from it. The symbols of a core and
its units do not depend on the device tree; the memory map comes from the device tree itself.
"""

from __future__ import annotations

from collections.abc import Iterable

#: Function, least and most arguments (None: any number), by name. `define` adds the names.
functions: dict[str, tuple[object, int, None]] = {}


def define(names: Iterable[str]) -> None:
    """Defines functions that answer as for a device tree without nodes."""
    for name in names:
        functions[name] = (_nothing, 0, None)


def _nothing(kconf: object, name: str, *arguments: str) -> str:
    """Returns no, zero or an empty path, as the name of the function says."""
    del kconf, arguments
    if name.endswith("_hex"):
        return "0x0"
    if name.endswith("_int"):
        return "0"
    return '""' if name.endswith("_path") else "n"
