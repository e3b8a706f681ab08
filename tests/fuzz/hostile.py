"""Hostile devices for the host: real ones whose answers are cut, changed, repeated, flooded or withheld.

A case is a call of a session. Each has to give a result or an `AboardError`, within its deadlines and with bounded
memory. Time is that of a clock which the device moves, so that waiting costs nothing.
"""

from __future__ import annotations

import random
import resource
import struct
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "host")]

import numpy as np  # noqa: E402  behind the line above, as what follows

from aboard.base import printable  # noqa: E402  likewise
from aboard.device.session import Session  # noqa: E402
from aboard.errors import AboardError  # noqa: E402
from aboard.rpc import framing, messages  # noqa: E402
from aboard.rpc.messages import Header, Type  # noqa: E402
from aboard.rpc.timing import Timing  # noqa: E402
from aboard.transports.base import Transport  # noqa: E402
from fuzz.campaign import Campaign, Options, options, read_case  # noqa: E402
from support.rpc_device import ALL, FakeDevice  # noqa: E402
from support.toy_project import ADDER, KEEPER, ToyProject  # noqa: E402

TIMING = Timing(attempt_s=0.05, attempts=4, settle_s=0.01, hello_s=0.5, patience_s=0.5)
#: No call of these has more exchanges than this, those of a new session and of repeated runs for traced included.
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
        mock.patch("aboard.rpc.requester.time", made),
        mock.patch("aboard.device.connection.time", made),
        mock.patch("aboard.device.execution.time", made),
    ):
        yield made


class HostileLine(Transport):
    """A line to a device that answers as it likes.

    Attributes:
        has_state: One of the models of the device has state.
        project: The project of the models.
    """

    name = "hostile"

    def __init__(self, seed: int, clock: Clock) -> None:
        """Takes what decides its answers, and the clock that it moves."""
        self.rng = random.Random(seed)
        self._clock = clock
        frame_bytes = 128 + self.rng.randrange(300)
        self._device = FakeDevice(has=ALL, frame_bytes=frame_bytes)
        self.has_state = seed % 2 == 1
        self.project = ToyProject(models=(ADDER, KEEPER)) if self.has_state else ToyProject()
        if self.has_state:
            self._device.c.fake_start_states(ALL, frame_bytes, 1)
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
        kind = self.rng.choice((*range(Type.READY, Type.DAMAGED + 3), Type.PROGRESS, Type.TRACE))
        payload = {
            Type.PROGRESS: struct.pack("<I", self.rng.choice(_EDGES)),
            Type.LOG: _RUDE * self.rng.randrange(20),
            Type.CREDIT: struct.pack("<I", self.rng.choice(_EDGES)),
            Type.TRACE: struct.pack("<IHHIII", *(self.rng.choice((0, 1, 12, 0xFFFF)) for _ in range(6))) + bytes(12),
        }.get(Type(kind) if kind <= Type.DAMAGED else Type.READY, b"")
        number = self._last.id if self.rng.random() < 0.8 else self.rng.getrandbits(16)
        return framing.encode(Header(kind, self.rng.getrandbits(8), number, self._last.session).pack() + payload)


_X = np.zeros((1, 2, 3, 4), np.int8)
_PAIR = {"a": _X, "b": _X}
_CALLS: tuple[Callable[[Session], object], ...] = (
    lambda session: session.infer(_PAIR, "adder"),
    lambda session: session.run_n(_PAIR, 3, "adder"),
    lambda session: session.run_n(_PAIR, 100, "adder", within_s=0.01),
    lambda session: session.profile(_PAIR, "adder").table(),
    lambda session: session.trace(_PAIR, model="adder"),
    lambda session: session.run_op("add", _PAIR, 3, "adder"),
    lambda session: (session.stats(), session.lost_events),
    lambda session: str(session.fault(clear=True)),
    lambda session: session.reset(),
    lambda session: session.listen(0.02),
    lambda session: session.measure_line(2),
    lambda session: (str(session.hello), session.hello.features),
)
_X_KEPT = np.zeros(4, np.uint8)
#: What only one of the two devices can do.
_FURTHER: Mapping[bool, tuple[Callable[[Session], object], ...]] = {
    False: (lambda session: session.run(np.zeros((1, 5), np.float32), "doubler"),),
    True: (
        lambda session: session.run(_X_KEPT, "keeper"),
        lambda session: session.profile(_X_KEPT, "keeper").table(),
        lambda session: session.trace(_X_KEPT, model="keeper"),
        lambda session: session.set_state(session.state("keeper"), "keeper"),
        lambda session: session.reset_state("keeper"),
    ),
}


class Broken(Exception):
    """A call did what it must not.

    Attributes:
        kind: What it did, without numbers.
    """

    def __init__(self, kind: str, text: str) -> None:
        """Takes the kind and the message."""
        super().__init__(text)
        self.kind = kind


def play_device(seed: int, counts: Counter[str]) -> None:
    """Plays one device to some calls, and counts them as cases.

    Raises:
        Broken: A call raised what is no `AboardError`, took too long, or handed control characters on.
    """
    texts: list[str] = []
    with clock() as now:
        line = HostileLine(seed, now)
        session: Session | None = None
        for _ in range(_CALLS_PER_DEVICE):
            started = now.monotonic()
            counts["cases"] += 1
            outcome: tuple[str, ...] = ("results",)
            try:
                if session is None:
                    session = Session.attach(line.project, line, timing=TIMING, on_log=texts.append)
                else:
                    line.rng.choice(_CALLS + _FURTHER[line.has_state])(session)
            except AboardError as error:
                outcome = ("errors", type(error).__name__)
                texts.append(str(error))
            except Exception as error:
                raised = type(error).__name__
                raise Broken(f"raised {raised}", "".join(traceback.format_exception(error)[-6:])) from error
            if now.monotonic() - started > LONGEST_S:
                took = now.monotonic() - started
                raise Broken("took too long", f"a call took {took:.1f} s, expected {LONGEST_S:.1f} s at most")
            check_texts(texts)
            counts.update(("compared", *outcome))


def check_texts(texts: list[str]) -> None:
    """Checks what may reach a terminal, and forgets it.

    Raises:
        Broken: There is a control character in it.
    """
    for text in texts:
        if printable.lines(text) != text:
            raise Broken("hidden characters", f"hidden characters in {text[:200]!r}")
    texts.clear()


def _memory_kb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def play_in_memory(seed: int, counts: Counter[str], limit_kb: int) -> None:
    """As `play_device`.

    Raises:
        Broken: This process took more memory than the limit, too.
    """
    play_device(seed, counts)
    if _memory_kb() > limit_kb:
        raise Broken("memory", f"the host takes {_memory_kb()} KB, expected {limit_kb} at most")


def play(campaign: Campaign) -> None:
    """Plays device after device, from the seed on, until the budget ends; keeps those at which something breaks."""
    seed, limit_kb = campaign.options.seed, _memory_kb() + MOST_MEMORY_KB
    while campaign.within_budget():
        try:
            play_in_memory(seed, campaign.counts, limit_kb)
        except Broken as broken:
            # Memory that was taken once counts no second time.
            limit_kb = max(limit_kb, _memory_kb() + MOST_MEMORY_KB)
            if campaign.fail(broken.kind, f"device {seed}: {broken}"):
                campaign.keep(str(broken), {"device": seed}, {})
        seed += 1


def replay(path: Path) -> int:
    """Repeats a case; 0 where it does not fail any more."""
    device, wrong = read_case(path, "hostile")["device"], ""
    try:
        play_in_memory(device, Counter(), _memory_kb() + MOST_MEMORY_KB)
    except Broken as broken:
        wrong = str(broken)
    print(f"{path.name}: {wrong or 'nothing wrong'}")
    return int(bool(wrong))


def main(given: Options) -> int:
    if given.replay is not None:
        return replay(given.replay)
    campaign = Campaign("hostile", given)
    play(campaign)
    return campaign.finish()


if __name__ == "__main__":
    sys.exit(main(options(__doc__.splitlines()[0])))
