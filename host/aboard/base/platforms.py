"""The operating systems that aboard runs on.

Linux and macOS have all of aboard. Windows has the device path: boards, flashing, and sessions over serial ports.
Compilers, builds and emulators need processes and pipes of POSIX.
"""

from __future__ import annotations

import platform
import sys

from aboard.errors import ToolError

#: Operating systems by `sys.platform`: the name for people, and whether the tests run there.
_KNOWN = {"linux": ("Linux", True), "darwin": ("macOS", False)}
_WINDOWS = ("win32", "cygwin", "msys")


def problem() -> str | None:
    """Returns why all of aboard does not run on this operating system and what to do; None if it does."""
    if sys.platform in _KNOWN:
        return None
    on_windows = sys.platform in _WINDOWS
    return (
        f"{'Windows' if on_windows else sys.platform}: this part of aboard does not run on this system, expected Linux "
        f"or macOS. {'Use it in WSL2 (docs/how-to/installation.md)' if on_windows else 'Use one of them'}"
    )


def refusal(what: str) -> ToolError:
    """Returns the error for a part that this operating system does not have.

    Args:
        what: The part, as in `pseudo-terminals`.
    """
    return ToolError(f"{what}: not available on {sys.platform}, expected Linux or macOS. Use WSL2, or one of them")


def described() -> str:
    """Returns the name of this operating system, and whether aboard is tested on it."""
    name, tested = _KNOWN.get(sys.platform, ("Windows" if sys.platform in _WINDOWS else sys.platform, False))
    return f"{name} {platform.release()} {platform.machine()} ({'tested' if tested else 'not tested'})"
