"""Memory use of an image from Zephyr's reports: by memory region (linker) and by module (ram_report, rom_report)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aboard.errors import ToolError

#: Build targets of the reports, and the file that each writes into the build folder.
TARGETS = {"ram_report": "ram.json", "rom_report": "rom.json"}

_HEAD = re.compile(r"^Memory region\s+Used Size\s+RegionUse Size\s+%age Used$", re.MULTILINE)
_ROW = re.compile(r"^\s*(\w+):\s+(\d+) ([KMG]?B)\s+(\d+) ([KMG]?B)\s+[\d.]+%$")
_UNITS = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}
# A linker region that takes no memory on the device.
_NO_MEMORY = ("IDT_LIST",)
_REST = "other"
_LIBGCC = "libgcc"


@dataclass(frozen=True)
class RegionUse:
    """Use of a memory region.

    Attributes:
        name: Name in Zephyr's linker script.
        used_bytes: Bytes that the image uses.
        size_bytes: Size of the region.
    """

    name: str
    used_bytes: int
    size_bytes: int


@dataclass(frozen=True)
class ModuleUse:
    """Memory use of one part of the image.

    Attributes:
        name: `model <name>`, `application`, `aboard`, `zephyr <folder>`, name of a module, or `other`.
        ram_bytes: Bytes of RAM.
        flash_bytes: Bytes of flash.
    """

    name: str
    ram_bytes: int
    flash_bytes: int


def regions(output: str) -> tuple[RegionUse, ...]:
    """Returns the regions of the last table that the linker printed; empty if the linker printed no table.

    Args:
        output: Output of the build.
    """
    heads = list(_HEAD.finditer(output))
    if not heads:
        return ()
    return tuple(_rows(output[heads[-1].end() :].lstrip("\n")))


def _rows(text: str) -> Iterator[RegionUse]:
    for line in text.splitlines():
        row = _ROW.match(line)
        if row is None:
            return
        name, used, used_unit, size, size_unit = row.groups()
        if name not in _NO_MEMORY:
            yield RegionUse(name, int(used) * _UNITS[used_unit], int(size) * _UNITS[size_unit])


def modules(build: Path, project: Path) -> tuple[ModuleUse, ...]:
    """Returns the memory use of each part of the image, largest first.

    Args:
        build: Build folder with the reports.
        project: Folder of the project.

    Raises:
        ToolError: A report is missing or cannot be read.
    """
    ram, rom = (_by_module(build / file, project) for file in TARGETS.values())
    found = [ModuleUse(name, ram.get(name, 0), rom.get(name, 0)) for name in {*ram, *rom}]
    return tuple(sorted(found, key=lambda module: (-module.ram_bytes - module.flash_bytes, module.name)))


def _by_module(report: Path, project: Path) -> dict[str, int]:
    try:
        tree = json.loads(report.read_text(encoding="utf-8"))["symbols"]
        totals: dict[str, int] = {}
        for place, size in _leaves(tree, ()):
            name = _module_of(place, project)
            totals[name] = totals.get(name, 0) + size
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ToolError(f"{report}: cannot be read, got {error}, expected Zephyr's report. Build again") from error
    return totals


def _leaves(node: Mapping[str, Any], place: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], int]]:
    children = node.get("children", [])
    if not children:
        yield place, int(node["size"])
    for child in children:
        yield from _leaves(child, (*place, str(child["name"])))


def _module_of(place: tuple[str, ...], project: Path) -> str:
    """Returns the name of the part that a symbol belongs to, from the folders of its source file."""
    top, rest = place[0], place[1:]
    if top == "ZEPHYR_BASE":
        return f"zephyr {rest[0]}" if rest else "zephyr"
    if top == "OUTPUT_DIR":
        return "zephyr generated"
    folders = [folder for part in place for folder in part.split("/") if folder]
    if _LIBGCC in folders:
        return _LIBGCC
    inside = _inside(folders, project)
    if inside is None:
        return _west_module(folders) or _REST
    if inside[0] == "models" and len(inside) > 1:
        return f"model {inside[1]}"
    return "aboard" if inside[0] == "firmware" else "application"


def _inside(folders: list[str], project: Path) -> list[str] | None:
    """Returns the folders below the project; None for a file outside the project."""
    own = [part for part in project.parts if part != "/"]
    at = next((i for i in range(len(folders)) if folders[i : i + len(own)] == own), None)
    if at is None and "WORKSPACE" in folders and project.name in folders:
        at, own = folders.index(project.name), [project.name]
    return None if at is None else folders[at + len(own) :] or None


def _west_module(folders: list[str]) -> str | None:
    """Returns the name of a module of the workspace: the folder after `modules`."""
    if "modules" not in folders[:-2]:
        return None
    at = folders.index("modules")
    return "/".join(folders[at + 1 : at + 3])
