"""Reads a device from a CMSIS-Pack: core, units and memories of the description (`*.pdsc`) in the archive.

The keys are those of Open-CMSIS-Pack's specification: `processor` and `memory` elements stand at a family, a subfamily,
a device or a variant, and the inner ones add to the outer ones.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree.ElementTree import Element

from aboard.boards.board import Memory
from aboard.boards.vendors import cores, markup
from aboard.boards.vendors.description import Description, identifier
from aboard.errors import BoardError, did_you_mean

_LEVELS = ("family", "subFamily", "device", "variant")
_FPU = {"0": "none", "NO_FPU": "none", "1": "single", "FPU": "single", "SP_FPU": "single", "DP_FPU": "double"}
_MVE = {"NO_MVE": "none", "0": "none", "MVE": "integer", "1": "integer", "FP_MVE": "float"}
#: Cores whose DSP extension is part of the architecture, so that descriptions leave it out.
_ALWAYS_DSP = ("cortex-m4", "cortex-m7")
_MOST_BYTES = 64 << 20


@dataclass(frozen=True)
class _Device:
    """A device of a pack: its element, after those that it inherits from."""

    name: str
    path: tuple[Element, ...]


def describe(pack: Path, device: str | None, core: str | None) -> Description:
    """Returns a device of a pack.

    Args:
        pack: The archive.
        device: Name of the device; None if the pack has only one.
        core: `Pname` of the core, for a device with several; None for the first.

    Raises:
        BoardError: The file is no pack, or has no such device or core.
    """
    root, name, release = _opened(pack)
    found = _chosen(pack, list(_devices(root)), device)
    vendor = identifier(found.path[0].get("Dvendor", "unknown").partition(":")[0])
    processor = _processor(pack, found, core)
    clock = processor.get("Dclock")
    return Description(
        vendor=vendor,
        board=identifier(found.name),
        soc=identifier(found.name),
        title=found.name,
        source=f"CMSIS-Pack {name} {release} (device {found.name})",
        mcpu=_mcpu(processor),
        clock_hz=markup.number(clock) if clock else None,
        memory=_memory(found, processor.get("Pname")),
    )


def _opened(pack: Path) -> tuple[Element, str, str]:
    """Returns the root of the description, the name of the pack and its newest release."""
    try:
        with zipfile.ZipFile(pack) as archive:
            names = [info for info in archive.infolist() if info.filename.endswith(".pdsc")]
            if len(names) != 1 or names[0].file_size > _MOST_BYTES:
                raise BoardError(
                    f"{pack}: no CMSIS-Pack, got {len(names)} descriptions (*.pdsc), expected one. Download it again"
                )
            text = archive.read(names[0])
    except (OSError, zipfile.BadZipFile) as error:
        raise BoardError(f"{pack}: cannot be read, got: {error}, expected a CMSIS-Pack. Download it again") from error
    root = markup.parse(text, f"{pack}: {names[0].filename}")
    release = root.find("releases/release")
    name = f"{root.findtext('vendor', '?')}.{root.findtext('name', '?')}"
    return root, name, release.get("version", "?") if release is not None else "?"


def _devices(root: Element) -> Iterator[_Device]:
    for family in root.findall("devices/family"):
        yield from _below(family, ())


def _below(element: Element, above: tuple[Element, ...]) -> Iterator[_Device]:
    path = (*above, element)
    inner = [child for child in element if child.tag in _LEVELS]
    name = element.get("Dvariant") or element.get("Dname")
    if name is not None and not inner:
        yield _Device(name, path)
    for child in inner:
        yield from _below(child, path)


def _chosen(pack: Path, devices: Sequence[_Device], wanted: str | None) -> _Device:
    found = [each for each in devices if wanted is None or each.name.lower() == wanted.lower()]
    if len(found) == 1:
        return found[0]
    names = [each.name for each in devices]
    if wanted is None:
        raise BoardError(
            f"{pack}: has {len(names)} devices, got no name, expected one of: {', '.join(names[:20])}. Say --device"
        )
    raise BoardError(f"{pack}: no such device, got {wanted}. {did_you_mean(wanted, names)}")


def _processor(pack: Path, device: _Device, core: str | None) -> dict[str, str]:
    """Returns the attributes of a core: those of the inner elements replace those of the outer ones."""
    merged: dict[str | None, dict[str, str]] = {}
    for element in device.path:
        for processor in element.findall("processor"):
            merged.setdefault(processor.get("Pname"), {}).update(processor.attrib)
    shared = merged.pop(None, {}) if len(merged) > 1 else {}
    known = [name for name in merged if name is not None]
    if core is not None and core not in known:
        raise BoardError(f"{pack}: {device.name}: no such core, got {core}. {did_you_mean(core, known)}")
    if not merged:
        raise BoardError(f"{pack}: {device.name}: states no processor, expected one. Write the board file by hand")
    chosen = merged[core] if core is not None else next(iter(merged.values()))
    return {**shared, **chosen}


def _mcpu(processor: dict[str, str]) -> str:
    base = processor.get("Dcore", "none").lower().replace("+", "plus")
    fpu = _FPU.get(processor.get("Dfpu", "NO_FPU"), "none")
    dsp = base in _ALWAYS_DSP or processor.get("Ddsp") in ("DSP", "1")
    return cores.arm(base, fpu, dsp, _MVE.get(processor.get("Dmve", "NO_MVE"), "none"))


def _memory(device: _Device, core: str | None) -> tuple[Memory, ...]:
    """Returns the memories of a core, with the start-up memory for code and the first default RAM for data."""
    elements: dict[str, Element] = {}
    for level in device.path:
        for element in level.findall("memory"):
            if element.get("Pname") in (None, core) and element.get("alias") is None:
                elements[element.get("name") or element.get("id") or "memory"] = element
    regions = {name: _region(name, element) for name, element in elements.items()}
    flash = [name for name, region in regions.items() if region.kind == "flash"]
    ram = [name for name, region in regions.items() if region.kind == "ram"]
    load = _preferred(elements, flash, "startup")
    data = _preferred(elements, ram, "default")
    return tuple(
        region.model_copy(update={"load": name == load, "data": name == data}) for name, region in regions.items()
    )


def _preferred(elements: dict[str, Element], names: Sequence[str], mark: str) -> str | None:
    marked = [name for name in names if elements[name].get(mark) in ("1", "true")]
    return next(iter([*marked, *names]), None)


def _region(name: str, element: Element) -> Memory:
    """Returns a memory: one that can be written is RAM. Older packs name the kind by id (IROM1, IRAM1)."""
    access = element.get("access")
    writes = "w" in access if access is not None else "RAM" in element.get("id", "").upper()
    return Memory(
        name=identifier(name),
        kind="ram" if writes else "flash",
        address=markup.number(element.get("start", "0")),
        size_bytes=markup.number(element.get("size", "0")),
    )
