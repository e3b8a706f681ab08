"""The C function of a region: a job for the driver."""

from __future__ import annotations

import numpy as np

from aboard.kernels.accelerator import ALIGN, ClaimedRegion, DeviceCode
from aboard.kernels.contract import Argument, ConstantArg, InputArg, OutputArg, PackedConstant, Scratch, ScratchArg
from aboard.target import Target
from aboard_ethos_u import borders, lowered, payload, vela

#: Number of the base pointer of constants in Vela's streams.
_CONSTANTS = 0


def codegen(target: Target, region: ClaimedRegion) -> DeviceCode:
    """Returns the code of a region.

    Raises:
        TargetError: Vela refuses the region, or the region has too many inputs and outputs.
        ExtraError: Vela is missing, or is another release.
        ToolError: Vela failed.
    """
    where = f"kind {target.kind.name}: region {region.name}"
    compiled = vela.compiled(lowered.file_of(region.graph), target, where)
    placed = borders.assigned(compiled, where)
    arguments: list[Argument] = []
    declared: list[str] = []
    buffers: list[str] = []

    def add(argument: Argument, declaration: str, pointer: int | None, size: int, *, is_written: bool) -> None:
        arguments.append(argument)
        declared.append(declaration)
        if pointer is not None:
            name = declaration.rpartition("*")[2]
            buffers.append(f"{{{pointer}u, {name}, {size}u, {str(is_written).lower()}}}")

    for index, (border, number) in enumerate(zip(compiled.inputs, placed.inputs, strict=True)):
        add(InputArg(index, "const int8_t *"), f"const int8_t *x{index}", number, border.bytes, is_written=False)
    for index, (border, number) in enumerate(zip(compiled.outputs, placed.outputs, strict=True)):
        add(OutputArg(index, "int8_t *"), f"int8_t *y{index}", number, border.bytes, is_written=True)
    stream = np.ascontiguousarray(placed.stream, np.uint32)
    of_zephyr = target.attrs["driver"] == "zephyr"
    sent = payload.wrapped(stream, compiled.config, compiled.id) if of_zephyr else stream
    add(ConstantArg(PackedConstant("commands", sent, ALIGN)), "const uint32_t *commands", None, 0, is_written=False)
    if compiled.constants.size:
        constants = PackedConstant("weights", compiled.constants, ALIGN, "Vela")
        size = int(compiled.constants.size)
        add(ConstantArg(constants), "const uint8_t *weights", _CONSTANTS, size, is_written=False)
    if compiled.scratch:
        scratch = ScratchArg(Scratch(compiled.scratch, ALIGN), "void *")
        add(scratch, "void *scratch", compiled.scratch_region, compiled.scratch, is_written=True)
    text = (_CORE_DRIVER_SOURCE if of_zephyr else _SOURCE).format(
        name=region.name,
        parameters=", ".join(declared),
        buffers=",\n".join(f"        {buffer}" for buffer in buffers),
        count=len(buffers),
        words=sent.size,
        bytes=sent.nbytes,
        config=compiled.config,
        id=compiled.id,
        guard=_GUARD if target.attrs["wait"] == "interrupt" else "",
        place=", ".join(f".{name} = {value}" for name, value in _place(target).items()),
    )
    shapes = tuple(tensor.shape for tensor in region.graph.outputs)
    return DeviceCode(text, tuple(arguments), shapes, cycles=compiled.cycles or None)


def _place(target: Target) -> dict[str, str]:
    place = {
        "registers": f"{int(target.attrs.get('address', 0)):#x}u",
        "non_secure": str(not target.attrs["secure"]).lower(),
    }
    if target.attrs["wait"] == "interrupt":
        place |= {"by_interrupt": "true", "irq": f"{target.attrs['irq']}u"}
    return place


_GUARD = """\

#if defined(__ZEPHYR__) && !defined(CONFIG_DYNAMIC_INTERRUPTS)
#error "The driver of the NPU waits for its interrupt: set CONFIG_DYNAMIC_INTERRUPTS=y, or compile with -wait=poll"
#endif
"""

_SOURCE = """\
#include "ethos_u.h"
{guard}
aboard_status_t {name}({parameters}) {{
    const ethos_u_buffer_t buffers[] = {{
{buffers},
    }};
    const ethos_u_job_t job = {{
        .commands = commands,
        .words = {words}u,
        .config = {config:#010x}u,
        .id = {id:#010x}u,
        .buffers = buffers,
        .count = {count}u,
    }};
    const ethos_u_place_t place = {{{place}}};
    return ethos_u_run(&place, &job, NULL);
}}
"""

_CORE_DRIVER_SOURCE = """\
#include "ethos_u_core_driver.h"

aboard_status_t {name}({parameters}) {{
    const ethos_u_buffer_t buffers[] = {{
{buffers},
    }};
    return ethos_u_invoke(commands, {bytes}u, buffers, {count}u);
}}
"""
