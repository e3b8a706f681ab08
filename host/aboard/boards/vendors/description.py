"""What a vendor's description states about a board, and the board files that aboard writes from it."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from aboard.boards import cpu as cpus
from aboard.boards.board import Board, Core, Flash, Memory
from aboard.errors import BoardError, did_you_mean

_WIDTH = 118
_NAME = re.compile(r"[^a-z0-9_]+")


@dataclass(frozen=True)
class Description:
    """A board with one core, as a vendor's files describe it.

    Attributes:
        vendor: Folder of the board's file.
        board: Name of the board's file.
        soc: Name of the SoC's file, in the same folder of SoC files.
        title: Name for people.
        source: The files that the facts come from, with release or commit.
        mcpu: gcc's name of the core, with modifiers for missing units.
        clock_hz: Clock of the core; None if the description does not state it.
        memory: Memory regions; one with `load` and one with `data`.
        zephyr: Zephyr's name of the board; None if the description is not Zephyr's.
        flash: Arguments of flash tools, by tool.
        notes: Further facts for people, such as the serial port of the console; comments in the files.
    """

    vendor: str
    board: str
    soc: str
    title: str
    source: str
    mcpu: str
    clock_hz: int | None
    memory: tuple[Memory, ...]
    zephyr: str | None = None
    flash: Mapping[str, Mapping[str, str | tuple[str, ...]]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """`vendor/board`."""
        return f"{self.vendor}/{self.board}"


def identifier(text: str) -> str:
    """Returns a text as a name in board files: lower case, other characters than letters and digits as `_`."""
    name = _NAME.sub("_", text.lower()).strip("_")
    return name if name[:1].isalpha() else f"m_{name}"


def texts(found: Description) -> dict[Path, str]:
    """Returns the texts of the board's file and of the SoC's file, after a check that they are complete.

    Args:
        found: The board.

    Returns:
        Text by path below a folder of board files, the board's first.

    Raises:
        BoardError: aboard has no kernels for the core, or the memory regions are not complete.
    """
    _check(found)
    return {
        Path(found.vendor) / f"{found.board}.toml": _board_text(found),
        Path("soc") / found.vendor / f"{found.soc}.toml": _soc_text(found),
    }


def _check(found: Description) -> None:
    if found.mcpu.partition("+")[0] not in cpus.names():
        raise BoardError(
            f"{found.id}: no kernels for its core, got {found.mcpu}. {did_you_mean(found.mcpu, cpus.names())}"
        )
    try:
        Board(
            id=found.id,
            name=found.title,
            soc=f"{found.vendor}/{found.soc}",
            source=found.source,
            soc_source=found.source,
            zephyr=found.zephyr,
            cores=(Core(name="cpu0", mcpu=found.mcpu, clock_hz=found.clock_hz),),
            memory=found.memory,
            flash=Flash(source=found.source, tools={k: dict(v) for k, v in found.flash.items()}),
        )
    except ValidationError as error:
        first = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise BoardError(
            f"{found.id}: {first}, in {found.source}. Name the regions with --memory NAME:KIND:ADDRESS:BYTES"
        ) from error


def _board_text(found: Description) -> str:
    pairs = [
        ("name", f"{found.title} ({cpus.find(found.mcpu).base})"),
        ("soc", f"{found.vendor}/{found.soc}"),
        ("zephyr", found.zephyr),
        ("source", found.source),
    ]
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in pairs if value is not None]
    for note in found.notes:
        lines += ["", *(f"# {line}" for line in textwrap.wrap(note, _WIDTH))]
    if found.flash:
        lines += ["", "[flash]", f"source = {json.dumps(found.source, ensure_ascii=False)}"]
    for tool, arguments in found.flash.items():
        lines += ["", f"[flash.{tool}]"]
        lines += [f"{key} = {json.dumps(value)}" for key, value in arguments.items()]
    return "\n".join(lines) + "\n"


def _soc_text(found: Description) -> str:
    lines = [
        f"name = {json.dumps(found.soc)}",
        f"source = {json.dumps(found.source, ensure_ascii=False)}",
        "",
        "[[cores]]",
        'name = "cpu0"',
        f'mcpu = "{found.mcpu}"',
    ]
    if found.clock_hz is not None:
        lines.append(f"clock_hz = {found.clock_hz:_}")
    for region in sorted(found.memory, key=lambda region: region.address):
        lines += ["", *_region_lines(region)]
    return "\n".join(lines) + "\n"


def _region_lines(region: Memory) -> Iterator[str]:
    yield "[[memory]]"
    yield f'name = "{region.name}"'
    yield f'kind = "{region.kind}"'
    yield f"address = 0x{region.address >> 16:04X}_{region.address & 0xFFFF:04X}"
    yield f"size_bytes = {region.size_bytes:_}"
    for role in ("load", "data"):
        if getattr(region, role):
            yield f"{role} = true"
