"""Every exception `aboard` raises on purpose.

    AboardError                  a user can act on it: shown as one message, exit code 1
    ├── ModelError               the model file: not readable, corrupt, or uses what is not supported
    ├── VerifyError              the intermediate representation broke a rule (raised between passes)
    ├── PassError                a list of passes: a name, an option or the order
    ├── TargetError              a target string, kind or attribute
    ├── BoardError               a board file, or a board that is not known
    ├── CapacityError            the model or image does not fit the board's memory
    ├── ProjectError             a template, a project folder or its options
    ├── ToolError                a compiler, emulator or probe is missing or failed
    │   └── FlashError           a board was not flashed; says what has become of it
    ├── PluginError              a package that brings a target, runner or flasher failed; it is named
    ├── InputError               data given for a run: name, shape, type or file
    └── DeviceError              the device path
        ├── TransportError       the line: busy port, closed, killed emulator
        ├── ProtocolError        bytes that are not the protocol, or another version of it
        ├── DeviceTimeout        no answer before the deadline
        ├── DeviceStatusError    the device answered with a status that is not OK
        ├── DeviceFault          the device crashed; carries the fault record
        └── WrongModelError      the device runs another model than the project

Anything else that escapes is our bug and keeps its traceback (exit code 70).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from aboard.base import printable
from aboard.base.fault_record import FaultRecord, FaultReport


class AboardError(Exception):
    """A problem the user can act on.

    The message reads `<where>: <what>, got <x>, expected <y>. <what to do>`. It may quote a model, a device or a tool;
    their control characters are visible escapes in it.
    """

    def __init__(self, message: str) -> None:
        super().__init__(printable.lines(message))


class ModelError(AboardError):
    """The model file is not readable, corrupt, or uses what is not supported."""


class VerifyError(AboardError):
    """The intermediate representation broke one of its rules."""


class PassError(AboardError):
    """A list of passes names an unknown pass or option, or leaves out a pass that the rest needs."""


class TargetError(AboardError):
    """A target string, kind or attribute is wrong."""


class BoardError(AboardError):
    """A board file is wrong, or the board is not known."""


class CapacityError(AboardError):
    """The model or image does not fit the board's memory, or what the target allows it.

    Attributes:
        least_bytes: With `-ram-max`: the least arena that was found with the same options; the model compiles with
            `-ram-max` set to it. None for other causes.
    """

    def __init__(self, message: str, least_bytes: int | None = None) -> None:
        super().__init__(message)
        self.least_bytes = least_bytes


class ProjectError(AboardError):
    """A template, a project folder or its options are wrong."""


class ToolError(AboardError):
    """A compiler, emulator or probe is missing or failed."""


class FlashError(ToolError):
    """A board was not flashed, or does not run what was flashed.

    Attributes:
        problem: Name of the problem, as in docs/flashing.md: `no_probe`, `locked`, ...
        output: What the tool said.
    """

    def __init__(self, message: str, problem: str, output: str = "") -> None:
        super().__init__(message)
        self.problem = problem
        self.output = output


class PluginError(AboardError):
    """A package that brings a target, runner or flasher failed; the message names it. Its error is the cause."""


class InputError(AboardError):
    """Data given for a run has the wrong name, shape, type or file."""


class DeviceError(AboardError):
    """Something went wrong between host and device."""


class TransportError(DeviceError):
    """The line failed: port busy, closed, or the emulator is gone."""


class ProtocolError(DeviceError):
    """The bytes received are not the protocol, or another version of it."""


class DeviceTimeout(DeviceError):  # noqa: N818 - a timeout is what it is
    """The device did not answer before the deadline."""


class DeviceStatusError(DeviceError):
    """The device answered with a status that is not OK.

    Attributes:
        status: Number of the status, as in `firmware/include/aboard/status.h`.
    """

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class DeviceFault(DeviceError):  # noqa: N818 - the word of the field for a crash
    """The device crashed and left a fault record.

    Attributes:
        fault: What is known of it; None where it is the emulated device that found the fault.
    """

    def __init__(self, message: str, fault: FaultReport | FaultRecord | None = None) -> None:
        super().__init__(message)
        self.fault = fault


class WrongModelError(DeviceError):
    """The device runs another model than the project was made for."""


def did_you_mean(word: str, known: Iterable[str], limit: int = 3) -> str:
    """Returns the end of an error message that names the nearest known words.

    Args:
        word: What the user wrote.
        known: All words that would have been accepted.
        limit: How many near words to name at most; with none near, all are named if they are few.

    Returns:
        `Did you mean a, b?` or `Known: a, b, c.`, without a leading space.
    """
    choices = sorted(set(known))
    near = difflib.get_close_matches(word, choices, n=limit, cutoff=0.5)
    if near:
        return f"Did you mean {', '.join(near)}?"
    if len(choices) > 20:
        return f"Known: {', '.join(choices[:20])} and {len(choices) - 20} more."
    return f"Known: {', '.join(choices)}."
