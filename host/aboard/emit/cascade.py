"""The C of a cascade: a function that computes its stripes, in the order of a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from aboard.emit.arenas import Arenas
from aboard.kernels.view import View
from aboard.schedule.cascade import Cascade
from aboard.schedule.lowering import Program, Step

#: Returns the C text that calls a step's kernel for rows [first, last), given as C expressions.
CallText = Callable[[Step, str, str], str]
#: Returns the address of the result of a step, as a C expression.
ResultText = Callable[[Step], str]

_FROM_START = """\
    int32_t rows[{steps}] = {{0}};{unused}
    for (size_t stripe = 0; stripe < sizeof stripes; ++stripe) {{
        const int32_t first = rows[stripes[stripe]];
        switch (stripes[stripe]) {{"""

# Continues after the last stripe of the previous row, up to the stripe that needs the next row of the input.
_GOING_ON = """\
    int32_t *const rows = STREAM->rows;{unused}
    for (; STREAM->stripe < (int32_t)sizeof stripes; ++STREAM->stripe) {{
        const int32_t first = rows[stripes[STREAM->stripe]];
        switch (stripes[STREAM->stripe]) {{"""

_WAIT = """\
        case {position}:
            if (first == STREAM->pushed) {{
                return ABOARD_OK;
            }}
            rows[{position}] = first + 1;
            break;"""


@dataclass(frozen=True)
class Numbered:
    """A cascade of a program.

    Attributes:
        number: Number of the cascade.
        cascade: The cascade.
        steps: Its steps, in order.
    """

    number: int
    cascade: Cascade
    steps: tuple[Step, ...]

    @property
    def name(self) -> str:
        """Name of the C function."""
        return f"cascade_{self.number}"


def of(program: Program) -> list[Numbered]:
    """Returns the cascades of a program."""
    found: list[Numbered] = []
    for number, cascade in enumerate(program.assignment.cascades):
        start = program.assignment.steps.index(cascade.nodes[0])
        found.append(Numbered(number, cascade, program.steps[start : start + len(cascade.nodes)]))
    return found


def text(numbered: Numbered, arenas: Arenas, call: CallText, result: ResultText) -> str:
    """Returns the function.

    Args:
        numbered: The cascade.
        arenas: The arenas of the model.
        call: Returns the call of a kernel.
        result: Returns the address of a result.
    """
    stripes = ", ".join(str(stripe.position) for stripe in numbered.cascade.stripes)
    steps = numbered.steps
    pointers = ", ".join(f"uint8_t *{pointer}" for pointer in arenas.pointers)
    unused = "".join(f"\n{line}" for line in arenas.unused_hooks())
    lines = [
        f"/* Cascade of steps {steps[0].index} to {steps[-1].index}: computed stripe by stripe. */",
        f"static aboard_status_t {numbered.name}({pointers}{arenas.hooks_parameter}) {{",
        f"    static const uint8_t stripes[] = {{{stripes}}};",
        *(_FROM_START if numbered.cascade.streamed_input is None else _GOING_ON)
        .format(steps=len(steps), unused=unused)
        .splitlines(),
    ]
    for position, step in enumerate(steps):
        lines += _case(numbered.cascade, position, step, call, result, hooks=arenas.hooks)
    if numbered.cascade.streamed_input is not None:
        lines += _WAIT.format(position=len(steps)).splitlines()
    return "\n".join(
        [*lines, "        default:", "            break;", "        }", "    }", "    return ABOARD_OK;", "}", ""]
    )


def _case(cascade: Cascade, position: int, step: Step, call: CallText, result: ResultText, *, hooks: bool) -> list[str]:
    mine = [stripe for stripe in cascade.stripes if stripe.position == position]
    last = f"rows[{position}]"
    begins, size = mine[0].last, mine[-1].last
    usual = mine[1].last - mine[1].first if len(mine) > 1 else begins
    until = f"first + {usual}" if begins == usual else f"(first ? first + {usual} : {begins})"
    if mine[-1].last - mine[-1].first < usual:
        until = f"ABOARD_MIN({until}, {size})"
    computed = [f"            {call(step, 'first', 'last')}"]
    if hooks:
        begin, end = f"            ABOARD_BEGIN({step.index});", f"            ABOARD_END({step.index});"
        computed = [begin, *computed, end, *_trace(step, size, result)]
    return [
        f"        case {position}: {{",
        f"            const int32_t last = {until};",
        f"            {last} = last;",
        *computed,
        "            break;",
        "        }",
    ]


def row_offset(view: View) -> str:
    """Returns the bytes from the start of a view to its row `row`, as a C expression."""
    if view.table:
        return f"{view.table}[row] * {view.table_unit}"
    row = "row" if view.buffer_rows >= view.rows else f"(row + {view.start_row}) % {view.buffer_rows}"
    return f"{row} * {view.row_stride}"


def _trace(step: Step, size: int, result: ResultText) -> list[str]:
    """Returns the statements that hand the rows of a stripe to the trace hook.

    Args:
        step: The step.
        size: Rows of all its stripes.
        result: Returns the address of its result.
    """
    view = step.outputs[0]
    shape = f"{view.cols}, {view.channels}, {view.element_bytes}"
    strides = f"{view.row_stride}, {view.pixel_stride}, {step.index}, 0"
    if size > view.rows:
        # The node accumulates: its result is complete after the last stripe.
        return [
            f"            if (last == {size}) {{",
            f"                ABOARD_TRACE_ROWS({result(step)}, {strides}, 0, {view.rows}, {shape});",
            "            }",
        ]
    return [
        "#if ABOARD_TRACE",
        "            for (int32_t row = first; row < last; ++row) {",
        f"                const uint8_t *const data = (const uint8_t *){result(step)} + {row_offset(view)};",
        f"                ABOARD_TRACE_ROWS(data, {strides}, (uint32_t)row, 1, {shape});",
        "            }",
        "#endif",
    ]
