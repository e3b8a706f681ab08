"""Fault records of RISC-V: Privileged Architecture, table of mcause."""

from __future__ import annotations

from aboard.base.fault_record import Cause, FaultRecord
from aboard.faults.evidence import Evidence, Stack, chain

_NAMES = ("ra", "sp", "a0", "a1", "a2", "a3", "a4", "a5", "pc")
_RA, _SP, _PC = 0, 1, 8
_CAUSES = {
    0: Cause.UNALIGNED,
    1: Cause.JUMP,
    2: Cause.UNDEFINED,
    3: Cause.BREAKPOINT,
    4: Cause.UNALIGNED,
    5: Cause.BUS,
    6: Cause.UNALIGNED,
    7: Cause.BUS,
    8: Cause.CALL,
    9: Cause.CALL,
    11: Cause.CALL,
    12: Cause.JUMP,
    13: Cause.BUS,
    15: Cause.BUS,
}
_OF_MEMORY = (Cause.UNALIGNED, Cause.BUS)


def read(record: FaultRecord, stack: Stack) -> Evidence:
    """Returns registers, cause, program counter, callers and address of a record."""
    words = record.registers
    registers = dict(zip(_NAMES, words, strict=False))
    callers = chain(words[_RA], words[_PC + 1 :])
    cause = _CAUSES.get(record.status, Cause.UNKNOWN)
    of_memory = cause in _OF_MEMORY
    if stack.overflowed(words[_SP], record.address if of_memory else None):
        return Evidence(registers, Cause.STACK_OVERFLOW, words[_PC], callers, record.address or words[_SP])
    address = words[_PC] if cause is Cause.JUMP else record.address if of_memory else None
    return Evidence(registers, cause, words[_PC], callers, address)
