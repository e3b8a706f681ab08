"""The campaign `wire` where size_t has 32 bits, as on a device: with guarded memory in place of sanitizers."""

from __future__ import annotations

import platform
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "host")]

from fuzz import wire  # noqa: E402  found through the line above
from fuzz.campaign import options  # noqa: E402  likewise
from support.rpc_device import compile_c  # noqa: E402  likewise

#: 32-bit machines whose programs this one executes.
_MACHINES = {"x86_64": "x86-linux-musl", "aarch64": "arm-linux-musleabihf"}


def compiler() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the command of a compiler for a 32-bit machine that this one executes, and its flags."""
    return (sys.executable, "-m", "ziglang", "cc"), ("-target", _MACHINES[platform.machine()], "-O1")


def build(folder: Path) -> Path:
    """Compiles the player of `wire` for a 32-bit machine."""
    command, flags = compiler()
    return compile_c(folder / "narrow", wire.SOURCES, *flags, compiler=command)


if __name__ == "__main__":
    sys.exit(wire.run("wire_narrow", options(__doc__.splitlines()[0]), build))
