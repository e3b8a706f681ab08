"""Lists what is attached to this machine: USB devices with their serial ports, and drives of boot loaders.

`find` returns the USB device that is a given board. If several match, a serial number or a port selects one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from aboard.boards import usb_ids
from aboard.boards.board import Board
from aboard.errors import ToolError

_SYSFS = Path("/sys/bus/usb/devices")
_PORT = re.compile(r"/dev/|(?i:COM\d+$)|\\\\\.\\")


@dataclass(frozen=True)
class UsbDevice:
    """A USB device that has a serial port, or that a board file names.

    Attributes:
        usb_id: `vid:pid`, as in board files.
        serial_number: None if the device reports none.
        description: The name that the device reports.
        ports: Its serial ports, sorted.
        boards: Ids of the boards it may be.
    """

    usb_id: str
    serial_number: str | None
    description: str
    ports: tuple[str, ...]
    boards: tuple[str, ...]

    @property
    def label(self) -> str:
        """Name in messages: the serial number, else the port, else the USB id."""
        return self.serial_number or (self.ports[0] if self.ports else self.usb_id)

    def is_at(self, place: Connection) -> bool:
        """True if the place names this device's serial number or none."""
        return place.serial_number is None or _plain(place.serial_number) == _plain(self.serial_number or "")


@dataclass(frozen=True)
class Connection:
    """Where a board is attached.

    Attributes:
        serial_number: Serial number of its debug probe; None if it is unknown: the tool then takes the only probe that
            is attached.
        port: Its serial port; None if it is unknown.
        drive: Folder of its boot loader's drive; None if none was named.
    """

    serial_number: str | None = None
    port: str | None = None
    drive: Path | None = None


def devices(sysfs: Path = _SYSFS) -> list[UsbDevice]:
    """Returns the attached devices, sorted by USB id and serial number.

    Args:
        sysfs: Folder in which Linux lists USB devices. On other systems only devices with a serial port are found.
    """
    known = usb_ids.boards_by_usb_id()
    by_key: dict[tuple[str, str | None], UsbDevice] = {}
    for device in (*_with_ports(), *(d for d in _on_bus(sysfs, known) if d.usb_id in known)):
        key = (device.usb_id, device.serial_number)
        before = by_key.get(key)
        ports = (*before.ports, *device.ports) if before else device.ports
        by_key[key] = replace(before or device, ports=tuple(sorted(set(ports))))
    return sorted(by_key.values(), key=lambda device: (device.usb_id, device.serial_number or ""))


def _with_ports() -> Iterator[UsbDevice]:
    for port in usb_ids.serial_ports():
        yield UsbDevice(port.usb_id, port.serial_number, port.description, (port.device,), port.boards)


def _on_bus(sysfs: Path, known: dict[str, list[str]]) -> Iterator[UsbDevice]:
    """Yields the devices that Linux lists. A debug probe without a serial port is found only here."""
    for folder in sorted(sysfs.glob("*")) if sysfs.is_dir() else ():
        vendor, product = _said(folder, "idVendor"), _said(folder, "idProduct")
        if vendor and product:
            usb_id = f"{vendor}:{product}"
            described = _said(folder, "product") or ""
            yield UsbDevice(usb_id, _said(folder, "serial"), described, (), tuple(known.get(usb_id, ())))


def _said(folder: Path, name: str) -> str | None:
    try:
        return (folder / name).read_text(encoding="utf-8", errors="replace").strip() or None
    except OSError:
        return None


def find(board: Board, named: str | None = None, found: Iterable[UsbDevice] | None = None) -> Connection:
    """Returns where a board is attached.

    Args:
        board: The board.
        named: A serial number, a serial port, or the folder of a boot loader's drive; None to take the only device that
            may be the board.
        found: The attached devices; looked up by default.

    Raises:
        ToolError: Several devices may be the board, and none is named.
    """
    known = list(devices() if found is None else found)
    if named is not None:
        return _named(named, known)
    candidates = [device for device in known if board.id in device.boards]
    if len(candidates) > 1:
        labels = ", ".join(device.label for device in candidates)
        raise ToolError(
            f"{board.id}: {len(candidates)} attached devices could be this board, got {labels}, expected one. "
            f"Say which with --device, as in --device {candidates[0].label}"
        )
    return _place(candidates[0]) if candidates else Connection()


def _named(named: str, known: list[UsbDevice]) -> Connection:
    if Path(named).is_dir():
        return Connection(drive=Path(named))
    if _PORT.match(named):
        owner = next((device for device in known if named in device.ports), None)
        return Connection(owner.serial_number if owner else None, named)
    same = [device for device in known if _plain(device.serial_number or "") == _plain(named)]
    # If the system does not list the probe, the tool looks for it itself.
    return _place(same[0]) if same else Connection(named)


def _place(device: UsbDevice) -> Connection:
    return Connection(device.serial_number, device.ports[0] if device.ports else None)


def _plain(serial_number: str) -> str:
    """Normalises a serial number: tools print them with or without leading zeros, in upper or lower case."""
    return serial_number.lstrip("0").lower()
