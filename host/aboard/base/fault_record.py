"""Device faults as plain records: the registers that a device saved, and the report that the host decodes."""

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
        function: Name of the function; None if the image has no debug information for it.
        file: Source file; relative to the project if the project contains it.
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
    """The record that a device saved at its last crash.

    Attributes:
        kind: 0 for no fault, else the exception number (Arm IPSR) or mcause + 1 (RISC-V); bits 16 and up hold `core`.
        registers: Arm: r0-r3, r12, lr, pc, xpsr. RISC-V: ra, sp, a0-a5, pc. Unused entries are 0.
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
        """The exception number: `kind` without the bits of the core."""
        return self.kind & ((1 << _FAULT_CORE_SHIFT) - 1)

    def __str__(self) -> str:
        registers = " ".join(f"{value:08x}" for value in self.registers)
        return (
            f"fault {self.exception} (status {self.status:#010x}, address {self.address:#010x}, registers {registers})"
        )


class Cause(str, Enum):
    """The most likely cause of a fault. The value is the text that reports show."""

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
        registers: Known register values by name; empty if the core could not save them.
        cause: The most likely cause.
        address: Memory address of the failed access; None if it is not known or the fault is not a memory access.
        region: Memory region of the board at that address, in words; empty if there is no address.
        places: Place of the fault in the code; innermost first. Inlined functions give several places. Empty if the
            place is not known.
        callers: Callers of that place, innermost first, as read from the stack. The list may contain functions that
            have returned.
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
        """`FaultRecord.kind`: exception number, with the core from bit 16 on."""
        return self.record.kind

    @property
    def core(self) -> int:
        """Number of the core that took the fault; 0 for the one that answers."""
        return self.record.core

    @property
    def exception(self) -> int:
        """`FaultRecord.exception`: exception number alone."""
        return self.record.exception

    @property
    def status(self) -> int:
        """`FaultRecord.status`: CFSR on Arm, mcause on RISC-V."""
        return self.record.status

    @property
    def place(self) -> CodePlace | None:
        """The innermost place of the fault; if that is not known, the nearest known caller."""
        return next(iter((*self.places, *self.callers)), None)

    @property
    def function(self) -> str | None:
        """Function of `place`; None if it is not known."""
        return self.place.function if self.place else None

    @property
    def file(self) -> str | None:
        """Source file of `place`; relative to the project if the project contains it."""
        return self.place.file if self.place else None

    @property
    def line(self) -> int | None:
        """Line of `place` in its file; None if it is not known."""
        return self.place.line if self.place else None

    def summary(self) -> str:
        """Returns one line with the cause and the place."""
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
    """Returns the lines of a call stack; a function that calls itself appears once, with a count."""
    lines: list[str] = []
    at = 0
    while at < len(places):
        count = next((i for i, text in enumerate(places[at:]) if text != places[at]), len(places) - at)
        lines += [f"{places[at]}, {count} times and more"] if count >= _IN_A_ROW else [places[at]] * count
        at += count
    return lines
