"""Finds CPU cores by name: the cores of the table (`core_table`), and the cores of packages (`core_packages`).

Packages are loaded when a name is not in the table, or when all names are asked for.
"""

from __future__ import annotations

import functools
import platform
import sys

from aboard.boards import core_packages
from aboard.boards.core_table import CORES, GENERIC, Cpu, MacInstruction, Tool, host_arch, modified
from aboard.errors import TargetError, did_you_mean

__all__ = ["GENERIC", "Cpu", "MacInstruction", "Tool", "find", "host", "names"]


def names() -> list[str]:
    """Returns the names of all cores, without modifiers."""
    return sorted({**CORES, **core_packages.added()})


@functools.cache
def find(name: str) -> Cpu:
    """Returns a core.

    Args:
        name: gcc's name, with modifiers in any order; the name of a package's core; or `native` for the core of this
            machine.

    Raises:
        TargetError: The core or a modifier is not known, or the core of this machine is not known.
    """
    if name == "native":
        return host()
    base, *modifiers = name.lower().split("+")
    cpu = CORES.get(base) or core_packages.added().get(base)
    if cpu is None:
        raise TargetError(
            f"core {name}: unknown. Use -mcpu={GENERIC}, portable C99, for a core that is not in the list."
            f"{core_packages.left_out()} {did_you_mean(base, names())}"
        )
    return modified(cpu, modifiers, name)


def host() -> Cpu:
    """Returns the core of this machine: `x86-64`, or for aarch64 the least capable of the known cores.

    Raises:
        TargetError: This machine has another instruction set.
    """
    core = {"x86-64": "x86-64", "aarch64": "cortex-a53"}.get(host_arch() or "")
    if core is None or sys.byteorder != "little":
        raise TargetError(
            f"core native: this machine is not supported, got {platform.machine()}, expected x86_64 or aarch64. "
            f"Name a core with -mcpu="
        )
    return CORES[core]
