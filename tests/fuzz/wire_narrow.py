"""The campaign `wire` where size_t has 32 bits, as on a device: with guarded memory in place of sanitizers."""

from __future__ import annotations

import platform
import shlex
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "host")]

from fuzz import wire  # noqa: E402  found through the line above
from fuzz.campaign import options  # noqa: E402  likewise
from support.rpc_device import RPC, compile_c  # noqa: E402  likewise

#: 32-bit machines whose programs this one executes.
_MACHINES = {"x86_64": "x86-linux-musl", "aarch64": "arm-linux-musleabihf"}


def build(folder: Path, rpc: Path = RPC) -> Path:
    """Compiles the player of `wire` for a 32-bit machine, and returns a program that this machine executes.

    An emulated Cortex-A where its compiler and emulator are installed: they have a C library, which zig first compiles,
    for more than a minute.

    Args:
        folder: For the program.
        rpc: The server, where it is another than the firmware's.
    """
    compiler, emulator = shutil.which("arm-none-eabi-gcc"), shutil.which("qemu-arm")
    if compiler is None or emulator is None:
        zig = (sys.executable, "-m", "ziglang", "cc")
        flags = ("-target", _MACHINES[platform.machine()], "-O1")
        return compile_c(folder / "narrow", wire.SOURCES, *flags, compiler=zig, rpc=rpc)
    flags = ("-mcpu=cortex-a7", "--specs=rdimon.specs", "-O1")
    image = compile_c(folder / "narrow.elf", wire.SOURCES, *flags, compiler=compiler, rpc=rpc)
    program = folder / "narrow"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(emulator)} {shlex.quote(str(image))} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return program


if __name__ == "__main__":
    sys.exit(wire.run("wire_narrow", options(__doc__.splitlines()[0]), build))
