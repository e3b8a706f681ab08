"""What an architecture makes of a record, before names are looked up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aboard.base.fault_record import Cause

#: So far below the stack an access is taken for one of the stack's: more than what a function saves at its start.
NEAR_BYTES = 4096


@dataclass(frozen=True)
class Stack:
    """Where the stack lies, as far as the image says.

    Attributes:
        bottom: Lowest address; None where it is not known.
    """

    bottom: int | None = None

    def overflowed(self, sp: int | None, address: int | None = None) -> bool:
        """True where the stack pointer is below the stack, or memory right below it was reached for."""
        if self.bottom is None:
            return False
        reached = address is not None and self.bottom - NEAR_BYTES <= address < self.bottom
        return reached or (sp is not None and 0 < sp < self.bottom)


@dataclass(frozen=True)
class Evidence:
    """What a record tells.

    Attributes:
        registers: Values by name.
        cause: What most likely happened.
        pc: Where, as linked; None where it is not known.
        callers: Return addresses, as linked, innermost first.
        address: Memory address that was reached for; None where it is not known.
    """

    registers: Mapping[str, int]
    cause: Cause
    pc: int | None
    callers: tuple[int, ...] = ()
    address: int | None = None


def chain(link: int, found: Sequence[int]) -> tuple[int, ...]:
    """Returns the return addresses of a fault, innermost first.

    Args:
        link: The link register; 0 where it is not known. A function that has saved it finds it on the stack again.
        found: What was found on the stack; 0 where there was no more.
    """
    rest = [word for word in found if word]
    return tuple(rest if not link or rest[:1] == [link] else [link, *rest])
