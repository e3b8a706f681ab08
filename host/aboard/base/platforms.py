"""The operating systems that aboard runs on."""

from __future__ import annotations

import platform
import sys

#: Operating systems by `sys.platform`: the name for people, and whether the tests run there.
_KNOWN = {"linux": ("Linux", True), "darwin": ("macOS", False)}


def problem() -> str | None:
    """Returns why aboard does not run on this operating system and what to do; None if it does run."""
    if sys.platform in _KNOWN:
        return None
    on_windows = sys.platform in ("win32", "cygwin", "msys")
    return (
        f"{'Windows' if on_windows else sys.platform}: aboard does not run on this system, expected Linux or macOS. "
        f"{'Use it in WSL2 (docs/how-to/installation.md)' if on_windows else 'Use one of them'}"
    )


def described() -> str:
    """Returns the name of this operating system, and whether aboard is tested on it."""
    name, tested = _KNOWN.get(sys.platform, (sys.platform, False))
    return f"{name} {platform.release()} {platform.machine()} ({'tested' if tested else 'not tested'})"
