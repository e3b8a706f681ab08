"""The steps of a schedule in C: instances of kernels with their parameters, cascades, and calls in order."""

from __future__ import annotations

from collections.abc import Callable

from aboard.base import quoting
from aboard.emit import c_text, cascade, rolling
from aboard.emit.arenas import Arenas
from aboard.emit.instances import Instance, Instances, argument_names, argument_type, tables_of
from aboard.kernels.contract import Argument, ConstantArg, FunctionCall, InputArg, KernelCall, OutputArg
from aboard.memory.arenas import Layout
from aboard.schedule.lowering import Program, Step


def kernels(instances: Instances, layout: Layout) -> list[str]:
    """Returns the tables, functions and parameters that the steps need."""
    return [
        tables(layout),
        *(instance_text(instance, in_ram=instances.code_in_ram) for instance in instances.instances),
        *(parameters_text(step) for instance in instances.instances if instance.parameters for step in instance.steps),
    ]


def tables(layout: Layout) -> str:
    """Returns the tables of rows in blocks; "" without any."""
    if not layout.tables:
        return ""
    lines = ["/* For each row of a tensor in blocks, the units from the lowest of its rows. */"]
    lines += [f"static const uint16_t {name}[] = {{{', '.join(map(str, rows))}}};" for name, rows in layout.tables]
    return "\n".join([*lines, ""])


def cascades(program: Program, arenas: Arenas, instances: Instances) -> list[str]:
    """Returns the functions of the cascades."""
    return [_cascade(numbered, program, arenas, instances) for numbered in cascade.of(program)]


def instance_text(instance: Instance, *, in_ram: bool = False) -> str:
    """Returns the function that specialises a kernel for its parameters; `in_ram` if the start-up code copies it."""
    call = instance.call
    names = argument_names(call)
    typed = [f"{argument_type(a)}{n}" for a, n in zip(call.arguments, names, strict=True)]
    if instance.parameters:
        typed.insert(0, f"const {call.params_type} *p")
    typed += [f"const uint16_t *{name}" for name in instance.tables]
    signature = ", ".join([*typed, "int32_t first", "int32_t last"])
    steps = ", ".join(str(step.index) for step in instance.steps)
    passed = ", ".join(["p" if instance.parameters else "&p", *names, "first", "last"])
    lines = [f"/* Steps {steps}. */" if len(instance.steps) > 1 else f"/* Step {steps}. */"]
    placed = "ABOARD_PLACED " if in_ram else ""
    lines.append(f"static {placed}ABOARD_NOINLINE void {instance.name}({signature}) {{")
    if not instance.parameters:
        static = "" if instance.tables else "static "
        lines.append(f"    {static}const {call.params_type} p = {c_text.initializer(instance.params)};")
    lines += [f"    {call.function}({passed});", "}", ""]
    if instance.standalone:
        lines = ["#if ABOARD_RUN_OP", *lines[:-1], "#endif", ""]
    return "\n".join(lines)


def parameters_text(step: Step) -> str:
    """Returns the parameters of a step that shares its instance with others; "" if an accelerator computes it."""
    call = step.call
    if not isinstance(call, KernelCall):
        return ""
    text = f"static const {call.params_type} {_parameter(step)} = {c_text.initializer(call.params, indent='')};\n"
    return f"#if ABOARD_RUN_OP\n{text}#endif\n" if step.standalone else text


def _parameter(step: Step) -> str:
    return f"{'standalone' if step.standalone else 'p'}{step.index}"


def call_text(
    step: Step, instances: Instances, address: Callable[[Argument, int], str], rows: tuple[str, str] | None = None
) -> str:
    """Returns the statement that calls a step's function.

    Args:
        step: The step.
        instances: Instances of the program.
        address: Returns the expression for the address of an operand, a result, or scratch, by number.
        rows: C expressions for the first row and one past the last row; all rows by default.
    """
    arguments = []
    scratch = 0
    for argument, array in zip(step.call.arguments, instances.arrays_of(step), strict=True):
        arguments.append(array or address(argument, scratch))
        scratch += not isinstance(argument, InputArg | OutputArg | ConstantArg)
    if isinstance(step.call, FunctionCall):
        return f"ABOARD_RETURN_IF_ERROR({step.call.function}({', '.join(arguments)}));"
    instance = instances.of(step)
    if instance.parameters:
        arguments.insert(0, f"&{_parameter(step)}")
    if instance.tables:
        arguments += tables_of(step.call)
    return f"{instance.name}({', '.join([*arguments, *(rows or ('0', str(step.call.rows)))])});"


def _arena_address(program: Program, arenas: Arenas, step: Step) -> Callable[[Argument, int], str]:
    def address(argument: Argument, scratch: int) -> str:
        if isinstance(argument, InputArg):
            window = rolling.window_operand(step, argument.index, program, arenas)
            return window or arenas.of_tensor(step.node.input(argument.index), program)
        if isinstance(argument, OutputArg):
            return arenas.of_tensor(step.node.outputs[argument.index], program)
        return arenas.of_scratch(step, scratch)

    return address


def calls(program: Program, instances: Instances, arenas: Arenas) -> list[str]:
    """Returns the lines that compute all steps in order, for the inside of a function."""
    lines: list[str] = []
    inside = {step.index: numbered for numbered in cascade.of(program) for step in numbered.steps}
    for step in program.steps:
        if step.index in inside:
            lines += _enter(inside[step.index], step, arenas)
            continue
        rows = rolling.rows(step, program)
        call = call_text(step, instances, _arena_address(program, arenas, step), rows)
        lines += ["", f"    /* {step.index}: {describe(step)} */"]
        if arenas.hooks:
            begin, end = f"    ABOARD_BEGIN({step.index});", f"    ABOARD_END({step.index});"
            lines += [begin, f"    {call}", end, *_trace(step, program, arenas)]
        else:
            lines.append(f"    {call}")
    return lines


def _cascade(numbered: cascade.Numbered, program: Program, arenas: Arenas, instances: Instances) -> str:
    def call(step: Step, first: str, last: str) -> str:
        return call_text(step, instances, _arena_address(program, arenas, step), (first, last))

    return cascade.text(numbered, arenas, call, lambda step: arenas.of_tensor(step.node.output, program))


def _enter(numbered: cascade.Numbered, step: Step, arenas: Arenas) -> list[str]:
    """Returns the lines of a step of a cascade; the last step calls the function of the cascade."""
    if numbered.cascade.streamed_input is not None:
        return ["", f"    /* {step.index}, as rows were pushed: {describe(step)} */"]
    lines = ["", f"    /* {step.index}: {describe(step)} */"]
    if step is numbered.steps[-1]:
        lines.append(
            f"    ABOARD_RETURN_IF_ERROR({numbered.name}({', '.join(arenas.pointers)}{arenas.hooks_argument}));"
        )
    return lines


def describe(step: Step) -> str:
    """Returns the op of a step, its name, and the shapes of its operands and results, for a comment."""
    operands = ", ".join("x".join(map(str, t.shape)) or "scalar" for t in step.node.operands if not t.is_constant)
    results = ", ".join("x".join(map(str, t.shape)) or "scalar" for t in step.node.outputs)
    label = quoting.c_comment(step.node.name.partition(";")[0])
    return f"{step.node.op} {label}: {operands} -> {results}"


def _trace(step: Step, program: Program, arenas: Arenas) -> list[str]:
    lines = rolling.trace(step, program, arenas)
    if lines:
        return lines
    for number, (tensor, view) in enumerate(zip(step.node.outputs, step.outputs, strict=True)):
        numbers = [view.row_stride, view.pixel_stride, step.index, number, 0, view.rows, view.cols, view.channels]
        rows = ", ".join(map(str, numbers))
        lines.append(f"    ABOARD_TRACE_ROWS({arenas.of_tensor(tensor, program)}, {rows}, {view.element_bytes});")
    return lines
