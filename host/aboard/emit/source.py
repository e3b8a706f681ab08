"""The generated C source: instances of kernels, the run function, the model's descriptor, and its constants."""

from __future__ import annotations

from aboard.base import quoting
from aboard.emit import accelerators, c_text, control, records, rolling, state, steps, streamed_input
from aboard.emit.arenas import Arenas, home, offset
from aboard.emit.banner import banner
from aboard.emit.instances import Instances
from aboard.ir import Graph, Tensor
from aboard.kernels.contract import Argument, InputArg, KernelCall, OutputArg
from aboard.memory.arenas import Layout
from aboard.schedule.lowering import Program
from aboard.target import Target

_DTYPE_NUMBERS = {
    "int8": 0,
    "uint8": 1,
    "int16": 2,
    "int32": 3,
    "int64": 4,
    "bool": 5,
    "float32": 6,
    "uint32": 7,
    "uint64": 8,
}


def text(
    graph: Graph,
    program: Program,
    layout: Layout,
    instances: Instances,
    generator: str,
    target: Target,
    before_kernels: str = "",
    *,
    hooks: bool,
) -> str:
    """Returns the source file of the model.

    Args:
        graph: The compiled graph.
        program: Its schedule.
        layout: Addresses of its buffers.
        instances: Instances of the program.
        generator: Name and version of the generator.
        target: The target of the code.
        before_kernels: Text before the includes of kernels.
        hooks: True if the code calls hooks and can run a single node.
    """
    name, arenas = graph.name, Arenas(graph.name, layout, hooks)
    every = (*program.steps, *(program.standalone.values() if hooks else ()))
    used = [step.call.header for step in every if isinstance(step.call, KernelCall)]
    headers = sorted({*used, *rolling.headers(program)})
    includes = [
        *(["/* For aboard/config.h. */", "#define ABOARD_CODE_IN_RAM", ""] if instances.code_in_ram else []),
        f'#include "{name}.h"',
        "",
        *(["#include <string.h>", ""] if program.assignment.streamed_input is not None or graph.states else []),
    ]
    includes += ['#include "aboard/hooks.h"', f'#include "{name}_weights.h"']
    if accelerators.calls(program):
        includes.append(f'#include "{accelerators.header_name(graph)}"')
    if control.calls(program):
        includes.append(f'#include "{control.header_name(name)}"')
    includes += [before_kernels] if before_kernels else []
    includes += [f'#include "kernels/{path}"' for path in headers]
    parts = [
        banner(graph, generator, target, f"The model {name}: {len(program.steps)} steps, {layout.peak} bytes of RAM."),
        "\n".join(includes) + "\n",
        "" if hooks else _no_hooks(name),
        *steps.kernels(instances, layout),
        arenas.macro(),
        streamed_input.state(program, arenas),
        *steps.cascades(program, arenas, instances),
        streamed_input.functions(program, arenas),
        state.functions(graph, program, arenas),
        _run(program, instances, arenas),
        _run_op(program, instances) if hooks else "",
        _descriptor(graph, program, arenas),
    ]
    return c_text.fitted("\n".join(part for part in parts if part))


def _no_hooks(name: str) -> str:
    """Returns the lines that refuse a build with hooks."""
    return f'#if ABOARD_HOOKS || ABOARD_RUN_OP\n#error "{name} has no hooks. Compile the model with --hooks"\n#endif\n'


def _run(program: Program, instances: Instances, arenas: Arenas) -> str:
    lines = [*arenas.prologue(), *streamed_input.run_guard(program, arenas.name), *rolling.begin(program, arenas)]
    lines += [*steps.calls(program, instances, arenas), *state.copies(program, arenas)]
    return "\n".join([*lines, "    return ABOARD_OK;", "}", "", *arenas.entry(), ""])


def _run_op(program: Program, instances: Instances) -> str:
    lines = [
        "#if ABOARD_RUN_OP",
        "static aboard_status_t run_op(uint16_t node, void *workspace, size_t bytes) {",
        "    uint8_t *const arena = workspace;",
        "    (void)bytes;",
        "    if (arena == NULL) {",
        "        return ABOARD_ERROR_NULL;",
        "    }",
        "    switch (node) {",
    ]
    for step in map(program.whole, program.steps):
        layout = records.workspace(step)

        def address(argument: Argument, scratch: int, layout: records.StepWorkspace = layout) -> str:
            if isinstance(argument, InputArg):
                return f"AT({layout.inputs[argument.index]})"
            if isinstance(argument, OutputArg):
                return f"AT({layout.outputs[argument.index]})"
            return f"AT({layout.scratch[scratch]})"

        lines += [
            f"    case {step.index}:",
            f"        if (bytes < {layout.bytes}) {{",
            "            return ABOARD_ERROR_ARENA_TOO_SMALL;",
            "        }",
            f"        {steps.call_text(step, instances, address)}",
            "        return ABOARD_OK;",
        ]
    lines += ["    default:", "        return ABOARD_ERROR_INDEX;", "    }", "}", "#endif", ""]
    return "\n".join(lines)


def _tensor_entry(tensor: Tensor, program: Program, arenas: Arenas) -> str:
    arena = home(tensor, program, arenas.layout)
    fields = {
        "offset": offset(tensor, program, arenas.layout),
        "bytes": tensor.type.bytes,
        "type": _DTYPE_NUMBERS[tensor.dtype.value],
        **({"arena": arena} if arena else {}),
    }
    return c_text.literal(fields)


def _descriptor(graph: Graph, program: Program, arenas: Arenas) -> str:
    name, upper = graph.name, graph.name.upper()
    digest = ", ".join(f"0x{byte:02x}" for byte in bytes.fromhex(graph.model_hash))
    tables = [*arenas.table(), *streamed_input.table(program, name)]
    states = [each.read for each in graph.states]
    for kind, tensors in (("inputs", graph.inputs), ("outputs", graph.outputs), ("states", states)):
        rows = [_tensor_entry(tensor, program, arenas) for tensor in tensors]
        if not rows:
            continue
        tables.append(f"static const aboard_tensor_t {kind}[] = {{{', '.join(rows)}}};\n")
    workspace = max((records.workspace(program.whole(step)).bytes for step in program.steps), default=0)
    return "\n".join(
        [
            *tables,
            f"const aboard_model_t {name}_model = {{",
            f"    .name = {quoting.c_string(name)},",
            f"    .hash = {{{digest}}},",
            f"    .arena_bytes = {arenas.total},",
            f"    .nodes = {len(program.steps)},",
            f"    .input_count = {len(graph.inputs)},",
            f"    .output_count = {len(graph.outputs)},",
            f"    .inputs_kept = {upper}_INPUTS_KEPT,",
            "    .inputs = inputs,",
            "    .outputs = outputs,",
            *arenas.descriptor(),
            *streamed_input.descriptor(program),
            *state.descriptor(graph, program, arenas),
            *(
                ["#if ABOARD_RUN_OP", f"    .op_bytes = {workspace},", "    .run_op = run_op,", "#endif"]
                if arenas.hooks
                else []
            ),
            "};",
            "",
        ]
    )
