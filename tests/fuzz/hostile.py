"""Plays a hostile device to the host: a real one whose answers are cut, changed, repeated, flooded or withheld.

python tests/fuzz/hostile.py --calls 100000
python tests/fuzz/hostile.py --seed 7 --calls 200     the same again

Each call of a session has to give a result or an `AboardError`, within its deadlines and with bounded memory. Time is
that of a clock which the device moves, so that waiting costs nothing. The last line says what was done; a failure names
the seed that plays it again, and is kept in the folder `--cases`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import struct
import sys
import time as real_time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

import numpy as np  # noqa: E402  behind the line above, as what follows

from aboard.base import printable  # noqa: E402  likewise
from aboard.device.session import Session  # noqa: E402
from aboard.errors import AboardError  # noqa: E402
from aboard.rpc import framing, messages  # noqa: E402
from aboard.rpc.messages import Header, Type  # noqa: E402
from aboard.rpc.timing import Timing  # noqa: E402
from aboard.transports.base import Transport  # noqa: E402
from support.rpc_device import ALL, FakeDevice  # noqa: E402
from support.toy_project import ToyProject  # noqa: E402

TIMING = Timing(attempt_s=0.05, attempts=4, settle_s=0.01, hello_s=0.5, patience_s=0.5)
#: No call of these has more exchanges than this, those of a new session and of repeated runs for taps included.
_EXCHANGES = 700
#: Longest time of a call, in seconds of the device's clock.
LONGEST_S = _EXCHANGES * (TIMING.hello_s + TIMING.silence_s(0.0) + TIMING.patience_s)
MOST_MEMORY_KB = 300_000
_CALLS_PER_DEVICE = 20
_CHUNK = 4096
_EDGES = (0, 1, 2, 0x7F, 0x80, 0xFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
_RUDE = b"\x1b]0;owned\x07\x1b[2J\r\n\x00\x9b31m\xe2\x80\xae\xff\xfe"


class Clock:
    """Stands in for the module `time`: it moves when somebody waits."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        """Returns the time."""
        return self.now

    perf_counter = monotonic

    def sleep(self, seconds: float) -> None:
        """Lets time pass."""
        self.now += max(0.0, seconds)


@contextmanager
def clock() -> Iterator[Clock]:
    """Gives the host a clock that only waiting moves."""
    made = Clock()
    with (
        mock.patch("aboard.rpc.exchange.time", made),
        mock.patch("aboard.rpc.client.time", made),
        mock.patch("aboard.device.session.time", made),
    ):
        yield made


class HostileLine(Transport):
    """A line to a device that answers as it likes."""

    name = "hostile"

    def __init__(self, seed: int, clock: Clock) -> None:
        """Takes what decides its answers, and the clock that it moves."""
        self.rng = random.Random(seed)
        self._clock = clock
        self._device = FakeDevice(has=ALL, frame_bytes=128 + self.rng.randrange(300))
        self._requests = framing.Decoder(65535)
        self._replies = framing.Decoder(65535)
        self._pending = b""
        self._endless: Callable[[], bytes] | None = None
        self._last = Header(1, 0, 0, 1)
        # Most devices behave most of the time, so that deep calls are reached too.
        self._evil = self.rng.choice((0.01, 0.05, 0.3, 1.0))

    def read(self, timeout_s: float) -> bytes:
        """Gives what was made up, or lets the time pass."""
        if self._endless is not None and not self._pending:
            self._clock.sleep(0.0005)
            self._pending = self._endless()
        data, self._pending = self._pending[:_CHUNK], self._pending[_CHUNK:]
        if not data:
            self._clock.sleep(max(timeout_s, 0.0001))
        return data

    def write(self, data: bytes) -> None:
        """Has the device work, and makes something of its answers."""
        for message in self._requests.feed(data):
            self._last = messages.split(message)[0]
            self._endless = None
        for message in self._replies.feed(self._device.step(data)):
            self._pending += self._changed(message)

    def close(self) -> None:
        """Does nothing."""

    def _changed(self, message: bytes) -> bytes:
        if self.rng.random() >= self._evil:
            return framing.encode(message)
        ways = (
            self._mutated,
            self._mutated,
            self._resized,
            self._of_other_status,
            self._doubled,
            self._after_flood,
            self._of_others,
            self._noise,
            self._nothing,
            self._endless_stream,
            self._rude,
        )
        return self.rng.choice(ways)(message)

    def _mutated(self, message: bytes) -> bytes:
        changed = bytearray(message)
        for _ in range(self.rng.randrange(1, 4)):
            at, size = self.rng.randrange(8, len(message) + 9), self.rng.choice((1, 2, 4, 8))
            value = self.rng.choice(_EDGES) if self.rng.random() < 0.8 else self.rng.getrandbits(32)
            if at + size <= len(changed):
                changed[at : at + size] = (value % 2 ** (8 * size)).to_bytes(size, "little")
        return framing.encode(bytes(changed))

    def _resized(self, message: bytes) -> bytes:
        kept = message[: 8 + self.rng.randrange(len(message))]
        more = self.rng.choice((0, 1, 100, 60_000))
        return framing.encode(kept + self.rng.randbytes(more))

    def _of_other_status(self, message: bytes) -> bytes:
        status = self.rng.choice((1, 6, 8, 10, 10, 12, 12, 99, 255))
        return framing.encode(message[:1] + bytes([status]) + message[2:])

    def _doubled(self, message: bytes) -> bytes:
        return framing.encode(message) * self.rng.randrange(2, 40)

    def _after_flood(self, message: bytes) -> bytes:
        return b"".join(self._event() for _ in range(self.rng.randrange(200))) + framing.encode(message)

    def _of_others(self, message: bytes) -> bytes:
        kind, code, number, session = struct.unpack_from("<BBHI", message)
        header = Header(
            kind ^ self.rng.choice((0, 1, 0x80)), code, (number + self.rng.choice((0, 1, 0x8000))) % 65536, session ^ 1
        )
        return framing.encode(header.pack() + message[8:])

    def _noise(self, message: bytes) -> bytes:
        return self.rng.randbytes(self.rng.randrange(1, 400)) + framing.encode(message)[: self.rng.randrange(9)]

    def _nothing(self, message: bytes) -> bytes:
        return b""

    def _endless_stream(self, message: bytes) -> bytes:
        kinds: tuple[Callable[[], bytes], ...] = (
            self._event,
            lambda: framing.encode(message),
            lambda: self.rng.randbytes(50),
            lambda: b"\x55" * 200,
            lambda: b"\x00\x03ab\x00",
        )
        return self._endless_of(self.rng.choice(kinds))

    def _endless_of(self, made: Callable[[], bytes]) -> bytes:
        self._endless = made
        return b""

    def _rude(self, message: bytes) -> bytes:
        at = self.rng.randrange(8, len(message) + 1)
        return framing.encode(message[:at] + _RUDE + message[at + len(_RUDE) :])

    def _event(self) -> bytes:
        kind = self.rng.choice((*range(Type.READY, Type.DAMAGED + 3), Type.PROGRESS, Type.TAP))
        payload = {
            Type.PROGRESS: struct.pack("<I", self.rng.choice(_EDGES)),
            Type.LOG: _RUDE * self.rng.randrange(20),
            Type.CREDIT: struct.pack("<I", self.rng.choice(_EDGES)),
            Type.TAP: struct.pack("<IHHIII", *(self.rng.choice((0, 1, 12, 0xFFFF)) for _ in range(6))) + bytes(12),
        }.get(Type(kind) if kind <= Type.DAMAGED else Type.READY, b"")
        number = self._last.id if self.rng.random() < 0.8 else self.rng.getrandbits(16)
        return framing.encode(Header(kind, self.rng.getrandbits(8), number, self._last.session).pack() + payload)


_X = np.zeros((1, 2, 3, 4), np.int8)
_PAIR = {"a": _X, "b": _X}
_CALLS: tuple[Callable[[Session], object], ...] = (
    lambda session: session.infer(_PAIR, "adder"),
    lambda session: session.run(np.zeros((1, 5), np.float32), "doubler"),
    lambda session: session.run_n(_PAIR, 3, "adder"),
    lambda session: session.run_n(_PAIR, 100, "adder", within_s=0.01),
    lambda session: session.profile(_PAIR, "adder").table(),
    lambda session: session.taps(_PAIR, model="adder"),
    lambda session: session.run_op("add", _PAIR, 3, "adder"),
    lambda session: (session.stats(), session.lost_events),
    lambda session: str(session.fault(clear=True)),
    lambda session: session.reset(),
    lambda session: session.listen(0.02),
    lambda session: session.measure_line(2),
    lambda session: (str(session.hello), session.hello.features),
)


class Broken(Exception):
    """A call did what it must not."""


def play_device(seed: int, counts: Counter[str]) -> None:
    """Plays one device to some calls.

    Raises:
        Broken: A call raised what is no `AboardError`, took too long, or handed control characters on.
    """
    texts: list[str] = []
    with clock() as now:
        line = HostileLine(seed, now)
        session: Session | None = None
        for _ in range(_CALLS_PER_DEVICE):
            started = now.monotonic()
            try:
                if session is None:
                    session = Session.attach(ToyProject(), line, timing=TIMING, on_log=texts.append)
                else:
                    line.rng.choice(_CALLS)(session)
                counts["results"] += 1
            except AboardError as error:
                counts["errors"] += 1
                counts[type(error).__name__] += 1
                texts.append(str(error))
            except Exception as error:
                raise Broken(f"seed {seed}: {''.join(traceback.format_exception(error)[-6:])}") from error
            counts["calls"] += 1
            if now.monotonic() - started > LONGEST_S:
                raise Broken(f"seed {seed}: a call took {now.monotonic() - started:.1f} s, expected {LONGEST_S:.1f} s")
            check_texts(texts, seed)


def check_texts(texts: list[str], seed: int) -> None:
    """Checks what may reach a terminal, and forgets it.

    Raises:
        Broken: There is a control character in it.
    """
    for text in texts:
        if printable.lines(text) != text:
            raise Broken(f"seed {seed}: hidden characters in {text[:200]!r}")
    texts.clear()


def play(seed: int, calls: int, seconds: float = 0.0) -> Counter[str]:
    """Plays device after device, from this seed on: at least so many calls, and for so many seconds.

    Raises:
        Broken: What `play_device` says, or the memory of this process has grown beyond its bound.
    """
    counts: Counter[str] = Counter()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun = real_time.monotonic()
    while counts["calls"] < calls or real_time.monotonic() - begun < seconds:
        play_device(seed, counts)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        if grown > MOST_MEMORY_KB:
            raise Broken(f"seed {seed}: memory has grown by {grown} KB, expected {MOST_MEMORY_KB} at most")
        seed += 1
    return counts


def main(arguments: Sequence[str] | None = None) -> int:
    """Plays; returns 1 when it has found something."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "little"))
    parser.add_argument("--calls", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=0.0)
    parser.add_argument("--cases", type=Path, default=ROOT / "build" / "fuzz")
    chosen = parser.parse_args(arguments)
    print(f"seed {chosen.seed}", flush=True)
    begun = real_time.monotonic()
    try:
        counts = play(chosen.seed, chosen.calls or (0 if chosen.seconds else 10_000), chosen.seconds)
    except Broken as broken:
        found = int(str(broken).split()[1].rstrip(":"))
        chosen.cases.mkdir(parents=True, exist_ok=True)
        case = chosen.cases / f"hostile-{found}.json"
        case.write_text(json.dumps({"seed": found, "said": str(broken)}, indent=1))
        print(f"{broken}\nkept as {case}")
        return 1
    said = " ".join(f"{name} {count}" for name, count in sorted(counts.items()))
    print(f"hostile: {said} failures 0 in {real_time.monotonic() - begun:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
