"""The instructions of an image, as its compiler's objdump lists them."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from aboard.base import programs
from aboard.boards import cpu
from aboard.errors import ToolError

_TIMEOUT_S = 60.0

_LINE = re.compile(r"^\s*([0-9a-f]+):\t([0-9a-f ]+?)\s*\t(\S+)(?:\s+(.*))?$")
_COMMENT = re.compile(r"\s*(?:;|@| # |//).*$")
_REGISTER = re.compile(r"\b(?:r\d+|sl|fp|ip|sp|lr|pc|[sdq]\d+|ra|gp|tp|[ta]\d+)\b")
_SAME = {"sl": "r10", "fp": "r11", "ip": "r12", "r13": "sp", "r14": "lr", "r15": "pc"}
_ORDER = [f"r{n}" for n in range(13)] + ["sp", "lr", "pc"]
_RANGE = re.compile(r"\b(\w+)-(\w+)\b")
_LISTS = re.compile(r"^v?(push|pop|ldm|stm)")
_TWO_RESULTS = re.compile(r"^(ldrd|[su]mull|[su]ml[as]l|umaal)")
_NO_RESULT = re.compile(r"^(cmp|cmn|tst|teq|vcmp|vmsr|it|nop|c\.nop|fence)")


@dataclass(frozen=True)
class Instruction:
    """An instruction of an image.

    Attributes:
        address: Where it lies.
        size: Its bytes.
        mnemonic: Its name as objdump writes it, with condition and width.
        operands: Its operands, without comments.
    """

    address: int
    size: int
    mnemonic: str
    operands: str

    @property
    def next(self) -> int:
        """Address of the instruction behind it."""
        return self.address + self.size

    @cached_property
    def registers(self) -> frozenset[str]:
        """All registers that it names."""
        return frozenset(_names(self.operands))

    @cached_property
    def address_registers(self) -> frozenset[str]:
        """Registers that an address is made of."""
        found = re.search(r"\[(.*?)\]|\((\w+)\)", self.operands)
        return frozenset(_names(found[0])) if found else frozenset()

    @cached_property
    def listed(self) -> int:
        """Words of the registers in braces."""
        found = re.search(r"\{(.*)\}", self.operands)
        if not found:
            return 0
        names = _expanded(found[1])
        return sum(2 if name.startswith("d") else 1 for name in names)

    def writes(self, kind: str) -> frozenset[str]:
        """Returns the registers that it changes, base registers with write-back left out.

        Args:
            kind: Its kind in `core_times.toml`: stores and branches change none.
        """
        if "store" in kind or kind == "branch" or _NO_RESULT.match(self.mnemonic):
            return frozenset()
        if _LISTS.match(self.mnemonic):
            found = re.search(r"\{(.*)\}", self.operands)
            return frozenset(_expanded(found[1])) if found else frozenset()
        return frozenset(_names(self.operands)[: 2 if _TWO_RESULTS.match(self.mnemonic) else 1])


def _names(text: str) -> list[str]:
    return [_SAME.get(name, name) for name in _REGISTER.findall(text)]


def _expanded(text: str) -> list[str]:
    """Returns the registers of a list, ranges written out."""
    found: list[str] = []
    for part in (part.strip() for part in text.split(",")):
        ends = _RANGE.fullmatch(part)
        if not ends:
            found.append(_SAME.get(part, part))
        elif ends[1][0] in "sdq" and ends[1][1:].isdigit():
            found += [f"{ends[1][0]}{n}" for n in range(int(ends[1][1:]), int(ends[2][1:]) + 1)]
        else:
            first, last = (_ORDER.index(_SAME.get(end, end)) for end in ends.groups())
            found += _ORDER[first : last + 1]
    return found


def objdump(core: str) -> Path | None:
    """Returns the objdump of the GNU compiler for a core; None if it is not installed."""
    return programs.find(cpu.find(core).cross_compiler.replace("gcc", "objdump"))


def of_image(image: Path, core: str) -> list[Instruction]:
    """Returns the instructions of an image, in order of their addresses. Data between the code is left out.

    Args:
        image: The ELF file.
        core: Name of its core.

    Raises:
        ToolError: There is no objdump for the core, or it failed.
    """
    found, program = cpu.find(core), objdump(core)
    if program is None:
        raise ToolError(
            f"{image}: no objdump for {core} on PATH, expected that of {found.cross_compiler}. Install binutils for it"
        )
    # Without this option objdump takes Helium for instructions of coprocessors.
    options = ("-m", found.arch) if "mve" in found.features else ()
    code, text = programs.run([str(program), "-d", *options, str(image)], image.parent, os.environ, _TIMEOUT_S)
    if code != 0:
        raise ToolError(f"{image}: {program} failed, got exit code {code}, expected a listing. Build the image again")
    return parse(text)


def parse(text: str) -> list[Instruction]:
    """Returns the instructions of what objdump printed."""
    found = []
    for line in text.splitlines():
        match = _LINE.match(line)
        if match and not match[3].startswith("."):
            size = len(match[2].replace(" ", "")) // 2
            operands = _COMMENT.sub("", match[4] or "").strip()
            found.append(Instruction(int(match[1], 16), size, match[3], operands))
    return sorted(found, key=lambda instruction: instruction.address)
