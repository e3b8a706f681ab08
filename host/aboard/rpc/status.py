"""What the numbers of `firmware/include/aboard/status.h` mean; a test compares the two."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from aboard.rpc.messages import BUILD_AGAIN


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


@dataclass(frozen=True)
class _Meaning:
    """What a status says, and what the user can do."""

    words: str
    advice: str


_BUILD = "Build the project again and flash its image"
_RESET = "Reset the device and repeat the call"
_MEANINGS = {
    Status.OK: _Meaning("success", "Read the reply"),
    Status.ARENA_TOO_SMALL: _Meaning("the arena has fewer bytes than the model needs", _BUILD),
    Status.ARENA_MISALIGNED: _Meaning("the arena is not aligned", _BUILD),
    Status.NULL: _Meaning("a pointer that must not be NULL is", _BUILD),
    Status.INDEX: _Meaning("there is no model, tensor or node of this number", "Choose one that the project has"),
    Status.RANGE: _Meaning("offset, length or count is out of range", "Keep to the sizes in the model's manifest"),
    Status.UNSUPPORTED: _Meaning(
        "the image was built without what was asked for",
        "Make the project with the option that the request needs: -O profile=on, trace=on, run_op=on or input_copy=on",
    ),
    Status.MESSAGE: _Meaning("the request has an unknown type or a wrong length", BUILD_AGAIN),
    Status.STATE: _Meaning(
        "the request does not fit what came before: inputs not written, or nothing run yet",
        "Write all inputs, run the model, then read its outputs",
    ),
    Status.ABORTED: _Meaning("a hook stopped the run", "Repeat the call"),
    Status.SESSION: _Meaning(
        "there is no such session: the device restarted, or serves another host", "Open a new session"
    ),
    Status.TIMEOUT: _Meaning("an accelerator or another core did not answer in time", _RESET),
    Status.DEVICE: _Meaning("an accelerator or another core reported a fault", _RESET),
}


def words(status: int) -> str:
    """Returns what a status means, in words."""
    return _meaning(status).words


def advice(status: int) -> str:
    """Returns what the user can do after a status, a sentence without a full stop."""
    return _meaning(status).advice


def _meaning(status: int) -> _Meaning:
    try:
        return _MEANINGS[Status(status)]
    except ValueError:
        return _Meaning("a status that this version of aboard does not know", BUILD_AGAIN)
