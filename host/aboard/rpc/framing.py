"""Frames: a message and its CRC-32, encoded with COBS, between zero bytes. Does no I/O.

`firmware/rpc/frame.h` is the same in C.
"""

from __future__ import annotations

import zlib

from cobs import cobs

CRC_BYTES = 4
DELIMITER = b"\0"


def encode(message: bytes) -> bytes:
    """Returns the bytes that carry a message over the line, with a delimiter before and after."""
    crc = zlib.crc32(message).to_bytes(CRC_BYTES, "little")
    return DELIMITER + bytes(cobs.encode(message + crc)) + DELIMITER


def encoded_bytes(message_bytes: int) -> int:
    """Returns the largest number of bytes that a message of this length needs on the line."""
    with_crc = message_bytes + CRC_BYTES
    return with_crc + with_crc // 254 + 3


class Decoder:
    """Splits a stream of bytes into messages.

    Attributes:
        damaged: Frames so far that were not COBS, or had a wrong CRC.
        too_long: Frames so far that were longer than allowed.
    """

    def __init__(self, max_message: int) -> None:
        """Prepares a decoder.

        Args:
            max_message: Longest message accepted, in bytes, with its CRC. Longer frames are dropped while they arrive,
                so that noise without a delimiter does not fill the memory.
        """
        self.damaged = 0
        self.too_long = 0
        self._limit = encoded_bytes(max_message)
        self._max_message = max_message
        self._pending = bytearray()
        self._dropping = False

    @property
    def in_frame(self) -> bool:
        """True while a frame has begun and not ended."""
        return self._dropping or bool(self._pending)

    def feed(self, data: bytes) -> list[bytes]:
        """Takes bytes from the line and returns the messages that they complete, without CRC."""
        *ended, rest = data.split(DELIMITER)
        messages = []
        for piece in ended:
            self._append(piece)
            message = self._end()
            if message is not None:
                messages.append(message)
        self._append(rest)
        return messages

    def _append(self, piece: bytes) -> None:
        if len(self._pending) + len(piece) > self._limit:
            self._dropping = True
        if not self._dropping:
            self._pending += piece

    def _end(self) -> bytes | None:
        frame, dropped = bytes(self._pending), self._dropping
        self._pending.clear()
        self._dropping = False
        if dropped:
            self.too_long += 1
            return None
        if not frame:
            return None
        try:
            content = bytes(cobs.decode(frame))
        except cobs.DecodeError:
            content = b""
        message, crc = content[:-CRC_BYTES], content[-CRC_BYTES:]
        if len(content) > self._max_message:
            self.too_long += 1
            return None
        if len(content) < CRC_BYTES or zlib.crc32(message).to_bytes(CRC_BYTES, "little") != crc:
            self.damaged += 1
            return None
        return message
