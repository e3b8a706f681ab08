"""Explains a failed Zephyr build: turns the output of the tools into the problem and its solution."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from aboard.boards.zephyr import modules as zephyr_modules
from aboard.errors import did_you_mean

#: First words of the explanation for an unknown board.
NO_BOARD = "no such board"

_NO_BOARD = re.compile(r"Invalid BOARD; see above|No board named '[^']*' found")
_QUALIFIERS = re.compile(r"Board qualifiers `([^`]*)` for board `([^`]*)` not found")
_TARGETS = re.compile(r"Valid board targets for \S+ are:\n(.*?)\n\n*Call Stack", re.DOTALL)
_BOARD_NAME = re.compile(r"^[a-z0-9_]+$", re.MULTILINE)
# A symbol of a module's Kconfig whose "direct dependencies" are the constant 0: the module is missing.
_UNMET = re.compile(
    r"^warning: (\w+) \(defined at modules/(\w[\w-]*)/[^)]*\) has direct dependencies .*\b0\b", re.MULTILINE
)
_DTS = re.compile(r"\.dtsi?:\d+:\d+: fatal error: (\S+): No such file or directory")
_HEADER = re.compile(r"fatal error: (\S+\.h): No such file or directory")
_NO_KCONFIG = re.compile(r"'([^']*Kconfig[^']*)' not found \(in '([^']*)'\)")
_KCONFIG = re.compile(r"^(?:warning|error): (?!Aborting)(.*?)(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)
_UNTYPED = re.compile(r"warning: (\w+) \(defined at ([^)]*)\) defined without a type")
_NO_SDK = re.compile(r"provided by \"Zephyr-sdk\"|ZEPHYR_TOOLCHAIN_VARIANT|Zephyr-sdk\b.*not found", re.IGNORECASE)
_NO_PACKAGE = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")
_NO_ZEPHYR = re.compile(r"provided by \"Zephyr\"")


def explain(output: str, board: str, needed: Iterable[str], present: Iterable[str]) -> str | None:
    """Returns the problem and its solution; None if the output matches no known problem.

    Args:
        output: Output of CMake, Kconfig and the compiler.
        board: Zephyr's name of the board.
        needed: Modules that the board is known to need.
        present: Modules that the workspace has.
    """
    there = list(present)
    return next(
        (
            text
            for text in (
                _board(output, board),
                _modules(output, board, zephyr_modules.missing(needed, there), there),
                _incomplete(output),
                _package(output),
                _toolchain(output),
                _kconfig(output, board),
            )
            if text is not None
        ),
        None,
    )


def _board(output: str, board: str) -> str | None:
    found = _QUALIFIERS.search(output)
    if found is not None:
        listed = _TARGETS.search(output)
        names = listed.group(1).split() if listed else []
        return (
            f"{NO_BOARD}, got {board}, expected one of: {', '.join(names)}. "
            f"Say --board zephyr:{names[0] if names else found.group(2)}"
        )
    if _NO_BOARD.search(output) is None:
        return None
    known = sorted(set(_BOARD_NAME.findall(output)))
    return f"{NO_BOARD}, got {board}. {did_you_mean(board, known)} List all with `west boards`"


def _modules(output: str, board: str, missing: list[str], present: list[str]) -> str | None:
    """Detects missing modules: they show as symbols that cannot be set, or as files that are not found."""
    unmet = list(dict.fromkeys(module for _, module in _UNMET.findall(output) if module not in present))
    if unmet:
        either = [name for name in missing if name not in unmet]
        return zephyr_modules.advice(board, sorted({*unmet, *either}))
    if missing and (_DTS.search(output) or _HEADER.search(output) or "Aborting due to Kconfig" in output):
        return zephyr_modules.advice(board, missing)
    return None


def _incomplete(output: str) -> str | None:
    found = _NO_KCONFIG.search(output)
    if found is not None:
        return _copied(f"lacks the file {found.group(1)}, which {found.group(2)} asks for")
    untyped = _UNTYPED.search(output)
    if untyped is not None:
        return _copied(f"lacks the file that says what {untyped.group(1)} is ({untyped.group(2)} uses it)")
    return None


def _copied(what: str) -> str:
    return (
        f"the Zephyr tree {what}, as a copy loses the files that .gitignore matches. Restore the file with git "
        "checkout, or with west update"
    )


def _package(output: str) -> str | None:
    found = _NO_PACKAGE.search(output)
    if found is None:
        return None
    return f"Zephyr's scripts lack a Python package, got no {found.group(1)}. Install it: pip install {found.group(1)}"


def _toolchain(output: str) -> str | None:
    if _NO_ZEPHYR.search(output):
        return "CMake did not find Zephyr. Name its folder: export ZEPHYR_BASE=<workspace>/zephyr"
    if "CMake Error" in output and _NO_SDK.search(output):
        return (
            "Zephyr found no compiler. Install the Zephyr SDK, or for Cortex-M arm-none-eabi-gcc with "
            "ZEPHYR_TOOLCHAIN_VARIANT=gnuarmemb and GNUARMEMB_TOOLCHAIN_PATH"
        )
    return None


def _kconfig(output: str, board: str) -> str | None:
    if "Kconfig" not in output:
        return None
    first = next(_warnings(output), None)
    if first is None:
        return None
    return f"Kconfig refuses the configuration for {board}: {first}. Change prj.conf, or update Zephyr with west update"


def _warnings(output: str) -> Iterator[str]:
    for found in _KCONFIG.finditer(output):
        yield " ".join(found.group(1).split())
