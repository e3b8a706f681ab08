"""The serial ports of this machine and the boards behind them, found by the USB ids of the board files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from aboard import boards
from aboard.errors import BoardError


@dataclass(frozen=True)
class UsbPort:
    """A serial port of a USB device.

    Attributes:
        device: Name of the port, such as `/dev/ttyACM0` or `COM3`.
        usb_id: `vid:pid`, as in board files.
        serial_number: Serial number of the device; None if the device has none.
        description: Name that the device reports.
        boards: Ids of the possible boards. Boards with the same kind of debug probe have the same USB id.
    """

    device: str
    usb_id: str
    serial_number: str | None
    description: str
    boards: tuple[str, ...]


def serial_ports() -> list[UsbPort]:
    """Returns the serial ports of USB devices, sorted by name, each with its possible boards."""
    from serial.tools import list_ports

    known = boards_by_usb_id()
    found = []
    for port in list_ports.comports():
        if port.vid is None or port.pid is None:
            continue
        usb_id = f"{port.vid:04x}:{port.pid:04x}"
        found.append(
            UsbPort(
                device=port.device,
                usb_id=usb_id,
                serial_number=port.serial_number,
                description=port.description or "",
                boards=tuple(known.get(usb_id, ())),
            )
        )
    return sorted(found, key=lambda port: port.device)


def boards_by_usb_id() -> dict[str, list[str]]:
    """Returns the ids of boards by USB id (`vid:pid`)."""
    found: dict[str, list[str]] = {}
    for board in _readable():
        for usb_id in board.usb:
            found.setdefault(usb_id, []).append(board.id)
    return found


def _readable() -> Iterator[boards.Board]:
    for name in boards.names():
        try:
            yield boards.load(name)
        except BoardError:
            continue  # loading the board reports a broken file
