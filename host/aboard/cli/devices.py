"""`aboard devices`: lists the attached boards."""

from __future__ import annotations

import click

from aboard import boards
from aboard.base.table import table
from aboard.base.wrapping import paragraph
from aboard.cli.console import Console
from aboard.cli.options import example, pass_console
from aboard.cli.output_options import output_options
from aboard.cli.schema_flash import DeviceInfo, DevicesResult, DriveInfo, PortInfo
from aboard.device import usb
from aboard.errors import BoardError
from aboard.flashers import uf2
from aboard.transports.serial import port_holders

_FEW = 3


@click.command("devices", epilog=example("aboard devices", "aboard devices --json"))
@output_options
@pass_console
def command(console: Console) -> None:
    """List the attached boards: USB ids, serial numbers, ports (and their users), drives of boot loaders."""
    result = DevicesResult(devices=[_device(device) for device in usb.devices()], drives=_drives())
    console.emit(result, lambda: _report(result))


def _device(device: usb.UsbDevice) -> DeviceInfo:
    return DeviceInfo(
        usb_id=device.usb_id,
        serial_number=device.serial_number,
        description=device.description,
        ports=[PortInfo(device=port, held_by=list(port_holders(port))) for port in device.ports],
        boards=list(device.boards),
    )


def _drives() -> list[DriveInfo]:
    known: dict[str, list[str]] = {}
    for name in boards.names():
        try:
            flash = boards.load(name).flash
        except BoardError:
            continue  # a broken board file of the user is reported when its board is used
        if flash is not None and "uf2" in flash.tools:
            known.setdefault(str(flash.tools["uf2"].get("board_id")), []).append(name)
    found = ((drive, uf2.board_id(drive)) for drive in uf2.drives())
    return [DriveInfo(path=str(d), board_id=board_id, boards=known.get(board_id or "", [])) for d, board_id in found]


def _report(result: DevicesResult) -> str:
    parts = []
    if result.devices:
        rows = [(d.serial_number, d.usb_id, _ports(d), _short(d.boards), d.description or None) for d in result.devices]
        parts.append(table(("serial number", "USB id", "port", "board", "description"), rows))
    if result.drives:
        drives = [(drive.path, drive.board_id, _short(drive.boards)) for drive in result.drives]
        parts.append(table(("drive", "board id", "board"), drives))
    return "\n\n".join(parts) or paragraph(
        "No board is attached: no USB device with a serial port or the USB id of a board, and no boot loader's drive."
    )


def _ports(device: DeviceInfo) -> str | None:
    words = [f"{p.device} (held by {', '.join(p.held_by)})" if p.held_by else p.device for p in device.ports]
    return ", ".join(words) or None


def _short(boards_: list[str]) -> str:
    """Returns the first few board ids as text, and how many more there are."""
    if not boards_:
        return "not known"
    more = f" and {len(boards_) - _FEW} more" if len(boards_) > _FEW else ""
    return ", ".join(boards_[:_FEW]) + more
