"""Fault records of a process: signal numbers and codes of Linux."""

from __future__ import annotations

from aboard.base.fault_record import Cause, FaultRecord
from aboard.faults.evidence import Evidence
from aboard.faults.symbols import Symbols

_ILL, _TRAP, _BUS, _FPE, _SEGV = 4, 5, 7, 8, 11
_BUS_UNALIGNED = 1
_SIGNALS = {_ILL: Cause.UNDEFINED, _TRAP: Cause.BREAKPOINT, _BUS: Cause.BUS, _FPE: Cause.DIVISION, _SEGV: Cause.BUS}
#: A stack grows by pages as it is used, so an access close to the stack pointer is an access to the stack.
_NEAR_BYTES = 65536


def read(record: FaultRecord, symbols: Symbols | None) -> Evidence:
    """Returns cause, program counter, callers and address of a record."""
    linked, pc, sp, address = (low | high << 32 for low, high in zip(*[iter(record.registers[:8])] * 2, strict=True))
    registers = {"pc": pc, "sp": sp} if pc else {}
    found = linked if pc else None
    if record.exception == _BUS and record.status == _BUS_UNALIGNED:
        return Evidence(registers, Cause.UNALIGNED, found, (), address)
    cause = _SIGNALS.get(record.exception, Cause.UNKNOWN)
    if record.exception == _SEGV and sp and abs(address - sp) < _NEAR_BYTES:
        return Evidence(registers, Cause.STACK_OVERFLOW, found, (), address)
    if record.exception == _SEGV and pc and symbols is not None and not symbols.code(linked, 1):
        return Evidence(registers, Cause.JUMP, found, (), pc)
    return Evidence(registers, cause, found, (), address if cause is Cause.BUS else None)
