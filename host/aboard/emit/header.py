"""The generated header: the API of a model, which is all an application includes."""

from __future__ import annotations

from aboard.emit import c_text, records
from aboard.emit.source import banner
from aboard.ir import Graph, Tensor
from aboard.memory.problem import Plan
from aboard.schedule.lowering import Program
from aboard.target import Target


def text(graph: Graph, program: Program, plan: Plan, generator: str, target: Target) -> str:
    """Returns the header file of the model."""
    name, upper = graph.name, graph.name.upper()
    kept = target.input_mode == "kept"
    tensors = [("input", i, t) for i, t in enumerate(graph.inputs)]
    tensors += [("output", i, t) for i, t in enumerate(graph.outputs)]
    parts = [
        banner(graph, generator, target, f"The model {name}."),
        f"#ifndef {upper}_H\n#define {upper}_H\n",
        "#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n",
        '#include "aboard/model.h"\n',
        '#ifdef __cplusplus\nextern "C" {\n#endif\n',
        "/** Bytes of RAM the model needs: tensors, scratch, inputs and outputs. */",
        f"#define {upper}_ARENA_BYTES {plan.peak}\n",
        f"#define {upper}_INPUT_COUNT {len(graph.inputs)}\n#define {upper}_OUTPUT_COUNT {len(graph.outputs)}\n",
        "/** True when a run leaves the inputs as they were. */",
        f"#define {upper}_INPUTS_KEPT {'true' if kept else 'false'}\n",
        *(_tensor(name, kind, index, tensor, program, plan) for kind, index, tensor in tensors),
        _run_declaration(name, kept),
        "/** The model as data, for code that serves any model (aboard/model.h). */",
        f"extern const aboard_model_t {name}_model;\n",
        "#ifdef __cplusplus\n}\n#endif\n",
        "#endif\n",
    ]
    return c_text.fitted("\n".join(parts))


def _run_declaration(name: str, kept: bool) -> str:
    inputs = "The inputs are left as they were" if kept else "The inputs are overwritten: set them before every run"
    return f"""/**
 * Runs the model once.
 *
 * Set the inputs through {name}_input_*() first; read the outputs through {name}_output_*() afterwards.
 * {inputs}.
 * Reentrant: the arena is the only state. Allocates nothing, waits for nothing.
 *
 * @param arena        Memory of the caller, aligned to ABOARD_ARENA_ALIGN (16). Needs no initialisation and may be used
 *                     for other things between runs.
 * @param arena_bytes  Its size, at least {name.upper()}_ARENA_BYTES.
 * @return ABOARD_OK, ABOARD_ERROR_NULL, ABOARD_ERROR_ARENA_TOO_SMALL or ABOARD_ERROR_ARENA_MISALIGNED.
 */
aboard_status_t {name}_run(void *arena, size_t arena_bytes);
"""


def _tensor(name: str, kind: str, index: int, tensor: Tensor, program: Program, plan: Plan) -> str:
    prefix = f"{name.upper()}_{kind.upper()}_{index}"
    shape = ", ".join(map(str, tensor.shape)) or "1"
    sizes = "x".join(map(str, tensor.shape)) or "scalar"
    label = tensor.name.replace("*/", "* /").replace("\\", "/")
    quoted = tensor.name.replace("\\", "\\\\").replace('"', '\\"')
    lines = [
        f"/** {kind.capitalize()} {index}, `{label}`: {tensor.dtype.value} {sizes}. */",
        f'#define {prefix}_NAME "{quoted}"',
        f"#define {prefix}_OFFSET {records.tensor_offset(tensor, program, plan)}",
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
    access = "Where the caller puts it" if kind == "input" else "Where it lies after a run"
    lines += [
        f"/** {access}. */",
        f"static inline {tensor.dtype.c} *{name}_{kind}_{index}(void *arena) {{",
        f"    return ({tensor.dtype.c} *)(void *)((uint8_t *)arena + {prefix}_OFFSET);",
        "}",
        "",
    ]
    return "\n".join(lines)
