"""C for a region on another core: the function that the host calls, and the function that the core runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from aboard.backends.core import bringup
from aboard.backends.core.lowered import LoweredRegion, executor, lowered
from aboard.emit import c_text
from aboard.emit.bundle import kernel_headers
from aboard.emit.instances import Instances, NamedArray
from aboard.emit.steps import call_text, instance_text, parameters_text
from aboard.ir import Array, Tensor
from aboard.kernels.accelerator import ALIGN, ClaimedRegion, DeviceCode
from aboard.kernels.contract import (
    Argument,
    ConstantArg,
    InputArg,
    KernelCall,
    OutputArg,
    PackedConstant,
    Scratch,
    ScratchArg,
)
from aboard.memory.problem import round_up
from aboard.schedule.lowering import Step
from aboard.target import Runtime, Target


@dataclass(frozen=True)
class _ConstantPool:
    """All constants of one element type, one after another.

    Attributes:
        name: Name of the parameter for them.
        values: The elements, with zeros in gaps for alignment.
        offsets: Index of each array's first element.
    """

    name: str
    values: Array
    offsets: dict[str, int]


def codegen(target: Target, region: ClaimedRegion) -> DeviceCode:
    """Returns the code for a region: the files are the same for a call of the core and for a direct call on a host."""
    found = lowered(target, region)
    instances = Instances(found.program, executor(target))
    pools = _pools(instances.arrays)
    parameters = _parameters(region, found, pools)
    steps = found.program.steps
    headers = sorted({step.call.header for step in steps if isinstance(step.call, KernelCall)})
    files = {
        f"{region.name}_core.h": _header(region.name, [name for _, name in parameters]),
        f"{region.name}_core.c": _core_source(region, found, instances, pools, headers),
        **kernel_headers(headers, "kernels"),
    }
    core_call = bringup.core_call(target, region.host, found.macs, found.elements)
    core_call.check(len(parameters), f"target {target}: region {region.name}")
    return DeviceCode(
        _source(region.name, [name for _, name in parameters], core_call),
        tuple(argument for argument, _ in parameters),
        tuple(tensor.shape for tensor in found.program.graph.outputs),
        Runtime(
            {**files, **core_call.files},
            core_files=(f"{region.name}_core.c", *core_call.core_files),
            core_flags=core_call.flags,
        ),
    )


def _pools(arrays: Sequence[NamedArray]) -> list[_ConstantPool]:
    pools: list[_ConstantPool] = []
    for dtype in sorted({array.values.dtype for array in arrays}, key=str):
        pieces: list[Array] = []
        offsets: dict[str, int] = {}
        filled = 0
        for array in (array for array in arrays if array.values.dtype == dtype):
            at = round_up(filled * dtype.itemsize, max(array.align, dtype.itemsize)) // dtype.itemsize
            pieces += [np.zeros(at - filled, dtype), array.values.reshape(-1)]
            offsets[array.name], filled = at, at + array.values.size
        pools.append(_ConstantPool(f"constants_{dtype.name}", np.concatenate(pieces), offsets))
    return pools


def _parameters(
    region: ClaimedRegion, found: LoweredRegion, pools: Sequence[_ConstantPool]
) -> list[tuple[Argument, str]]:
    """Returns the parameters of the region's function, each with its declaration."""
    parameters: list[tuple[Argument, str]] = [
        *((InputArg(i, "const uint8_t *"), f"const uint8_t *x{i}") for i in range(len(region.graph.inputs))),
        *((OutputArg(i, "uint8_t *"), f"uint8_t *y{i}") for i in range(len(region.graph.outputs))),
    ]
    for pool in pools:
        constant = PackedConstant(pool.name, pool.values, ALIGN)
        parameters.append((ConstantArg(constant), f"const {c_text.c_type(pool.values.dtype)} *{pool.name}"))
    if found.offsets:
        # Calls name the scratch buffer even if it has no bytes.
        parameters.append((ScratchArg(Scratch(max(found.scratch_bytes, 1), ALIGN), "uint8_t *"), "uint8_t *s0"))
    return parameters


def _name(declaration: str) -> str:
    return declaration.rpartition("*")[2]


def _header(name: str, parameters: Sequence[str]) -> str:
    guard = f"{name.upper()}_CORE_H"
    fields = "".join(f"    {parameter};\n" for parameter in parameters)
    return (
        f"/* What the host hands to the core that computes {name}. Generated. */\n"
        f"#ifndef {guard}\n#define {guard}\n\n"
        "#include <stdbool.h>\n#include <stdint.h>\n\n"
        '#include "aboard/status.h"\n\n'
        f"typedef struct {{\n{fields}}} {name}_arguments_t;\n\n"
        "/* Runs on that core; `arguments` leads to the struct above. */\n"
        f"aboard_status_t {name}_compute(const void *arguments);\n\n#endif\n"
    )


def _source(name: str, parameters: Sequence[str], core_call: bringup.CoreCall) -> str:
    """Returns the file that the host executes."""
    values = ", ".join(_name(parameter) for parameter in parameters)
    includes = "".join(f'#include "{header}"\n' for header in (f"{name}_core.h", *core_call.headers))
    return c_text.fitted(
        f"{includes}\naboard_status_t {name}({', '.join(parameters)}) {{\n"
        f"    const {name}_arguments_t arguments = {{{values}}};\n"
        f"    return {core_call.call(f'{name}_compute')};\n}}\n"
    )


def _core_source(
    region: ClaimedRegion,
    found: LoweredRegion,
    instances: Instances,
    pools: Sequence[_ConstantPool],
    headers: Sequence[str],
) -> str:
    """Returns the file that the core executes."""
    name, steps = region.name, found.program.steps
    includes = [
        f'#include "{name}_core.h"',
        "",
        "#include <string.h>",
        "",
        *(f'#include "kernels/{h}"' for h in headers),
    ]
    shared = [parameters_text(step) for i in instances.instances if i.parameters for step in i.steps]
    constants = [
        f"    const {c_text.c_type(pool.values.dtype)} *const {array} = a->{pool.name} + {offset};"
        for pool in pools
        for array, offset in pool.offsets.items()
    ]
    calls = [f"    {call_text(step, instances, _address(found, step))}" for step in steps]
    body = [
        f"aboard_status_t {name}_compute(const void *arguments) {{",
        f"    const {name}_arguments_t *const a = arguments;",
        *constants,
        *_copies(found, found.program.graph.inputs, "x"),
        *calls,
        *_copies(found, found.program.graph.outputs, "y"),
        "    return ABOARD_OK;",
        "}",
    ]
    banner = f"/* Computes {name} on a core of its own. Generated. */\n"
    parts = ["\n".join(includes) + "\n", *map(instance_text, instances.instances), *shared, "\n".join(body) + "\n"]
    return banner + c_text.fitted("\n".join(parts))


def _copies(found: LoweredRegion, tensors: Sequence[Tensor], kind: str) -> list[str]:
    """Returns the statements that copy operands to the kernels' buffers, or results from these, if they differ."""
    lines = []
    for number, tensor in enumerate(tensors):
        place = found.place(tensor)
        border, inside = f"a->{kind}{number}", _at(place)
        to, source = (inside, border) if kind == "x" else (border, inside)
        if place != (kind, number, 0):
            lines.append(f"    memcpy({to}, {source}, {tensor.type.bytes});")
    return lines


def _at(place: tuple[str, int, int]) -> str:
    kind, number, offset = place
    return f"(const void *)(a->x{number} + {offset})" if kind == "x" else f"(void *)(a->{kind}{number} + {offset})"


def _address(found: LoweredRegion, step: Step) -> Callable[[Argument, int], str]:
    def address(argument: Argument, scratch: int) -> str:
        if isinstance(argument, InputArg):
            return _at(found.place(step.node.input(argument.index)))
        if isinstance(argument, OutputArg):
            return _at(found.place(step.node.outputs[argument.index]))
        return _at(("s", 0, found.offsets[step.scratch[scratch]]))

    return address
