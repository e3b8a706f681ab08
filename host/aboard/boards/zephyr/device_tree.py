"""Reads the memory map, the console and the clock of a board from the device tree in a Zephyr tree.

The C preprocessor and the package `devicetree` (Zephyr's own parser) read the source. Files of vendors' modules, which
Zephyr's own tree lacks, count as empty; they define pins, whose labels the board's file names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from aboard.base.scratch import Scratch
from aboard.boards.vendors import packages
from aboard.boards.zephyr import device_tree_source
from aboard.errors import BoardError

Kind = Literal["flash", "ram", "itcm", "dtcm", "external"]
#: Kind of memory by words of `compatible`; the first match counts.
_KINDS: Sequence[tuple[str, Kind]] = (
    (r"\bitcm$|imx-itcm", "itcm"),
    (r"\bdtcm$|imx-dtcm|stm32-ccm", "dtcm"),
    (r"soc-nv-flash", "flash"),
    (r"mmio-sram|memory-region", "ram"),
)
#: Controller whose flash has offsets in the flash chip in `reg`, and no addresses of the core.
_CHIP_OFFSETS = "espressif,esp32-flash-controller"


@dataclass(frozen=True)
class Region:
    """A memory region of a device tree.

    Attributes:
        label: First label of the node; its name if the node has no label.
        kind: Kind of memory; `external` for memory outside the chip.
        address: First address.
        size_bytes: Size.
    """

    label: str
    kind: Kind
    address: int
    size_bytes: int


@dataclass(frozen=True)
class Console:
    """The serial port of Zephyr's console.

    Attributes:
        label: First label of the node.
        compatible: Values of `compatible`, the most special first.
        address: First register.
        irqs: Numbers of the interrupts.
        baud: Bits per second.
        pins: Labels or values of the pin assignments, as the device tree has them.
    """

    label: str
    compatible: tuple[str, ...]
    address: int
    irqs: tuple[int, ...]
    baud: int
    pins: tuple[str, ...]


@dataclass(frozen=True)
class DeviceTree:
    """What a device tree states about a board.

    Attributes:
        files: Files of the tree that were read, relative to the tree; the board's file first.
        missing: Files of modules, which are not in the tree.
        memory: Memory regions by ascending address.
        flash: Label of the region that `zephyr,flash` names; None without one.
        sram: Label of the region that `zephyr,sram` names; None without one.
        console: The serial port of the console; None if the board has another console.
        clock_hz: Clock of the core, in Hz; None if the device tree does not state the clock.
        core: The value of `compatible` of the first core.
    """

    files: tuple[str, ...]
    missing: tuple[str, ...]
    memory: tuple[Region, ...]
    flash: str | None
    sram: str | None
    console: Console | None
    clock_hz: int | None
    core: str | None


def read(base: Path, source: Path) -> DeviceTree:
    """Returns what a device tree states.

    Args:
        base: Folder of the Zephyr tree.
        source: The board's file (`*.dts`).

    Raises:
        ToolError: There is no C preprocessor, or a package is missing.
        BoardError: The file cannot be preprocessed or parsed.
    """
    dtlib = packages.load("devicetree.dtlib", "devicetree")
    text, files, missing = device_tree_source.preprocessed(base, source)
    with Scratch() as folder:
        whole = folder / "board.dts"
        whole.write_text(device_tree_source.with_stubs(text), encoding="utf-8")
        try:
            tree = dtlib.DT(str(whole))
        except dtlib.DTError as error:
            raise BoardError(
                f"{source}: cannot be parsed, got {error}, expected a device tree. Build the "
                "board with Zephyr to see why"
            ) from error
    return _described(tree, files, missing)


def _described(tree: Any, files: tuple[str, ...], missing: tuple[str, ...]) -> DeviceTree:
    chosen = tree.get_node("/chosen").props if tree.has_node("/chosen") else {}
    named = {name: _pointed(chosen, f"zephyr,{name}") for name in ("flash", "sram", "console")}
    regions = {
        region.label: region for node in tree.node_iter() if _enabled(node) and (region := _region(node)) is not None
    }
    for node in (named["flash"], named["sram"]):
        if node is not None and _name(node) not in regions:
            regions.update({found.label: found for found in _chosen_region(node)})
    return DeviceTree(
        files=files,
        missing=missing,
        memory=tuple(sorted(regions.values(), key=lambda region: (region.address, region.size_bytes))),
        flash=_name(named["flash"]) if named["flash"] is not None else None,
        sram=_name(named["sram"]) if named["sram"] is not None else None,
        console=_console(named["console"]),
        clock_hz=_clock(tree),
        core=_core(tree),
    )


def _pointed(properties: Any, key: str) -> Any | None:
    """Returns the node that a property names."""
    return properties[key].to_path() if key in properties else None


def _name(node: Any) -> str:
    return str(node.labels[0] if node.labels else node.name)


def _enabled(node: Any) -> bool:
    return "status" not in node.props or node.props["status"].to_string() in ("okay", "ok")


def _compatible(node: Any) -> tuple[str, ...]:
    return tuple(node.props["compatible"].to_strings()) if "compatible" in node.props else ()


def _region(node: Any) -> Region | None:
    """Returns the memory region of a node; None if the node is no memory."""
    words = _compatible(node)
    kind: Kind | None = next((kind for text, kind in _KINDS if any(re.search(text, word) for word in words)), None)
    if kind is None and "device_type" in node.props and node.props["device_type"].to_string() == "memory":
        kind = "external" if not words else "ram"
    return next(_chosen_region(node, kind), None) if kind is not None else None


def _chosen_region(node: Any, kind: Kind = "ram") -> Iterator[Region]:
    """Yields the region of a node with `reg`, unless the region is empty or has no addresses of the core."""
    if node.parent is not None and _CHIP_OFFSETS in _compatible(node.parent):
        return
    for address, size in _registers(node)[:1]:
        if size:
            yield Region(_name(node), kind, address, size)


def _cells(node: Any, key: str, default: int) -> int:
    return int(node.props[key].to_num()) if key in node.props else default


def _registers(node: Any) -> list[tuple[int, int]]:
    """Returns the pairs of address and size in `reg`, as the core sees them."""
    if "reg" not in node.props or node.parent is None:
        return []
    wide, long = _cells(node.parent, "#address-cells", 2), _cells(node.parent, "#size-cells", 1)
    value = node.props["reg"].value
    numbers = [int.from_bytes(value[at : at + 4], "big") for at in range(0, len(value), 4)]
    step = wide + long
    pairs = []
    for at in range(0, len(numbers) - step + 1, step):
        address = _joined(numbers[at : at + wide])
        pairs.append((_translated(node.parent, address), _joined(numbers[at + wide : at + step])))
    return pairs


def _joined(words: Sequence[int]) -> int:
    whole = 0
    for word in words:
        whole = whole << 32 | word
    return whole


def _translated(bus: Any, address: int) -> int:
    """Returns an address of a bus as an address of the core, by `ranges` of each bus above, to the first without it."""
    while bus.parent is not None and "ranges" in bus.props:
        address = _mapped(bus, address) if bus.props["ranges"].value else address
        bus = bus.parent
    return address


def _mapped(bus: Any, address: int) -> int:
    inner, outer = _cells(bus, "#address-cells", 2), _cells(bus.parent, "#address-cells", 2)
    length = _cells(bus, "#size-cells", 1)
    value = bus.props["ranges"].value
    numbers = [int.from_bytes(value[at : at + 4], "big") for at in range(0, len(value), 4)]
    step = inner + outer + length
    for at in range(0, len(numbers) - step + 1, step):
        start = _joined(numbers[at : at + inner])
        size = _joined(numbers[at + inner + outer : at + step])
        if start <= address < start + size:
            return address - start + _joined(numbers[at + inner : at + inner + outer])
    return address


def _console(node: Any | None) -> Console | None:
    """Returns the serial port of the console; None for USB and semihosting, which have no registers."""
    registers = _registers(node) if node is not None else []
    if node is None or not registers:
        return None
    return Console(
        label=_name(node),
        compatible=_compatible(node),
        address=registers[0][0],
        irqs=tuple(_interrupts(node)),
        baud=_cells(node, "current-speed", 115200),
        pins=tuple(_pins(node)),
    )


def _interrupts(node: Any) -> list[int]:
    """Returns the numbers in `interrupts`: the first cell of each entry."""
    if "interrupts" not in node.props:
        return []
    above = node
    while above is not None and "interrupt-parent" not in above.props:
        above = above.parent
    parent = above.props["interrupt-parent"].to_node() if above is not None else node.parent
    return list(node.props["interrupts"].to_nums()[:: _cells(parent, "#interrupt-cells", 2)])


def _pins(node: Any) -> Iterator[str]:
    """Yields the pins of the first state of a port: labels of nodes, or the numbers of `psels` and `pinmux`."""
    if "pinctrl-0" not in node.props:
        return
    for state in node.props["pinctrl-0"].to_nodes():
        groups = list(state.nodes.values())
        values = [
            value
            for group in groups
            for key in ("psels", "pinmux")
            if key in group.props
            for value in _values(group.props[key])
        ]
        yield from values or [_name(state)]


def _values(prop: Any) -> list[str]:
    """Returns the pins of a property: numbers of cells, labels of nodes, or names that only missing files define."""
    if prop.type.name in ("STRING", "STRINGS"):
        return [str(name) for name in prop.to_strings()]
    if prop.type.name in ("PHANDLE", "PHANDLES"):
        return [_name(node) for node in prop.to_nodes()]
    return [f"0x{number:x}" for number in prop.to_nums()]


def _clock(tree: Any) -> int | None:
    """Returns the clock of the core: of the core's own node, or of an STM32's RCC."""
    cores = _cores(tree)
    if cores and "clock-frequency" in cores[0].props:
        return int(cores[0].props["clock-frequency"].to_num())
    reset = tree.label2node.get("rcc")
    if reset is None or "clock-frequency" not in reset.props:
        return None
    return int(reset.props["clock-frequency"].to_num())


def _cores(tree: Any) -> list[Any]:
    cpus = tree.get_node("/cpus").nodes.values() if tree.has_node("/cpus") else ()
    return [node for node in cpus if node.name.startswith("cpu@") and _enabled(node)]


def _core(tree: Any) -> str | None:
    cores = _cores(tree)
    words = _compatible(cores[0]) if cores else ()
    return words[0] if words else None
