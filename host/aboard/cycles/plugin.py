"""Builds the plugin of QEMU that counts instructions (`histogram.c`), with the C compiler of this machine.

A build takes a fifth of a second, so a process builds once. No library of an earlier process is ever loaded.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from pathlib import Path

from aboard.base import programs
from aboard.base.scratch import Scratch
from aboard.errors import ToolError

_SOURCE = Path(__file__).with_name("histogram.c")
_COMPILERS = ("cc", "gcc", "clang")
_FLAGS = ("-O2", "-fPIC", "-shared", "-fvisibility=hidden")
_TIMEOUT_S = 60.0
# Begins the plugin's complaint when it has no arguments, which shows that QEMU has loaded it.
_LOADED = "histogram: no code"


def build(folder: Path, qemu: Path) -> Path:
    """Builds the plugin and lets QEMU load it once, unless this process has it.

    Args:
        folder: Folder for the library.
        qemu: The program of QEMU that shall load it.

    Returns:
        The library.

    Raises:
        ToolError: There is no C compiler, it failed, or QEMU does not load the library.
    """
    compiler = next((path for name in _COMPILERS if (path := programs.find(name))), None)
    if compiler is None:
        raise ToolError(
            f"counting instructions: no C compiler for this machine, got none of {', '.join(_COMPILERS)} on PATH, "
            "expected one that builds a plugin of QEMU. Install gcc"
        )
    library = folder / "histogram.so"
    library.write_bytes(_built(compiler, compiler.stat().st_mtime_ns, qemu, qemu.stat().st_mtime_ns))
    return library


@functools.lru_cache(maxsize=8)
def _built(compiler: Path, _compiled_ns: int, qemu: Path, _qemu_ns: int) -> bytes:
    """Returns the bytes of a library that this QEMU has loaded; other programs at these places build anew."""
    with Scratch() as folder:
        library = folder / "histogram.so"
        code, text = _run([str(compiler), *_FLAGS, "-o", str(library), str(_SOURCE)], folder)
        if code != 0:
            raise ToolError(
                f"counting instructions: {compiler} failed, got exit code {code} and {_last(text)}, expected a plugin "
                "of QEMU. Install gcc"
            )
        _, text = _run([str(qemu), "-machine", "none", "-display", "none", "-plugin", _escaped(str(library))], folder)
        if _LOADED not in text:
            raise ToolError(
                f"counting instructions: {qemu} did not load the plugin, got {_last(text)}, expected a QEMU with "
                "plugins of API version 1, which releases before 9.0 have. Use the predicted cycles, or another QEMU"
            )
        return library.read_bytes()


def argument(library: Path, output: Path, places: Sequence[str]) -> str:
    """Returns the value of QEMU's option -plugin.

    Args:
        library: The plugin.
        output: File that the plugin writes.
        places: The addresses of the image (`histogram.arguments`).
    """
    return ",".join(_escaped(text) for text in (str(library), f"out={output}", *places))


def _escaped(text: str) -> str:
    """Returns a value for QEMU's options, which read two commas as one."""
    return text.replace(",", ",,")


def _run(command: list[str], folder: Path) -> tuple[int, str]:
    return programs.run(command, folder, os.environ, _TIMEOUT_S)


def _last(text: str) -> str:
    """Returns the last line of a program's output, quoted."""
    lines = text.strip().splitlines()
    return repr(lines[-1]) if lines else "no output"
