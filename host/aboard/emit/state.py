"""The C of a model with state: its size, functions that reset it or order its rows, and the end of a run."""

from __future__ import annotations

from aboard.emit import rolling
from aboard.emit.arenas import Arenas
from aboard.emit.initial import array_name, filling_byte
from aboard.ir import Graph, State, Tensor
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


def declaration(program: Program, arenas: Arenas) -> str:
    """Returns the declarations of the functions that reset the state and bring its rows into order; "" without any."""
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
{_unroll_declaration(program, arenas, place)}"""


def _unroll_declaration(program: Program, arenas: Arenas, place: StatePlace) -> str:
    if not program.assignment.rolling:
        return ""
    name, pointer = arenas.name, arenas.pointers[place.home]
    return f"""
/**
 * Brings the rows of the states in rolling buffers into their order, oldest first: {name}_state_<n> calls it. Call it
 * before you read or write states by {name}_model.states. Results of later runs do not change.
 *
 * Parameters and result as for {name}_reset.
 */
aboard_status_t {name}_unroll(void *{pointer}, size_t {pointer}_bytes);
"""


def ordered(tensor: Tensor, program: Program, arenas: Arenas) -> list[str]:
    """Returns the statement that brings the rows of a state into order; empty for any other tensor."""
    place = arenas.layout.state
    if place is None or all(tensor is not window.state.read for window in program.assignment.rolling):
        return []
    return [f"    (void){arenas.name}_unroll({arenas.pointers[place.home]}, {arenas.macros[place.home]});"]


def functions(graph: Graph, program: Program, arenas: Arenas) -> str:
    """Returns the functions that reset the state and bring its rows into order; "" without any."""
    place = arenas.layout.state
    if place is None:
        return ""
    lines = arenas.checked(place.home)
    for number, state in enumerate(graph.states):
        byte, to = filling_byte(state), arenas.of_tensor(state.read, program)
        if byte is None:
            lines.append(f"    memcpy({to}, {array_name(graph, number)}, {state.read.type.bytes});")
        else:
            lines.append(f"    memset({to}, {byte}, {state.read.type.bytes});")
    text = _function("reset", [*lines, *rolling.reset(program, arenas)], arenas, place)
    if program.assignment.rolling:
        text += _function("unroll", [*arenas.checked(place.home), *rolling.unroll(program, arenas)], arenas, place)
    return text


def _function(verb: str, body: list[str], arenas: Arenas, place: StatePlace) -> str:
    """Returns a function of the descriptor, and the public function that calls it."""
    pointer = arenas.pointers[place.home]
    return "\n".join(
        [
            f"static aboard_status_t {verb}(const aboard_memory_t *memory) {{",
            *body,
            "    return ABOARD_OK;",
            "}",
            "",
            f"aboard_status_t {arenas.name}_{verb}(void *{pointer}, size_t {pointer}_bytes) {{",
            *_memory(arenas, place),
            f"    return {verb}(memory);",
            "}",
            "",
            "",
        ]
    )


def _memory(arenas: Arenas, place: StatePlace) -> list[str]:
    """Returns the definition of `memory` for functions that read only the entry with the state."""
    pairs = ["{NULL, 0}"] * place.home + [f"{{{arenas.pointers[place.home]}, {arenas.pointers[place.home]}_bytes}}"]
    return [f"    const aboard_memory_t memory[] = {{{', '.join(pairs)}}};"]


def copies(program: Program, arenas: Arenas) -> list[str]:
    """Returns the statements that end a run: they bring the next values to where the next run reads them.

    What is in a rolling buffer stays where it is.
    """
    found = []
    for state in program.assignment.copied_states:
        to, value = (arenas.of_tensor(tensor, program) for tensor in (state.read, state.write))
        move = "memmove" if _share(program, state) else "memcpy"
        found.append(f"    {move}({to}, {value}, {state.read.type.bytes});")
    return ["", "    /* State of the next run. */", *found] if found else []


def _share(program: Program, state: State) -> bool:
    locations = program.assignment.locations
    return locations[state.read].buffer is locations[state.write].buffer


def descriptor(graph: Graph, program: Program, arenas: Arenas) -> list[str]:
    """Returns the fields of the descriptor with the states."""
    place = arenas.layout.state
    if place is None:
        return []
    block = [f"    .state_bytes = {arenas.state_macro},"] if place.apart else []
    unroll = ["    .unroll = unroll,"] if program.assignment.rolling else []
    return [f"    .state_count = {len(graph.states)},", "    .states = states,", *block, "    .reset = reset,", *unroll]
