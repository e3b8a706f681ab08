"""The C of a model with a streamed input (`-input=rows`): its functions, and its state between two rows."""

from __future__ import annotations

from aboard.emit.arenas import Arenas
from aboard.emit.cascade import row_offset
from aboard.ir import Tensor
from aboard.kernels.view import View
from aboard.schedule.lowering import Program

#: Expression for the state between two rows.
STATE = "STREAM"


def rows_macro(name: str) -> str:
    """Returns the macro with the number of rows of the input."""
    return f"{name.upper()}_INPUT_0_ROWS"


def row_bytes_macro(name: str) -> str:
    """Returns the macro with the bytes of a row."""
    return f"{name.upper()}_INPUT_0_ROW_BYTES"


def row_bytes(tensor: Tensor) -> int:
    """Returns the bytes of a row of the input."""
    return View.whole(tensor.shape, tensor.dtype.bytes).row_stride


def state(program: Program, arenas: Arenas) -> str:
    """Returns the type and the address of the state between two rows; "" without a streamed input."""
    if program.stream_state is None or program.assignment.streamed_input is None:
        return ""
    cascade = next((each for each in program.assignment.cascades if each.streamed_input is not None), None)
    lines = [
        "/* State of a run between two rows of its input. */",
        "typedef struct {",
        "    int32_t pushed; /* rows of this run that the caller has pushed; more than there are: the run is over */",
    ]
    if cascade is not None:
        lines += [
            "    int32_t stripe; /* the next of the cascade */",
            f"    int32_t rows[{len(cascade.nodes) + 1}]; /* computed by each step; the last: taken of the input */",
        ]
    address = arenas.address(arenas.layout.homes[program.stream_state], arenas.layout.offsets[program.stream_state])
    return "\n".join([*lines, "} stream_t;", "", f"#define {STATE} ((stream_t *){address})", ""])


def functions(program: Program, arenas: Arenas) -> str:
    """Returns the functions that begin a run and take rows, with their entry points; "" without a streamed input."""
    streamed = program.assignment.streamed_input
    if streamed is None:
        return ""
    name, view = arenas.name, program.assignment.locations[streamed].view
    cascade = next((n for n, each in enumerate(program.assignment.cascades) if each.streamed_input is not None), None)
    goes_on = (
        "ABOARD_OK" if cascade is None else f"cascade_{cascade}({', '.join(arenas.pointers)}{arenas.hooks_argument})"
    )
    unused = ["    (void)hooks;"] if cascade is None or not arenas.hooks else []
    memory = [f"    uint8_t *const {pointer} = memory[{n}].data;" for n, pointer in enumerate(arenas.pointers)]
    if arenas.several:
        memory += [f"    (void){pointer};" for pointer in arenas.pointers]
    return "\n".join(
        [
            "static aboard_status_t begin(const aboard_memory_t *memory) {",
            *arenas.checked(),
            f"    memset({STATE}, 0, sizeof(stream_t));",
            "    return ABOARD_OK;",
            "}",
            "",
            "/* Address for the next row of the input; NULL if all rows are pushed. */",
            "static void *slot(const aboard_memory_t *memory) {",
            *memory,
            f"    const int32_t row = {STATE}->pushed;",
            f"    uint8_t *const rows = {arenas.of_tensor(streamed, program)};",
            f"    return row < {rows_macro(name)} ? rows + {row_offset(view)} : NULL;",
            "}",
            "",
            "static aboard_status_t push(const aboard_memory_t *memory, const void *row,",
            "                            const aboard_hooks_t *hooks) {",
            *memory,
            *unused,
            "    void *const to = slot(memory);",
            "    if (to == NULL) {",
            "        return ABOARD_ERROR_STATE;",
            "    }",
            "    if (row != to) {",
            f"        memcpy(to, row, {row_bytes_macro(name)});",
            "    }",
            f"    {STATE}->pushed += 1;",
            f"    return {goes_on};",
            "}",
            "",
            *_entries(streamed, arenas),
        ]
    )


def _entries(streamed: Tensor, arenas: Arenas) -> list[str]:
    """Returns the definitions of the functions that the model's header declares."""
    name, element = arenas.name, streamed.dtype.c
    pairs = ", ".join(f"{{{pointer}, {pointer}_bytes}}" for pointer in arenas.pointers)
    given = ", ".join(f"{{{pointer}, {macro}}}" for pointer, macro in zip(arenas.pointers, arenas.macros, strict=True))
    pointers = ", ".join(f"void *{pointer}" for pointer in arenas.pointers)
    missing = " || ".join([*(f"{pointer} == NULL" for pointer in arenas.pointers), "row == NULL"])
    return [
        f"aboard_status_t {name}_begin({arenas.parameters}) {{",
        f"    const aboard_memory_t memory[] = {{{pairs}}};",
        "    return begin(memory);",
        "}",
        "",
        f"{element} *{name}_row({pointers}) {{",
        f"    const aboard_memory_t memory[] = {{{given}}};",
        "    return slot(memory);",
        "}",
        "",
        f"aboard_status_t {name}_push({pointers}, const {element} *row) {{",
        f"    const aboard_memory_t memory[] = {{{given}}};",
        f"    return {missing} ? ABOARD_ERROR_NULL : push(memory, row, NULL);",
        "}",
        "",
    ]


def run_guard(program: Program, name: str) -> list[str]:
    """Returns the first lines of a run. They check that all rows are pushed and that the run was not made before."""
    if program.assignment.streamed_input is None:
        return []
    rows = rows_macro(name)
    return [
        f"    if ({STATE}->pushed != {rows}) {{",
        "        return ABOARD_ERROR_STATE;",
        "    }",
        f"    {STATE}->pushed = {rows} + 1;",
    ]


def table(program: Program, name: str) -> list[str]:
    """Returns the table that the model's descriptor refers to."""
    if program.assignment.streamed_input is None:
        return []
    rows, size = rows_macro(name), row_bytes_macro(name)
    fields = f".rows = {rows}, .row_bytes = {size}, .begin = begin, .slot = slot, .push = push"
    return [f"static const aboard_stream_t stream = {{{fields}}};\n"]


def descriptor(program: Program) -> list[str]:
    """Returns the field of the descriptor with the functions that take rows."""
    return [] if program.assignment.streamed_input is None else ["    .stream = &stream,"]


def declarations(program: Program, arenas: Arenas) -> str:
    """Returns the declarations of the functions that take rows."""
    streamed = program.assignment.streamed_input
    if streamed is None:
        return ""
    name, element = arenas.name, streamed.dtype.c
    pointers = ", ".join(f"void *{pointer}" for pointer in arenas.pointers)
    memory = "arenas" if arenas.several else "arena"
    return f"""/**
 * Begins a run, whatever the {memory} held.
 *
 * Then push the rows of the input, first to last, with {name}_push(), and end with {name}_run(). Leave the {memory}
 * alone until the outputs have been read.
 *
 * @return ABOARD_OK, ABOARD_ERROR_NULL, ABOARD_ERROR_ARENA_TOO_SMALL or ABOARD_ERROR_ARENA_MISALIGNED.
 */
aboard_status_t {name}_begin({arenas.parameters});

/**
 * Returns the address for the next row. A row written there, for instance by DMA, is not copied by {name}_push().
 *
 * Valid from {name}_begin() or {name}_push() to the next {name}_push().
 *
 * @return {row_bytes_macro(name)} bytes; NULL if all rows are pushed.
 */
{element} *{name}_row({pointers});

/**
 * Pushes a row of the input and computes every stripe that has its rows.
 *
 * The time differs from row to row: many steps wait for several rows.
 *
 * @param row  {row_bytes_macro(name)} bytes: pixels without gaps. Copied, unless it is {name}_row().
 * @return ABOARD_OK, ABOARD_ERROR_NULL, or ABOARD_ERROR_STATE: all {rows_macro(name)} rows are pushed, or no run has
 *         begun.
 */
aboard_status_t {name}_push({pointers}, const {element} *row);
"""
