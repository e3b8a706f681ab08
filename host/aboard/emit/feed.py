"""The C of a model that takes its input row by row (`-input=rows`): its functions, and what it knows between rows."""

from __future__ import annotations

from aboard.emit.arenas import Arenas
from aboard.ir import Tensor
from aboard.kernels.contract import View
from aboard.schedule.lowering import Program

#: Expression for what a run knows between two rows.
STATE = "FEED"


def rows_macro(name: str) -> str:
    """Returns the macro with the rows of the input."""
    return f"{name.upper()}_INPUT_0_ROWS"


def row_bytes_macro(name: str) -> str:
    """Returns the macro with the bytes of a row."""
    return f"{name.upper()}_INPUT_0_ROW_BYTES"


def row_bytes(tensor: Tensor) -> int:
    """Returns the bytes of a row of the input."""
    return View.whole(tensor.shape, tensor.dtype.bytes).row_stride


def state(program: Program, arenas: Arenas) -> str:
    """Returns the type of what a run knows between two rows, and where it lies; nothing where the model is not fed."""
    if program.state is None or program.storage.fed is None:
        return ""
    fed = next((cascade for cascade in program.storage.cascades if cascade.fed is not None), None)
    lines = [
        "/* What a run knows between two rows of its input. */",
        "typedef struct {",
        "    int32_t brought; /* rows of this run that the caller has brought; more than there are: it is over */",
    ]
    if fed is not None:
        lines += [
            "    int32_t turn;    /* the next of the cascade */",
            f"    int32_t rows[{len(fed.nodes) + 1}]; /* that each step computed; the last: that were fed */",
        ]
    address = arenas.address(arenas.layout.homes[program.state], arenas.layout.offsets[program.state])
    return "\n".join([*lines, "} feed_t;", "", f"#define {STATE} ((feed_t *){address})", ""])


def functions(program: Program, arenas: Arenas) -> str:
    """Returns what begins a run and takes rows, with the model's entry points; nothing where it is not fed."""
    fed = program.storage.fed
    if fed is None:
        return ""
    name, view = arenas.name, program.storage.places[fed].view
    row = "row" if view.depth >= view.rows else f"(row + {view.phase}) % {view.depth}"
    cascade = next((n for n, each in enumerate(program.storage.cascades) if each.fed is not None), None)
    goes_on = "ABOARD_OK" if cascade is None else f"cascade_{cascade}({', '.join([*arenas.pointers, 'hooks'])})"
    unused = ["    (void)hooks;"] if cascade is None else []
    memory = [f"    uint8_t *const {pointer} = memory[{n}].data;" for n, pointer in enumerate(arenas.pointers)]
    if arenas.several:
        memory += [f"    (void){pointer};" for pointer in arenas.pointers]
    return "\n".join(
        [
            "static aboard_status_t begin(const aboard_memory_t *memory) {",
            *arenas.checked(),
            f"    memset({STATE}, 0, sizeof(feed_t));",
            "    return ABOARD_OK;",
            "}",
            "",
            "/* Where the next row of the input goes; NULL when all have come. */",
            "static void *slot(const aboard_memory_t *memory) {",
            *memory,
            f"    const int32_t row = {STATE}->brought;",
            f"    uint8_t *const rows = {arenas.of_tensor(fed, program)};",
            f"    return row < {rows_macro(name)} ? rows + {row} * {view.row_stride} : NULL;",
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
            f"    {STATE}->brought += 1;",
            f"    return {goes_on};",
            "}",
            "",
            *_entries(fed, arenas),
        ]
    )


def _entries(fed: Tensor, arenas: Arenas) -> list[str]:
    """Returns the definitions of the functions that the model's header declares."""
    name, element = arenas.name, fed.dtype.c
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
    """Returns the first lines of a run: it needs all rows, and a run that begins anew before it is repeated."""
    if program.storage.fed is None:
        return []
    rows = rows_macro(name)
    return [
        f"    if ({STATE}->brought != {rows}) {{",
        "        return ABOARD_ERROR_STATE;",
        "    }",
        f"    {STATE}->brought = {rows} + 1;",
    ]


def table(program: Program, name: str) -> list[str]:
    """Returns the table that the model's descriptor refers to."""
    if program.storage.fed is None:
        return []
    rows, size = rows_macro(name), row_bytes_macro(name)
    fields = f".rows = {rows}, .row_bytes = {size}, .begin = begin, .slot = slot, .push = push"
    return [f"static const aboard_feed_t feed = {{{fields}}};\n"]


def descriptor(program: Program) -> list[str]:
    """Returns the field of the descriptor that says how rows are brought."""
    return [] if program.storage.fed is None else ["    .feed = &feed,"]


def declarations(program: Program, arenas: Arenas) -> str:
    """Returns the declarations of the functions that take rows."""
    fed = program.storage.fed
    if fed is None:
        return ""
    name, element = arenas.name, fed.dtype.c
    pointers = ", ".join(f"void *{pointer}" for pointer in arenas.pointers)
    those = "arenas" if arenas.several else "arena"
    return f"""/**
 * Begins a run, whatever the {those} held.
 *
 * Then bring the rows of the input, first to last, by {name}_push(), and end with {name}_run(). Leave the {those}
 * alone until the outputs have been read.
 *
 * @return ABOARD_OK, ABOARD_ERROR_NULL, ABOARD_ERROR_ARENA_TOO_SMALL or ABOARD_ERROR_ARENA_MISALIGNED.
 */
aboard_status_t {name}_begin({arenas.parameters});

/**
 * Where the next row may be put, for instance by DMA, so that {name}_push() has nothing to copy.
 *
 * Valid from {name}_begin() or {name}_push() to the next {name}_push().
 *
 * @return {row_bytes_macro(name)} bytes; NULL when all rows have come.
 */
{element} *{name}_row({pointers});

/**
 * Brings a row of the input and computes what can be computed by then.
 *
 * The time it takes differs from row to row: many steps wait for several rows.
 *
 * @param row  {row_bytes_macro(name)} bytes: pixels without gaps. Copied, unless it is {name}_row().
 * @return ABOARD_OK, ABOARD_ERROR_NULL, or ABOARD_ERROR_STATE: all {rows_macro(name)} rows have come, or no run has
 *         begun.
 */
aboard_status_t {name}_push({pointers}, const {element} *row);
"""
