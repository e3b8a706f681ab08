"""Reads core and peripherals of a device from a CMSIS-SVD file. An SVD file states no memories."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree.ElementTree import Element

from aboard.boards.vendors import cores, markup
from aboard.errors import BoardError

_CORES = re.compile(r"CM(\d+P?)(PLUS|\+)?$")
_SERIAL = re.compile(r"US?ARTE?\d*$|UART")


@dataclass(frozen=True)
class Peripheral:
    """A peripheral of a device.

    Attributes:
        name: Name.
        address: First register.
        irqs: Numbers of its interrupts, counted from the first external interrupt.
    """

    name: str
    address: int
    irqs: tuple[int, ...]


@dataclass(frozen=True)
class SvdDevice:
    """What an SVD file states.

    Attributes:
        name: Name of the device.
        vendor: Name of the vendor; `unknown` if the file has none.
        version: Version of the file.
        mcpu: gcc's name of the core; None if the file has no `cpu`.
        peripherals: The peripherals, by name.
    """

    name: str
    vendor: str
    version: str
    mcpu: str | None
    peripherals: dict[str, Peripheral]

    @property
    def serial_ports(self) -> list[Peripheral]:
        """The peripherals with the name of a serial port."""
        return [each for each in self.peripherals.values() if _SERIAL.search(each.name.upper())]


def read(path: Path) -> SvdDevice:
    """Returns the device of an SVD file.

    Raises:
        BoardError: The file cannot be read, or is no SVD file.
    """
    try:
        root = markup.parse(path.read_bytes(), path)
    except OSError as error:
        raise BoardError(
            f"{path}: cannot be read, got {error.strerror}, expected an SVD file. Check its name"
        ) from error
    if root.tag != "device":
        raise BoardError(f"{path}: no SVD file, got <{root.tag}>, expected <device>. Name a file *.svd")
    return SvdDevice(
        name=root.findtext("name", path.stem),
        vendor=root.findtext("vendorID") or root.findtext("vendor") or "unknown",
        version=root.findtext("version", "?"),
        mcpu=_mcpu(root.find("cpu")),
        peripherals={each.name: each for each in _peripherals(root, path)},
    )


def _peripherals(root: Element, path: Path) -> Iterator[Peripheral]:
    for element in root.findall("peripherals/peripheral"):
        try:
            irqs = (markup.number(each.findtext("value", "0")) for each in element.findall("interrupt"))
            address = markup.number(element.findtext("baseAddress", "0"))
            yield Peripheral(element.findtext("name", "?"), address, tuple(dict.fromkeys(irqs)))
        except ValueError as error:
            raise BoardError(
                f"{path}: a number is wrong, got: {error}, expected 0x and digits. Check the file"
            ) from error


def _mcpu(cpu: Element | None) -> str | None:
    """Returns the name of the core; units that the file does not state count as missing, except those of its kind."""
    found = _CORES.match(cpu.findtext("name", "")) if cpu is not None else None
    if cpu is None or found is None:
        return None
    base = f"cortex-m{found[1].lower()}{'plus' if found[2] else ''}"
    double = _true(cpu, "fpuDP")
    fpu = "none" if not _true(cpu, "fpuPresent") else "double" if double else "single"
    dsp = base in ("cortex-m4", "cortex-m7") or _true(cpu, "dspPresent")
    return cores.arm(base, fpu, dsp, "none")


def _true(cpu: Element, key: str) -> bool:
    return cpu.findtext(key, "false").strip().lower() in ("true", "1")
