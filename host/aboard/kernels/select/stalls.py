"""Cycles that a kernel waits for the flash of a board: lines that neither cache holds, times wait states.

Code and constants are read from flash in lines (`boards.board.FlashTiming`). The lines of a kernel are measured as its
instructions are: the plugin of QEMU simulates both caches, and the counts are fitted to the terms of the work. Figures
exist for the sizes of line and caches that SoC files state; for others, and without a board, a kernel never waits.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from aboard import boards
from aboard.boards.board import FlashTiming
from aboard.boards.memory_records import Lines
from aboard.kernels.select import measured
from aboard.target import Target


def timing(target: Target) -> FlashTiming | None:
    """Returns how long the host of a target waits for its flash; None if that is unknown or was not measured."""
    return _timing(target.host)


@cache
def _timing(host: Target) -> FlashTiming | None:
    found = None if host.hardware is None else boards.of_hardware(host.hardware).flash_timing
    return found if found is not None and measured.fetches(host.cpu.base, found.fetch.key) is not None else None


def cycles(target: Target, kernel: tuple[str, str, str], terms: Mapping[str, float], without: int) -> int:
    """Returns the cycles that a node waits for the flash; 0 without a `timing`.

    Args:
        target: The target.
        kernel: Op, implementation and C function. A kernel that was not measured waits as long for each cycle as the
            measured layers of its op do in the median.
        terms: Work of the node by term.
        without: Cycles of the node without wait states.
    """
    flash = timing(target)
    figures = None if flash is None else measured.fetches(target.host.cpu.base, flash.fetch.key)
    if flash is None or figures is None:
        return 0
    row = figures.kernels.get(kernel)
    if row is None:
        rates = figures.typical.get(kernel[0], figures.typical[""])
        return flash.cycles(Lines(*(rate * without for rate in rates)))
    return flash.cycles(Lines(*(sum(n * terms.get(term, 0.0) for term, n in kind.items()) for kind in row)))
