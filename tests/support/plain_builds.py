"""Builds bundles as users do, with nothing but the flags that select a core, and runs them under QEMU or here."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aboard import boards
from aboard.base import programs, resources
from aboard.boards import cpu as cpus
from aboard.compiler.pipeline import Module
from aboard.project import toolchain

LEVELS = ("-O0", "-Og", "-Os", "-O2", "-O3")
_BARE = Path(__file__).parent / "bare"

#: The board whose emulated core executes a core's code: the core itself, or a larger one.
_BOARDS: Mapping[str, str] = {
    "cortex-m0": "arm/mps2_an385",
    "cortex-m0plus": "arm/mps2_an385",
    "cortex-m3": "arm/mps2_an385",
    "cortex-m4": "arm/mps2_an386",
    "cortex-m7": "arm/mps2_an500",
    "cortex-m33": "arm/mps2_an505",
    "cortex-m55": "arm/mps3_an547",
}
_RISCV_BOARD = "riscv/qemu_virt32"
_LINKER = """SECTIONS {{
  .vectors {vectors:#x} : {{ KEEP(*(.vectors)) }}
  .text {code:#x} : {{ *(.text*) *(.rodata* .srodata*) }}
  /DISCARD/ : {{ *(.ARM.exidx*) *(.ARM.extab*) }}
  .data {data:#x} : {{ *(.data* .sdata*) }}
  .bss (NOLOAD) : {{ *(.bss* .sbss* COMMON) }}
  stack_top = {data:#x} + {size:#x};
}}
"""


@dataclass(frozen=True)
class Build:
    """How a bundle is built.

    Attributes:
        core: As `aboard.boards.cpu` names it; `native` for this machine.
        compiler: `gcc`, `clang`, `zig` or `tcc`.
        level: Flags that choose how to optimise.
    """

    core: str
    compiler: str
    level: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join((self.core, self.compiler, *self.level))

    @property
    def here(self) -> bool:
        """True when this process could execute its code."""
        return cpus.find(self.core).is_host_class

    @property
    def lto(self) -> bool:
        """True when the linker generates the code."""
        return "-flto" in self.level

    @property
    def command(self) -> list[str]:
        """The compiler, and the flags that select the core."""
        cpu = cpus.find(self.core)
        if self.compiler == "zig":
            zig = toolchain.choose(cpu, "zig")
            return [*zig.command, *zig.flags]
        if self.here:
            return [self.compiler]
        # What else aboard passes is no business of users.
        flags = [flag for flag in cpu.flags("gcc") if flag not in ("-fno-branch-count-reg", "-misa-spec=2.2")]
        if self.compiler == "gcc":
            # Debian's gcc for RISC-V has no C library of its own.
            return [cpu.cross_compiler, *flags, *(["--specs=picolibc.specs"] if cpu.is_riscv else [])]
        triple = "riscv32-unknown-elf" if cpu.is_riscv else "arm-none-eabi"
        return ["clang", f"--target={triple}", *(flag for flag in flags if flag != "-mfpu=auto")]

    @property
    def headers(self) -> list[str]:
        """Flags by which a compiler without a C library finds `string.h`."""
        return [] if self.here else ["-isystem", str(resources.firmware() / "ports" / "runtime" / "include")]


def compile_model(module: Module, build: Build, folder: Path, flags: Sequence[str] = ()) -> list[Path]:
    """Saves a model's bundle below a folder and compiles it; returns the objects.

    Raises:
        subprocess.CalledProcessError: The compiler refuses it.
    """
    bundle = module.save(folder / module.name)
    objects = []
    for source in module.manifest.sources:
        objects.append(folder / f"{module.name}_{Path(source).stem}.o")
        include = [f"-I{bundle / 'include'}"]
        _run([*build.command, *build.headers, *build.level, *flags, *include, "-c", bundle / source, "-o", objects[-1]])
    return objects


def run(
    cases: Sequence[tuple[Module, np.ndarray]], build: Build, folder: Path, flags: Sequence[str] = ()
) -> list[bytes]:
    """Builds models of different names, runs each on its only input, and returns the bytes of its outputs."""
    objects = [o for module, _ in cases for o in compile_model(module, build, folder, flags)]
    (folder / "cases.c").write_text(_cases(cases))
    program = _link(objects, [module.name for module, _ in cases], build, folder, _arena([m for m, _ in cases]))
    said = _run([program] if build.here else _qemu(build, program), timeout=120)
    return [bytes.fromhex(line) for line in said.splitlines()]


def _run(command: Sequence[str | Path], timeout: float = 600) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stderr or done.stdout}"
    return done.stdout


def _arena(modules: Sequence[Module]) -> int:
    return max(module.manifest.ram_bytes for module in modules)


def _cases(cases: Sequence[tuple[Module, np.ndarray]]) -> str:
    lines = ['#include "cases.h"', *(f'#include "{module.name}.h"' for module, _ in cases)]
    for module, x in cases:
        values = ",".join(map(str, np.ascontiguousarray(x).view(np.uint8).ravel()))
        lines.append(f"static const uint8_t {module.name}_x[] __attribute__((aligned(8))) = {{{values}}};")
    entries = ",".join(f"{{&{module.name}_model, {module.name}_x}}" for module, _ in cases)
    lines += [f"const case_t cases[] = {{{entries}}};", f"const uint32_t case_count = {len(cases)};"]
    return "\n".join(lines) + "\n"


def _link(objects: Sequence[Path], names: Sequence[str], build: Build, folder: Path, arena: int) -> Path:
    """Links a program. All but the models is built by gcc, and so is the image where the linker generates no code."""
    own = build if build.lto or build.here or build.compiler == "zig" else Build(build.core, "gcc", ("-O1",))
    include = [f"-I{folder / name / 'include'}" for name in names]
    sources = [_BARE / "main.c", folder / "cases.c", _BARE / ("hosted.c" if build.here else "semihosted.c")]
    program = folder / "program.elf"
    if build.here:
        _run([*own.command, *own.level, f"-DARENA_BYTES={arena}", *include, f"-I{_BARE}", *sources, *objects,
              *(["-fuse-ld=lld"] if own.lto and own.compiler == "clang" else []), "-o", program])  # fmt: skip
        return program
    script, gcc = folder / "program.ld", Build(build.core, "gcc", ("-O1",))
    script.write_text(_LINKER.format(**_memory(build)))
    runtime = resources.firmware() / "ports" / "runtime"
    library = _run([*gcc.command, "-print-libgcc-file-name"]).strip()
    # The functions that compilers call must not become calls of themselves; they stay out of the linker's optimiser.
    for source in (runtime / "memory.c", runtime / "aeabi.c", _BARE / "semihosted.c", _BARE / "added.c"):
        plain = ["-fno-tree-loop-distribute-patterns", "-ffreestanding"]
        objects = [*objects, folder / f"{source.stem}.o"]
        _run([*gcc.command, *gcc.headers, *gcc.level, *plain, *include, f"-I{_BARE}", "-c", source, "-o", objects[-1]])
    for source in sources[:2]:
        objects = [*objects, folder / f"{source.stem}.o"]
        given = [f"-DARENA_BYTES={arena}", *include, f"-I{_BARE}"]
        _run([*own.command, *own.headers, *own.level, *given, "-c", source, "-o", objects[-1]])
    if own.compiler == "clang":
        # clang itself hands no code of its own form to a linker for bare metal.
        _run(["ld.lld", "-T", script, "-e", "_start", *objects, library, "-o", program])
    else:
        # zig brings what its code calls, and gcc's specs their own linker script.
        ends = [f"-Wl,-T,{script}", "-Wl,-e,_start", *([] if own.compiler == "zig" else ["-nostdlib", library])]
        command = [word for word in own.command if not word.startswith("--specs")]
        _run([*command, *own.level, *objects, *ends, "-o", program])
    return program


def _memory(build: Build) -> dict[str, int]:
    memory = boards.load(_board(build.core)).memory
    vectors, data = next(m for m in memory if m.load), next(m for m in memory if m.data)
    # Without optimisation there is more code than tightly coupled memory.
    code = max((m for m in memory if m is not data and m.kind != "external"), key=lambda m: m.size_bytes)
    behind = 4096 if code is vectors else 0
    return {"vectors": vectors.address, "code": code.address + behind, "data": data.address, "size": data.size_bytes}


def _board(core: str) -> str:
    cpu = cpus.find(core)
    return _RISCV_BOARD if cpu.is_riscv else _BOARDS[cpu.base]


def _qemu(build: Build, program: Path) -> list[str | Path]:
    emulator = boards.load(_board(build.core)).emulator.qemu
    assert emulator is not None
    quiet = ["-display", "none", "-monitor", "none", "-serial", "null"]
    asked = ["-chardev", "stdio,id=said", "-semihosting-config", "enable=on,target=native,chardev=said"]
    found = programs.require(emulator.program, "apt install qemu-system-arm qemu-system-misc")
    return [found, "-machine", emulator.machine, *emulator.arguments, *quiet, *asked, "-kernel", program]
