"""The C of a model with state: its size, the function that resets it, and the copies at the end of a run."""

from __future__ import annotations

from aboard.emit.arenas import Arenas
from aboard.emit.initial import array_name, filling_byte
from aboard.ir import Graph, State
from aboard.memory.state import StatePlace
from aboard.schedule.lowering import Program


def size(graph: Graph, arenas: Arenas) -> list[str]:
    """Returns the macros of the header with the number and the size of the states; empty without any."""
    place = arenas.layout.state
    if place is None:
        return []
    upper = graph.name.upper()
    lines = [
        "/** Bytes of the values that a run leaves for the next one. */",
        f"#define {arenas.state_macro} {place.bytes}",
    ]
    if not place.apart:
        pointer = arenas.pointers[place.home]
        lines += [f"/** Where they begin in {pointer}; nothing else may change them. */"]
        lines += [f"#define {upper}_STATE_OFFSET {place.start}"]
    return ["\n".join([*lines, f"#define {upper}_STATE_COUNT {len(graph.states)}"]) + "\n"]


def declaration(arenas: Arenas) -> str:
    """Returns the declaration of the function that resets the state; "" without any."""
    place = arenas.layout.state
    if place is None:
        return ""
    name, pointer = arenas.name, arenas.pointers[place.home]
    return f"""/**
 * Gives every state its initial value. Call it before the first run, and wherever a new sequence begins.
 *
 * A run that returns anything but ABOARD_OK leaves the state undefined.
 *
 * @param {pointer}  Memory of the caller, aligned to ABOARD_ARENA_ALIGN (16).
 * @param {pointer}_bytes  Its size, at least {arenas.macros[place.home]}.
 * @return ABOARD_OK, ABOARD_ERROR_NULL, ABOARD_ERROR_ARENA_TOO_SMALL or ABOARD_ERROR_ARENA_MISALIGNED.
 */
aboard_status_t {name}_reset(void *{pointer}, size_t {pointer}_bytes);
"""


def functions(graph: Graph, program: Program, arenas: Arenas) -> str:
    """Returns the functions that reset the state; "" without any."""
    place = arenas.layout.state
    if place is None:
        return ""
    name, pointer = graph.name, arenas.pointers[place.home]
    lines = ["static aboard_status_t reset(const aboard_memory_t *memory) {", *arenas.checked(place.home)]
    for number, state in enumerate(graph.states):
        byte, to = filling_byte(state), arenas.of_tensor(state.read, program)
        if byte is None:
            lines.append(f"    memcpy({to}, {array_name(graph, number)}, {state.read.type.bytes});")
        else:
            lines.append(f"    memset({to}, {byte}, {state.read.type.bytes});")
    return "\n".join(
        [
            *lines,
            "    return ABOARD_OK;",
            "}",
            "",
            f"aboard_status_t {name}_reset(void *{pointer}, size_t {pointer}_bytes) {{",
            *_memory(arenas, place),
            "    return reset(memory);",
            "}",
            "",
        ]
    )


def _memory(arenas: Arenas, place: StatePlace) -> list[str]:
    """Returns the definition of `memory` for `reset`, which reads only the entry with the state."""
    pairs = ["{NULL, 0}"] * place.home + [f"{{{arenas.pointers[place.home]}, {arenas.pointers[place.home]}_bytes}}"]
    return [f"    const aboard_memory_t memory[] = {{{', '.join(pairs)}}};"]


def copies(program: Program, arenas: Arenas) -> list[str]:
    """Returns the statements that end a run: they bring the next values to where the next run reads them."""
    found = []
    for state in program.assignment.copied_states:
        to, value = (arenas.of_tensor(tensor, program) for tensor in (state.read, state.write))
        move = "memmove" if _share(program, state) else "memcpy"
        found.append(f"    {move}({to}, {value}, {state.read.type.bytes});")
    return ["", "    /* State of the next run. */", *found] if found else []


def _share(program: Program, state: State) -> bool:
    locations = program.assignment.locations
    return locations[state.read].buffer is locations[state.write].buffer


def descriptor(graph: Graph, arenas: Arenas) -> list[str]:
    """Returns the fields of the descriptor with the states."""
    place = arenas.layout.state
    if place is None:
        return []
    block = [f"    .state_bytes = {arenas.state_macro},"] if place.apart else []
    return [f"    .state_count = {len(graph.states)},", "    .states = states,", *block, "    .reset = reset,"]
