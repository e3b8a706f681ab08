"""The exceptions of `aboard`.

    AboardError                  the user can solve the problem: shown as one message, exit code 1
    ├── ModelError               the model file: not readable, corrupt, or uses unsupported features
    ├── VerifyError              the intermediate representation broke a rule (raised between passes)
    ├── PassError                a list of passes: a name, an option or the order
    ├── TargetError              a target string, kind or attribute
    ├── BoardError               a board file, or a board that is not known
    ├── CapacityError            the model or image does not fit the board's memory
    ├── ProjectError             a template, a project folder or its options
    ├── ToolError                a compiler, emulator or probe is missing or failed
    │   ├── ExtraError           a part of aboard is not installed; the message ends with the line that installs it
    │   └── FlashError           a board was not flashed; the message gives the state of the board
    ├── PluginError              a package with a target, runner or flasher failed; the message names the package
    ├── InputError               data given for a run: name, shape, type or file
    └── DeviceError              the device path
        ├── TransportError       the line: busy port, closed, killed emulator
        ├── ProtocolError        bytes that are not the protocol, or another version of the protocol
        ├── DeviceTimeout        no answer before the deadline
        ├── DeviceStatusError    the device answered with a status that is not OK
        ├── DeviceFault          the device crashed; carries the fault record
        └── WrongModelError      the device runs another model than the project

Every other exception that reaches the user is a bug of aboard and keeps its traceback (exit code 70).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from aboard.base import printable
from aboard.base.fault_record import FaultRecord, FaultReport


class AboardError(Exception):
    """A problem that the user can solve.

    The message reads `<where>: <what is wrong>, got <x>, expected <y>. <what to do>`. It may quote a model, a device or
    a tool; it shows their control characters as visible escapes.
    """

    def __init__(self, message: str) -> None:
        super().__init__(printable.lines(message))


class ModelError(AboardError):
    """The model file is not readable, is corrupt, or uses features that are not supported."""


class VerifyError(AboardError):
    """The intermediate representation broke one of its rules."""


class PassError(AboardError):
    """A list of passes names an unknown pass or option, or leaves out a pass that the rest needs."""


class TargetError(AboardError):
    """A target string, kind or attribute is wrong."""


class BoardError(AboardError):
    """A board file is wrong, or the board is not known."""


class CapacityError(AboardError):
    """The model or image does not fit the board's memory or the limits of the target.

    Attributes:
        least_bytes: With `-ram-max`: bytes of the smallest arena that was found with the same options. The model
            compiles with `-ram-max` set to this number. None for other causes.
    """

    def __init__(self, message: str, least_bytes: int | None = None) -> None:
        super().__init__(message)
        self.least_bytes = least_bytes


class ProjectError(AboardError):
    """A template, a project folder or its options are wrong."""


class ToolError(AboardError):
    """A compiler, emulator or probe is missing or failed."""


class ExtraError(ToolError):
    """A part of aboard is not installed. The last line of the message installs it; then the call can be repeated."""


class FlashError(ToolError):
    """A board was not flashed, or does not run what was flashed.

    Attributes:
        problem: Name of the problem, as in docs/how-to/flashing.md: `no_probe`, `locked`, ...
        output: Output of the tool.
    """

    def __init__(self, message: str, problem: str, output: str = "") -> None:
        super().__init__(message)
        self.problem = problem
        self.output = output


class PluginError(AboardError):
    """A package with a target, runner or flasher failed. The message names the package; `__cause__` is its error."""


class InputError(AboardError):
    """Data given for a run has the wrong name, shape, type or file."""


class DeviceError(AboardError):
    """Something went wrong between host and device."""


class TransportError(DeviceError):
    """The line failed: port busy, closed, or the emulator is gone."""


class ProtocolError(DeviceError):
    """The received bytes are not the protocol, or are another version of the protocol."""


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
        fault: The fault record or its decoded report; None if an emulator's device model found the fault.
    """

    def __init__(self, message: str, fault: FaultReport | FaultRecord | None = None) -> None:
        super().__init__(message)
        self.fault = fault


class WrongModelError(DeviceError):
    """The device runs another model than the one of the project."""


def did_you_mean(word: str, known: Iterable[str], limit: int = 3) -> str:
    """Returns a sentence for the end of an error message that names the nearest known words.

    Args:
        word: The word that the user wrote.
        known: All accepted words.
        limit: Largest number of near words. If no word is near, a short list of known words is named whole.

    Returns:
        `Did you mean a, b?` or `Choose one of: a, b, c.`, without a leading space.
    """
    choices = sorted(set(known))
    near = difflib.get_close_matches(word, choices, n=limit, cutoff=0.5)
    if near:
        return f"Did you mean {', '.join(near)}?"
    if len(choices) > 20:
        return f"Choose one of: {', '.join(choices[:20])} and {len(choices) - 20} more."
    return f"Choose one of: {', '.join(choices)}."
