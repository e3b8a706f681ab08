"""The generated header: the API of a model, the only header that an application includes."""

from __future__ import annotations

from aboard.base import quoting
from aboard.emit import c_text, conversion, state, streamed_input
from aboard.emit.arenas import Arenas, offset
from aboard.emit.banner import banner
from aboard.ir import Graph, Tensor
from aboard.kernels.view import View
from aboard.memory.arenas import Layout
from aboard.schedule.lowering import Program
from aboard.target import Target


def text(graph: Graph, program: Program, layout: Layout, generator: str, target: Target) -> str:
    """Returns the header file of the model."""
    arenas = Arenas(graph.name, layout)
    name, upper = graph.name, graph.name.upper()
    kept = target.input_mode == "kept"
    tensors = [("input", i, t) for i, t in enumerate(graph.inputs)]
    tensors += [("output", i, t) for i, t in enumerate(graph.outputs)]
    tensors += [("state", i, each.read) for i, each in enumerate(graph.states)]
    names = {each.read: each.name for each in graph.states}
    parts = [
        banner(graph, generator, target, f"The model {name}."),
        f"#ifndef {upper}_H\n#define {upper}_H\n",
        "#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n",
        '#include "aboard/model.h"\n#include "aboard/quantize.h"\n',
        '#ifdef __cplusplus\nextern "C" {\n#endif\n',
        *_sizes(arenas),
        *state.size(graph, arenas),
        f"#define {upper}_INPUT_COUNT {len(graph.inputs)}\n#define {upper}_OUTPUT_COUNT {len(graph.outputs)}\n",
        "/** True when a run leaves the inputs as they were. */",
        f"#define {upper}_INPUTS_KEPT {'true' if kept else 'false'}\n",
        *filter(None, [state.declaration(program, arenas)]),
        *(
            _tensor(arenas, kind, index, tensor, names.get(tensor, tensor.name), program)
            + _converted(graph, kind, index, tensor, target)
            for kind, index, tensor in tensors
        ),
        streamed_input.declarations(program, arenas),
        _run_declaration(arenas, target.input_mode),
        "/** The model as data, for code that serves any model (aboard/model.h). */",
        f"extern const aboard_model_t {name}_model;\n",
        "#ifdef __cplusplus\n}\n#endif\n",
        "#endif\n",
    ]
    return c_text.fitted("\n".join(parts))


def _converted(graph: Graph, kind: str, index: int, tensor: Tensor, target: Target) -> str:
    """Returns the function that converts an input or output; "" for another tensor."""
    alone = len(graph.inputs if kind == "input" else graph.outputs) == 1
    lines = conversion.function(graph.name, kind, index, tensor, alone, target)
    return "\n".join(["", *lines, ""]) if lines else ""


def _sizes(arenas: Arenas) -> list[str]:
    if arenas.count == 1:
        return [
            "/** Bytes of RAM the model needs: tensors, scratch, inputs and outputs. */",
            f"#define {arenas.macros[0]} {arenas.layout.peak}\n",
        ]
    lines = ["/** Bytes of RAM the model needs in each memory region: tensors, scratch, inputs and outputs. */"]
    lines += [f"#define {m} {peak}" for m, peak in zip(arenas.arena_macros, arenas.layout.peaks, strict=True)]
    return ["\n".join(lines) + "\n"]


def _run_declaration(arenas: Arenas, input_mode: str) -> str:
    name = arenas.name
    set_first = f"Set the inputs through {name}_input_*() first"
    what, before, more = {
        "kept": ("Runs the model once", set_first, "The inputs are left as they were"),
        "consumed": ("Runs the model once", set_first, "The inputs are overwritten: set them before every run"),
        "rows": (
            "Computes the rest of the model when all rows are pushed",
            f"Push the rows with {name}_push() first",
            "",
        ),
    }[input_mode]
    memory = "arenas are" if arenas.count > 1 else "arena is"
    reentrant = f"Reentrant: the {memory} the only state"
    if arenas.layout.state is not None:
        before += f", after {name}_reset() once"
        reentrant = "Reentrant: its state is all that a run leaves for the next one"
    statuses = "ABOARD_OK, ABOARD_ERROR_NULL, ABOARD_ERROR_ARENA_TOO_SMALL or ABOARD_ERROR_ARENA_MISALIGNED"
    if input_mode == "rows":
        statuses += ";\n *         ABOARD_ERROR_STATE: rows are missing, or the run is over"
    return f"""/**
 * {what}.
 *
 * {before}; read the outputs through {name}_output_*() afterwards.
{f" * {more}." + chr(10) if more else ""} * {reentrant}. Allocates nothing, waits for nothing.
 *
{_arena_manual(arenas)}
 * @return {statuses}.
 */
aboard_status_t {name}_run({arenas.parameters});
"""


def _arena_manual(arenas: Arenas) -> str:
    if arenas.count == 1:
        memory = "Memory of the caller, aligned to ABOARD_ARENA_ALIGN (16)."
        free = "Needs no initialisation and may be used"
        rest = " *                     for other things between runs."
        if arenas.layout.state is not None and not arenas.has_state_block:
            free = "Its state lasts from run to run; the rest may"
            rest = " *                     be used for other things."
        return "\n".join(
            [
                f" * @param arena        {memory} {free}",
                rest,
                f" * @param arena_bytes  Its size, at least {arenas.macros[0]}.",
                *_state_manual(arenas),
            ]
        )
    lines = [
        " * Arenas are memory of the caller, each aligned to ABOARD_ARENA_ALIGN (16) and meant for one memory region.",
        " * They need no initialisation and may be used for other things between runs. In other memory the model runs",
        " * too, at the speed of that.",
        " *",
    ]
    for region, pointer, macro in zip(arenas.layout.regions, arenas.pointers, arenas.arena_macros, strict=False):
        lines += [
            f" * @param {pointer}  Memory in {region}.",
            f" * @param {pointer}_bytes  Its size, at least {macro}.",
        ]
    return "\n".join([*lines, *_state_manual(arenas)])


def _state_manual(arenas: Arenas) -> list[str]:
    if not arenas.has_state_block:
        return []
    place = arenas.layout.state
    region = "" if place is None or place.region is None else f" in {place.region}"
    return [
        f" * @param state        Memory of the caller{region}, aligned to ABOARD_ARENA_ALIGN (16).",
        " *                     It lasts from run to run.",
        f" * @param state_bytes  Its size, at least {arenas.state_macro}.",
    ]


def _tensor(arenas: Arenas, kind: str, index: int, tensor: Tensor, named: str, program: Program) -> str:
    name, pointer = arenas.name, arenas.pointer_of(tensor, program)
    prefix = f"{name.upper()}_{kind.upper()}_{index}"
    shape = ", ".join(map(str, tensor.shape)) or "1"
    sizes = ("x".join(map(str, tensor.shape)) or "scalar") + _axes(tensor)
    lines = [
        f"/** {kind.capitalize()} {index}, `{quoting.c_comment(named)}`: {tensor.dtype.value} {sizes}. */",
        f"#define {prefix}_NAME {quoting.c_string(named)}",
        *_position(prefix, tensor, program, arenas),
        f"#define {prefix}_BYTES {tensor.type.bytes}",
        f"#define {prefix}_ELEMENTS {tensor.type.elements}",
        f"#define {prefix}_RANK {len(tensor.shape)}",
        f"#define {prefix}_SHAPE {{{shape}}}",
    ]
    quant = tensor.type.quant
    if quant is not None and not tensor.dtype.is_float:
        lines += [
            f"/** real = {prefix}_SCALE * (value - {prefix}_ZERO_POINT) */",
            f"#define {prefix}_SCALE {c_text.floating(quant.scale)}",
            f"#define {prefix}_ZERO_POINT ({quant.zero_point})",
        ]
    if tensor is program.assignment.streamed_input:
        return "\n".join([*lines, ""])
    access = {
        "input": "Address for the caller to write",
        "output": "Address after a run",
        "state": "Address of the value between runs, for the caller to read and write",
    }[kind]
    lines += [
        f"/** {access}. */",
        f"static inline {tensor.dtype.c} *{name}_{kind}_{index}(void *{pointer}) {{",
        *state.ordered(tensor, program, arenas),
        f"    return ({tensor.dtype.c} *)(void *)((uint8_t *){pointer} + {prefix}_OFFSET);",
        "}",
        "",
    ]
    return "\n".join(lines)


def _axes(tensor: Tensor) -> str:
    return "" if tensor.order is None else f", axes {', '.join(map(str, tensor.order))} of the model file"


def _position(prefix: str, tensor: Tensor, program: Program, arenas: Arenas) -> list[str]:
    """Returns the macros with the offset of a tensor, or with the rows of a streamed input."""
    if tensor is not program.assignment.streamed_input:
        return [f"#define {prefix}_OFFSET {offset(tensor, program, arenas.layout)}"]
    view = View.whole(tensor.shape, tensor.dtype.bytes)
    return [f"#define {prefix}_ROWS {view.rows}", f"#define {prefix}_ROW_BYTES {view.row_stride}"]
