"""What is attached: USB devices as Linux lists them, joined with serial ports; and which of them a board is."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from aboard import boards, runners
from aboard.boards import usb_ids
from aboard.boards.usb_ids import UsbPort
from aboard.device import usb
from aboard.device.usb import Connection, UsbDevice
from aboard.errors import ToolError

F746 = boards.load("st/nucleo_f746zg")
PICO = boards.load("raspberrypi/rpi_pico")
Plug = Callable[..., None]


@pytest.fixture
def plug_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plug:
    """Plugs a device in: its folder in sysfs, and its serial port where it has one."""
    ports: list[UsbPort] = []
    known = usb_ids.boards_by_usb_id()
    monkeypatch.setattr(usb_ids, "serial_ports", lambda: ports)

    def plug(usb_id: str, serial_number: str | None, product: str, *names: str) -> None:
        folder = tmp_path / f"1-{len(list(tmp_path.iterdir())) + 1}"
        folder.mkdir()
        vendor, _, rest = usb_id.partition(":")
        said = {"idVendor": vendor, "idProduct": rest, "serial": serial_number, "product": product}
        for name, text in said.items():
            if text is not None:
                (folder / name).write_text(f"{text}\n")
        boards_ = tuple(known.get(usb_id, ()))
        ports.extend(UsbPort(name, usb_id, serial_number, product, boards_) for name in names)

    return plug


def test_ports_and_probes_are_joined(plug_in: Plug, tmp_path: Path) -> None:
    plug_in("1d6b:0002", "0000:00:14.0", "xHCI Host Controller")
    plug_in("046d:c52b", None, "USB Receiver")
    plug_in("0483:374b", "066A", "STM32 STLink", "/dev/ttyACM0")
    plug_in("1366:1015", "000683123456", "J-Link", "/dev/ttyACM2", "/dev/ttyACM1")
    plug_in("0483:3748", "3F", "STM32 STLink")
    plug_in("1a86:7523", None, "USB Serial", "/dev/ttyUSB0")
    (tmp_path / "1-9:1.0").mkdir()
    found = usb.devices(tmp_path)
    assert [(d.usb_id, d.serial_number, d.ports) for d in found] == [
        ("0483:3748", "3F", ()),
        ("0483:374b", "066A", ("/dev/ttyACM0",)),
        ("1366:1015", "000683123456", ("/dev/ttyACM1", "/dev/ttyACM2")),
        ("1a86:7523", None, ("/dev/ttyUSB0",)),
    ]
    assert "st/stm32f4_disco" in found[0].boards
    assert F746.id in found[1].boards
    assert "nordic/nrf52840dk" in found[2].boards
    assert found[3].boards == ()
    assert [device.label for device in found] == ["3F", "066A", "000683123456", "/dev/ttyUSB0"]


def test_without_a_list_of_the_system_there_are_the_ports(plug_in: Plug, tmp_path: Path) -> None:
    plug_in("0483:374b", "066A", "STM32 STLink", "/dev/ttyACM0")
    assert [device.label for device in usb.devices(tmp_path / "none")] == ["066A"]


def nucleo(serial_number: str, *ports: str) -> UsbDevice:
    return UsbDevice("0483:374b", serial_number, "STM32 STLink", ports, (F746.id,))


FOUND = [
    nucleo("066A", "/dev/ttyACM0"),
    UsbDevice("0d28:0204", "9904", "micro:bit", ("/dev/ttyACM1",), ("bbc/microbit",)),
]

PLACES = [
    (None, Connection("066A", "/dev/ttyACM0")),
    ("066A", Connection("066A", "/dev/ttyACM0")),
    ("066a", Connection("066A", "/dev/ttyACM0")),
    ("66A", Connection("066A", "/dev/ttyACM0")),
    ("9904", Connection("9904", "/dev/ttyACM1")),
    ("/dev/ttyACM1", Connection("9904", "/dev/ttyACM1")),
    ("/dev/ttyS7", Connection(None, "/dev/ttyS7")),
    ("COM3", Connection(None, "COM3")),
    ("not-listed", Connection("not-listed", None)),
]


@pytest.mark.parametrize(("named", "expected"), PLACES)
def test_where_a_board_is(named: str | None, expected: Connection) -> None:
    assert usb.find(F746, named, FOUND) == expected


def test_a_drive_is_named_by_its_folder(tmp_path: Path) -> None:
    assert usb.find(PICO, str(tmp_path), FOUND) == Connection(drive=tmp_path)


def test_a_board_that_the_system_does_not_list_is_left_to_the_tool() -> None:
    assert usb.find(PICO, None, FOUND) == Connection()


def test_with_two_of_a_kind_the_serial_number_chooses() -> None:
    two = [*FOUND, nucleo("066B", "/dev/ttyACM7")]
    with pytest.raises(
        ToolError,
        match=r"st/nucleo_f746zg: 2 attached devices could be this board, got 066A, 066B, expected one\. Say which "
        r"with --device, as in --device 066A",
    ):
        usb.find(F746, None, two)
    assert usb.find(F746, "066B", two) == Connection("066B", "/dev/ttyACM7")


def plain(name: str) -> boards.Board:
    """A board without its emulators."""
    board = boards.load(name)
    none = board.emulator.model_copy(update={"qemu": None, "unicorn": None, "renode": None})
    return board.model_copy(update={"emulator": none})


def test_a_board_without_emulators_is_meant_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aboard.base.programs.find", lambda name: Path(name) if name == "st-flash" else None)
    assert runners.choose(plain(F746.id)).name == "serial"
    chosen = runners.choose(plain(F746.id), flash=True, device="066A", port="/dev/ttyUSB1")
    assert (chosen.name, type(chosen).__name__) == ("stlink", "StlinkRunner")
    again = chosen.fresh()
    assert again is not chosen
    assert again.__dict__ == chosen.__dict__
    with pytest.raises(ToolError, match=r"runner openocd: openocd is not on PATH\. To get it: apt install openocd"):
        runners.choose(F746, "openocd")


REFUSED = [
    ("arm/mps2_an386", "openocd", {}, r"cannot be arm/mps2_an386, whose file has no \[flash\].*: (renode, )?qemu"),
    ("host/native", "serial", {}, r"cannot be host/native, which is a machine of host class"),
    (
        "bbc/microbit",
        "qemu",
        {"device": "99"},
        r"runner qemu: does not reach attached boards.*: serial, openocd, pyocd",
    ),
    ("bbc/microbit", "opencd", {}, r"runner opencd: unknown\. Did you mean openocd"),
]


@pytest.mark.parametrize(("board", "name", "where", "message"), REFUSED)
def test_what_is_refused(board: str, name: str, where: dict[str, str], message: str) -> None:
    with pytest.raises(ToolError, match=message):
        runners.choose(boards.load(board), name, **where)


def test_no_port_says_how_to_name_one(monkeypatch: pytest.MonkeyPatch) -> None:
    from aboard.device import flash

    monkeypatch.setattr(flash, "_PORT_WAIT_S", 0)
    monkeypatch.setattr(usb, "devices", lambda: [nucleo("066A"), nucleo("066B", "/dev/ttyACM7")])
    runner = runners.choose(F746, "serial", device="066A")
    project = type("Project", (), {"board": F746})()
    with pytest.raises(ToolError) as caught:
        runner.start(project)
    assert re.match(
        r"st/nucleo_f746zg: no serial port, as no attached board with serial number 066A has one\. Plug the board "
        r"in, or name the port of its RPC: --port /dev/ttyUSB0",
        str(caught.value),
    )
