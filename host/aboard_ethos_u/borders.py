"""Gives every input and output of a region a base pointer of its own.

Vela gives all inputs one base pointer and all outputs another. In the arena of a model, tensors lie where the memory
plan puts them. So the stream is written again with other regions and offsets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from aboard.errors import TargetError
from aboard.ir import Array
from aboard_ethos_u.vela import Border, Compiled

#: Base pointers of the NPU; Vela uses the first three for constants, scratch and fast scratch.
POINTERS, FIRST = 8, 3

_CODE, _FORM, _WIDE, _FIRST_REGISTER = 0x3FF, 0xC000, 0x4000, 0x100


@dataclass(frozen=True)
class _Pointer:
    """Registers that together name memory: the region, and offsets in it."""

    region: int
    offsets: tuple[int, ...]


#: Feature maps with a base for each tile, and both ends of a copy.
_POINTERS = (
    _Pointer(0x10F, (0x000, 0x001, 0x002, 0x003)),
    _Pointer(0x11F, (0x010, 0x011, 0x012, 0x013)),
    _Pointer(0x18F, (0x080, 0x081, 0x082, 0x083)),
    _Pointer(0x130, (0x030,)),
    _Pointer(0x131, (0x031,)),
)
_REGIONS = {pointer.region for pointer in _POINTERS}
_OFFSETS = {offset for pointer in _POINTERS for offset in pointer.offsets}


@dataclass(frozen=True)
class Command:
    """A command of a stream.

    Attributes:
        code: Number of the command or register.
        parameter: 16 bits.
        payload: 32 bits; None for a command without a payload.
    """

    code: int
    parameter: int
    payload: int | None = None

    @property
    def words(self) -> tuple[int, ...]:
        """The words of the stream."""
        head = self.code | self.parameter << 16
        return (head,) if self.payload is None else (head | _WIDE, self.payload)


def commands(stream: Sequence[int]) -> Iterator[Command]:
    """Yields the commands of a stream.

    Raises:
        ValueError: The last command lacks its payload.
    """
    words = iter(stream)
    for word in words:
        code, parameter = word & _CODE, word >> 16
        if word & _FORM != _WIDE:
            yield Command(code, parameter)
            continue
        payload = next(words, None)
        if payload is None:
            raise ValueError("the stream ends within a command")
        yield Command(code, parameter, payload)


@dataclass(frozen=True)
class Assigned:
    """A stream in which each input and output has a base pointer.

    Attributes:
        stream: The words.
        inputs: Numbers of the base pointers of the inputs.
        outputs: Numbers of the base pointers of the outputs.
    """

    stream: Array
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


def assigned(compiled: Compiled, where: str) -> Assigned:
    """Returns the stream of a region with a base pointer for each input and output.

    Args:
        compiled: What Vela made of the region.
        where: The region, for messages.

    Raises:
        TargetError: There are more inputs and outputs than base pointers.
    """
    borders = (*compiled.inputs, *compiled.outputs)
    if len(borders) > POINTERS - FIRST:
        raise TargetError(
            f"{where}: inputs and outputs of the region, got {len(borders)}, expected at most {POINTERS - FIRST}. "
            "Claim fewer nodes with -claim-nodes; `aboard partition` shows the numbers"
        )
    numbers = tuple(range(FIRST, FIRST + len(borders)))
    split = len(compiled.inputs)
    if all(border.region == number and border.offset == 0 for border, number in zip(borders, numbers, strict=True)):
        return Assigned(compiled.stream, numbers[:split], numbers[split:])
    rewriter = _Rewriter(tuple(zip(borders, numbers, strict=True)))
    words = [word for command in commands(compiled.stream.tolist()) for word in rewriter.rewritten(command)]
    return Assigned(np.array(words, np.uint32), numbers[:split], numbers[split:])


@dataclass
class _Rewriter:
    """Holds back the registers of pointers until an operation uses them."""

    borders: Sequence[tuple[Border, int]]
    region: dict[int, int] = field(default_factory=dict)
    offset: dict[int, int] = field(default_factory=dict)
    written: dict[int, Command] = field(default_factory=dict)

    def rewritten(self, command: Command) -> list[int]:
        """Returns the words for a command."""
        if command.payload is None and command.code in _REGIONS:
            self.region[command.code] = command.parameter
            return []
        if command.payload is not None and command.code in _OFFSETS:
            self.offset[command.code] = command.payload | command.parameter << 32
            return []
        before: list[Command] = []
        if command.payload is None and command.code < _FIRST_REGISTER:
            before = [one for pointer in _POINTERS for one in self._pointing(pointer)]
        return [word for one in (*before, command) for word in one.words]

    def _pointing(self, pointer: _Pointer) -> Iterator[Command]:
        """Yields the commands that bring the registers of a pointer to their new values."""
        if pointer.region not in self.region:
            return
        region, moved = self.region[pointer.region], 0
        first = self.offset.get(pointer.offsets[0], 0)
        for border, number in self.borders:
            if border.region == region and border.offset <= first < border.offset + max(border.bytes, 1):
                region, moved = number, border.offset
                break
        yield from self._changed(Command(pointer.region, region))
        for register in pointer.offsets:
            if register in self.offset:
                value = self.offset[register]
                value -= moved if value >= moved else 0
                yield from self._changed(Command(register, value >> 32, value & 0xFFFFFFFF))

    def _changed(self, command: Command) -> Iterator[Command]:
        """Yields a command that sets a register to another value than it has."""
        if self.written.get(command.code if command.payload is None else ~command.code) != command:
            self.written[command.code if command.payload is None else ~command.code] = command
            yield command
