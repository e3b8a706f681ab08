"""Registers that store written values: clocks, resets and pins, as far as an image's set-up uses them.

The SoC file defines which status bits follow which control bits (`[[status]]`).
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
            values: Register values by address, of all pages: status bits may follow registers of other pages.
            status: The status bits that follow control bits.
        """
        self.base = base
        self._values = values
        self._status = tuple(status)

    def read(self, offset: int, size: int) -> int:
        """Returns the stored value with the current status bits."""
        del size
        address = self.base + offset
        value = self._values.get(address, 0)
        for rule in self._status:
            if rule.address == address:
                value = value & ~rule.bits | self._followed(rule)
        return value

    def write(self, offset: int, size: int, value: int) -> None:
        """Stores a value."""
        del size
        self._values[self.base + offset] = value

    def _followed(self, rule: BoardStatus) -> int:
        """Returns the status bits of a rule, which follow its control bits one by one from the lowest."""
        control = self._values.get(rule.address if rule.of is None else rule.of, 0)
        pairs = zip(_bits(rule.bits), _bits(rule.follows), strict=True)
        return sum(bit for bit, of in pairs if bool(control & of) != rule.inverted)


def _bits(mask: int) -> list[int]:
    return [1 << n for n in range(mask.bit_length()) if mask >> n & 1]


def pages(board: Board, values: dict[int, int]) -> list[Registers]:
    """Returns the register pages that a board's boot block, set-up and power pin use and that have no other model.

    Args:
        board: The board.
        values: Storage of the register values by address; empty after a reset.
    """
    touched = {step.address for step in board.setup} | {rule.address for rule in board.status}
    touched |= {board.power_pin.high.address, board.power_pin.low.address} if board.power_pin else set()
    touched |= {board.boot.address} if board.boot and board.boot.address is not None else set()
    bases = {address & -_PAGE for address in touched} - {_SYSTEM}
    return [Registers(base, values, board.status) for base in sorted(bases)]
