"""A device in this process: the firmware's RPC server with two toy models, compiled and loaded through cffi.

`tests/firmware/rpc/toy_models.h` says what the models compute.
"""

from __future__ import annotations

import atexit
import functools
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import cffi

from aboard.base import resources
from aboard.rpc import framing
from aboard.transports.base import Transport
from aboard.transports.loopback import LoopbackTransport

SOURCES = Path(__file__).resolve().parent.parent / "firmware" / "rpc"
RPC = resources.firmware() / "rpc"
RPC_SOURCES = sorted(RPC.glob("*.c"))
WARNINGS = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-Wconversion", "-Wshadow", "-Wundef", "-Wpedantic")
INCLUDES = (f"-I{resources.firmware()}", f"-I{resources.firmware() / 'include'}", f"-I{SOURCES}")
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g1", "-O1")

INPUT_COPY = 1
WORKSPACE = 2
PROFILE = 4
TRACE = 8
WORKSPACE_IN_ARENA = 16
YIELD = 32
ALL = 15

_DECLARATIONS = """
int fake_start(uint32_t has, uint16_t frame_bytes, uint16_t burst);
int fake_start_divided(size_t fast_bytes, size_t large_bytes, size_t shift);
int fake_start_rows(uint32_t has, uint16_t frame_bytes, int linked);
int fake_start_states(uint32_t has, uint16_t frame_bytes, int linked);
size_t fake_feed(const uint8_t *data, size_t count);
void fake_work(void);
size_t fake_take(uint8_t *data, size_t capacity);
void fake_log(const char *text);
void fake_set_ticks(const uint32_t *values, size_t count);
void fake_set_grain(size_t bytes);
void fake_crash_in_next_run(uint32_t kind);
void fake_limit_models(uint8_t count);
void fake_set_build(const char *build);
uint32_t fake_runs(void);
uint32_t fake_op_runs(void);
uint32_t fake_resets(void);
uint32_t fake_yields(void);
size_t fake_server_bytes(void);
uint32_t aboard_crc32(uint32_t crc, const uint8_t *data, size_t count);
"""


def sent(case: dict[str, Any]) -> bytes:
    """Returns what a dialogue of the vectors puts on the line: a message or several, then bytes as they are."""
    send = case.get("send", [])
    sent_messages = [send] if isinstance(send, str) else send
    frames = b"".join(framing.encode(bytes.fromhex(message)) for message in sent_messages)
    return frames + bytes.fromhex(case.get("bytes", ""))


def compile_c(
    output: Path,
    sources: list[Path],
    *flags: str,
    compiler: str | tuple[str, ...] = "gcc",
    rpc: Path = RPC,
) -> Path:
    """Compiles sources with the RPC server under all warnings.

    Args:
        output: The program.
        sources: What uses the server.
        flags: Besides those of all.
        compiler: A program, or a command.
        rpc: The server, where it is another than the firmware's.
    """
    program = (compiler,) if isinstance(compiler, str) else compiler
    server = map(str, sorted(rpc.glob("*.c")))
    command = [*program, *WARNINGS, *INCLUDES, *flags, *map(str, sources), *server, "-o", str(output)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=output.parent)
    assert done.returncode == 0, done.stderr
    return output


@functools.cache
def _library() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="aboard-rpc-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    sources = [SOURCES / "fake_device.c", SOURCES / "toy_models.c"]
    return compile_c(folder / "fake.so", sources, "-O1", "-fPIC", "-shared")


class FakeDevice:
    """A device that has just started; every object is one of its own."""

    def __init__(self, has: int = ALL, frame_bytes: int = 256, burst: int = 0, build: str = "build-1") -> None:
        self._ffi = cffi.FFI()
        self._ffi.cdef(_DECLARATIONS)
        # A copy, because the loader gives the same memory for the same file.
        with tempfile.TemporaryDirectory() as folder:
            copy = shutil.copy(_library(), Path(folder) / "device.so")
            self.c: Any = self._ffi.dlopen(str(copy))
        self._buffer = self._ffi.new("uint8_t[]", 1 << 20)
        self.c.fake_set_build(build.encode())
        self.status = self.c.fake_start(has, frame_bytes, burst)

    def step(self, data: bytes) -> bytes:
        """Gives the device bytes, lets it work, and returns what it sent."""
        assert self.c.fake_feed(data, len(data)) == len(data)
        self.c.fake_work()
        count = self.c.fake_take(self._buffer, len(self._buffer))
        return bytes(self._ffi.buffer(self._buffer, count))

    def transport(self) -> LoopbackTransport:
        """Returns a new line to the device."""
        return LoopbackTransport(self.step)

    def log(self, text: str) -> None:
        """Lets the firmware log a text."""
        self.c.fake_log(text.encode())


class FifoLine(Transport):
    """A line to a device whose receiver holds a few bytes: what comes when it is full is lost, and counted.

    The device takes bytes while the host reads, and while the host pauses.

    Attributes:
        overruns: Bytes that found the receiver full.
    """

    name = "line with a small FIFO"
    _PAUSE_S = 0.002

    def __init__(self, device: FakeDevice, capacity: int, per_turn: int = 5) -> None:
        """Takes the device, the bytes its receiver holds, and how many of them it takes each time the host reads."""
        self.overruns = 0
        self._device = device
        self._capacity = capacity
        self._per_turn = per_turn
        self._waiting = b""
        self._sent = b""
        self._written_at = 0.0

    def read(self, timeout_s: float) -> bytes:
        """Lets the device take some bytes, and returns what it sent."""
        self._take(self._per_turn)
        data, self._sent = self._sent, b""
        if not data and not self._waiting:
            time.sleep(timeout_s)
        return data

    def write(self, data: bytes) -> None:
        """Fills the receiver."""
        if time.monotonic() - self._written_at >= self._PAUSE_S:
            self._take(len(self._waiting))
        room = self._capacity - len(self._waiting)
        self.overruns += max(0, len(data) - room)
        self._waiting += data[:room]
        self._written_at = time.monotonic()

    def close(self) -> None:
        """Does nothing."""

    def _take(self, count: int) -> None:
        taken, self._waiting = self._waiting[:count], self._waiting[count:]
        self._sent += self._device.step(taken)
