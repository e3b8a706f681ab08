"""A bad line, for tests: wraps another transport and loses, flips, repeats and cuts what passes."""

from __future__ import annotations

import random
from dataclasses import dataclass

from aboard.transports.base import Transport


@dataclass(frozen=True)
class Noise:
    """What goes wrong, in both directions alike.

    Attributes:
        drop: Probability that a byte is lost.
        flip: Probability that a bit of a byte is flipped.
        repeat_chunk: Probability that what is written or read at once is passed twice.
        drop_chunk: Probability that it is lost as a whole.
        cut_chunk: Probability that only its start arrives.
    """

    drop: float = 0.0
    flip: float = 0.0
    repeat_chunk: float = 0.0
    drop_chunk: float = 0.0
    cut_chunk: float = 0.0


class LossyTransport(Transport):
    """Passes bytes to and from another transport, with noise that a seed decides."""

    def __init__(self, inner: Transport, noise: Noise, seed: int) -> None:
        """Wraps a transport, which it closes when it is closed."""
        self.name = f"{inner.name} (lossy)"
        self.bytes_per_second = inner.bytes_per_second
        self._inner = inner
        self._noise = noise
        self._random = random.Random(seed)  # noqa: S311 - noise for tests has to repeat, and hides nothing

    def read(self, timeout_s: float) -> bytes:
        """Waits for bytes and damages them; may return none although some arrived."""
        return self._damage(self._inner.read(timeout_s))

    def write(self, data: bytes) -> None:
        """Damages bytes and sends what is left."""
        self._inner.write(self._damage(data))

    def close(self) -> None:
        """Closes the transport inside."""
        self._inner.close()

    def _damage(self, data: bytes) -> bytes:
        if not data:
            return data
        if self._happens(self._noise.drop_chunk):
            return b""
        if self._happens(self._noise.cut_chunk):
            data = data[: self._random.randrange(len(data))]
        if self._happens(self._noise.repeat_chunk):
            data = data + data
        kept = (byte for byte in data if not self._happens(self._noise.drop))
        return bytes(
            byte ^ (1 << self._random.randrange(8)) if self._happens(self._noise.flip) else byte for byte in kept
        )

    def _happens(self, probability: float) -> bool:
        return probability > 0 and self._random.random() < probability
