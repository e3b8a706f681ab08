"""Bundles build with nothing but the flags that select a core, at every level, and give the reference's bytes.

Float32 sums are near the reference's on Arm cores with an FPU: their kernels use fused products.

In CI a part of the matrix; with ABOARD_FULL=1 every core with every compiler at every level, with and without link-time
optimisation.
"""

from __future__ import annotations

import functools
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import aboard
from aboard.boards import cpu as cpus
from aboard.compiler.pipeline import Module
from support import layer_shapes, models, mve_images, mve_layers, oracle, plain_builds, zoo
from support.examples import either
from support.plain_builds import LEVELS, Build

CORES = (
    "cortex-m0", "cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m4+nofp", "cortex-m7", "cortex-m7+nofp.dp",
    "cortex-m33", "cortex-m33+nodsp+nofp", "cortex-m55", "cortex-m55+nomve", "cortex-m55+nomve.fp", "rv32imc",
    "rv32imac", "rv32imafc", "rv32imac_zbb",
)  # fmt: skip
LTO = "-flto"
#: Flags by which compilers add code to functions, which functions written in assembly have no place for.
ADDED = ("--coverage", "-fstack-protector-all", "-finstrument-functions", "-fsanitize-coverage=trace-pc")


def part() -> Iterator[Build]:
    """Yields the builds of the matrix that every run of the tests makes."""
    for core in CORES[::2]:
        yield Build(core, "gcc", ("-O2",))
    for core in ("cortex-m3", "cortex-m33", "cortex-m55", "rv32imac"):
        yield Build(core, "gcc", ("-O0",))
    yield Build("cortex-m55", "gcc", ("-O3",))
    yield Build("cortex-m55", "gcc", ("-O2", "-fno-omit-frame-pointer"))
    for core in ("cortex-m0", "cortex-m3", "cortex-m4", "cortex-m55", "rv32imac"):
        yield Build(core, "gcc", ("-O2", *ADDED))
    for core, compiler in (("cortex-m4", "gcc"), ("cortex-m55", "clang"), ("rv32imac", "gcc")):
        yield Build(core, compiler, ("-O2", LTO))
    for core, compiler, level in (
        ("cortex-m0", "zig", "-Os"),
        ("cortex-m4", "clang", "-O2"),
        ("cortex-m55", "clang", "-O0"),
        ("cortex-m55", "zig", "-Os"),
        ("rv32imac", "clang", "-O2"),
    ):
        yield Build(core, compiler, (level,))
    for compiler, options in (("gcc", ("-O0",)), ("gcc", ("-O3", LTO)), ("clang", ("-O3",)), ("zig", ("-O2",))):
        yield Build("native", compiler, options)
    yield Build("native", "tcc", ())


def whole() -> Iterator[Build]:
    """Yields all builds."""
    for core in (*CORES, "native"):
        for compiler in ("gcc", "clang", "zig"):
            for level in LEVELS:
                yield Build(core, compiler, (level,))
                yield Build(core, compiler, (level, LTO))
    yield Build("native", "tcc", ())


BUILDS = list(whole() if os.environ.get("ABOARD_FULL") else part())


@functools.cache
def cases() -> dict[str, tuple[bytes, np.ndarray, bytes]]:
    """Returns models with nearly every operator, an input of each, and the reference's outputs."""
    rng = np.random.default_rng(1)
    found = {
        "ops_s8": (zoo.many_ops(np.int8), rng.integers(-128, 128, (1, 8, 8, 4)).astype(np.int8)),
        "ops_s16": (zoo.many_ops(np.int16), rng.integers(-32768, 32768, (1, 8, 8, 4)).astype(np.int16)),
        "ops_f32": (zoo.many_ops(np.float32), rng.normal(0, 1, (1, 8, 8, 4)).astype(np.float32)),
        "shapes": (layer_shapes.sample("many_shapes"), rng.integers(-128, 128, (1, 13, 20, 8)).astype(np.int8)),
    }
    found |= {f"long{i}": (layer.model(), layer.input()) for i, layer in enumerate(mve_layers.long_sums())}
    return {
        name: (model, x, b"".join(np.ascontiguousarray(y).tobytes() for y in oracle.tflm(model, x)))
        for name, (model, x) in found.items()
    }


@functools.cache
def compiled(core: str) -> list[tuple[Module, np.ndarray]]:
    """Returns the models compiled for a core, each with its input."""
    target = "host/native" if core == "native" else f"c -mcpu={core} -runtime=standalone"
    # Long sums have code of their own with Helium alone.
    kept = [name for name in cases() if not name.startswith("long") or "mve" in cpus.find(core).features]
    return [(aboard.compile(cases()[name][0], target=target, name=name), cases()[name][1]) for name in kept]


@pytest.mark.parametrize("build", BUILDS, ids=str)
def test_results_are_the_references(build: Build, tmp_path: Path) -> None:
    got = plain_builds.run(compiled(build.core), build, tmp_path, ("-ffp-contract=off",))
    names = [module.name for module, _ in compiled(build.core)]
    fuses = {"fpu", "thumb2"} <= set(cpus.find(build.core).features) if build.core != "native" else False
    for name, y in zip(names, got, strict=True):
        if fuses and name == "ops_f32":
            check_near(y)
        else:
            assert y == cases()[name][2], name


def check_near(got: bytes) -> None:
    """Fails unless the results of `ops_f32` are those of the reference but for roundings of its sums."""
    wanted = np.frombuffer(cases()["ops_f32"][2], np.float32)
    np.testing.assert_allclose(np.frombuffer(got, np.float32), wanted, rtol=0, atol=1e-5)


def assembly_alone(bundle: Path, build: Build, flags: tuple[str, ...], names: set[str] | None) -> dict[str, list[str]]:
    """Returns the instructions of functions in a model's listing, by name; without names, of those gcc calls naked."""
    (source,) = (bundle / "src").glob("*.c")
    command = [*build.command, *build.headers, *build.level, *flags, f"-I{bundle / 'include'}"]
    listed = subprocess.run(
        [*command, "-S", source, "-o", "-"], cwd=bundle, check=True, capture_output=True, text=True
    ).stdout
    found = {}
    for name, body in re.findall(r"^(\w+):\n(.*?)^\s*\.size\s+\1,", listed, re.DOTALL | re.MULTILINE):
        if (names is None and "Naked Function" in body) or (names is not None and name in names):
            lines = (re.sub(r"[@#].*", "", line).split() for line in body.splitlines())
            found[name] = [" ".join(words) for words in lines if words and not re.match(r"\.", words[0])]
    return found


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_compilers_add_nothing_to_functions_of_assembly(compiler: str, tmp_path: Path) -> None:
    module = aboard.compile(cases()["shapes"][0], target="c -mcpu=cortex-m4 -runtime=standalone", name="shapes")
    bundle, build = module.save(tmp_path / "shapes"), Build("cortex-m4", compiler, ("-O2",))
    names = set(assembly_alone(bundle, Build("cortex-m4", "gcc", ("-O2",)), (), None))
    plain = assembly_alone(bundle, build, (), names)
    assert len(plain) == len(names) > 3
    for flag in ("-pg", "-fprofile-generate", *ADDED):
        assert assembly_alone(bundle, build, (flag,), names) == plain, flag


@pytest.mark.parametrize("core", ["cortex-m0", "cortex-m3", "cortex-m4", "cortex-m55"])
def test_a_reserved_register_is_saved(core: str, tmp_path: Path) -> None:
    # r9 may be the base of data that moves. Compilers save no register that a build reserves.
    columns = mve_images.columns()[:8] if core == "cortex-m55" else []
    modules = [aboard.compile(c.model(), target=f"c -mcpu={core}", name=f"column{i}") for i, c in enumerate(columns)]
    modules += [module for module, _ in compiled(core)]
    seen = 0
    for module in modules:
        for file in plain_builds.compile_model(module, Build(core, "gcc", ("-O2", "-ffixed-r9")), tmp_path):
            for name, lines in disassembled(file, r"\br9\b").items():
                # The first instruction with r9 saves it.
                assert re.search(r"\t(push|stmdb)\t.*r9|\tmov\tr[0-7], r9", lines[0]), (name, lines)
                seen += 1
    assert seen


def disassembled(file: Path, pattern: str) -> dict[str, list[str]]:
    """Returns for each function of an object for Arm the instructions in which a pattern is found, if there are any."""
    listing = subprocess.run(["arm-none-eabi-objdump", "-d", file], check=True, capture_output=True, text=True).stdout
    functions = re.findall(r"^[0-9a-f]+ <(.+)>:\n((?:.+\n)*)", listing, re.MULTILINE)
    found = {name: [line for line in body.splitlines() if re.search(pattern, line)] for name, body in functions}
    return {name: lines for name, lines in found.items() if lines}


CONTRACTED = [
    Build("cortex-m7", "gcc", ("-O3",)),
    Build("cortex-m55", "clang", ("-O2",)),
    Build("rv32imafc", "gcc", ("-O2",)),
]


@pytest.mark.parametrize("build", CONTRACTED, ids=str)
def test_contracted_floats_are_near(build: Build, tmp_path: Path) -> None:
    (case,) = [(module, x) for module, x in compiled(build.core) if module.name == "ops_f32"]
    (got,) = plain_builds.run([case], build, tmp_path)
    check_near(got)


@pytest.mark.parametrize("core", ["cortex-m0", "cortex-m3", "cortex-m4", "cortex-m55"])
def test_a_bundle_for_another_core_runs_here(core: str, tmp_path: Path) -> None:
    got = plain_builds.run(compiled(core), Build("native", "gcc", ("-O2",)), tmp_path, ("-ffp-contract=off",))
    assert got == [cases()[module.name][2] for module, _ in compiled(core)]


@pytest.mark.parametrize("level", either(LEVELS, LEVELS[::2]))
@pytest.mark.parametrize("name", models.available(["kws", "ic", "mcunet_vww", "person"]))
def test_large_models_for_helium_compile(name: str, level: str, tmp_path: Path) -> None:
    module = aboard.compile(models.read(name), target="arm/mps3_an547", name="model")
    strict = ("-Wall", "-Wextra", "-Wconversion", "-Werror")
    for pointer in ("-fomit-frame-pointer", "-fno-omit-frame-pointer"):
        folder = tmp_path / pointer[1:]
        folder.mkdir()
        assert plain_builds.compile_model(module, Build("cortex-m55", "gcc", (level, pointer)), folder, strict)


def test_assembler_is_not_longer_than_its_lines(tmp_path: Path) -> None:
    # Compilers count lines, four bytes each, to place constants where loads reach them.
    build = Build("cortex-m55", "gcc", ("-O2",))
    seen = 0
    for module, _ in compiled(build.core):
        for text in plain_builds.compile_model(module, build, tmp_path, ("-S",)):
            for lines, size in assembled(text, build):
                assert size <= 4 * lines, f"{text}: {size} bytes in {lines} lines"
                seen += 1
    assert seen > 50


def assembled(text: Path, build: Build) -> list[tuple[int, int]]:
    """Returns the lines of each assembler statement in a compiler's output, and the bytes they become.

    Naked functions are left out: the compiler places nothing in them.
    """
    marked, lines, naked = [], [], False
    for line in text.read_text(encoding="utf-8").splitlines():
        if "%function" in line or "Naked Function" in line:
            naked = "Naked" in line
        if naked:
            pass
        elif re.match(r'@ [1-9]\d* ".*" 1$', line):
            marked.append(f".Lbegin{len(lines)}:")
            lines.append(-1)
        elif line == '@ 0 "" 2':
            marked.append(f".Lend{len(lines) - 1}:")
            lines[-1] = len(marked) - 1 - marked.index(f".Lbegin{len(lines) - 1}:")
        marked.append(line)
    sizes = [f".word .Lend{i} - .Lbegin{i}" for i in range(len(lines))]
    source, words = text.with_suffix(".marked.s"), text.with_suffix(".bin")
    source.write_text("\n".join([*marked, '.section sizes, "a"', *sizes, ""]), encoding="utf-8")
    subprocess.run([*build.command, "-c", str(source), "-o", str(text)], check=True)
    subprocess.run(["arm-none-eabi-objcopy", "-O", "binary", "-j", "sizes", str(text), str(words)], check=True)
    return list(zip(lines, np.frombuffer(words.read_bytes(), np.uint32).tolist(), strict=True)) if lines else []
