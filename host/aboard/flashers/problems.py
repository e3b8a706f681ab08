"""The problems of flashing a board: description, advice, and the state of the board's flash afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

_UNTOUCHED = "Nothing was written to the board"
_UNKNOWN = "The board's flash may be erased or hold a part of the image: flash it again before it is used"


class Problem(Enum):
    """A problem. Its value is its name in JSON and in `FlashError.problem`."""

    NO_PROBE = "no_probe"
    SEVERAL = "several"
    BUSY = "busy"
    NO_ACCESS = "no_access"
    NO_TARGET = "no_target"
    WRONG_CHIP = "wrong_chip"
    NOT_SUPPORTED = "not_supported"
    LOCKED = "locked"
    VERIFY = "verify"
    NOT_STARTED = "not_started"
    FAILED = "failed"

    @property
    def what(self) -> str:
        """Description of the problem, without the tool's name."""
        return _WORDS[self].what

    @property
    def expected(self) -> str:
        """The expected state. In messages the board's id follows."""
        return _WORDS[self].expected

    @property
    def advice(self) -> str:
        """Advice, with the placeholders `{program}` and `{board}`."""
        return _WORDS[self].advice

    @property
    def left_behind(self) -> str:
        """State of the board's flash afterwards."""
        return _UNKNOWN if self in _AFTER_ERASING else _UNTOUCHED


@dataclass(frozen=True)
class Diagnosis:
    """A problem and its evidence.

    Attributes:
        problem: The problem.
        evidence: The line of output that shows it.
    """

    problem: Problem
    evidence: str


@dataclass(frozen=True)
class _Words:
    what: str
    expected: str
    advice: str


_AFTER_ERASING = (Problem.VERIFY, Problem.FAILED)

_WORDS = {
    Problem.NO_PROBE: _Words(
        "the board was not found",
        "the attached",
        "Plug it in with a cable that carries data; `aboard devices` lists what is attached",
    ),
    Problem.SEVERAL: _Words(
        "several boards could be meant", "one", "Say which with --device; `aboard devices` lists their serial numbers"
    ),
    Problem.BUSY: _Words(
        "the probe or port is in use",
        "a free one of",
        "Close the debugger, serial monitor or other session that has it; `aboard devices` says who holds a port",
    ),
    Problem.NO_ACCESS: _Words(
        "the USB device may not be opened",
        "access to",
        "Install the tool's udev rules (docs/how-to/flashing.md) and plug the board in again",
    ),
    Problem.NO_TARGET: _Words(
        "the chip does not answer its probe",
        "a powered",
        "Check power and the debug cable, hold the reset button while it connects, or use a slower clock",
    ),
    Problem.WRONG_CHIP: _Words(
        "another chip is attached",
        "the chip of",
        "Choose the right board with --device, or make the project for the board that is attached",
    ),
    Problem.NOT_SUPPORTED: _Words(
        "the tool does not know the chip",
        "support for",
        "Use a newer {program}, or another --runner: `aboard flash --help`",
    ),
    Problem.LOCKED: _Words(
        "the flash is locked", "an unlocked", "Unlock it with the maker's tool; that erases all of the flash"
    ),
    Problem.VERIFY: _Words(
        "the flash does not hold what was written",
        "the image on",
        "Check power and cable and flash again; if it stays so, the flash is worn out or protected",
    ),
    Problem.NOT_STARTED: _Words("the tool cannot be run", "it to flash", "Run it by hand to see why"),
    Problem.FAILED: _Words("flashing failed", "an image on", "Run it again, or the command by hand to see all it says"),
}
