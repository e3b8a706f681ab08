"""The table of the CPU cores that aboard knows: the features of each core and the compiler flags that select it.

`aboard.boards.cpu` finds a core by its name, also the cores of packages (`aboard.boards.core_packages`).

Cores have the names that gcc uses. If a unit of the core is optional, the name takes gcc's modifiers:
`cortex-m4+nofp`, `cortex-m33+nodsp+nofp`, `cortex-m7+nofp.dp`, `cortex-m55+nomve`.

One rule for floating point: if the core has an FPU, the code uses the FPU and passes floats in its registers
(hard-float ABI). If the core has no FPU, the ABI is soft-float. No other ABI is used, so that all objects of an image
agree.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from aboard.errors import TargetError

Tool = Literal["gcc", "clang", "zig"]

#: Features that each modifier removes.
_MODIFIERS: Mapping[str, frozenset[str]] = {
    "nodsp": frozenset({"dsp"}),
    # Helium (MVE) needs the floating-point registers, which the soft-float ABI does not use.
    "nofp": frozenset({"fpu", "fpu64", "mve", "mve_float"}),
    "nofp.dp": frozenset({"fpu64"}),
    "nomve": frozenset({"mve", "mve_float"}),
    "nomve.fp": frozenset({"mve_float"}),
}

#: Name of the core that stands for every core that the table lacks.
GENERIC = "generic"


#: Instruction sets of host-class cores, by the name that platform.machine() returns.
_MACHINES: Mapping[str, str] = {"x86_64": "x86-64", "amd64": "x86-64", "aarch64": "aarch64", "arm64": "aarch64"}


@dataclass(frozen=True)
class MacInstruction:
    """The instruction of a core with the most multiply-accumulates per instruction.

    Attributes:
        name: Name of the instruction, or of two instructions that together multiply and accumulate.
        macs: Multiply-accumulates per instruction; 0.5 if two instructions are needed.
    """

    name: str
    macs: float


@dataclass(frozen=True)
class Cpu:
    """A core with its optional units.

    Attributes:
        name: Name with its modifiers: `cortex-m4`, `cortex-m33+nodsp`, `rv32imc`, `x86-64`.
        arch: Instruction set: `armv6-m`, `armv7-m`, `armv7e-m`, `armv8-m.base`, `armv8-m.main`, `armv8.1-m.main`,
            `rv32`, `x86-64`, `aarch64`; `c99` for `generic`.
        features: Features: `thumb2`, `div` (integer division), `mul64` (32 x 32 to 64 bits), `dsp` (SXTB16,
            SMLAD), `fpu` (float32), `fpu64` (float64), `mve` and `mve_float` (Helium), `unaligned` (load and store of
            words at any address), `atomics`, `compressed`, `zbb` (RISC-V: minimum, maximum, sign extension, leading
            zeros), `vectors` (RISC-V Zve32x with 128 bits or more), `simd` (vectors of a host-class core).
        fpu: gcc's name of the FPU; `none` if the core has no FPU.
        is_host_class: True for cores that run an operating system with processes.
        modifiers: Modifiers for the units that are left out, sorted.
        endianness: Byte order of data; `any` for `generic`.
        pointer_bytes: Bytes of an address; None for `generic`.
        like: The core that it is compiled and priced as, with modifiers; empty if that is the core itself.
        keys: Implementation keys besides those that follow from the features.
        added_flags: Flags of each compiler after those that follow from the other attributes.
    """

    name: str
    arch: str
    features: frozenset[str]
    fpu: str = "none"
    is_host_class: bool = False
    modifiers: tuple[str, ...] = ()
    endianness: Literal["little", "any"] = "little"
    pointer_bytes: int | None = 4
    #: Modifiers that may be used with this core.
    optional: tuple[str, ...] = field(default=(), repr=False)
    like: str = ""
    keys: frozenset[str] = frozenset()
    added_flags: Mapping[Tool, tuple[str, ...]] = field(default_factory=dict, hash=False)

    @property
    def base(self) -> str:
        """Name without modifiers."""
        return self.name.partition("+")[0]

    @property
    def compiler_name(self) -> str:
        """Name by which compilers know the core, with its modifiers."""
        return "+".join((self.like or self.base, *self.modifiers))

    @property
    def known_base(self) -> str:
        """Name without modifiers of the core in the table: the core itself, or the one that it is like."""
        return self.compiler_name.partition("+")[0]

    @property
    def float_abi(self) -> Literal["soft", "hard"]:
        """`hard` if the core has an FPU, else `soft`."""
        return "hard" if "fpu" in self.features else "soft"

    @property
    def is_arm_m(self) -> bool:
        """True for Cortex-M cores."""
        return self.arch.endswith(("-m", "-m.base", "-m.main"))

    @property
    def is_riscv(self) -> bool:
        """True for RISC-V cores."""
        return self.arch.startswith("rv")

    @property
    def is_generic(self) -> bool:
        """True for `generic`, which is no core of its own: any core with a C99 compiler."""
        return self.known_base == GENERIC

    @property
    def has_host_compiler(self) -> bool:
        """True if the code is compiled as programs of a machine of host class are: for such cores and for `generic`."""
        return self.is_host_class or self.is_generic

    @property
    def cross_compiler(self) -> str:
        """Command of the gcc cross compiler for this core; `cc`, the compiler of this machine, for `generic`."""
        if self.is_generic:
            return "cc"
        if self.is_arm_m:
            return "arm-none-eabi-gcc"
        if self.is_riscv:
            return "riscv64-unknown-elf-gcc"
        return {"x86-64": "x86_64-linux-gnu-gcc", "aarch64": "aarch64-linux-gnu-gcc"}[self.arch]

    @property
    def runs_here(self) -> bool:
        """True if this machine can execute code for the core: both have the same instruction set, or it has none."""
        return self.is_generic or (self.is_host_class and self.arch == host_arch())

    def mac_instruction(self, element: str) -> MacInstruction | None:
        """Returns the instruction that gives a lower bound on the core's instructions for multiply-accumulates.

        Args:
            element: The numpy name of the element type of the activations.

        Returns:
            The instruction; None for floats on a core without an FPU, and for host-class cores and `generic`, whose
            instructions are not counted.
        """
        if self.has_host_compiler:
            return None
        rows = _MAC_INSTRUCTIONS.get(element, ())
        return next((found for feature, found in rows if feature is None or feature in self.features), None)

    def flags(self, tool: Tool) -> tuple[str, ...]:
        """Returns the flags that select this core in the compiler and in the linker.

        Args:
            tool: `gcc`, `clang` (host-class cores only) or `zig` (the arguments after `zig cc`).

        Returns:
            The flags; none for `generic`, whose compiler the user selects.
        """
        return (*self._selecting(tool), *self.added_flags.get(tool, ()))

    def _selecting(self, tool: Tool) -> tuple[str, ...]:
        if self.is_generic:
            return ()
        if tool == "zig":
            return _zig_flags(self)
        if self.is_arm_m:
            fpu = () if self.float_abi == "soft" else (f"-mfpu={self.fpu}",)
            # firmware/include/aboard/config.h gives the reason. That file covers models; this flag covers all other
            # code.
            counted = ("-fno-branch-count-reg",) if self.arch == "armv8.1-m.main" else ()
            return (f"-mcpu={self.compiler_name}", "-mthumb", f"-mfloat-abi={self.float_abi}", *fpu, *counted)
        if self.is_riscv:
            # gcc 12 accepts csrr only with _zicsr, which selects a multilib that Debian does not build. ISA 2.2
            # includes csrr.
            abi = "ilp32f" if self.float_abi == "hard" else "ilp32"
            return (f"-march={self.compiler_name}", f"-mabi={abi}", "-misa-spec=2.2")
        return (f"-march={self.compiler_name}",) if self.arch == "x86-64" else (f"-mcpu={self.compiler_name}",)

    def with_fpu(self, fpu: str) -> Cpu | None:
        """Returns the core with another FPU (a name as in `fpu`); None if the core is not made with that FPU."""
        if fpu == self.fpu:
            return self
        variants = (modified(self, (*self.modifiers, m), self.name) for m in self.optional if m.startswith("nofp"))
        return next((v for v in variants if v.fpu == fpu), None)


def _zig_flags(cpu: Cpu) -> tuple[str, ...]:
    """Returns flags of `zig cc` that turn off its defaults: traps on undefined behaviour, and frame pointers."""
    if cpu.is_arm_m:
        suffix = "hf" if cpu.float_abi == "hard" else ""
        select = f"-target thumb-freestanding-eabi{suffix} -mcpu={_zig_arm(cpu)}"
    elif cpu.is_riscv:
        letters = "".join(f"+{letter}" for letter in cpu.compiler_name.removeprefix("rv32i"))
        abi = " -mabi=ilp32f" if cpu.float_abi == "hard" else ""
        select = f"-target riscv32-freestanding-none -mcpu=generic_rv32{letters}{abi}"
    else:
        machine = {"x86-64": "x86_64", "aarch64": "aarch64"}[cpu.arch]
        select = f"-target {machine}-linux-gnu -mcpu={cpu.compiler_name.replace('-', '_')}"
    return (*select.split(), "-fno-sanitize=undefined", "-fomit-frame-pointer")


def _zig_arm(cpu: Cpu) -> str:
    """Returns zig's name of a Cortex-M core, with its optional units. zig's plain names exclude optional units."""
    units = []
    if cpu.arch.startswith("armv8-m") and "dsp" in cpu.features:
        units.append("dsp")
    if "mve" in cpu.features:
        units.append("mve_fp" if "mve_float" in cpu.features else "mve")
    if "fpu" in cpu.features:
        units.append(_ZIG_FPUS[cpu.fpu])
    return "+".join((cpu.known_base.replace("-", "_"), *units))


#: zig's names of FPUs, by gcc's names.
_ZIG_FPUS: Mapping[str, str] = {
    "fpv4-sp-d16": "vfp4d16sp",
    "fpv5-sp-d16": "fp_armv8d16sp",
    "fpv5-d16": "fp_armv8d16",
    "auto": "fp_armv8d16",
}


#: By the type of the activations, best first: the feature that a core needs (None: every core qualifies) and the
#: instruction. An MLA by a word of two pixels has two products of int8. An entry names two instructions if no
#: single one multiplies and accumulates.
_MAC_INSTRUCTIONS: Mapping[str, tuple[tuple[str | None, MacInstruction], ...]] = {
    "int8": (
        ("mve", MacInstruction("VMLADAVA.S8", 16)),
        ("vectors", MacInstruction("VWMACC.VX", 16)),
        ("dsp", MacInstruction("SMLAD", 2)),
        ("thumb2", MacInstruction("MLA", 2)),
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
_ARM_M33 = _ARM_M3 | {"dsp", "fpu"}
_ARM_M55 = _ARM_M33 | {"fpu64", "mve", "mve_float"}
#: Units that cores of Armv8-M may lack. In gcc, Helium implies DSP, so the modifier nodsp is not offered with it.
_LACK_M33, _LACK_M55 = ("nodsp", "nofp"), ("nofp", "nomve", "nomve.fp")
_HOST = frozenset({"div", "mul64", "unaligned", "atomics", "fpu", "fpu64", "simd"})

#: The cores without modifiers, by name.
CORES: Mapping[str, Cpu] = {
    cpu.name: cpu
    for cpu in (
        Cpu("cortex-m0", "armv6-m", frozenset()),
        Cpu("cortex-m0plus", "armv6-m", frozenset()),
        Cpu("cortex-m3", "armv7-m", _ARM_M3),
        Cpu("cortex-m4", "armv7e-m", _ARM_M3 | {"dsp", "fpu"}, fpu="fpv4-sp-d16", optional=("nofp",)),
        Cpu("cortex-m7", "armv7e-m", _ARM_M3 | {"dsp", "fpu", "fpu64"}, fpu="fpv5-d16", optional=("nofp", "nofp.dp")),
        Cpu("cortex-m23", "armv8-m.base", frozenset({"div"})),
        # Compilers know the cores that are like another late or not at all.
        Cpu("cortex-m33", "armv8-m.main", _ARM_M33, fpu="fpv5-sp-d16", optional=_LACK_M33),
        Cpu("cortex-m35p", "armv8-m.main", _ARM_M33, fpu="fpv5-sp-d16", optional=_LACK_M33, like="cortex-m33"),
        Cpu("cortex-m55", "armv8.1-m.main", _ARM_M55, fpu="auto", optional=_LACK_M55),
        Cpu("cortex-m52", "armv8.1-m.main", _ARM_M55, fpu="auto", optional=_LACK_M55, like="cortex-m55"),
        Cpu("cortex-m85", "armv8.1-m.main", _ARM_M55, fpu="auto", optional=_LACK_M55, like="cortex-m55"),
        Cpu("rv32imc", "rv32", _RV_IMC),
        Cpu("rv32imac", "rv32", _RV_IMC | {"atomics"}),
        # Compilers choose the instructions of Zbb; what kernels cost differs so little that rv32imac's figures serve.
        Cpu(
            "rv32imac_zbb",
            "rv32",
            _RV_IMC | {"atomics", "zbb"},
            like="rv32imac",
            added_flags={"gcc": ("-march=rv32imac_zbb",), "zig": ("-mcpu=generic_rv32+m+a+c+zbb",)},
        ),
        # Kernels contain the vector instructions as assembly, so that compilers without vectors are enough.
        Cpu(
            "rv32imac_zve32x_zvl128b",
            "rv32",
            _RV_IMC | {"atomics", "vectors"},
            like="rv32imac",
            added_flags={"gcc": ("-DABOARD_VECTORS=1",), "zig": ("-DABOARD_VECTORS=1",)},
        ),
        Cpu("rv32imafc", "rv32", _RV_IMC | {"atomics", "fpu"}, fpu="f"),
        # Any other core, by C99 alone; firmware/include/aboard/config.h checks the assumptions that are left.
        Cpu(GENERIC, "c99", frozenset(), endianness="any", pointer_bytes=None),
        Cpu("x86-64", "x86-64", _HOST, fpu="sse2", is_host_class=True, pointer_bytes=8),
        Cpu("cortex-a53", "aarch64", _HOST, fpu="neon", is_host_class=True, pointer_bytes=8),
        Cpu("cortex-a72", "aarch64", _HOST, fpu="neon", is_host_class=True, pointer_bytes=8),
    )
}


def host_arch() -> str | None:
    """Returns the instruction set of this machine; None for one that no core in the table has."""
    return _MACHINES.get(platform.machine().lower())


def modified(cpu: Cpu, modifiers: Sequence[str], name: str) -> Cpu:
    """Returns a core without some of its units.

    Args:
        cpu: The core.
        modifiers: gcc's modifiers for missing units, in any order, with those that the core has already.
        name: The core as the user wrote it, for messages.

    Raises:
        TargetError: A modifier is not one of the core.
    """
    for modifier in modifiers:
        if modifier not in cpu.optional:
            allowed = ", ".join(cpu.optional) or "none"
            raise TargetError(
                f"core {name}: unknown modifier of {cpu.base}, got +{modifier}, expected one of: {allowed}. "
                f"Write the core as gcc's -mcpu does"
            )
    return _without(cpu, tuple(sorted(m for m in set(modifiers) if not _is_implied(m, modifiers))))


def removes(modifier: str) -> frozenset[str]:
    """Returns the features that a modifier removes."""
    return _MODIFIERS[modifier]


def _is_implied(modifier: str, modifiers: Sequence[str]) -> bool:
    """True if the other modifiers remove all features that `modifier` removes, so that each core has one name."""
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
