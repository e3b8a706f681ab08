"""Every transport over the real thing: ptys, sockets, pipes, processes."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import serial
from serial.tools.list_ports_common import ListPortInfo

from aboard.errors import TransportError
from aboard.rpc import messages
from aboard.rpc.client import Client
from aboard.rpc.messages import TensorKind
from aboard.transports import serial as serial_transport
from aboard.transports.base import Transport
from aboard.transports.loopback import LoopbackTransport
from aboard.transports.lossy import LossyTransport, Noise
from aboard.transports.pipe import PipeTransport
from aboard.transports.pty import Pty
from aboard.transports.serial import SerialTransport, line_rate, port_holders
from aboard.transports.tcp import SocketTransport
from support.cable import Cable
from support.rpc_device import FakeDevice

ALL_BYTES = bytes(range(256)) * 3


def read_all(transport: Transport, count: int, timeout_s: float = 5.0) -> bytes:
    data = b""
    deadline = time.monotonic() + timeout_s
    while len(data) < count and time.monotonic() < deadline:
        data += transport.read(0.1)
    return data


@contextlib.contextmanager
def pty_pair() -> Iterator[tuple[Transport, Transport]]:
    pair = Pty()
    port = pair.connect()
    yield port, PipeTransport(fd := pair.release(), os.dup(fd), "controller")
    port.close()


@contextlib.contextmanager
def tcp_pair() -> Iterator[tuple[Transport, Transport]]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = SocketTransport.tcp("127.0.0.1", server.getsockname()[1])
        yield client, SocketTransport(server.accept()[0], "server")
    client.close()


@contextlib.contextmanager
def unix_pair(folder: Path) -> Iterator[tuple[Transport, Transport]]:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "line"))
        server.listen()
        client = SocketTransport.unix(folder / "line")
        yield client, SocketTransport(server.accept()[0], "server")
    client.close()


@contextlib.contextmanager
def pipe_pair() -> Iterator[tuple[Transport, Transport]]:
    (a_read, b_write), (b_read, a_write) = os.pipe(), os.pipe()
    client = PipeTransport(a_read, a_write, "pipe")
    yield client, PipeTransport(b_read, b_write, "other end")
    client.close()


@pytest.fixture(params=["pty", "tcp", "unix", "pipe"])
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Transport, Transport]]:
    makers: dict[str, Callable[[], contextlib.AbstractContextManager[tuple[Transport, Transport]]]] = {
        "pty": pty_pair,
        "tcp": tcp_pair,
        "unix": lambda: unix_pair(tmp_path),
        "pipe": pipe_pair,
    }
    with makers[request.param]() as (near, far):
        yield near, far
        far.close()


def test_every_byte_passes_both_ways(pair: tuple[Transport, Transport]) -> None:
    for sender, receiver in (pair, pair[::-1]):
        sender.write(ALL_BYTES)
        assert read_all(receiver, len(ALL_BYTES)) == ALL_BYTES


def test_reading_nothing_takes_as_long_as_asked(pair: tuple[Transport, Transport]) -> None:
    start = time.monotonic()
    assert pair[0].read(0.1) == b""
    assert 0.09 <= time.monotonic() - start < 1
    start = time.monotonic()
    assert pair[0].read(0) == b""
    assert time.monotonic() - start < 0.1


def test_bytes_wake_a_reader_at_once(pair: tuple[Transport, Transport]) -> None:
    near, far = pair
    timer = threading.Timer(0.05, far.write, [b"now"])
    timer.start()
    start = time.monotonic()
    assert near.read(5) == b"now"
    assert time.monotonic() - start < 2
    timer.join()


def test_an_end_that_goes_is_reported_at_once(pair: tuple[Transport, Transport]) -> None:
    near, far = pair
    far.close()
    start = time.monotonic()
    with pytest.raises(TransportError, match=r"(the other end|the port) is gone, got .*open (a new session|it again)"):
        near.read(5)
    assert time.monotonic() - start < 1


def test_a_closed_line_says_so(pair: tuple[Transport, Transport]) -> None:
    near, _ = pair
    near.close()
    near.close()
    for use in (lambda: near.read(0), lambda: near.write(b"x")):
        with pytest.raises(TransportError, match=r"the line is closed\. Open a new session"):
            use()


def test_a_session_over_every_line(pair: tuple[Transport, Transport]) -> None:
    near, far = pair
    device = FakeDevice()
    done = threading.Event()

    def serve() -> None:
        while not done.is_set():
            answer = device.step(far.read(0.01))
            if answer:
                far.write(answer)

    server = threading.Thread(target=serve)
    server.start()
    try:
        client = Client(near)
        assert client.connect().board == "fake/device"
        client.write_input(1, 0, bytes(20))
        client.run(messages.RunRequest(1))
        assert client.read_tensor(1, TensorKind.OUTPUT, 0, 20) == bytes(20)
    finally:
        done.set()
        server.join()


def test_writing_to_an_end_that_takes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aboard.transports.pipe.WRITE_TIMEOUT_S", 0.05)
    with (
        pipe_pair() as (near, _),
        pytest.raises(TransportError, match=r"takes no bytes, got \d+ of 2000000 left after 0\.05 s"),
    ):
        near.write(bytes(2_000_000))


def test_writing_to_an_end_that_is_gone() -> None:
    with pipe_pair() as (near, far):
        far.close()
        with pytest.raises(TransportError, match="pipe: the other end is gone, got 'Broken pipe'"):
            near.write(b"x")


def test_a_process_on_its_pipes() -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        transport = PipeTransport.of_process(process, "cat")
        transport.write(ALL_BYTES)
        assert read_all(transport, len(ALL_BYTES)) == ALL_BYTES
        process.kill()
        with pytest.raises(TransportError, match="cat: the other end is gone, got 'end of file'"):
            transport.read(5)
        transport.close()


def test_a_process_without_pipes() -> None:
    with (
        subprocess.Popen(["true"]) as process,
        pytest.raises(TransportError, match="true: no pipes, got a process without them"),
    ):
        PipeTransport.of_process(process, "true")


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


def test_lossy_noise_swaps_neighbours() -> None:
    line = LossyTransport(LoopbackTransport(lambda data: data), Noise(swap=0.05), seed=5)
    line.write(ALL_BYTES)
    received = line.read(0)
    assert sorted(received) == sorted(ALL_BYTES)
    moved = [at for at, byte in enumerate(received) if byte != ALL_BYTES[at]]
    assert 20 < len(moved) < 200
    assert all(abs((received[at] - ALL_BYTES[at] + 128) % 256 - 128) < 4 for at in moved)


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


def test_nobody_listens(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(TransportError, match=rf"tcp 127\.0\.0\.1:{port}: cannot connect, got Connection refused"):
        SocketTransport.tcp("127.0.0.1", port, timeout_s=0.05)
    with pytest.raises(TransportError, match=r"line: cannot connect, got No such file or directory for 0\.05 s"):
        SocketTransport.unix(tmp_path / "line", timeout_s=0.05)


def test_a_listener_that_comes_late(tmp_path: Path) -> None:
    path = tmp_path / "line"
    server = socket.socket(socket.AF_UNIX)

    def listen() -> None:
        server.bind(str(path))
        server.listen()

    timer = threading.Timer(0.1, listen)
    timer.start()
    transport = SocketTransport.unix(path, timeout_s=5)
    timer.join()
    connection, _ = server.accept()
    with server, connection:
        transport.write(b"here")
        assert connection.recv(4) == b"here"
        transport.close()


def test_loopback_hands_over_what_was_written() -> None:
    seen: list[bytes] = []
    line = LoopbackTransport(lambda data: seen.append(data) or data[::-1])  # type: ignore[func-returns-value] # append
    line.write(b"ab")
    line.write(b"c")
    assert line.read(0) == b"cba"
    assert seen == [b"abc"]
    line.close()
    with pytest.raises(TransportError, match="loopback: the line is closed"):
        line.read(0)


def test_lossy_without_noise_changes_nothing() -> None:
    line = LossyTransport(LoopbackTransport(lambda data: data), Noise(), seed=1)
    line.write(ALL_BYTES)
    assert line.read(0) == ALL_BYTES
    line.close()


@pytest.mark.parametrize(
    ("noise", "low", "high"),
    [
        (Noise(drop=0.1), 8500, 9500),
        (Noise(flip=0.1), 10_000, 10_000),
        (Noise(repeat=0.1), 11_900, 12_300),
        (Noise(swap=0.1), 10_000, 10_000),
        (Noise(repeat_chunk=1), 40_000, 40_000),
        (Noise(drop_chunk=1), 0, 0),
        (Noise(cut_chunk=1), 0, 9_999),
    ],
)
def test_lossy_noise_is_what_it_says_and_repeats(noise: Noise, low: int, high: int) -> None:
    sent = bytes(10_000)
    results = []
    for _ in range(2):
        line = LossyTransport(LoopbackTransport(lambda data: data), noise, seed=5)
        line.write(sent)
        results.append(line.read(0))
    assert results[0] == results[1]
    # Passed twice, once in each direction: written and read.
    assert low * 0.9 <= len(results[0]) <= high
    if noise.flip:
        assert 1500 < sum(byte != 0 for byte in results[0]) < 2300


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
