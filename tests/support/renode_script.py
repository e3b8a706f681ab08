"""Reads what Renode reads, as far as our scripts use it: monitor scripts (.resc) and platform descriptions (.repl).

Both fail on anything they do not know, so that a script that only looks right is found without Renode.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

#: Commands, and the shape of their arguments after variables were put in.
COMMANDS = {
    "using": r"sysbus",
    "mach create": r'"\w+"',
    "machine LoadPlatformDescription": r"@(?:\\ |\S)+\.repl",
    "machine LoadPlatformDescriptionFromString": r'".+"',
    "sysbus Tag": r'<0x[0-9A-F]{8} 4> "\w+" 0x[0-9A-F]{8}',
    "nvic Frequency": r"\d+",
    "cpu PerformanceInMips": r"\d+",
    "cpu VectorTableOffset": r"0x[0-9A-F]{8}",
    "emulation SetGlobalQuantum": r'"0\.\d+"',
    "emulation CreateServerSocketTerminal": r'\d+ "\w+" false',
    "emulation CreateUartPtyTerminal": r'"\w+" "[^"]+" true',
    "connector Connect": r"sysbus\.\w+ \w+",
    "sysbus LoadELF": r"@(?:\\ |\S)+",
    "logFile": r"@(?:\\ |\S)+ true",
    "start": r"",
}
_VARIABLE = re.compile(r"\$(\w+)")
_ENTRY = re.compile(r"(?P<name>\w+): (?P<type>\w+\.\w+) @ (?P<place>.*)")
_PROPERTY = re.compile(r"(\w+): (?:\d+|0x[0-9A-F]+|true|false|\w+|\"[^\"]+\")")
_LINE = re.compile(r"(\w+) -> (\w+)@(\d+)")


@dataclass
class Monitor:
    """Executes lines as Renode's monitor does.

    Attributes:
        done: The commands that were executed, variables put in.
        variables: Their values.
    """

    done: list[str] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)
    macros: dict[str, list[str]] = field(default_factory=dict)

    def include(self, path: Path) -> None:
        """Executes a script."""
        self.variables["ORIGIN"] = "@" + str(path.parent).replace(" ", "\\ ")
        lines = iter(path.read_text(encoding="utf-8").splitlines())
        for line in lines:
            if line.startswith("macro "):
                assert next(lines) == '"""'
                self.macros[line.split()[1]] = list(self._until_quotes(lines))
            else:
                self.execute(line)

    @staticmethod
    def _until_quotes(lines: Iterator[str]) -> Iterator[str]:
        for line in lines:
            if line == '"""':
                return
            yield line.strip()

    def execute(self, line: str) -> None:
        """Executes one line.

        Raises:
            ValueError: Renode would not know what it means.
        """
        line = line.strip()
        if not line or line.startswith(("#", ":")):
            return
        if line.startswith("include "):
            self.include(Path(line.removeprefix("include @").replace("\\ ", " ")))
            return
        if line.startswith("runMacro $"):
            for inner in self.macros[line.removeprefix("runMacro $")]:
                self.execute(inner)
            return
        assigned = re.fullmatch(r"\$(\w+)(\?)?=(.+)", line)
        if assigned:
            name, only_if_unset, value = assigned.groups()
            if not (only_if_unset and name in self.variables):
                self.variables[name] = self._resolved(value)
            return
        self._command(self._resolved(line))

    def _resolved(self, text: str) -> str:
        unknown = [name for name in _VARIABLE.findall(text) if name not in self.variables]
        if unknown:
            raise ValueError(f"No such variable: ${unknown[0]}")
        return _VARIABLE.sub(lambda found: self.variables[found[1]], text)

    def _command(self, line: str) -> None:
        for name, shape in COMMANDS.items():
            rest = line.removeprefix(name)
            if rest != line and (not rest or rest.startswith(" ")) and re.fullmatch(shape, rest.strip()):
                self.done.append(line)
                return
        raise ValueError(f"There was an error executing command '{line}'")

    def of(self, command: str) -> list[str]:
        """Returns the arguments of each call of a command."""
        return [
            line.removeprefix(command).strip()
            for line in self.done
            if line.split(" ")[: len(command.split())] == command.split()
        ]


@dataclass(frozen=True)
class Peripheral:
    """An entry of a platform description."""

    type: str
    addresses: tuple[int, ...]
    properties: dict[str, str]
    lines: dict[str, tuple[str, int]]


def read_platform(text: str) -> dict[str, Peripheral]:
    """Returns the peripherals by name; a script of one is its property `script`.

    Raises:
        ValueError: A line is none that Renode reads, or a name that is referred to is not there.
    """
    scripts: list[str] = []

    def keep(found: re.Match[str]) -> str:
        scripts.append(found[1])
        return f'"script{len(scripts) - 1}"'

    text = re.sub(r"'''\n(.*?)\n'''", keep, text, flags=re.DOTALL)
    text = re.sub(r"\{\s*(.*?)\s*\}", lambda found: "{" + " ".join(found[1].split()) + "}", text, flags=re.DOTALL)
    platform: dict[str, Peripheral] = {}
    current: Peripheral | None = None
    for line in text.splitlines():
        if not line.strip() or line.startswith("//") or re.fullmatch(r'using "platforms/[\w./-]+\.repl"', line):
            continue
        changed = re.fullmatch(r"(\w+):", line)
        if changed:
            current = platform.setdefault(changed[1], Peripheral("", (), {}, {}))
            continue
        entry = _ENTRY.fullmatch(line)
        if entry:
            addresses = tuple(int(number, 16) for number in re.findall(r"sysbus <?(0x[0-9A-F]+)", entry["place"]))
            current = platform[entry["name"]] = Peripheral(entry["type"], addresses, {}, {})
            continue
        wired, assigned = _LINE.fullmatch(line.strip()), _PROPERTY.fullmatch(line.strip())
        if current is None or not line.startswith("    ") or not (wired or assigned):
            raise ValueError(f"not a line of a platform description: {line}")
        if wired:
            current.lines[wired[1]] = (wired[2], int(wired[3]))
        else:
            key, _, value = line.strip().partition(": ")
            is_script = value.startswith('"script') and key == "script"
            current.properties[key] = scripts[int(value[7:-1])] if is_script else value.strip('"')
    for name, peripheral in platform.items():
        for target, _ in peripheral.lines.values():
            if target not in platform:
                raise ValueError(f"{name}: no such peripheral, got {target}")
    return platform
