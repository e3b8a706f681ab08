"""What Zephyr's device trees state about the boards, as recorded numbers, and how board files differ from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from aboard.base import toml
from aboard.boards.board import Board, Memory
from aboard.boards.zephyr.device_tree import Region
from aboard.boards.zephyr.tree_board import TreeBoard

HERE = Path(__file__).parent
RECORD = HERE / "zephyr.json"
REASONS = HERE / "reasons.toml"

#: Facts of one core of a board, as in `zephyr.json`.
Facts = Mapping[str, Any]


class Difference(NamedTuple):
    """A difference between a board file and Zephyr's description.

    Attributes:
        target: Board and core, as `Board.target`.
        key: What differs.
        ours: What the board file states.
        zephyr: What Zephyr's tree states.
    """

    target: str
    key: str
    ours: str
    zephyr: str


def record(found: TreeBoard) -> dict[str, Any]:
    """Returns the facts of a board to be recorded: numbers and names."""
    tree = found.tree
    console = tree.console
    return {
        "zephyr": found.name,
        "soc": found.soc,
        "file": tree.files[0],
        "core": found.mcpu,
        "clock_hz": found.clock_hz,
        "memory": {region.label: [region.kind, region.address, region.size_bytes] for region in tree.memory},
        "flash": tree.flash,
        "ram": tree.sram,
        "console": None
        if console is None
        else {
            "name": console.label,
            "compatible": list(console.compatible),
            "address": console.address,
            "irqs": list(console.irqs),
            "baud": console.baud,
            "pins": list(console.pins),
        },
        "pyocd": _argument(found, "pyocd", "--target="),
        "jlink": _argument(found, "jlink", "--device="),
    }


def _argument(found: TreeBoard, tool: str, option: str) -> str | None:
    words = (word.removeprefix(option) for word in found.runners.get(tool, ()) if word.startswith(option))
    return next(words, None)


def differences(board: Board, facts: Facts) -> Iterator[Difference]:
    """Yields what differs between a board, as one core sees it, and the recorded facts."""
    if board.is_host:
        return
    pairs = [*_core(board, facts), *_roles(board, facts), *_regions(board, facts), *_port(board, facts)]
    for key, ours, zephyr in pairs:
        if ours != zephyr:
            yield Difference(board.target, key, ours, zephyr)


_Pair = tuple[str, str, str]


def _core(board: Board, facts: Facts) -> Iterator[_Pair]:
    core = board.core()
    yield "core", core.mcpu, str(facts["core"])
    if facts["clock_hz"] is not None:
        yield "clock", _mhz(core.clock_hz), _mhz(facts["clock_hz"])
    for tool, key in (("pyocd", "target"), ("jlink", "device")):
        settings = board.flash.tools.get(tool) if board.flash else None
        if settings is not None and facts[tool] is not None:
            yield tool, str(settings[key]).lower(), facts[tool].lower()


def _mhz(clock_hz: int | None) -> str:
    return "none" if clock_hz is None else f"{clock_hz / 1e6:g} MHz"


def _roles(board: Board, facts: Facts) -> Iterator[_Pair]:
    for role, region in (("flash", board.load_memory), ("ram", board.data_memory)):
        stated = facts["memory"].get(facts[role])
        if region is not None and stated is not None:
            yield role, _span(region.address, region.size_bytes), _span(stated[1], stated[2])


def _span(address: int, size: int) -> str:
    return f"0x{address:08x} + {size // 1024} KiB" if size % 1024 == 0 else f"0x{address:08x} + {size} bytes"


def _regions(board: Board, facts: Facts) -> Iterator[_Pair]:
    """Yields the regions of each side that the regions of the other side do not cover."""
    theirs = [Region(label, kind, address, size) for label, (kind, address, size) in facts["memory"].items()]
    for region in board.memory:
        if not (region.load or region.data) and not _covers(theirs, region):
            yield f"memory {region.name}", _span(region.address, region.size_bytes), "none"
    for other in theirs:
        if other.label not in (facts["flash"], facts["ram"]) and not _covers(board.memory, other):
            yield f"memory {other.label}", "none", _span(other.address, other.size_bytes)


def _covers(regions: Iterable[Region | Memory], wanted: Region | Memory) -> bool:
    """True if regions together contain every address of a region."""
    at = wanted.address
    for region in sorted(regions, key=lambda region: region.address):
        if region.address <= at < region.address + region.size_bytes:
            at = region.address + region.size_bytes
    return at >= wanted.address + wanted.size_bytes


def _port(board: Board, facts: Facts) -> Iterator[_Pair]:
    """Yields the serial port of the RPC, which is the port of Zephyr's console, and its interrupt."""
    console = facts["console"]
    port = board.uart
    if port is None or console is None:
        return
    yield "serial port", f"0x{port.address:08x}", f"0x{console['address']:08x}"
    if port.address == console["address"]:
        irqs = console["irqs"]
        yield "interrupt", str(port.irq), str(port.irq if port.irq in irqs else irqs)


def reasons() -> dict[tuple[str, str], str]:
    """Returns the reason for each difference that stays, by target and key."""
    found = {}
    for entry in toml.read(REASONS)["difference"]:
        for target in entry["boards"]:
            for key in entry["keys"]:
                assert (target, key) not in found, f"{REASONS}: {target}, {key} has two reasons"
                found[target, key] = entry["reason"]
    return found
