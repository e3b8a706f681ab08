"""Compilers: the table of supported compilers, and the choice of a compiler for a core.

The order: the compiler that the caller or the environment variable `ABOARD_TOOLCHAIN` names, the GNU compiler for the
core on PATH, and zig (the package `ziglang`, or `zig` on PATH), which compiles for every core.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from aboard.base import programs
from aboard.boards import cpu as cpus
from aboard.errors import ToolError, did_you_mean
from aboard.target import Cpu

#: Environment variable with the name of a toolchain or the path of a compiler. It is ignored for cores that the
#: compiler does not support.
ENVIRONMENT = programs.TOOLCHAIN

Family = Literal["gcc", "clang", "zig"]


@dataclass(frozen=True)
class Compiler:
    """A compiler that aboard supports.

    Attributes:
        name: Command.
        family: Style of the flags.
        purpose: Cores that the compiler supports, in words.
        cores: True for a core that the compiler supports.
        how_to_get: How to install the compiler.
        version_arguments: Arguments that make the compiler print its version.
        lacks: Features that the compiler lacks, for link and build rules: `libc` (no standard headers for bare metal),
            `runtime_with_nostdlib` (-nostdlib leaves out the compiler's own library), `script_entry` (ENTRY of a linker
            script is ignored, -Wl,-e is needed), `map_file` (-Map is rejected), `orphan_handling`.
    """

    name: str
    family: Family
    purpose: str
    cores: Callable[[Cpu], bool]
    how_to_get: str
    version_arguments: tuple[str, ...] = ("--version",)
    lacks: frozenset[str] = frozenset()

    def find(self) -> Path | None:
        """Returns the path of the program; None if it is missing."""
        packaged = _packaged_zig() if self.family == "zig" else None
        return packaged or programs.find(self.name)


@dataclass(frozen=True)
class Toolchain:
    """A compiler on this machine, chosen for a core.

    Attributes:
        compiler: The compiler.
        path: Path of the program.
        version: Version of the program.
        cpu: The core to compile for.
        reason: Reason for the choice, for reports.
    """

    compiler: Compiler
    path: Path
    version: str
    cpu: Cpu
    reason: str

    @property
    def name(self) -> str:
        """Name of the compiler: `arm-none-eabi-gcc`, `riscv64-unknown-elf-gcc`, `zig`, `gcc`, `clang`."""
        return self.compiler.name

    @property
    def command(self) -> tuple[str, ...]:
        """Command that compiles a C file, without flags."""
        return (str(self.path), "cc") if self.compiler.family == "zig" else (str(self.path),)

    @property
    def flags(self) -> tuple[str, ...]:
        """Flags that select the core, for compiler and linker."""
        return self.cpu.flags(self.compiler.family)

    def cmake_variables(self) -> dict[str, str]:
        """Returns the CMake variables that make a project use this toolchain.

        A project has a CMake toolchain file for each family, which has the flags of the core; `ABOARD_CC` is the
        program. For zig, `ABOARD_CC` is zig itself: `zig cc` compiles and `zig ar` archives.
        """
        return {
            "CMAKE_TOOLCHAIN_FILE": f"cmake/toolchain-{self.compiler.family}.cmake",
            "ABOARD_CC": self.path.as_posix(),
        }


def _is_arm_m(cpu: Cpu) -> bool:
    return cpu.is_arm_m


def _is_riscv(cpu: Cpu) -> bool:
    return cpu.is_riscv


def _is_here(cpu: Cpu) -> bool:
    return cpu.runs_here


def _is_foreign_aarch64(cpu: Cpu) -> bool:
    return cpu.arch == "aarch64" and not cpu.runs_here


def _is_any(cpu: Cpu) -> bool:
    del cpu
    return True


_ZIG = "pip install ziglang"

#: Every compiler that aboard supports, in the order of preference.
COMPILERS: tuple[Compiler, ...] = (
    Compiler(
        "arm-none-eabi-gcc",
        "gcc",
        "compiles for Cortex-M",
        _is_arm_m,
        f"apt install gcc-arm-none-eabi libnewlib-arm-none-eabi, or {_ZIG}",
    ),
    Compiler(
        "riscv64-unknown-elf-gcc",
        "gcc",
        "compiles for RISC-V",
        _is_riscv,
        f"apt install gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf, or {_ZIG}",
    ),
    Compiler("gcc", "gcc", "compiles for this machine", _is_here, f"apt install gcc, or {_ZIG}"),
    Compiler("clang", "clang", "compiles for this machine", _is_here, f"apt install clang, or {_ZIG}"),
    Compiler(
        "aarch64-linux-gnu-gcc",
        "gcc",
        "compiles for 64-bit Arm machines",
        _is_foreign_aarch64,
        f"apt install gcc-aarch64-linux-gnu, or {_ZIG}",
    ),
    Compiler(
        "zig",
        "zig",
        "compiles for every core",
        _is_any,
        _ZIG,
        version_arguments=("version",),
        lacks=frozenset({"libc", "runtime_with_nostdlib", "script_entry", "map_file", "orphan_handling"}),
    ),
)


def _packaged_zig() -> Path | None:
    """Returns the zig program of the package `ziglang`, without importing the package."""
    spec = importlib.util.find_spec("ziglang")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        program = Path(folder) / "zig"
        if program.is_file():
            return program
    return None


def find_all() -> list[tuple[Compiler, Path | None]]:
    """Returns every compiler that aboard supports, with the path of its program; None if the program is missing."""
    return [(compiler, compiler.find()) for compiler in COMPILERS]


def choose(cpu: Cpu | str, override: str | None = None) -> Toolchain:
    """Returns the toolchain for a core.

    Args:
        cpu: The core.
        override: Name of a toolchain or path of a compiler; takes precedence over `ABOARD_TOOLCHAIN`.

    Raises:
        ToolError: The named toolchain is unknown, missing, or does not support the core; or no toolchain was found.
        TargetError: The core is not known.
    """
    core = cpus.find(cpu) if isinstance(cpu, str) else cpu
    if override:
        return _named(override, core, "named by the caller", "toolchain")
    wanted = os.environ.get(ENVIRONMENT)
    if wanted and _compiler_of(wanted, ENVIRONMENT).cores(core):
        return _named(wanted, core, f"named by {ENVIRONMENT}", ENVIRONMENT)
    return _first_found(core)


def _first_found(core: Cpu) -> Toolchain:
    candidates = [compiler for compiler in COMPILERS if compiler.cores(core)]
    missing: list[str] = []
    for compiler in candidates:
        path = compiler.find()
        if path is not None:
            reason = f"{', '.join(missing)} not found" if missing else "first choice for the core"
            return Toolchain(compiler, path, programs.version(path, compiler.version_arguments), core, reason)
        missing.append(compiler.name)
    raise ToolError(
        f"toolchain: no compiler for {core.name}, got none of {', '.join(missing)}, expected one of them. "
        f"To get one: {candidates[0].how_to_get}; `aboard doctor` shows what is there"
    )


def _compiler_of(text: str, where: str) -> Compiler:
    """Returns the compiler of a name or path."""
    name = Path(text).name
    known = {compiler.name: compiler for compiler in COMPILERS}
    if name not in known:
        raise ToolError(
            f"{where}: unknown toolchain, got {text}, expected a name or the path of a compiler. "
            f"{did_you_mean(name, known)}"
        )
    return known[name]


def _named(text: str, core: Cpu, reason: str, where: str) -> Toolchain:
    compiler = _compiler_of(text, where)
    if not compiler.cores(core):
        suitable = ", ".join(c.name for c in COMPILERS if c.cores(core))
        raise ToolError(
            f"{where}: {compiler.name} does not compile for the core, got {core.name}, expected one of: {suitable}. "
            f"Name one of these, or none"
        )
    path = compiler.find() if text == compiler.name else programs.find(text)
    if path is None:
        raise ToolError(f"{where}: not found, got {text}, expected a program. To get it: {compiler.how_to_get}")
    return Toolchain(compiler, path, programs.version(path, compiler.version_arguments), core, reason)
