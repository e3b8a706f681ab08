"""IF and WHILE in C: a function for each node with a plain branch or loop, and a source file for each graph inside."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from aboard.emit import c_text, constants, steps
from aboard.emit.accelerators import Added
from aboard.emit.arenas import Arenas
from aboard.emit.banner import banner
from aboard.emit.instances import Instances, argument_names, argument_type
from aboard.ir import Tensor
from aboard.kernels.contract import KernelCall
from aboard.kernels.control import Body, ControlCall
from aboard.schedule.control import CompiledBody, inside
from aboard.schedule.lowering import Program, Step


def calls(program: Program) -> list[tuple[Step, ControlCall]]:
    """Returns the nodes of control flow with their calls, without those inside others."""
    return [(step, step.call) for step in program.steps if isinstance(step.call, ControlCall)]


def header_name(model: str) -> str:
    """Returns the name of the header with the prototypes."""
    return f"{model}_control.h"


def files(program: Program, generator: str, before_kernels: str) -> Added:
    """Returns the files of control flow in a bundle; none for a model without it.

    Args:
        program: The schedule of the model.
        generator: Name and version of the generator.
        before_kernels: Text before the includes of kernels.
    """
    bodies, model = inside(program), program.graph.name
    if not bodies:
        return Added({})
    nodes = [call for each in (*(body.program for body in bodies), program) for call in calls(each)]
    texts = {
        f"src/{header_name(model)}": _header(model, bodies, nodes),
        f"src/{model}_control.c": _nodes(bodies[0], model, nodes, generator),
    }
    for body in bodies:
        instances = Instances(body.program, body.target, standalone=False)
        texts[f"src/{body.function}_weights.h"] = constants.weights_text(body.graph, instances, generator, body.target)
        texts[f"src/{body.function}.c"] = _body(body, model, instances, generator, before_kernels)
    return Added(texts)


def _header(model: str, bodies: Sequence[Body], nodes: Iterable[tuple[Step, ControlCall]]) -> str:
    guard = f"{model.upper()}_CONTROL_H"
    return "\n".join(
        [
            f"/* Branches and loops of the model {model}, and the graphs inside them. Generated. */",
            f"#ifndef {guard}\n#define {guard}\n",
            "#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n",
            '#include "aboard/config.h"\n#include "aboard/status.h"\n',
            *(
                f"/* A graph inside a node: inputs and outputs are in `memory`, {body.arena.bytes} bytes aligned to "
                f"{body.arena.align}. */\n{_signature(body)};\n"
                for body in bodies
            ),
            *(f"{_node_signature(call)};\n" for _, call in nodes),
            "#endif\n",
        ]
    )


def _signature(body: Body) -> str:
    return f"aboard_status_t {body.function}(void *memory)"


def _node_signature(call: ControlCall) -> str:
    typed = [f"{argument_type(a)}{n}" for a, n in zip(call.arguments, argument_names(call), strict=True)]
    return f"aboard_status_t {call.function}({', '.join(typed)})"


# The functions of nodes.


def _nodes(first: CompiledBody, model: str, nodes: Iterable[tuple[Step, ControlCall]], generator: str) -> str:
    parts = [
        banner(first.graph, generator, first.target, f"Branches and loops of the model {model}."),
        f'#include <string.h>\n\n#include "aboard/hooks.h"\n#include "{header_name(model)}"\n',
        *(_node(step, call) for step, call in nodes),
    ]
    return c_text.fitted("\n".join(parts))


def _node(step: Step, call: ControlCall) -> str:
    lines = _branch(step, call) if step.node.op == "if" else _loop(step, call)
    head = f"/* {steps.describe(step)} */"
    return "\n".join(
        [
            head,
            f"{_node_signature(call)} {{",
            "    uint8_t *const arena = s0;",
            *lines,
            "    return ABOARD_OK;",
            "}",
            "",
        ]
    )


def _branch(step: Step, call: ControlCall) -> list[str]:
    then, otherwise = call.bodies
    given, results = step.node.operands[1:], step.node.outputs
    return [
        "    if (*(const bool *)x0) {",
        *_copies_in(then, given, "x", 1),
        *_called(then),
        *_copies_out(then.outputs, results),
        "    } else {",
        *_copies_in(otherwise, given, "x", 1),
        *_called(otherwise),
        *_copies_out(otherwise.outputs, results),
        "    }",
    ]


def _loop(step: Step, call: ControlCall) -> list[str]:
    condition, body = call.bodies
    values = step.node.outputs
    return [
        *(f"    memmove(y{index}, x{index}, {tensor.type.bytes});" for index, tensor in enumerate(values)),
        "    for (;;) {",
        *_copies_in(condition, values, "y", 0),
        *_called(condition),
        *_copies_out(condition.outputs[1:], values, len(values) - len(condition.outputs) + 1),
        f"        if (!*(const bool *)(arena + {condition.outputs[0]})) {{",
        "            break;",
        "        }",
        *_copies_in(body, values, "y", 0),
        *_called(body),
        *_copies_out(body.outputs, values),
        "    }",
    ]


def _copies_in(body: Body, tensors: Sequence[Tensor], name: str, first: int) -> list[str]:
    pairs = zip(body.inputs, tensors, strict=True)
    return [
        f"        memcpy(arena + {offset}, {name}{index}, {tensor.type.bytes});"
        for index, (offset, tensor) in enumerate(pairs, first)
    ]


def _copies_out(offsets: Sequence[int], tensors: Sequence[Tensor], first: int = 0) -> list[str]:
    pairs = enumerate(zip(offsets, tensors[first:], strict=True), first)
    return [f"        memcpy(y{index}, arena + {offset}, {tensor.type.bytes});" for index, (offset, tensor) in pairs]


def _called(body: Body) -> list[str]:
    return [f"        ABOARD_RETURN_IF_ERROR({body.function}(arena));"]


# The graphs inside.


def _body(body: CompiledBody, model: str, instances: Instances, generator: str, before_kernels: str) -> str:
    program, arenas = body.program, Arenas(body.function, body.layout, hooks=False)
    headers = sorted({step.call.header for step in program.steps if isinstance(step.call, KernelCall)})
    size = f"{len(program.steps)} steps, {body.layout.peak} bytes of RAM"
    includes = [
        f'#include "{header_name(model)}"',
        '#include "aboard/hooks.h"',
        '#include "aboard/view.h"',
        f'#include "{body.function}_weights.h"',
        *([before_kernels] if before_kernels else []),
        *(f'#include "kernels/{path}"' for path in headers),
    ]
    run = [
        f"{_signature(body)} {{",
        "    uint8_t *const arena = memory;",
        *([] if program.steps else ["    (void)arena;"]),
        *steps.calls(program, instances, arenas),
        "    return ABOARD_OK;",
        "}",
        "",
    ]
    parts = [
        banner(body.graph, generator, body.target, f"A graph inside the model {model}: {size}."),
        "\n".join(includes) + "\n",
        *steps.kernels(instances, body.layout),
        arenas.macro(),
        *steps.cascades(program, arenas, instances),
        "\n".join(run),
    ]
    return c_text.fitted("\n".join(part for part in parts if part))
