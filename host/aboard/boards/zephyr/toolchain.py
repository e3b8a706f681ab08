"""Chooses the compiler that Zephyr uses."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from aboard.base import programs
from aboard.boards.cpu import Cpu
from aboard.errors import ToolError

VARIANT = "ZEPHYR_TOOLCHAIN_VARIANT"
SDK = "ZEPHYR_SDK_INSTALL_DIR"

_SDK_NAMES = ("zephyr-sdk", "zephyr")
_SDK_PLACES = ("{home}", "{home}/.local", "{home}/.local/opt", "{home}/bin", "/opt", "/usr", "/usr/local")
_HOW_TO_GET = (
    "Install the Zephyr SDK (west sdk install, or unpack it from https://github.com/zephyrproject-rtos/sdk-ng/releases "
    "into /opt)"
)


def variables(core: Cpu, override: str | None, environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Returns the CMake variables that choose Zephyr's toolchain; empty if Zephyr finds the toolchain by itself.

    The order: `override`, Zephyr's environment variables, the Zephyr SDK, the GNU compiler on PATH.

    Args:
        core: The core.
        override: `zephyr-sdk`, or the name or path of a GNU compiler.
        environment: Environment variables; by default those of this process.

    Raises:
        ToolError: No toolchain for the core was found, or `override` does not name a toolchain.
    """
    known = os.environ if environment is None else environment
    if override is not None:
        return _named(core, override)
    if core.is_host_class:
        return {VARIANT: "host"}
    if known.get(VARIANT) or _sdk(known) is not None:
        return {}
    found = programs.find(core.cross_compiler)
    if found is None:
        raise ToolError(
            f"zephyr: no compiler for {core.name}, got neither the Zephyr SDK nor {core.cross_compiler}, expected one "
            f"of them. {_HOW_TO_GET}"
        )
    return _gnu(core, found)


def _named(core: Cpu, override: str) -> dict[str, str]:
    if override in _SDK_NAMES:
        return {VARIANT: "zephyr"}
    path = programs.find(override)
    if core.is_host_class or not override.endswith("gcc"):
        expected = "zephyr-sdk" if not core.is_host_class else "none: Zephyr takes this machine's gcc"
        raise ToolError(
            f"toolchain: does not build Zephyr for {core.name}, got {override}, expected {expected} or the name or "
            f"path of {core.cross_compiler}. Name one of these, or none"
        )
    if path is None:
        raise ToolError(f"toolchain: not found, got {override}, expected a program. {_HOW_TO_GET}")
    return _gnu(core, path)


def _gnu(core: Cpu, compiler: Path) -> dict[str, str]:
    if core.is_arm_m:
        return {VARIANT: "gnuarmemb", "GNUARMEMB_TOOLCHAIN_PATH": compiler.parent.parent.as_posix()}
    return {VARIANT: "cross-compile", "CROSS_COMPILE": compiler.as_posix().removesuffix("gcc")}


def _sdk(environment: Mapping[str, str]) -> Path | None:
    """Returns the folder of the Zephyr SDK, from the places in which Zephyr looks."""
    home = environment.get("HOME", "")
    if environment.get(SDK):
        return Path(environment[SDK])
    if any((Path(home) / ".cmake" / "packages" / "Zephyr-sdk").glob("*")):
        return Path(home) / ".cmake" / "packages" / "Zephyr-sdk"
    places = (Path(place.format(home=home)) for place in _SDK_PLACES)
    return next((folder for place in places for folder in sorted(place.glob("zephyr-sdk-*")) if folder.is_dir()), None)
