"""Fault records of Cortex-M: Armv7-M Architecture Reference Manual (DDI 0403), B3.2.15, and Armv8-M's (DDI 0553)."""

from __future__ import annotations

from collections.abc import Sequence

from aboard.base.fault_record import Cause, FaultRecord
from aboard.faults.evidence import Evidence, Stack, chain
from aboard.faults.symbols import Symbols

_NAMES = ("r0", "r1", "r2", "r3", "r12", "lr", "pc", "xpsr", "sp")
_LR, _PC, _SP = 5, 6, 8
_ADDRESS_VALID = 0x8080
#: Bits of CFSR in the order in which they are tested: stack faults first, then the most precise cause.
_CAUSES = (
    (0x00101010, Cause.STACK_OVERFLOW),  # STKOF, STKERR, MSTKERR
    (0x01000000, Cause.UNALIGNED),
    (0x02000000, Cause.DIVISION),
    (0x00080000, Cause.COPROCESSOR),
    (0x00010000, Cause.UNDEFINED),
    (0x00040800, Cause.RETURN),  # INVPC, UNSTKERR
    (0x00000008, Cause.RETURN),  # MUNSTKERR
    (0x00000101, Cause.JUMP),  # IBUSERR, IACCVIOL
    (0x00020000, Cause.STATE),
    (0x0000A602 | 0x20, Cause.BUS),  # PRECISERR, IMPRECISERR, LSPERR, DACCVIOL, MLSPERR
)
_THUMB = 1
#: Bytes moved by LDR, LDRB, LDRH and their stores with immediate offset, by the upper four bits of the opcode.
_SIZES = {0x6: 4, 0x7: 1, 0x8: 2}
#: Base registers that the exception frame holds: r0 to r3.
_LAST_SAVED = 3


def read(record: FaultRecord, stack: Stack, symbols: Symbols | None) -> Evidence:
    """Returns registers, cause, program counter, callers and address of a record."""
    words = record.registers
    stacked = any(words[:_SP])
    names = [(name, value) for name, value in zip(_NAMES, words, strict=False) if stacked or (name == "sp" and value)]
    registers = dict(names)
    sp = registers.get("sp")
    pc = words[_PC] if stacked else None
    callers = chain(words[_LR] if stacked else 0, words[_SP + 1 :])
    # The address 0 counts only if the core marks the address register as valid.
    address = record.address if record.status & _ADDRESS_VALID or record.address else None
    if stack.overflowed(sp, address):
        return Evidence(registers, Cause.STACK_OVERFLOW, pc, callers, sp if address is None else address)
    cause = next((cause for bits, cause in _CAUSES if record.status & bits), None)
    if cause is None:
        cause, address = _by_instruction(words, symbols)
    if cause is Cause.STACK_OVERFLOW:
        return Evidence(registers, cause, pc, callers, address or sp)
    return Evidence(registers, cause, pc, callers, pc if cause is Cause.JUMP else address)


def _by_instruction(words: Sequence[int], symbols: Symbols | None) -> tuple[Cause, int | None]:
    """Decodes cause and address from the instruction, for cores without CFSR: Armv6-M and Armv8-M Baseline."""
    if not any(words[:_SP]) or symbols is None:
        return Cause.UNKNOWN, None
    code = symbols.code(words[_PC] & ~_THUMB, 2)
    if len(code) < 2:
        return Cause.JUMP, None
    instruction = int.from_bytes(code, "little")
    known = {0xDE: Cause.UNDEFINED, 0xBE: Cause.BREAKPOINT}.get(instruction >> 8)
    if known is not None:
        return known, None
    size = _SIZES.get(instruction >> 12)
    if size is None:
        others = instruction >> 12 in (0x5, 0x9, 0xC) or instruction >> 11 == 0b01001
        return (Cause.LOAD_OR_STORE if others else Cause.UNKNOWN), None
    base = instruction >> 3 & 7
    if base > _LAST_SAVED:
        return Cause.LOAD_OR_STORE, None
    address = (words[base] + (instruction >> 6 & 31) * size) & 0xFFFFFFFF
    return (Cause.UNALIGNED if address % size else Cause.BUS), address
