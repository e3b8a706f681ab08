"""What the numbers of `firmware/include/aboard/status.h` mean; a test compares the two."""

from __future__ import annotations

from enum import IntEnum


class Status(IntEnum):
    """Result of a firmware call."""

    OK = 0
    ARENA_TOO_SMALL = 1
    ARENA_MISALIGNED = 2
    NULL = 3
    INDEX = 4
    RANGE = 5
    UNSUPPORTED = 6
    MESSAGE = 7
    STATE = 8
    ABORTED = 9
    SESSION = 10
    TIMEOUT = 11
    DEVICE = 12


_WORDS = {
    Status.OK: "success",
    Status.ARENA_TOO_SMALL: "the arena has fewer bytes than the model needs",
    Status.ARENA_MISALIGNED: "the arena is not aligned",
    Status.NULL: "a pointer that must not be NULL is",
    Status.INDEX: "there is no model, tensor or node of this number",
    Status.RANGE: "offset, length or count is out of range",
    Status.UNSUPPORTED: "the image was built without what was asked for",
    Status.MESSAGE: "the request has an unknown type or a wrong length",
    Status.STATE: "the request does not fit what came before: inputs not written, or nothing run yet",
    Status.ABORTED: "a hook stopped the run",
    Status.SESSION: "there is no such session: the device restarted, or serves another host",
    Status.TIMEOUT: "an accelerator or another core did not answer in time",
    Status.DEVICE: "an accelerator or another core reported a fault",
}


def words(status: int) -> str:
    """Returns what a status means, in words."""
    try:
        return _WORDS[Status(status)]
    except ValueError:
        return f"status {status}, which this version of aboard does not know"
