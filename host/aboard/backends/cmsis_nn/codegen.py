"""The C function of a region: one call of the library, with its parameter structs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from aboard.backends.cmsis_nn import library
from aboard.backends.cmsis_nn.calls import LibraryCall, Struct, call_of
from aboard.backends.cmsis_nn.geometry import Unit
from aboard.emit import c_text
from aboard.errors import TargetError
from aboard.kernels.accelerator import ClaimedRegion, DeviceCode
from aboard.kernels.contract import Argument, ConstantArg, InputArg, OutputArg, PackedConstant, Scratch, ScratchArg
from aboard.target import Target

#: The reference uses double rounding; so does the library by default.
_ROUNDING = """\
#ifdef CMSIS_NN_USE_SINGLE_ROUNDING
#error "CMSIS_NN_USE_SINGLE_ROUNDING is defined: results would not be those of the reference. Remove it"
#endif
"""


#: zig's clang has no C library on bare metal, and would call its functions wherever the library reads a word.
_BARE_METAL = {"clang": ("-Dmemcpy=__builtin_memcpy",)}


def codegen(target: Target, region: ClaimedRegion) -> DeviceCode:
    """Returns the code of a region, with the required sources.

    Raises:
        TargetError: The source tree is missing, or has another release.
    """
    if region.host is None or len(region.patterns) != 1:
        raise TargetError(
            f"kind cmsis-nn: region {region.name}, expected one pattern, and the CPU that calls it. Report this"
        )
    tree = library.find(target)
    call = call_of(region.patterns[0].named["layer"], Unit.of(region.host))
    runtime = library.sources(tree, call.function, len(call.arguments))
    if not region.host.cpu.is_host_class:
        compiled = tuple(path for path in runtime.files if path.endswith(".c"))
        runtime = replace(runtime, core_files=compiled, core_flags=_BARE_METAL)
    shape = region.graph.outputs[0].shape
    return DeviceCode(source(region.name, call), parameters(call), (shape,), runtime)


def parameters(call: LibraryCall) -> tuple[Argument, ...]:
    """Returns the parameters of the generated function: operands, result, constants, scratch."""
    operands = sorted({name for name in call.arguments if isinstance(name, str) and name.startswith("x")})
    inputs = [InputArg(int(name[1:]), "const int8_t *") for name in operands]
    constants = [ConstantArg(PackedConstant(name, values)) for name, values in call.constants.items()]
    scratch = [ScratchArg(Scratch(call.scratch, 4), "void *")] if call.scratch else []
    return (*inputs, OutputArg(0, "int8_t *"), *constants, *scratch)


def source(name: str, call: LibraryCall) -> str:
    """Returns the text of the file that defines the generated function."""
    structs = [argument for argument in call.arguments if isinstance(argument, Struct)]
    arguments = ", ".join(_argument(argument, structs) for argument in call.arguments)
    head = ", ".join(_declared(call))
    lines = [
        '#include "arm_nnfunctions.h"',
        "",
        _ROUNDING,
        f"aboard_status_t {name}({head}) {{",
        *(
            f"    const {struct.ctype} p{index} = {c_text.literal(struct.fields)};"
            for index, struct in enumerate(structs)
        ),
    ]
    if call.returns_status:
        lines += [
            f"    const arm_cmsis_nn_status status = {call.function}({arguments});",
            "    return status == ARM_CMSIS_NN_SUCCESS ? ABOARD_OK : ABOARD_ERROR_DEVICE;",
        ]
    else:
        lines += [f"    {call.function}({arguments});", "    return ABOARD_OK;"]
    return c_text.fitted("\n".join([*lines, "}", ""]))


def _argument(argument: Struct | str | int, structs: list[Struct]) -> str:
    if isinstance(argument, Struct):
        index = next(index for index, struct in enumerate(structs) if struct is argument)
        return f"&p{index}"
    return argument if isinstance(argument, str) else c_text.literal(argument)


def _declared(call: LibraryCall) -> Iterator[str]:
    """Yields the declarations of the generated function's parameters."""
    for argument in parameters(call):
        if isinstance(argument, InputArg):
            yield f"{argument.ctype}x{argument.index}"
        elif isinstance(argument, OutputArg):
            yield f"{argument.ctype}y{argument.index}"
        elif isinstance(argument, ConstantArg):
            constant = argument.constant
            yield f"const {c_text.c_type(constant.values.dtype)} *{constant.name}"
        else:
            yield f"{argument.ctype}s0"
