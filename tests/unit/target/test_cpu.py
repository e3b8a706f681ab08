"""The CPU table: names, units left out, and flags that the compilers read as the table means them."""

from __future__ import annotations

import itertools
import subprocess
from pathlib import Path

import pytest

from aboard.base import resources
from aboard.boards import cpu
from aboard.errors import TargetError
from aboard.project import toolchain
from aboard.target import Cpu, Target

BARE_METAL = [name for name in cpu.names() if not cpu.find(name).has_host_compiler]


def variants() -> list[str]:
    """Returns every core of bare metal with every combination of its modifiers that is a core of its own."""
    found = {}
    for name in BARE_METAL:
        optional = cpu.find(name).optional
        for count in range(len(optional) + 1):
            for modifiers in itertools.combinations(optional, count):
                core = cpu.find("+".join((name, *modifiers)))
                found[core.name] = core
    return sorted(found)


def macros(core: Cpu, compiler: str) -> dict[str, str]:
    """Returns the macros that a compiler predefines for a core."""
    chosen = toolchain.choose(core, compiler)
    command = [*chosen.command, *chosen.flags, "-dM", "-E", "-xc", "/dev/null"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(([*line.split(maxsplit=2), ""])[1:3] for line in done.stdout.splitlines())


def test_the_table_has_the_cores_of_the_documentation() -> None:
    assert cpu.names() == [
        "cortex-a53",
        "cortex-a72",
        "cortex-m0",
        "cortex-m0plus",
        "cortex-m23",
        "cortex-m3",
        "cortex-m33",
        "cortex-m35p",
        "cortex-m4",
        "cortex-m52",
        "cortex-m55",
        "cortex-m7",
        "cortex-m85",
        "generic",
        "rv32imac",
        "rv32imac_zbb",
        "rv32imac_zve32x_zvl128b",
        "rv32imafc",
        "rv32imc",
        "x86-64",
    ]


@pytest.mark.parametrize("compiler", ["gcc", "zig"])
@pytest.mark.parametrize("name", [name for name in variants() if cpu.find(name).is_arm_m])
def test_compilers_for_arm_see_the_units_of_the_table(name: str, compiler: str) -> None:
    core = cpu.find(name)
    seen = macros(core, core.cross_compiler if compiler == "gcc" else "zig")
    floats = int(seen.get("__ARM_FP", "0"), base=0)
    helium = int(seen.get("__ARM_FEATURE_MVE", "0"))
    units = {
        "dsp": "__ARM_FEATURE_DSP" in seen,
        "div": "__ARM_FEATURE_IDIV" in seen,
        "unaligned": "__ARM_FEATURE_UNALIGNED" in seen,
        "fpu": bool(floats & 4),
        "fpu64": bool(floats & 8),
        "mve": bool(helium & 1),
        "mve_float": bool(helium & 2),
    }
    assert units == {unit: unit in core.features for unit in units}
    assert ("__ARM_PCS_VFP" in seen) == (core.float_abi == "hard")


@pytest.mark.parametrize("compiler", ["riscv64-unknown-elf-gcc", "zig"])
@pytest.mark.parametrize("name", [name for name in variants() if cpu.find(name).is_riscv])
def test_compilers_for_riscv_see_the_units_of_the_table(name: str, compiler: str) -> None:
    core = cpu.find(name)
    seen = macros(core, compiler)
    units = {"atomics": "__riscv_atomic" in seen, "compressed": "__riscv_compressed" in seen}
    units |= {"zbb": "__riscv_zbb" in seen, "div": "__riscv_div" in seen, "fpu": seen.get("__riscv_flen") == "32"}
    assert units == {unit: unit in core.features for unit in units}
    assert ("__riscv_float_abi_single" in seen) == (core.float_abi == "hard")


def test_modifiers_take_units_away() -> None:
    core = cpu.find("cortex-m33+nofp+nodsp")
    assert (core.name, core.base, core.modifiers) == ("cortex-m33+nodsp+nofp", "cortex-m33", ("nodsp", "nofp"))
    assert core.features == cpu.find("cortex-m33").features - {"dsp", "fpu"}
    assert (core.fpu, core.float_abi) == ("none", "soft")
    assert cpu.find("cortex-m7+nofp.dp").fpu == "fpv5-sp-d16"


def test_one_core_has_one_name() -> None:
    assert cpu.find("Cortex-M55+nomve+nofp") == cpu.find("cortex-m55+nofp")
    assert cpu.find("cortex-m7+nofp+nofp.dp").name == "cortex-m7+nofp"


def test_flags_are_spelled_as_each_compiler_wants_them() -> None:
    m4 = cpu.find("cortex-m4")
    assert m4.flags("gcc") == ("-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16")
    assert m4.flags("zig")[:3] == ("-target", "thumb-freestanding-eabihf", "-mcpu=cortex_m4+vfp4d16sp")
    assert cpu.find("cortex-m0").flags("gcc") == ("-mcpu=cortex-m0", "-mthumb", "-mfloat-abi=soft")
    assert cpu.find("rv32imac").flags("gcc") == ("-march=rv32imac", "-mabi=ilp32", "-misa-spec=2.2")
    assert cpu.find("rv32imac_zbb").flags("gcc")[-1] == "-march=rv32imac_zbb"
    assert cpu.find("cortex-a53").flags("gcc") == ("-mcpu=cortex-a53",)
    assert cpu.find("x86-64").flags("clang") == ("-march=x86-64",)


def test_loops_of_armv8_1_m_keep_the_flags_behind_them(tmp_path: Path) -> None:
    # Either alone keeps gcc from counting loops: the flag, or the pragma that models carry into other builds.
    loop = "int f(volatile int *p, int n) { for (; n > 1; n -= 2) { *p = 3; } if (n > 0) { *p = 5; } return 0; }"
    flags = ["-mcpu=cortex-m55", "-mthumb", "-mfloat-abi=hard", "-Os", "-I", str(resources.firmware() / "include")]

    def assembly(text: str, *more: str) -> str:
        (tmp_path / "f.c").write_text(text + loop)
        command = ["arm-none-eabi-gcc", *flags, *more, "-S", "-o-", str(tmp_path / "f.c")]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    counted = "-fno-branch-count-reg"
    assert counted in cpu.find("cortex-m55").flags("gcc")
    assert counted not in cpu.find("cortex-m33").flags("gcc")
    assert assembly('#include "aboard/config.h"\n') == assembly("", counted)
    assert assembly("") != assembly("", counted), "no longer wanted with this compiler"


def test_cross_compilers() -> None:
    named = {name: cpu.find(name).cross_compiler for name in ("cortex-m0", "rv32imc", "cortex-a72", "x86-64")}
    assert named == {
        "cortex-m0": "arm-none-eabi-gcc",
        "rv32imc": "riscv64-unknown-elf-gcc",
        "cortex-a72": "aarch64-linux-gnu-gcc",
        "x86-64": "x86_64-linux-gnu-gcc",
    }


@pytest.mark.parametrize(
    ("machine", "core", "foreign"),
    [("x86_64", "x86-64", "cortex-a72"), ("AMD64", "x86-64", "cortex-a53"), ("aarch64", "cortex-a53", "x86-64")],
)
def test_the_core_of_this_machine(monkeypatch: pytest.MonkeyPatch, machine: str, core: str, foreign: str) -> None:
    monkeypatch.setattr("platform.machine", lambda: machine)
    assert cpu.host().name == core
    assert cpu.host().runs_here
    assert not cpu.find(foreign).runs_here
    assert not cpu.find("cortex-m4").runs_here


@pytest.mark.parametrize(
    ("core", "element", "name", "macs"),
    [
        ("cortex-m55", "int8", "VMLADAVA.S8", 16),
        ("cortex-m55", "int16", "VMLADAVA.S16", 8),
        ("cortex-m55", "float32", "VFMA.F32", 4),
        ("cortex-m55+nomve", "int8", "SMLAD", 2),
        ("cortex-m4", "int8", "SMLAD", 2),
        ("cortex-m4", "float32", "VFMA.F32 or FMADD.S", 1),
        ("cortex-m33+nodsp", "int8", "MLA", 2),
        ("cortex-m3", "int8", "MLA", 2),
        ("cortex-m3", "int16", "MLA", 1),
        ("cortex-m0", "int8", "MUL, ADD", 0.5),
        ("rv32imc", "int8", "MUL, ADD", 0.5),
        ("rv32imafc", "float32", "VFMA.F32 or FMADD.S", 1),
    ],
)
def test_the_best_multiply_accumulate_follows_the_features(core: str, element: str, name: str, macs: float) -> None:
    assert cpu.find(core).mac_instruction(element) == cpu.MacInstruction(name, macs)


@pytest.mark.parametrize(("core", "element"), [("cortex-m3", "float32"), ("x86-64", "int8"), ("cortex-m4", "int32")])
def test_where_multiply_accumulates_have_no_bound(core: str, element: str) -> None:
    assert cpu.find(core).mac_instruction(element) is None


def test_a_machine_without_a_known_core_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "s390x")
    with pytest.raises(TargetError, match=r"this machine is not supported, got s390x, expected x86_64 or aarch64"):
        cpu.host()


def test_unknown_core_names_the_nearest() -> None:
    with pytest.raises(TargetError, match=r"core cortx-m7: unknown\. .* Did you mean cortex-m7"):
        cpu.find("cortx-m7")
    with pytest.raises(
        TargetError, match=r"core xtensa: unknown\. Use -mcpu=generic, portable C99, for a core that is"
    ):
        cpu.find("xtensa")


def test_generic_is_no_core_of_its_own() -> None:
    generic = cpu.find("generic")
    assert (generic.is_generic, generic.is_host_class, generic.features) == (True, False, frozenset())
    assert (generic.endianness, generic.pointer_bytes) == ("any", None)
    assert generic.runs_here
    assert (generic.flags("gcc"), generic.flags("zig"), generic.cross_compiler) == ((), (), "cc")
    assert generic.mac_instruction("int8") is None
    target = Target("c -mcpu=generic")
    assert (target.runtime, target.keys) == ("standalone", frozenset({"portable"}))
    assert Target("c -mcpu=generic -runtime=host").runtime == "host"
    with pytest.raises(TargetError, match=r"-flash-max needs a core whose code sizes were measured, .* name the core$"):
        Target("c -mcpu=generic -flash-max=64K")


def test_unknown_modifier_names_those_there_are() -> None:
    with pytest.raises(TargetError, match=r"unknown modifier of cortex-m33, got \+nomve, .* one of: nodsp, nofp\."):
        cpu.find("cortex-m33+nomve")
    with pytest.raises(TargetError, match=r"got \+nofp, expected one of: none\. Write the core as gcc's -mcpu does"):
        cpu.find("cortex-m3+nofp")


def test_with_fpu_finds_the_variant() -> None:
    m7 = cpu.find("cortex-m7")
    assert m7.with_fpu("fpv5-d16") == m7
    assert m7.with_fpu("fpv5-sp-d16") == cpu.find("cortex-m7+nofp.dp")
    assert m7.with_fpu("none") == cpu.find("cortex-m7+nofp")
    assert m7.with_fpu("fpv4-sp-d16") is None
