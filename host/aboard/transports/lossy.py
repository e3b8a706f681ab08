"""A bad line for tests: wraps another transport and loses, flips, repeats, swaps and cuts bytes."""

from __future__ import annotations

import random
from dataclasses import dataclass

from aboard.transports.base import Transport


@dataclass(frozen=True)
class Noise:
    """Error rates of a line, the same in both directions.

    Attributes:
        drop: Probability that a byte is lost.
        flip: Probability that a bit of a byte is flipped.
        repeat: Probability that a byte is passed twice.
        swap: Probability that a byte changes places with the next of its chunk.
        repeat_chunk: Probability that a chunk (the bytes of one read or write) is passed twice.
        drop_chunk: Probability that a chunk is lost.
        cut_chunk: Probability that only the start of a chunk arrives.
    """

    drop: float = 0.0
    flip: float = 0.0
    repeat: float = 0.0
    swap: float = 0.0
    repeat_chunk: float = 0.0
    drop_chunk: float = 0.0
    cut_chunk: float = 0.0


class LossyTransport(Transport):
    """Passes bytes to and from another transport, with noise from a seeded generator."""

    def __init__(self, inner: Transport, noise: Noise, seed: int) -> None:
        """Takes ownership of a transport: `close` closes both."""
        self.name = f"{inner.name} (lossy)"
        self.bytes_per_second = inner.bytes_per_second
        self.reopens = inner.reopens
        self._inner = inner
        self._noise = noise
        self._random = random.Random(seed)  # noqa: S311 - noise for tests has to repeat, and hides nothing

    def read(self, timeout_s: float) -> bytes:
        """Waits for bytes and damages them; may return no bytes although some arrived."""
        return self._damage(self._inner.read(timeout_s))

    def write(self, data: bytes) -> None:
        """Damages bytes and sends what is left."""
        self._inner.write(self._damage(data))

    def close(self) -> None:
        """Closes the transport inside."""
        self._inner.close()

    def reopen(self, timeout_s: float) -> None:
        """Opens the transport inside again."""
        self._inner.reopen(timeout_s)

    def _damage(self, data: bytes) -> bytes:
        if not data:
            return data
        if self._happens(self._noise.drop_chunk):
            return b""
        if self._happens(self._noise.cut_chunk):
            data = data[: self._random.randrange(len(data))]
        if self._happens(self._noise.repeat_chunk):
            data = data + data
        passed = bytearray()
        for byte in data:
            passed += self._damage_byte(byte)
        for at in range(1, len(passed)):
            if self._happens(self._noise.swap):
                passed[at - 1], passed[at] = passed[at], passed[at - 1]
        return bytes(passed)

    def _damage_byte(self, byte: int) -> bytes:
        if self._happens(self._noise.drop):
            return b""
        if self._happens(self._noise.flip):
            byte ^= 1 << self._random.randrange(8)
        return bytes([byte] * 2 if self._happens(self._noise.repeat) else [byte])

    def _happens(self, probability: float) -> bool:
        return probability > 0 and self._random.random() < probability
