"""Faults of devices as plain records: what a device recorded, and what the host made of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

_IN_A_ROW = 3
_FAULT_CORE_SHIFT = 16


@dataclass(frozen=True)
class CodePlace:
    """A place in the code.

    Attributes:
        address: Address of an instruction.
        function: Name of the function; None where the image does not say.
        file: Source file, relative to the project where it lies in it.
        line: Line in the file.
    """

    address: int
    function: str | None = None
    file: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        name = self.function or f"{self.address:#010x}"
        return f"{name} ({self.file}:{self.line})" if self.file else name


@dataclass(frozen=True)
class FaultRecord:
    """What a device recorded of its last crash.

    Attributes:
        kind: 0 for none, else the exception number (Arm IPSR) or RISC-V mcause + 1; from bit 16 on `core`.
        registers: Arm: r0-r3, r12, lr, pc, xpsr. RISC-V: ra, sp, a0-a5, pc. The rest is 0.
        status: Arm: CFSR. RISC-V: mcause.
        address: Arm: BFAR or MMFAR. RISC-V: mtval.
    """

    kind: int
    registers: tuple[int, ...]
    status: int
    address: int

    @property
    def core(self) -> int:
        """Number of the core that took the fault; 0 for the one that answers."""
        return self.kind >> _FAULT_CORE_SHIFT

    @property
    def exception(self) -> int:
        """The kind without the core."""
        return self.kind & ((1 << _FAULT_CORE_SHIFT) - 1)

    def __str__(self) -> str:
        registers = " ".join(f"{value:08x}" for value in self.registers)
        return (
            f"fault {self.exception} (status {self.status:#010x}, address {self.address:#010x}, registers {registers})"
        )


class Cause(str, Enum):
    """What most likely happened. A value is a text."""

    STACK_OVERFLOW = "stack overflow"
    UNALIGNED = "unaligned access"
    UNDEFINED = "undefined instruction"
    BUS = "bus fault"
    JUMP = "jump to where there is no code"
    BREAKPOINT = "breakpoint"
    DIVISION = "division by zero"
    COPROCESSOR = "instruction of an FPU or coprocessor that is off or not there"
    RETURN = "damaged return address"
    STATE = "jump to an address without the Thumb bit"
    LOAD_OR_STORE = "bus fault or unaligned access"
    CALL = "call of an operating system that is not there"
    UNKNOWN = "unknown cause"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class FaultReport:
    """A fault record, decoded.

    Attributes:
        record: The record.
        registers: Values by name, as far as they are known; empty where the core could not save them.
        cause: What most likely happened.
        address: Memory address that was reached for; None where it is not known, or where it is no matter of memory.
        region: What the board has there, in words; empty where there is no address.
        places: Where it happened, innermost first: more than one where functions are expanded in others. Empty where it
            is not known.
        callers: Who called that, innermost first, as far as the stack tells. Code that has returned since may be among
            them.
    """

    record: FaultRecord
    registers: Mapping[str, int]
    cause: Cause
    address: int | None = None
    region: str = ""
    places: tuple[CodePlace, ...] = ()
    callers: tuple[CodePlace, ...] = ()

    @property
    def kind(self) -> int:
        """Kind as in the record."""
        return self.record.kind

    @property
    def core(self) -> int:
        """Number of the core that took the fault; 0 for the one that answers."""
        return self.record.core

    @property
    def exception(self) -> int:
        """Kind without the core."""
        return self.record.exception

    @property
    def status(self) -> int:
        """Status as in the record."""
        return self.record.status

    @property
    def place(self) -> CodePlace | None:
        """Where it happened, or else the nearest caller that is known."""
        return next(iter((*self.places, *self.callers)), None)

    @property
    def function(self) -> str | None:
        """Name of the function."""
        return self.place.function if self.place else None

    @property
    def file(self) -> str | None:
        """Source file, relative to the project where it lies in it."""
        return self.place.file if self.place else None

    @property
    def line(self) -> int | None:
        """Line in the file."""
        return self.place.line if self.place else None

    def summary(self) -> str:
        """Returns what happened where, in one line."""
        at = f" at {self.address:#010x}, {self.region}" if self.address is not None else ""
        return f"fault {self.record.exception}: {self.cause}{at}{self._where()}"

    def _where(self) -> str:
        if self.places:
            return f"{',' if self.region else ''} in {', in '.join(map(str, self.places))}"
        if self.callers:
            return f", called from {self.callers[0]}"
        return ""

    def __str__(self) -> str:
        named = " ".join(f"{name}={value:08x}" for name, value in self.registers.items())
        called = _shortened([str(place) for place in (self.callers if self.places else self.callers[1:])])
        lines = [
            self.summary(),
            *(f"  called from {text}" for text in called),
            *([f"  registers {named}"] if named else []),
            f"  status {self.record.status:#010x}, address {self.record.address:#010x}",
        ]
        return "\n".join(lines)


def _shortened(places: list[str]) -> list[str]:
    """Returns lines in which what calls itself over and over is named once, with how often."""
    lines: list[str] = []
    at = 0
    while at < len(places):
        count = next((i for i, text in enumerate(places[at:]) if text != places[at]), len(places) - at)
        lines += [f"{places[at]}, {count} times and more"] if count >= _IN_A_ROW else [places[at]] * count
        at += count
    return lines
