"""Serial ports: which are refused, their rate, and ports that go and come back."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import termios
import threading
from pathlib import Path

import pytest
import serial
from serial.tools.list_ports_common import ListPortInfo

from aboard.errors import TransportError
from aboard.rpc.client import Client
from aboard.transports import serial as serial_transport
from aboard.transports.loopback import LoopbackTransport
from aboard.transports.pty import Pty
from aboard.transports.serial import SerialTransport, line_rate, port_holders
from support.cable import Cable
from support.line_pairs import ALL_BYTES, pty_pair, read_all
from support.rpc_device import FakeDevice


def test_a_port_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(TransportError, match=f"{tmp_path}/tty: no such port. Plug the board in"):
        SerialTransport(tmp_path / "tty")


def test_a_file_that_is_no_port(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TransportError, match=r"file: the port cannot be opened, got .*expected a serial port"):
        SerialTransport(tmp_path / "file")


def test_a_baud_rate_that_cannot_be() -> None:
    pair = Pty()
    try:
        with pytest.raises(TransportError, match="the port cannot be set up, got baud rate -1"):
            SerialTransport(pair.path, -1)
    finally:
        pair.close()


def test_a_busy_port_names_its_holder() -> None:
    pair = Pty()
    script = "import serial, sys; p = serial.Serial(sys.argv[1], exclusive=True); print('open', flush=True); input()"
    command = [sys.executable, "-c", script, pair.path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"open\n"
            message = rf"{pair.path}: the port is busy, held by .*python\S* \(pid {process.pid}\).*Close it there"
            with pytest.raises(TransportError, match=message):
                SerialTransport(pair.path)
        finally:
            process.kill()
            pair.close()


def test_the_holder_may_be_this_process() -> None:
    pair = Pty()
    transport = pair.connect()
    assert any(re.fullmatch(rf".+ \(pid {os.getpid()}, this process\)", holder) for holder in port_holders(pair.path))
    with pytest.raises(TransportError, match=r"held by .*this process"):
        SerialTransport(pair.path)
    transport.close()
    assert not list(port_holders(pair.path))
    pair.close()


def test_a_pair_that_was_not_connected_closes() -> None:
    pair = Pty()
    os.write(pair.controller, b"early")
    assert Path(pair.path).exists()
    pair.close()
    pair.close()
    with pytest.raises(TransportError, match="no such port"):
        SerialTransport(pair.path)


def test_a_port_that_takes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise serial.SerialTimeoutException("Write timeout")

    with pty_pair() as (near, far):
        monkeypatch.setattr(serial.Serial, "write", refuse)
        with pytest.raises(TransportError, match="the port takes no bytes, got none sent for 10 s"):
            near.write(b"x")
        far.close()


@pytest.mark.parametrize("baud", [300, 115_200, 250_000, 921_600, 1_500_000, 3_000_000])
def test_a_port_runs_at_the_rate_that_was_asked_for(baud: int) -> None:
    pair = Pty()
    port = pair.connect(baud)
    assert line_rate(port._opened()) == baud
    assert port.bytes_per_second == baud / 10
    os.write(pair.controller, ALL_BYTES)
    assert read_all(port, len(ALL_BYTES)) == ALL_BYTES
    port.close()
    pair.close()


def test_a_rate_that_the_adapter_rounds_too_far_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = Pty()
    monkeypatch.setattr("aboard.transports.serial.line_rate", lambda port: 2_900_000)
    message = rf"{pair.path}: the port cannot run at this rate, got 2900000 baud, expected 3000000\. Use a rate"
    with pytest.raises(TransportError, match=message):
        SerialTransport(pair.path, 3_000_000)
    assert not [holder for holder in port_holders(pair.path) if "pid" not in holder]
    SerialTransport(pair.path, 2_900_000).close()
    monkeypatch.setattr("aboard.transports.serial.line_rate", lambda port: None)
    SerialTransport(pair.path, 3_000_000).close()
    pair.close()


def test_what_has_no_rate_is_not_asked_for_it() -> None:
    read, write = os.pipe()
    with os.fdopen(read) as end:
        assert line_rate(end) is None
    os.close(write)


def test_flow_control_by_wires_is_the_port_s() -> None:
    pair = Pty()
    for rtscts in (True, False):
        port = SerialTransport(pair.path, rtscts=rtscts)
        flags = termios.tcgetattr(port._opened().fileno())[2]
        assert bool(flags & termios.CRTSCTS) == rtscts
        port.close()
    pair.close()


@pytest.mark.parametrize("level", [True, False])
def test_dtr_and_rts_have_their_level_from_the_moment_the_port_opens(
    level: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    levels: list[tuple[str, bool]] = []
    monkeypatch.setattr(serial.Serial, "_update_dtr_state", lambda port: levels.append(("dtr", port.dtr)))
    monkeypatch.setattr(serial.Serial, "_update_rts_state", lambda port: levels.append(("rts", port.rts)))
    pair = Pty()
    SerialTransport(pair.path, dtr=level, rts=level).close()
    assert levels == [("dtr", level), ("rts", level)]
    pair.close()


def test_a_port_that_was_unplugged_is_opened_again(tmp_path: Path) -> None:
    device = FakeDevice()
    cable = Cable(tmp_path / "port", device.transport())
    port = SerialTransport(cable.port)
    cable.unplug()
    with pytest.raises(TransportError, match=r"the port is gone, got .*was unplugged or has restarted"):
        port.read(5)
    with pytest.raises(TransportError, match="port: no such port"):
        port.reopen(0.05)
    timer = threading.Timer(0.1, cable.plug, [device.transport()])
    timer.start()
    port.reopen(5)
    timer.join()
    assert Client(port).connect().board == "fake/device"
    port.close()
    cable.unplug()


def test_a_usb_device_is_found_under_its_new_name(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = Pty(), Pty()

    def ports(*names: tuple[str, str]) -> None:
        def info(name: str, number: str) -> ListPortInfo:
            port = ListPortInfo(name)
            port.vid, port.pid, port.serial_number = 0x0D28, 0x0204, number
            return port

        found = [info(*name) for name in names]
        monkeypatch.setattr("serial.tools.list_ports.comports", lambda: [ListPortInfo("/dev/ttyS0"), *found])

    ports((first.path, "A1"), (second.path, "B2"))
    port = SerialTransport(first.path)
    ports((first.path, "B2"))  # another board has taken its name
    with pytest.raises(TransportError, match=r"the board is not back, got no port of it for 0\.05 s\. Plug it in"):
        port.reopen(0.05)
    ports((first.path, "B2"), (second.path, "A1"))
    port.reopen(1)
    os.write(second.controller, b"found")
    assert read_all(port, 5) == b"found"
    port.close()
    first.close()
    second.close()


def test_a_line_that_ends_with_its_device_is_not_opened_again() -> None:
    with pytest.raises(TransportError, match="loopback: cannot be opened again"):
        LoopbackTransport(lambda data: data).reopen(1)


def test_a_serial_port_tells_its_speed() -> None:
    with pty_pair() as (near, far):
        assert near.bytes_per_second == 11520
        assert near.name.endswith(" at 115200 baud")
        far.close()


class SlowPort:
    """A port as pyserial has it on Windows: no descriptor, and bytes that come after a while."""

    def __init__(self, asks: int) -> None:
        self.asks = asks

    @property
    def in_waiting(self) -> int:
        self.asks -= 1
        return int(self.asks < 0)


@pytest.mark.parametrize(("asks", "timeout_s", "came"), [(0, 0.0, True), (3, 10.0, True), (1000, 0.01, False)])
def test_windows_asks_the_port_for_bytes(
    asks: int, timeout_s: float, came: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "win32")
    assert serial_transport._wait(SlowPort(asks), timeout_s) == came
    assert line_rate(SlowPort(0)) is None
