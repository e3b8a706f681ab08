"""Toolchains: which is chosen, and what is said where none can be."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from aboard.base import programs
from aboard.boards import cpu
from aboard.errors import ToolError
from aboard.project import toolchain

ZIG_PACKAGE = toolchain.find_all()[-1][1]


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with nothing on it: the folder is its whole PATH, and there is no package ziglang."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv(toolchain.ENVIRONMENT, raising=False)
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    return tmp_path


def install(folder: Path, name: str, prints: str = "13.2.1", code: int = 0) -> Path:
    """Puts a program into a folder that prints a text and ends."""
    program = folder / name
    program.write_text(f"#!/bin/sh\necho '{prints}'\nexit {code}\n")
    program.chmod(0o755)
    return program


@pytest.mark.parametrize(
    ("core", "name"),
    [
        ("cortex-m4", "arm-none-eabi-gcc"),
        ("cortex-m33+nodsp", "arm-none-eabi-gcc"),
        ("rv32imac", "riscv64-unknown-elf-gcc"),
        ("native", "gcc"),
    ],
)
def test_the_compiler_of_the_core_comes_first(bare: Path, core: str, name: str) -> None:
    for compiler in toolchain.COMPILERS:
        install(bare, compiler.name)
    chosen = toolchain.choose(core)
    assert (chosen.name, chosen.path, chosen.version) == (name, bare / name, "13.2.1")
    assert chosen.cpu == cpu.find(core)
    assert chosen.reason == "first choice for the core"


def test_clang_where_there_is_no_gcc(bare: Path) -> None:
    install(bare, "clang")
    chosen = toolchain.choose("native")
    assert (chosen.name, chosen.reason) == ("clang", "gcc not found")


def test_zig_where_nothing_else_is(bare: Path) -> None:
    zig = install(bare, "zig", "0.17.0")
    chosen = toolchain.choose("cortex-m55")
    assert (chosen.name, chosen.reason) == ("zig", "arm-none-eabi-gcc not found")
    assert chosen.command == (str(zig), "cc")
    assert "libc" in chosen.compiler.lacks


def test_zig_of_the_package_comes_before_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "zig", "0.1.0")
    monkeypatch.setenv("PATH", str(tmp_path))
    chosen = toolchain.choose("cortex-m0", "zig")
    assert chosen.path == ZIG_PACKAGE
    assert chosen.path.parent.name == "ziglang"
    assert chosen.version != "0.1.0"


def test_a_package_without_its_program_is_no_zig(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Spec:
        submodule_search_locations = (str(bare),)

    monkeypatch.setattr("importlib.util.find_spec", lambda name: Spec)
    assert toolchain.find_all()[-1][1] is None


def test_the_environment_names_a_toolchain(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("arm-none-eabi-gcc", "zig"):
        install(bare, name)
    monkeypatch.setenv(toolchain.ENVIRONMENT, "zig")
    chosen = toolchain.choose("cortex-m4")
    assert (chosen.name, chosen.reason) == ("zig", "named by ABOARD_TOOLCHAIN")
    assert toolchain.choose("cortex-m4", "arm-none-eabi-gcc").reason == "named by the caller"


def test_the_environment_is_passed_over_for_other_cores(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("arm-none-eabi-gcc", "gcc"):
        install(bare, name)
    monkeypatch.setenv(toolchain.ENVIRONMENT, "arm-none-eabi-gcc")
    assert toolchain.choose("native").name == "gcc"


def test_a_path_names_a_toolchain(bare: Path) -> None:
    folder = bare / "opt"
    folder.mkdir()
    program = install(folder, "arm-none-eabi-gcc", "arm-none-eabi-gcc (Arm GNU Toolchain 14.3.Rel1) 14.3.1 20250623")
    chosen = toolchain.choose("cortex-m4", str(program))
    assert (chosen.path, chosen.version) == (program, "14.3.Rel1")


def test_cmake_variables(bare: Path) -> None:
    program = install(bare, "arm-none-eabi-gcc")
    assert toolchain.choose("cortex-m3").cmake_variables() == {
        "CMAKE_TOOLCHAIN_FILE": "cmake/toolchain-gcc.cmake",
        "ABOARD_CC": str(program),
    }


def test_no_compiler(bare: Path) -> None:
    with pytest.raises(
        ToolError,
        match=r"toolchain: no compiler for cortex-m4, got none of arm-none-eabi-gcc, zig, expected one of them\. "
        r"To get one: apt install gcc-arm-none-eabi .*pip install ziglang.*`aboard doctor`",
    ):
        toolchain.choose("cortex-m4")


def test_a_named_toolchain_that_is_missing(bare: Path) -> None:
    with pytest.raises(ToolError, match=r"toolchain: not found, got zig, expected a program\. To get it: pip install"):
        toolchain.choose("cortex-m4", "zig")
    with pytest.raises(ToolError, match=r"not found, got /nowhere/arm-none-eabi-gcc, expected a program"):
        toolchain.choose("cortex-m4", "/nowhere/arm-none-eabi-gcc")


def test_an_unknown_toolchain(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ToolError, match=r"toolchain: unknown toolchain, got zag, .* Did you mean zig, clang\?"):
        toolchain.choose("cortex-m4", "zag")
    monkeypatch.setenv(toolchain.ENVIRONMENT, "armcc")
    with pytest.raises(ToolError, match=r"ABOARD_TOOLCHAIN: unknown toolchain, got armcc, expected a name or the path"):
        toolchain.choose("cortex-m4")


def test_a_toolchain_for_other_cores(bare: Path) -> None:
    install(bare, "gcc")
    with pytest.raises(
        ToolError,
        match=r"toolchain: gcc does not compile for the core, got cortex-m4, expected one of: arm-none-eabi-gcc, zig\.",
    ):
        toolchain.choose("cortex-m4", "gcc")


def test_a_foreign_host_needs_a_cross_compiler(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    install(bare, "gcc")
    with pytest.raises(ToolError, match=r"no compiler for cortex-a72, got none of aarch64-linux-gnu-gcc, zig"):
        toolchain.choose("cortex-a72")
    install(bare, "aarch64-linux-gnu-gcc")
    assert toolchain.choose("cortex-a72").name == "aarch64-linux-gnu-gcc"


def test_a_compiler_that_fails(bare: Path) -> None:
    install(bare, "arm-none-eabi-gcc", "cannot load library", code=3)
    with pytest.raises(
        ToolError, match=r"gcc --version: failed, got exit code 3 and \['cannot load library'\], expected a version"
    ):
        toolchain.choose("cortex-m4")


def test_a_compiler_that_is_no_program(bare: Path) -> None:
    program = bare / "arm-none-eabi-gcc"
    program.write_text("not a program")
    program.chmod(0o755)
    with pytest.raises(ToolError, match=r"arm-none-eabi-gcc: cannot be run, got Exec format error, expected a program"):
        toolchain.choose("cortex-m4")


def test_a_program_that_does_not_end(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(command: object, **_: object) -> None:
        raise subprocess.TimeoutExpired(str(command), 20)

    program = install(bare, "gcc")
    monkeypatch.setattr("subprocess.run", never)
    with pytest.raises(ToolError, match=r"gcc --version: did not end, expected a version within 20 s"):
        programs.version(program)


def test_an_upgraded_program_is_asked_again(bare: Path) -> None:
    assert programs.version(install(bare, "gcc", "12.2.0")) == "12.2.0"
    assert programs.version(install(bare, "gcc", "13.2.0")) == "13.2.0"


def test_programs_beside_python_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))
    assert programs.find("cmake") is None
    program = install(tmp_path, "cmake")
    assert programs.find("cmake") == program
    assert programs.require("cmake", "Install it") == program


def test_cmake_of_the_package_is_its_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = install(tmp_path, "cmake")
    folder = tmp_path / "site" / "cmake" / "data" / "bin"
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))
    package = SimpleNamespace(submodule_search_locations=[str(tmp_path / "site" / "cmake")])
    monkeypatch.setattr("importlib.util.find_spec", lambda name: package if name == "cmake" else None)
    assert programs.cmake() == script
    folder.mkdir(parents=True)
    program = install(folder, "cmake")
    assert programs.cmake() == program
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert programs.cmake() == script


def test_a_cmake_that_is_no_package_is_taken_as_it_is(bare: Path) -> None:
    program = install(bare, "cmake")
    assert programs.cmake() == program


def test_a_program_that_is_required(bare: Path) -> None:
    with pytest.raises(ToolError, match=r"ninja: not found, got no such program on PATH, .* Get it with apt"):
        programs.require("ninja", "Get it with apt")


@pytest.mark.parametrize("core", ["cortex-m0", "cortex-m55", "rv32imafc", "native", "cortex-a53"])
def test_zig_compiles_for_every_kind_of_core(tmp_path: Path, core: str) -> None:
    source = tmp_path / "f.c"
    source.write_text("#include <stdint.h>\nint32_t f(int32_t a) { return a + 1; }\n")
    chosen = toolchain.choose(core, "zig")
    command = [*chosen.command, *chosen.flags, "-Werror", "-Os", "-c", str(source), "-o", str(tmp_path / "f.o")]
    subprocess.run(command, check=True, capture_output=True)
    assert (tmp_path / "f.o").read_bytes().startswith(b"\x7fELF")
