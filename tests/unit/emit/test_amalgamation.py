"""`--amalgamate`: one C file and one header, which compile alone and compute what the bundle computes."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

import aboard
from aboard.base import resources
from aboard.cli import invoke
from aboard.emit import amalgamation
from aboard.errors import ProjectError
from support import control_models, zoo

DIGITS = resources.models() / "digits.tflite"
STRICT = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Werror")


def compiled(folder: Path, name: str, compiler: str = "gcc") -> Path:
    """Compiles the only C file of a folder with no include folder but its own; returns the object file."""
    (source,) = folder.rglob("*.c")
    assert source.name == f"{name}.c"
    done = subprocess.run(
        [compiler, *STRICT, "-O1", "-c", source.name, "-o", f"{name}.o"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return folder / f"{name}.o"


# Nodes with branches and loops have sources of their own, whose kernels have the same names.
@pytest.mark.parametrize("name", ["digits", "many_ops", "nested"])
def test_the_two_files_compile_alone_and_compute_the_same(name: str, tmp_path: Path) -> None:
    models = {"digits": DIGITS.read_bytes, "many_ops": zoo.many_ops, "nested": lambda: control_models.nested(1)}
    module = aboard.compile(models[name](), target="c -mcpu=generic -opt=speed", name=name)
    folder = module.amalgamate(tmp_path / "one")
    assert sorted(path.name for path in folder.glob("[!.]*")) == [f"{name}.c", f"{name}.h"]
    built = compiled(folder, name)
    # The test program of the bundle, with the checksums of the compiler, on the one object file.
    bundle = module.save(tmp_path / "bundle")
    command = ["gcc", f"-I{bundle}/include", f"-I{bundle}/test", bundle / f"test/{name}_test.c", built, "-o", "run"]
    subprocess.run([str(word) for word in command], cwd=tmp_path, check=True)
    assert (
        subprocess.run(["./run"], cwd=tmp_path, capture_output=True, text=True, check=False).stdout == f"{name}: ok\n"
    )


def test_the_header_is_the_header_of_an_application_in_c_and_cpp(tmp_path: Path) -> None:
    folder = aboard.compile(DIGITS, target="c -mcpu=generic").amalgamate(tmp_path / "one")
    text = """#include "digits.h"
static uint8_t arena[DIGITS_ARENA_BYTES] ABOARD_ALIGNED(ABOARD_ARENA_ALIGN);
int f(void);
int f(void) { return digits_run(arena, sizeof arena) == ABOARD_OK; }
"""
    for compiler, name in (("gcc", "app.c"), ("g++", "app.cpp")):
        (folder / name).write_text(text)
        subprocess.run([compiler, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", name], cwd=folder, check=True)


def test_clang_has_no_complaint(tmp_path: Path) -> None:
    compiled(aboard.compile(DIGITS, target="c -mcpu=generic").amalgamate(tmp_path / "one"), "digits", "clang")


def test_code_for_a_named_core_is_the_code_of_the_bundle(tmp_path: Path) -> None:
    module = aboard.compile(DIGITS, target="c -mcpu=cortex-m4 -opt=speed")
    bundle, folder = module.save(tmp_path / "bundle"), module.amalgamate(tmp_path / "one")
    texts = []
    for where, source in ((bundle, "src/digits.c"), (folder, "digits.c")):
        flags = [*module.target.cpu.flags("gcc"), *module.manifest.cflags, "-std=c99", "-Iinclude"]
        if where == folder:
            # The file defines the macro that these flags define.
            flags.remove("-DABOARD_SPEED")
        subprocess.run(["arm-none-eabi-gcc", *flags, "-c", source, "-o", "o"], cwd=where, check=True)
        shown = subprocess.run(
            ["arm-none-eabi-objdump", "-d", "o"], cwd=where, capture_output=True, text=True, check=True
        )
        texts.append(shown.stdout)
    assert texts[0] == texts[1]
    assert texts[0].count("smlad") > 10


def test_the_command_line_writes_and_replaces_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["compile", "digits", "-t", "c -mcpu=generic", "--amalgamate", "-o", str(tmp_path / "one")]
    assert [invoke(command), invoke(command)] == [0, 0]
    assert capsys.readouterr().out.splitlines()[-1] == f"digits.c and digits.h in {tmp_path / 'one'}"
    assert re.search(r"^#define DIGITS_ARENA_BYTES 1232$", (tmp_path / "one/digits.h").read_text(), re.MULTILINE)
    assert invoke([*command, "--json"]) == 0
    assert '"amalgamated":true' in capsys.readouterr().out


def test_what_cannot_be_one_file_is_refused(tmp_path: Path) -> None:
    module = aboard.compile(DIGITS, target="c -mcpu=generic")
    with pytest.raises(
        ProjectError,
        match=r"^digits: an amalgamation has no hooks, got a bundle with hooks, .* Compile without --hooks$",
    ):
        module.with_hooks().amalgamate(tmp_path / "one")
    folders = module.manifest.model_copy(update={"include_folders": ("src/devices/npu",)})
    with pytest.raises(
        ProjectError, match=r"^digits: cannot be one file, got sources for a device with .* or use the bundle$"
    ):
        amalgamation.files(module.files, folders)
    assert not (tmp_path / "one").exists()
