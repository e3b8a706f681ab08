"""Registers that hold what is written: clocks, resets and pins, as far as an image's set-up touches them.

Which status bits follow which control bits is data of the SoC file (`[[status]]`).
"""

from __future__ import annotations

from collections.abc import Iterable

from aboard.boards.board import Board, BoardStatus

_PAGE = 0x1000
# SysTick, NVIC and system control have a model of their own.
_SYSTEM = 0xE000E000


class Registers:
    """A page of registers.

    Attributes:
        base: Its address.
        size: Its bytes.
    """

    size = _PAGE

    def __init__(self, base: int, values: dict[int, int], status: Iterable[BoardStatus]) -> None:
        """Prepares it.

        Args:
            base: Its address.
            values: Values by address, those of other pages among them: status bits may follow registers there.
            status: The status bits that follow control bits.
        """
        self.base = base
        self._values = values
        self._status = tuple(status)

    def read(self, offset: int, size: int) -> int:
        """Returns what was written, with the status bits as they are now."""
        del size
        address = self.base + offset
        value = self._values.get(address, 0)
        for rule in self._status:
            if rule.address == address:
                value = value & ~rule.bits | self._followed(rule)
        return value

    def write(self, offset: int, size: int, value: int) -> None:
        """Takes a value."""
        del size
        self._values[self.base + offset] = value

    def _followed(self, rule: BoardStatus) -> int:
        """Returns the status bits of a rule: bit for bit, from the lowest on."""
        control = self._values.get(rule.address if rule.of is None else rule.of, 0)
        pairs = zip(_bits(rule.bits), _bits(rule.follows), strict=True)
        return sum(bit for bit, of in pairs if bool(control & of) != rule.inverted)


def _bits(mask: int) -> list[int]:
    return [1 << n for n in range(mask.bit_length()) if mask >> n & 1]


def pages(board: Board, values: dict[int, int]) -> list[Registers]:
    """Returns the pages that a board's boot block and set-up touch, and that have no model of their own.

    Args:
        board: The board.
        values: Where they keep their values, by address; empty after a reset.
    """
    touched = {step.address for step in board.setup} | {rule.address for rule in board.status}
    touched |= {board.boot.address} if board.boot else set()
    bases = {address & -_PAGE for address in touched} - {_SYSTEM}
    return [Registers(base, values, board.status) for base in sorted(bases)]
