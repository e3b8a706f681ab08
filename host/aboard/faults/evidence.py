"""The decoded record of an architecture, before symbols are looked up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aboard.base.fault_record import Cause

#: An access within so many bytes below the stack counts as a stack overflow: more than a function's prologue saves.
NEAR_BYTES = 4096


@dataclass(frozen=True)
class Stack:
    """The extent of the stack, as far as the image defines it.

    Attributes:
        bottom: Lowest address; None if it is unknown.
    """

    bottom: int | None = None

    def overflowed(self, sp: int | None, address: int | None = None) -> bool:
        """True if the stack pointer is below the stack, or the access was right below the stack."""
        if self.bottom is None:
            return False
        reached = address is not None and self.bottom - NEAR_BYTES <= address < self.bottom
        return reached or (sp is not None and 0 < sp < self.bottom)


@dataclass(frozen=True)
class Evidence:
    """The decoded fields of a record.

    Attributes:
        registers: Values by name.
        cause: The most likely cause.
        pc: Program counter as a link address; None if it is unknown.
        callers: Return addresses as link addresses, innermost first.
        address: Memory address of the access; None if it is unknown.
    """

    registers: Mapping[str, int]
    cause: Cause
    pc: int | None
    callers: tuple[int, ...] = ()
    address: int | None = None


def chain(link: int, found: Sequence[int]) -> tuple[int, ...]:
    """Returns the return addresses of a fault, innermost first.

    Args:
        link: The link register; 0 if it is unknown. It may also be on the stack, if a function has saved it.
        found: Return addresses found on the stack; 0 for none.
    """
    rest = [word for word in found if word]
    return tuple(rest if not link or rest[:1] == [link] else [link, *rest])
