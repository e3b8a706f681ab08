"""Turns a board of a Zephyr tree into what board files state."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from aboard.boards.board import Memory
from aboard.boards.vendors.description import Description, identifier
from aboard.boards.zephyr import tree_board
from aboard.boards.zephyr.device_tree import Console, Region
from aboard.boards.zephyr.tree_board import TreeBoard
from aboard.errors import BoardError

#: `source [find interface/stlink.cfg]` of OpenOCD's language.
_SOURCE = re.compile(r"^source \[find ([^\]]+)\]$")
_OPENOCD = Path("support") / "openocd.cfg"


def describe(base: Path, name: str) -> Description:
    """Returns a board of a Zephyr tree.

    Args:
        base: Folder of the tree.
        name: Zephyr's name of the board, with qualifiers if the board has several SoCs or cores.

    Raises:
        BoardError: The tree has no such board, its files cannot be read, or aboard has no kernels for its core.
        ToolError: A package or the C preprocessor is missing.
    """
    found = tree_board.describe(base, name)
    if found.mcpu is None:
        raise BoardError(
            f"zephyr:{name}: no kernels for its core, got {found.tree.core}, expected a Cortex-M or RV32. Choose "
            "another board"
        )
    words = [word for word in name.split("/") if word != found.soc]
    return Description(
        vendor=found.vendor,
        board=identifier("_".join(words)),
        soc=identifier("_".join([found.soc, *words[1:]])),
        title=found.title,
        source=_source(found),
        mcpu=found.mcpu,
        clock_hz=found.clock_hz,
        memory=tuple(_memory(found)),
        zephyr=name,
        flash=dict(_flash(found, base)),
        notes=tuple(_notes(found)),
    )


def _source(found: TreeBoard) -> str:
    others = [file for file in found.files[1:] if not file.startswith(("include/", "dts/common/"))]
    return f"Zephyr {found.version}: {', '.join([found.files[0], *others])}"


def _memory(found: TreeBoard) -> Iterator[Memory]:
    """Yields the regions that `zephyr,flash` and `zephyr,sram` name, and the others beside them."""
    tree = found.tree
    chosen = [region for region in tree.memory if region.label in (tree.flash, tree.sram)]
    kept: list[Region] = []
    for region in (*chosen, *tree.memory):
        if not any(_overlap(region, other) for other in kept):
            kept.append(region)
    for region in kept:
        load, data = region.label == tree.flash, region.label == tree.sram
        kind = "flash" if load and region.kind == "ram" else region.kind
        yield Memory(
            name=identifier(region.label),
            kind=kind,
            address=region.address,
            size_bytes=region.size_bytes,
            load=load,
            data=data,
        )


def _overlap(one: Region, other: Region) -> bool:
    return one.address < other.address + other.size_bytes and other.address < one.address + one.size_bytes


def _flash(found: TreeBoard, base: Path) -> Iterator[tuple[str, dict[str, str | tuple[str, ...]]]]:
    """Yields the arguments of the flash tools that `board.cmake` and OpenOCD's configuration state."""
    config = base / found.folder / _OPENOCD
    if config.is_file():
        lines = (line.strip() for line in config.read_text(encoding="utf-8").splitlines())
        commands = tuple(_SOURCE.sub(r"\1", line) for line in lines if line and not line.startswith("#"))
        if all(_is_simple(command) for command in commands):
            yield "openocd", {"config": commands}
    for tool, option, key in (("pyocd", "--target=", "target"), ("jlink", "--device=", "device")):
        words = [word.removeprefix(option) for word in found.runners.get(tool, ()) if word.startswith(option)]
        if words:
            yield tool, {key: words[0]}


def _is_simple(command: str) -> bool:
    """True for a command of OpenOCD that stands alone; procedures and conditions span lines."""
    return not any(character in command for character in "{}[]$")


def _notes(found: TreeBoard) -> Iterator[str]:
    if found.tree.console is not None:
        yield _console(found.tree.console)
    if found.tree.missing:
        yield f"Not in the tree, from modules: {', '.join(found.tree.missing)}."


def _console(console: Console) -> str:
    irqs = ", ".join(map(str, console.irqs)) or "none"
    text = f"Console: {console.label} ({console.compatible[0]}) at 0x{console.address:08x}, interrupts {irqs}, "
    return f"{text}{console.baud} baud, pins {', '.join(console.pins) or 'fixed'}."
