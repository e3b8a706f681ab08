"""Calls of another core: the files that start the core and serve its calls, and the flags of its code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from aboard import boards
from aboard.base import resources
from aboard.boards.board import Board, Core, StartStep
from aboard.errors import TargetError
from aboard.target import Cpu, Target
from aboard.target.kind import CLAIM_NODES, CLAIM_OPS

#: ABOARD_CORE_ARGUMENT_WORDS of firmware/include/aboard/core.h.
ARGUMENTS = 32
#: Bytes of the core's stack: kernels keep large buffers in scratch.
STACK_BYTES = 4096

# Cycles until a core without an answer counts as dead: several times the cycles of portable kernels without an FPU.
_PATIENCE_CYCLES, _PATIENCE_PER_MAC, _PATIENCE_PER_ELEMENT = 4_000_000, 64, 1024
_CYCLES_PER_ROUND = 256


@dataclass(frozen=True)
class CoreCall:
    """The call of a region's function.

    Attributes:
        function: Function that makes the call; "" for a direct call.
        rounds: Limit of the wait for the call.
        headers: Headers that the host's file includes.
        files: Additional files by path.
        core_files: The files that the core executes.
        flags: Flags that select the core, by compiler.
    """

    function: str = ""
    rounds: int = 0
    headers: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    core_files: tuple[str, ...] = ()
    flags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def call(self, function: str) -> str:
        """Returns the expression that calls a function with the struct `arguments`."""
        if not self.function:
            return f"{function}(&arguments)"
        words = "(const uint32_t *)&arguments, sizeof arguments / sizeof(uint32_t)"
        return f"aboard_core_call(&{self.function}, {function}, {words}, {self.rounds})"

    def check(self, arguments: int, where: str) -> None:
        """Checks that a call has room for its arguments.

        Args:
            arguments: Number of pointers that the call passes.
            where: The region, for error messages.

        Raises:
            TargetError: The call has too many arguments.
        """
        if self.function and arguments > ARGUMENTS:
            raise TargetError(
                f"{where}: has too many operands and results, got {arguments} with constants and scratch, expected at "
                f"most {ARGUMENTS}. Limit what the core claims with -{CLAIM_NODES} or -{CLAIM_OPS}"
            )


def core_call(device: Target, host: Target | None, macs: int, elements: int) -> CoreCall:
    """Returns the call of a core.

    Args:
        device: The core.
        host: The CPU that calls it.
        macs: Multiply-accumulates of the call.
        elements: Elements that the call writes.

    Raises:
        TargetError: The target does not name the board and the core.
    """
    if host is None or host.runtime == "host":
        return CoreCall()
    if device.hardware is None:
        raise TargetError(
            f"target {device}: names no board, got {device.cpu.name} beside {host.cpu.name}, expected two cores of one "
            "board. Write them as in `arm/mps2_an521:cpu0 + arm/mps2_an521:cpu1`"
        )
    board = boards.of_hardware(device.hardware)
    caller = boards.of_hardware(host.hardware or board.id).core()
    core = board.core()
    cycles = _PATIENCE_CYCLES + _PATIENCE_PER_MAC * macs + _PATIENCE_PER_ELEMENT * elements
    slower = max(1.0, (caller.clock_hz or 1) / (core.clock_hz or 1)) if caller.clock_hz and core.clock_hz else 1.0
    name = f"aboard_core_{core.name}"
    firmware = resources.firmware()
    files = {
        "aboard/core.h": (firmware / "include" / "aboard" / "core.h").read_text(encoding="utf-8"),
        "core.c": (firmware / "cores" / "core.c").read_text(encoding="utf-8"),
        "cortex_m.h": (firmware / "cores" / "cortex_m.h").read_text(encoding="utf-8"),
        f"{name}.h": _header(board, core, name),
        f"{name}.c": _own(board, core, name),
        f"{name}_start.c": _start(board, core, name),
    }
    rounds = round(cycles * slower) // _CYCLES_PER_ROUND
    return CoreCall(name, rounds, (f"{name}.h",), files, (f"{name}.c",), flags(device.cpu, host.cpu))


def flags(core: Cpu, host: Cpu) -> dict[str, tuple[str, ...]]:
    """Returns the flags that select a core, after the flags of the host whose image contains its code.

    Args:
        core: The core.
        host: The host. If it has no FPU, both cores pass floats in integer registers.
    """
    has_fpu = "fpu" in core.features
    abi = "hard" if host.float_abi == "hard" else "softfp" if has_fpu else "soft"
    fpu = (f"-mfpu={core.fpu}",) if has_fpu else ()
    clang = tuple(flag for flag in core.flags("zig") if flag.startswith("-mcpu="))
    return {"gcc": (f"-mcpu={core.name}", f"-mfloat-abi={abi}", *fpu), "clang": clang}


def _header(board: Board, core: Core, name: str) -> str:
    guard = f"{name.upper()}_H"
    return (
        f"/* The core {core.name} of {board.id}. Generated. */\n"
        f"#ifndef {guard}\n#define {guard}\n\n"
        '#include "aboard/core.h"\n\n'
        f"extern const aboard_core_t {name};\n"
        f"extern const aboard_core_vector_t {name}_vectors[];\n"
        f"extern aboard_core_mailbox_t {name}_mailbox;\n\n#endif\n"
    )


def _own(board: Board, core: Core, name: str) -> str:
    """Returns the file with vector table, stack and loop, which the core executes."""
    bank = board.data_memory.name if board.data_memory else ""
    return (
        f"/* The core {core.name} of {board.id}, which executes this file. Generated.\n"
        f" * Its stack lies in {bank}: the linker script puts the section there. */\n"
        f"#define ABOARD_CORE_VECTORS {name}_vectors\n"
        f"#define ABOARD_CORE_MAILBOX {name}_mailbox\n"
        f'#define ABOARD_CORE_STACK ".aboard.{bank}"\n'
        "#ifndef ABOARD_CORE_STACK_BYTES\n"
        f"#define ABOARD_CORE_STACK_BYTES {STACK_BYTES}\n"
        "#endif\n"
        '#include "cortex_m.h"\n'
    )


def _start(board: Board, core: Core, name: str) -> str:
    """Returns the file that starts the core, which the host executes."""
    number = [known.name for known in board.cores].index(core.name)
    steps = "".join(f"    {line}\n" for step in core.start for line in _step(step, name))
    return (
        f"/* Starts the core {core.name} of {board.id}, as the file of its SoC says. Generated. */\n"
        f'#include "{name}.h"\n\n'
        "#define REGISTER(address) (*(volatile uint32_t *)(uintptr_t)(address))\n\n"
        f"aboard_core_mailbox_t {name}_mailbox;\n\n"
        f"static void start(void) {{\n{steps}}}\n\n"
        f"const aboard_core_t {name} = {{.number = {number}, .mailbox = &{name}_mailbox, .start = start}};\n"
    )


def _step(step: StartStep, name: str) -> Iterator[str]:
    register = f"REGISTER(0x{step.address:08X}u)"
    if step.write == "vectors":
        yield f"{register} = (uint32_t)(uintptr_t){name}_vectors;"
    elif step.write is not None:
        yield f"{register} = 0x{step.write:X}u;"
    elif step.set is not None:
        yield f"{register} |= 0x{step.set:X}u;"
    else:
        yield f"{register} &= ~0x{step.clear:X}u;"
