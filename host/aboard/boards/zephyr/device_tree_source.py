"""Preprocesses the device tree of a board as Zephyr does, without the modules that a Zephyr tree lacks."""

from __future__ import annotations

import os
import re
from pathlib import Path

from aboard.base import programs
from aboard.base.scratch import Scratch
from aboard.errors import BoardError, ToolError

#: Preprocessors by command, in the order of preference.
_PREPROCESSORS = (("cc", "-E"), ("gcc", "-E"), ("clang", "-E"), ("arm-none-eabi-gcc", "-E"), ("zig", "cc", "-E"))
_MISSING = re.compile(r"fatal error: '?(.+?)'?(?:: No such file| file not found)")
_LABEL = re.compile(r"(?<![\w&])([A-Za-z_]\w*)\s*:(?!:)")
_REFERENCE = re.compile(r"&([A-Za-z_]\w*)")
_LINE_MARK = re.compile(r'^# \d+ "([^"]+)".*$', re.MULTILINE)
_PINMUX = re.compile(r"\bpinmux\s*=\s*([^;]*);")
#: A cell with the name of a pin, which a macro of a missing file would replace by a number.
_MACRO = re.compile(r"<\s*([A-Z]\w*)\s*>")
_QUOTED = r'"\1"'
_ARCHITECTURES = ("arm", "arm64", "riscv", "x86", "xtensa", "posix")
_TIMEOUT_S = 60
#: Files that a board includes from modules; a board includes fewer.
_MOST_MISSING = 20


def preprocessed(base: Path, source: Path) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Returns the text without `#include`, the files that were read, and the files that are missing.

    Args:
        base: Folder of the Zephyr tree.
        source: The board's file (`*.dts`).

    Raises:
        ToolError: There is no C preprocessor.
        BoardError: The file cannot be preprocessed.
    """
    with Scratch() as folder:
        stubs, output = folder / "stubs", folder / "board.dts"
        stubs.mkdir()
        command = _command(base, source, stubs, output)
        missing: list[str] = []
        while True:
            code, messages = programs.run(command, folder, dict(os.environ), _TIMEOUT_S)
            if code == 0:
                break
            lost = _MISSING.search(messages)
            if lost is None or len(missing) == _MOST_MISSING:
                raise BoardError(
                    f"{source}: cannot be preprocessed, got {messages.strip()[-300:]}, expected a device tree of "
                    "Zephyr. Run west update"
                )
            missing.append(lost[1])
            (stubs / lost[1]).parent.mkdir(parents=True, exist_ok=True)
            (stubs / lost[1]).touch()
        text = output.read_text(encoding="utf-8")
    return _without_macros(_LINE_MARK.sub("", text)), _files(text, base), tuple(missing)


def _command(base: Path, source: Path, stubs: Path, output: Path) -> list[str]:
    """Returns the command of the preprocessor, with the folders in which Zephyr looks for included files."""
    folders = [
        base / "include",
        base / "include" / "zephyr",
        base / "dts" / "common",
        base / "dts" / "vendor",
        *(base / "dts" / name for name in _ARCHITECTURES),
        base / "dts",
        source.parent,
        stubs,
    ]
    flags = ["-x", "assembler-with-cpp", "-nostdinc", "-undef", "-D__DTS__", "-w", "-o", str(output)]
    return [*_preprocessor(), *flags, *(f"-I{folder}" for folder in folders), str(source)]


def _without_macros(text: str) -> str:
    """Returns the source with pins that only missing files define as strings: `pinmux = "UART0_RX_PB16"`."""
    return _PINMUX.sub(lambda found: f"pinmux = {_MACRO.sub(_QUOTED, found[1])};", text)


def _preprocessor() -> list[str]:
    for name, *arguments in _PREPROCESSORS:
        found = programs.find(name)
        if found is not None:
            return [str(found), *arguments]
    raise ToolError(
        "device tree: no C preprocessor, got none of "
        f"{', '.join(name for name, *_ in _PREPROCESSORS)}, expected one of them. Run apt install gcc"
    )


def _files(output: str, base: Path) -> tuple[str, ...]:
    root = base.resolve()
    read = dict.fromkeys(Path(name).resolve() for name in _LINE_MARK.findall(output))
    return tuple(path.relative_to(root).as_posix() for path in read if path.is_relative_to(root) and path.is_file())


def with_stubs(text: str) -> str:
    """Returns the source with a node for each label that only missing files define."""
    undefined = sorted(set(_REFERENCE.findall(text)) - set(_LABEL.findall(text)))
    nodes = " ".join(f"{label}: {label.replace('_', '-')} {{ }};" for label in undefined)
    body = text.replace("/dts-v1/;", "")
    return f"/dts-v1/;\n/ {{ undefined {{ {nodes} }}; }};\n{body}"
