"""Blocks instead of rolling buffers, for a schedule with cascades, where that saves RAM."""

from __future__ import annotations

from aboard.memory.arenas import Layout
from aboard.schedule import blocks
from aboard.schedule.buffer_assigner import assign_buffers
from aboard.schedule.lowering import Calls, Program, lower

#: Blocks must save more than this part of the RAM: finding rows by a table takes up to 1 % more instructions.
LEAST_SAVING = 32
#: Bytes that they must save.
LEAST_BYTES = 256


def of(program: Program, calls: Calls, peak: int, region: str | None = None) -> tuple[Program, Layout] | None:
    """Returns a schedule with the rows of its cascades in blocks; None unless it saves enough.

    It must save more bytes of RAM than its tables take of flash, more than a part of the RAM (`LEAST_SAVING`),
    and more than `LEAST_BYTES`.

    Args:
        program: The schedule with rolling buffers.
        calls: Calls of its nodes.
        peak: Bytes of its arena.
        region: The memory region of the arena, if it has a name.
    """
    found = _lowered(program, calls)
    if found is None:
        return None
    least = max(found.table_bytes, peak // LEAST_SAVING, LEAST_BYTES)
    layout = blocks.layout(found, region, most=peak - least - 1)
    return None if layout is None else (found, layout)


def made(program: Program, calls: Calls, region: str | None = None) -> tuple[Program, Layout] | None:
    """Returns a schedule with the rows of its cascades in blocks; None without cascades, or if tables cannot be.

    Arguments as for `of`.
    """
    found = _lowered(program, calls)
    layout = None if found is None else blocks.layout(found, region)
    return None if found is None or layout is None else (found, layout)


def bound(program: Program, calls: Calls) -> int | None:
    """Returns the most bytes that are live at once with the rows of cascades in blocks; None without cascades.

    Arguments as for `of`.
    """
    found = _lowered(program, calls)
    return None if found is None else blocks.bound(found)


def _lowered(program: Program, calls: Calls) -> Program | None:
    """Returns a schedule with rows in blocks, which have no addresses yet; None without cascades."""
    given = program.assignment
    if not given.cascades:
        return None
    assignment = assign_buffers(
        program.graph,
        calls.implementations,
        keep_inputs=calls.target.input_mode == "kept",
        cascades=given.cascades,
        streamed_input=given.streamed_input,
        roll=calls.roll,
        blocks=True,
    )
    return lower(program.graph, assignment, calls)
