"""Every transport over the real thing: ptys, sockets, pipes, processes."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from aboard.errors import TransportError
from aboard.rpc import messages
from aboard.rpc.client import Client
from aboard.rpc.messages import TensorKind
from aboard.transports.base import Transport
from aboard.transports.loopback import LoopbackTransport
from aboard.transports.lossy import LossyTransport, Noise
from aboard.transports.pipe import PipeTransport
from aboard.transports.tcp import SocketTransport
from support.line_pairs import ALL_BYTES, pipe_pair, pty_pair, read_all, tcp_pair, unix_pair
from support.rpc_device import FakeDevice


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


def test_lossy_noise_swaps_neighbours() -> None:
    line = LossyTransport(LoopbackTransport(lambda data: data), Noise(swap=0.05), seed=5)
    line.write(ALL_BYTES)
    received = line.read(0)
    assert sorted(received) == sorted(ALL_BYTES)
    moved = [at for at, byte in enumerate(received) if byte != ALL_BYTES[at]]
    assert 20 < len(moved) < 200
    assert all(abs((received[at] - ALL_BYTES[at] + 128) % 256 - 128) < 4 for at in moved)


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
