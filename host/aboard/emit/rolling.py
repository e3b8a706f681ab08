"""The C of rolling windows: the position of this run, the rows of each call, and the order of rows for the caller."""

from __future__ import annotations

from aboard.emit.arenas import Arenas, home, offset, position_variable
from aboard.memory.state import POSITION_BYTES
from aboard.schedule.lowering import Program, Step

_ROTATE = "portable/rotate.h"


def headers(program: Program) -> list[str]:
    """Returns the kernel headers that the functions of rolling windows need, relative to `firmware/kernels/`."""
    return [_ROTATE] if program.assignment.rolling else []


def _stored(program: Program, arenas: Arenas, number: int) -> str:
    """Returns the expression for a position in the state block."""
    place = arenas.layout.state
    if place is None:
        raise ValueError(f"{arenas.name} has rolling windows and no state block")
    at = place.start + program.position_offset + POSITION_BYTES * number
    return f"*(uint16_t *){arenas.address(place.home, str(at))}"


def begin(program: Program, arenas: Arenas) -> list[str]:
    """Returns the statements that move the positions on at the start of a run; empty without rolling windows."""
    counts = program.assignment.position_counts
    lines = ["", "    /* Rolling windows move on: where their new rows are, and where they begin. */"] if counts else []
    for number, count in enumerate(counts):
        fresh, position = f"fresh_{number}", f"position_{number}"
        lines += [
            f"    const int32_t {fresh} = {_stored(program, arenas, number)};",
            f"    const int32_t {position} = {fresh} == {count - 1} ? 0 : {fresh} + 1;",
            f"    {_stored(program, arenas, number)} = (uint16_t){position};",
        ]
    return lines


def reset(program: Program, arenas: Arenas) -> list[str]:
    """Returns the statements after which the next run has position 0."""
    counts = program.assignment.position_counts
    return [f"    {_stored(program, arenas, number)} = {count - 1};" for number, count in enumerate(counts)]


def rows(step: Step, program: Program) -> tuple[str, str] | None:
    """Returns the first row and one past the last row of a call of a rolling window; None for any other step."""
    found = None if step.standalone else program.assignment.rolling_call(step.node)
    if found is None:
        return None
    window, call = found
    position = position_variable(window, program)
    first = position if call.advance == 1 else f"{call.advance} * {position}"
    return _plus(first, call.start), _plus(first, call.start + call.rows)


def _plus(expression: str, addend: int) -> str:
    return f"{expression} + {addend}" if addend else expression


def window_operand(step: Step, operand: int, program: Program, arenas: Arenas) -> str:
    """Returns the address of an operand that is a rolling window: that of its buffer; "" for any other operand."""
    found = program.assignment.rolling_call(step.node)
    if found is None or found[1].extends or operand != 0:
        return ""
    window, (view, *_) = found[0], found[1].inputs
    read = window.state.read
    within = 0 if view is None else view.offset
    return arenas.address(home(read, program, arenas.layout), offset(read, program, arenas.layout) + within)


def trace(step: Step, program: Program, arenas: Arenas) -> list[str]:
    """Returns the statements that hand the rows of a window to the trace hook, oldest first.

    Empty for a step that does not extend a window.
    """
    found = program.assignment.rolling_call(step.node)
    if found is None or not found[1].extends:
        return []
    window = found[0]
    (view,) = step.outputs
    first = f"{window.fresh_rows} * {position_variable(window, program)}"
    shape = f"{view.cols}, {view.channels}, {view.element_bytes}"
    return [
        "#if ABOARD_TRACE",
        f"    for (int32_t row = 0; row < {window.height}; ++row) {{",
        f"        const uint8_t *const data = (const uint8_t *){arenas.of_tensor(step.node.output, program)} +",
        f"                                    ({first} + row) % {window.height} * {window.row_bytes};",
        f"        ABOARD_TRACE_ROWS(data, {view.row_stride}, {view.pixel_stride}, {step.index}, 0, (uint32_t)row, 1,",
        f"            {shape});",
        "    }",
        "#endif",
    ]


def unroll(program: Program, arenas: Arenas) -> list[str]:
    """Returns the statements that bring the rows of all windows into their order, before a run at position 0."""
    lines = []
    for window in program.assignment.rolling:
        number = program.assignment.position_counts.index(window.positions)
        position = f"{_stored(program, arenas, number)} + 1"
        first = position if window.fresh_rows == 1 else f"{window.fresh_rows} * ({position})"
        base = arenas.of_tensor(window.state.read, program)
        lines.append(f"    aboard_rotate_rows({base}, {window.height}, {window.row_bytes}, {first});")
    return [*lines, *reset(program, arenas)]
