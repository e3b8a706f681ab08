"""The table of CPU cores: what each can do and which compiler flags say so.

Cores are named as gcc names them. A core that chips are sold with and without a unit takes gcc's modifiers:
`cortex-m4+nofp`, `cortex-m33+nodsp+nofp`, `cortex-m7+nofp.dp`, `cortex-m55+nomve`.

One rule for floating point: where the core has an FPU, code uses it and passes floats in its registers (hard-float
ABI); where it has none, the ABI is soft. There is no third way, so that all objects of an image agree.
"""

from __future__ import annotations

import functools
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from aboard.errors import TargetError, did_you_mean

Tool = Literal["gcc", "clang", "zig"]

#: What a modifier takes away, by the name of the feature.
_MODIFIERS: Mapping[str, frozenset[str]] = {
    "nodsp": frozenset({"dsp"}),
    # Helium needs the floating-point registers, which a soft-float ABI does not use.
    "nofp": frozenset({"fpu", "fpu64", "mve", "mve_float"}),
    "nofp.dp": frozenset({"fpu64"}),
    "nomve": frozenset({"mve", "mve_float"}),
    "nomve.fp": frozenset({"mve_float"}),
}

#: How platform.machine() spells the instruction sets that host-class cores have.
_MACHINES: Mapping[str, str] = {"x86_64": "x86-64", "amd64": "x86-64", "aarch64": "aarch64", "arm64": "aarch64"}


@dataclass(frozen=True)
class MacInstruction:
    """What multiplies and adds most at once of all that a core can do.

    Attributes:
        name: The instruction, or two where one cannot do it.
        macs: Multiply-accumulates of one instruction; a half where it takes two.
    """

    name: str
    macs: float


@dataclass(frozen=True)
class Cpu:
    """A core, with the units it was made with.

    Attributes:
        name: Name with its modifiers: `cortex-m4`, `cortex-m33+nodsp`, `rv32imc`, `x86-64`.
        arch: Instruction set: `armv6-m`, `armv7-m`, `armv7e-m`, `armv8-m.main`, `armv8.1-m.main`, `rv32`, `x86-64`,
            `aarch64`.
        features: What it can do: `thumb2`, `div` (integer division), `mul64` (32 x 32 to 64 bits), `dsp` (SXTB16,
            SMLAD), `fpu` (float32), `fpu64` (float64), `mve` and `mve_float` (Helium), `unaligned` (load and store of
            words at any address), `atomics`, `compressed`, `simd` (vectors of a host-class core).
        fpu: gcc's name of the FPU; `none` where there is none.
        is_host_class: True for cores that run an operating system with processes.
        modifiers: Units left out, sorted.
        endianness: Byte order of data.
        pointer_bytes: Bytes of an address.
    """

    name: str
    arch: str
    features: frozenset[str]
    fpu: str = "none"
    is_host_class: bool = False
    modifiers: tuple[str, ...] = ()
    endianness: Literal["little"] = "little"
    pointer_bytes: int = 4
    #: Modifiers that may be used with this core.
    optional: tuple[str, ...] = field(default=(), repr=False)

    @property
    def base(self) -> str:
        """Name without modifiers."""
        return self.name.partition("+")[0]

    @property
    def float_abi(self) -> Literal["soft", "hard"]:
        """`hard` where there is an FPU, else `soft`."""
        return "hard" if "fpu" in self.features else "soft"

    @property
    def is_arm_m(self) -> bool:
        """True for Cortex-M cores."""
        return self.arch.endswith(("-m", "-m.main"))

    @property
    def is_riscv(self) -> bool:
        """True for RISC-V cores."""
        return self.arch.startswith("rv")

    @property
    def cross_compiler(self) -> str:
        """Command of gcc for this core when it is not the host's own."""
        if self.is_arm_m:
            return "arm-none-eabi-gcc"
        if self.is_riscv:
            return "riscv64-unknown-elf-gcc"
        return {"x86-64": "x86_64-linux-gnu-gcc", "aarch64": "aarch64-linux-gnu-gcc"}[self.arch]

    @property
    def runs_here(self) -> bool:
        """True when this process could execute its code: the core has the instruction set of this machine."""
        return self.is_host_class and self.arch == _host_arch()

    def mac_instruction(self, element: str) -> MacInstruction | None:
        """Returns what bounds the core's multiply-accumulates from below: all that it does beside them comes on top.

        Args:
            element: numpy's name of the activations' element type.

        Returns:
            The instruction; None where floats are computed without an FPU, and for host-class cores, whose instructions
            are not counted.
        """
        if self.is_host_class:
            return None
        rows = _MAC_INSTRUCTIONS.get(element, ())
        return next((found for feature, found in rows if feature is None or feature in self.features), None)

    def flags(self, tool: Tool) -> tuple[str, ...]:
        """Returns the compiler and linker flags that select this core.

        Args:
            tool: `gcc`, `clang` (hosts only) or `zig` (the arguments after `zig cc`).
        """
        if tool == "zig":
            return _zig_flags(self)
        if self.is_arm_m:
            fpu = () if self.float_abi == "soft" else (f"-mfpu={self.fpu}",)
            # Why: firmware/include/aboard/config.h, which serves models in any build; this is for all else.
            counted = ("-fno-branch-count-reg",) if self.arch == "armv8.1-m.main" else ()
            return (f"-mcpu={self.name}", "-mthumb", f"-mfloat-abi={self.float_abi}", *fpu, *counted)
        if self.is_riscv:
            # gcc 12 wants csrr behind _zicsr, which selects a multilib Debian does not build; ISA 2.2 has it inside.
            abi = "ilp32f" if self.float_abi == "hard" else "ilp32"
            return (f"-march={self.name}", f"-mabi={abi}", "-misa-spec=2.2")
        return (f"-march={self.name}",) if self.arch == "x86-64" else (f"-mcpu={self.name}",)

    def with_fpu(self, fpu: str) -> Cpu | None:
        """Returns the core with another FPU (a name as in `fpu`), or None when it is not made with that one."""
        if fpu == self.fpu:
            return self
        variants = (find("+".join((self.name, m))) for m in self.optional if m.startswith("nofp"))
        return next((v for v in variants if v.fpu == fpu), None)


def _zig_flags(cpu: Cpu) -> tuple[str, ...]:
    """Flags of `zig cc`, which by default traps on undefined behaviour and keeps frame pointers."""
    if cpu.is_arm_m:
        suffix = "hf" if cpu.float_abi == "hard" else ""
        select = f"-target thumb-freestanding-eabi{suffix} -mcpu={_zig_arm(cpu)}"
    elif cpu.is_riscv:
        letters = "".join(f"+{letter}" for letter in cpu.name.removeprefix("rv32i"))
        abi = " -mabi=ilp32f" if cpu.float_abi == "hard" else ""
        select = f"-target riscv32-freestanding-none -mcpu=generic_rv32{letters}{abi}"
    else:
        machine = {"x86-64": "x86_64", "aarch64": "aarch64"}[cpu.arch]
        select = f"-target {machine}-linux-gnu -mcpu={cpu.name.replace('-', '_')}"
    return (*select.split(), "-fno-sanitize=undefined", "-fomit-frame-pointer")


def _zig_arm(cpu: Cpu) -> str:
    """Name that zig has for a Cortex-M core. Its cores come without their optional units, which have to be added."""
    units = []
    if cpu.arch.startswith("armv8-m") and "dsp" in cpu.features:
        units.append("dsp")
    if "mve" in cpu.features:
        units.append("mve_fp" if "mve_float" in cpu.features else "mve")
    if "fpu" in cpu.features:
        units.append(_ZIG_FPUS[cpu.fpu])
    return "+".join((cpu.base.replace("-", "_"), *units))


#: What zig calls the FPUs that gcc calls so.
_ZIG_FPUS: Mapping[str, str] = {
    "fpv4-sp-d16": "vfp4d16sp",
    "fpv5-sp-d16": "fp_armv8d16sp",
    "fpv5-d16": "fp_armv8d16",
    "auto": "fp_armv8d16",
}


#: By the type of the activations, the best first: a feature of the core (None: every core has it), and what it brings.
#: SMLAL has room for two sums of products of int8 in its 64 bits. Two instructions stand where one cannot multiply and
#: add.
_MAC_INSTRUCTIONS: Mapping[str, tuple[tuple[str | None, MacInstruction], ...]] = {
    "int8": (
        ("mve", MacInstruction("VMLADAVA.S8", 16)),
        ("dsp", MacInstruction("SMLAD", 2)),
        ("thumb2", MacInstruction("SMLAL", 2)),
        (None, MacInstruction("MUL, ADD", 0.5)),
    ),
    "int16": (
        ("mve", MacInstruction("VMLADAVA.S16", 8)),
        ("dsp", MacInstruction("SMLAD", 2)),
        ("thumb2", MacInstruction("MLA", 1)),
        (None, MacInstruction("MUL, ADD", 0.5)),
    ),
    "float32": (
        ("mve_float", MacInstruction("VFMA.F32", 4)),
        ("fpu", MacInstruction("VFMA.F32 or FMADD.S", 1)),
    ),
}

_ARM_M3 = frozenset({"thumb2", "div", "mul64", "unaligned", "atomics"})
_RV_IMC = frozenset({"div", "mul64", "compressed"})
_HOST = frozenset({"div", "mul64", "unaligned", "atomics", "fpu", "fpu64", "simd"})

_CORES: Mapping[str, Cpu] = {
    cpu.name: cpu
    for cpu in (
        Cpu("cortex-m0", "armv6-m", frozenset()),
        Cpu("cortex-m0plus", "armv6-m", frozenset()),
        Cpu("cortex-m3", "armv7-m", _ARM_M3),
        Cpu("cortex-m4", "armv7e-m", _ARM_M3 | {"dsp", "fpu"}, fpu="fpv4-sp-d16", optional=("nofp",)),
        Cpu("cortex-m7", "armv7e-m", _ARM_M3 | {"dsp", "fpu", "fpu64"}, fpu="fpv5-d16", optional=("nofp", "nofp.dp")),
        Cpu("cortex-m33", "armv8-m.main", _ARM_M3 | {"dsp", "fpu"}, fpu="fpv5-sp-d16", optional=("nodsp", "nofp")),
        Cpu(
            "cortex-m55",
            "armv8.1-m.main",
            _ARM_M3 | {"dsp", "fpu", "fpu64", "mve", "mve_float"},
            fpu="auto",
            # gcc ties Helium to DSP, so nodsp is not offered.
            optional=("nofp", "nomve", "nomve.fp"),
        ),
        Cpu("rv32imc", "rv32", _RV_IMC),
        Cpu("rv32imac", "rv32", _RV_IMC | {"atomics"}),
        Cpu("rv32imafc", "rv32", _RV_IMC | {"atomics", "fpu"}, fpu="f"),
        Cpu("x86-64", "x86-64", _HOST, fpu="sse2", is_host_class=True, pointer_bytes=8),
        Cpu("cortex-a53", "aarch64", _HOST, fpu="neon", is_host_class=True, pointer_bytes=8),
        Cpu("cortex-a72", "aarch64", _HOST, fpu="neon", is_host_class=True, pointer_bytes=8),
    )
}


def names() -> list[str]:
    """Returns the names of all cores, without modifiers."""
    return sorted(_CORES)


@functools.cache
def find(name: str) -> Cpu:
    """Returns a core.

    Args:
        name: As gcc names it, with modifiers in any order; or `native` for this machine's.

    Raises:
        TargetError: The core or a modifier is not known, or this machine's core is not.
    """
    if name == "native":
        return host()
    base, *modifiers = name.lower().split("+")
    if base not in _CORES:
        raise TargetError(f"core {name}: not known, got {base}. {did_you_mean(base, _CORES)}")
    cpu = _CORES[base]
    for modifier in modifiers:
        if modifier not in cpu.optional:
            allowed = ", ".join(cpu.optional) or "none"
            raise TargetError(
                f"core {name}: modifier of {base} not known, got +{modifier}, expected one of: {allowed}. "
                f"Write the core as gcc's -mcpu does"
            )
    return _without(cpu, tuple(sorted(m for m in set(modifiers) if not _is_implied(m, modifiers))))


def _is_implied(modifier: str, modifiers: list[str]) -> bool:
    """True when other modifiers take away all that this one does, so that one core has one name."""
    others = frozenset().union(*(_MODIFIERS[m] for m in modifiers if m != modifier))
    return _MODIFIERS[modifier] <= others


def _without(cpu: Cpu, modifiers: tuple[str, ...]) -> Cpu:
    if not modifiers:
        return cpu
    features = cpu.features.difference(*(_MODIFIERS[m] for m in modifiers))
    fpu = cpu.fpu
    if "fpu" not in features:
        fpu = "none"
    elif "nofp.dp" in modifiers:
        fpu = "fpv5-sp-d16"
    return replace(cpu, name="+".join((cpu.base, *modifiers)), features=features, fpu=fpu, modifiers=modifiers)


def _host_arch() -> str | None:
    return _MACHINES.get(platform.machine().lower())


def host() -> Cpu:
    """Returns the core of this machine: `x86-64`, or for aarch64 the least of the known cores.

    Raises:
        TargetError: This machine has another instruction set.
    """
    core = {"x86-64": "x86-64", "aarch64": "cortex-a53"}.get(_host_arch() or "")
    if core is None or sys.byteorder != "little":
        raise TargetError(
            f"core native: this machine is not supported, got {platform.machine()}, expected x86_64 or aarch64. "
            f"Name a core with -mcpu="
        )
    return _CORES[core]
