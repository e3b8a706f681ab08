"""Templates for make, ESP-IDF, PlatformIO and CMSIS-Pack: built as far as their tools are here.

make builds for real. ESP-IDF's rules run in CMake with stand-ins for `project.cmake` and the headers of the example,
and Debian's compiler for RISC-V. For PlatformIO and CMSIS-Pack, compilers get the files, folders and flags that these
tools take from the manifest.
"""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import yaml

import aboard
from aboard import boards
from aboard.base import programs, resources
from aboard.boards import cpu as cpus
from aboard.errors import ProjectError
from support import zoo
from support.markdown import CHECKOUT

DIGITS = resources.models() / "digits.tflite"
FLOATS = resources.models() / "digits_f32.tflite"
STUB = CHECKOUT / "tests" / "support" / "esp_idf"
STRICT = ("-Wall", "-Wextra", "-Wconversion", "-Werror")


def run(*command: str | Path, folder: Path) -> str:
    words = [str(word) for word in command]
    # A make that runs these tests hands its flags on, and -s hides the commands that the tests read.
    environment = {
        name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")
    }
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@functools.cache
def compiled(core: str, attributes: str) -> list[aboard.Module]:
    return [aboard.compile(model, target=f"c -mcpu={core} {attributes}") for model in (DIGITS, FLOATS)]


def create(template: str, folder: Path, core: str = "generic", attributes: str = "") -> Path:
    """Creates a library of two models for a core, and returns its folder."""
    modules = compiled(core, attributes)
    return aboard.create(modules, boards.of_core(core), template, folder / template).path


def test_make_builds_and_checks_a_library(tmp_path: Path) -> None:
    library = create("makefile", tmp_path)
    told = run("make", "CFLAGS=-Wall -Wextra -Werror", "check", "example", folder=library)
    assert "-O2 -fno-tree-slp-vectorize -Imodels/digits/include -Wall -Wextra -Werror" in told
    assert "digits: ok\ndigits_f32: ok\n" in told
    printed = run("build/example", folder=library).splitlines()
    assert [line.partition(":")[0] for line in printed] == ["digits", "digits_f32"]
    run("make", "clean", folder=library)
    assert not (library / "build").exists()


def test_make_takes_another_compiler_and_core(tmp_path: Path) -> None:
    library = create("makefile", tmp_path)
    run("make", "-s", "CC=avr-gcc", "AR=avr-ar", "CPU_FLAGS=-mmcu=atmega1284p", "BUILD=avr", folder=library)
    assert "avr" in run("avr-objdump", "-a", "avr/libmodels.a", folder=library)


def test_make_takes_the_cross_compiler_of_a_named_core(tmp_path: Path) -> None:
    library = create("makefile", tmp_path, "cortex-m4")
    assert "arm-none-eabi-gcc -std=c99 -mcpu=cortex-m4" in run("make", folder=library)
    assert "check" not in (library / "Makefile").read_text()


def test_esp_idf_builds_component_and_example(tmp_path: Path) -> None:
    library = create("esp-idf", tmp_path, attributes="-opt=speed")
    example = library / "examples" / "get_started"
    compiler = programs.require("riscv64-unknown-elf-gcc", "apt install gcc-riscv64-unknown-elf")
    flags = " ".join((*STRICT, "-march=rv32imc", "-mabi=ilp32", "--specs=picolibc.specs", f"-I{STUB}/include"))
    cmake = programs.require("cmake", "pip install cmake")
    configure = [
        cmake, "-S", example, "-B", tmp_path / "build", f"-DCMAKE_C_COMPILER={compiler}", f"-DCMAKE_C_FLAGS={flags}",
        "-DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
    ]  # fmt: skip
    run("env", f"IDF_PATH={STUB}", *configure, folder=tmp_path)
    run(cmake, "--build", tmp_path / "build", folder=tmp_path)
    recorded = json.loads((tmp_path / "build/compile_commands.json").read_text())
    commands = {Path(entry["file"]).name: entry["command"] for entry in recorded}
    assert sorted(commands) == ["digits.c", "digits_f32.c", "main.c"]
    assert "-O3 -DABOARD_SPEED -fno-tree-slp-vectorize" in commands["digits.c"]
    assert "ABOARD_SPEED" not in commands["main.c"]
    # idf_component_tools of idf-component-manager 3.1 accepted these files (docs/reference/templates.md).
    manifest = yaml.safe_load((library / "idf_component.yml").read_text())
    assert manifest["dependencies"] == {"idf": {"version": ">=5.0"}}
    assert (library / manifest["examples"][0]["path"] / "main" / "main.c").is_file()
    assert "targets" not in manifest


def test_a_component_for_one_core_names_its_chips(tmp_path: Path) -> None:
    manifest = yaml.safe_load((create("esp-idf", tmp_path, "rv32imc") / "idf_component.yml").read_text())
    assert {"esp32c3", "esp32c6"} <= set(manifest["targets"])
    assert "esp32" not in manifest["targets"]


def test_platformio_compiles_src_with_the_flags_of_the_manifest(tmp_path: Path) -> None:
    library = create("platformio", tmp_path, attributes="-opt=speed")
    manifest = json.loads((library / "library.json").read_text())
    assert manifest["build"]["flags"] == ["-O3", "-DABOARD_SPEED", "-fno-tree-slp-vectorize"]
    assert manifest["headers"] == ["digits.h", "digits_f32.h"]
    assert re.fullmatch(r"\w{1,50}", manifest["name"])
    for example in manifest["examples"]:
        assert all((library / example["base"] / name).is_file() for name in example["files"])
    # As PlatformIO does: all of src/, with include/ and src/ as folders of headers.
    sources = sorted((library / "src").rglob("*.c"))
    assert [path.name for path in sources] == ["digits.c", "digits_f32.c"]
    folders = ("-Iinclude", "-Isrc")
    flags = ("-mmcu=atmega1284p", "-std=c99", *manifest["build"]["flags"])
    run("avr-gcc", *flags, *folders, "-c", *sources, folder=library)
    stub = CHECKOUT / "tests" / "support" / "arduino"
    for name in ("digits", "digits_f32"):
        source = library / "examples" / name / "src" / "main.cpp"
        run("g++", "-Wall", "-Wextra", "-Werror", *folders, f"-I{stub}", "-fsyntax-only", source, folder=library)


def test_a_cmsis_pack_describes_its_files(tmp_path: Path) -> None:
    library = create("cmsis-pack", tmp_path, "cortex-m4")
    (description,) = library.glob("*.pdsc")
    package = ET.parse(description).getroot()
    assert description.name == f"{package.findtext('vendor')}.{package.findtext('name')}.pdsc" == "aboard.digits.pdsc"
    # The order that PACK.xsd demands of the elements that are here.
    assert [child.tag for child in package] == [
        "vendor", "name", "description", "url", "releases", "keywords", "conditions", "components",
    ]  # fmt: skip
    assert [c.attrib for c in package.iterfind("conditions/condition/require")] == [{"Dcore": "Cortex-M4"}]
    components = package.findall("components/component")
    assert [(c.get("Csub"), c.get("condition")) for c in components] == [("digits", "core"), ("digits_f32", "core")]
    for component in components:
        files = {file.get("category"): file.get("name", "") for file in component.iterfind("files/file")}
        assert all((library / path).exists() for path in files.values())
        flags = cpus.find("cortex-m4").flags("gcc")
        run("arm-none-eabi-gcc", *flags, f"-I{files['include']}", "-c", files["sourceC"], folder=library)


def test_the_layer_of_a_csolution_names_the_same_files(tmp_path: Path) -> None:
    library = create("cmsis-pack", tmp_path, attributes="-opt=balanced")
    assert ET.parse(library / "aboard.digits.pdsc").getroot().find("conditions") is None
    layer = yaml.safe_load((library / "digits.clayer.yml").read_text())["layer"]
    (group,) = layer["groups"]
    files = [entry["file"] for entry in group["files"]]
    assert files == ["models/digits/src/digits.c", "models/digits/include/digits.h"]
    assert all((library / path).is_file() for path in files)
    assert group["misc"][0] == {"for-compiler": "GCC", "C": ["-O2", "-fno-tree-slp-vectorize"]}


def test_models_of_streamed_input_have_examples_too(tmp_path: Path) -> None:
    module = aboard.compile(zoo.many_ops(), target="c -mcpu=generic -input=kept", name="ops")
    rows = aboard.compile(DIGITS, target="c -mcpu=generic -input=rows")
    board = boards.of_core("generic")
    for template in ("esp-idf", "platformio", "cmsis-pack"):
        library = aboard.create([module, rows], board, template, tmp_path / template).path
        text = (library / "README.md").read_text()
        assert "digits" in text
    main = (tmp_path / "esp-idf/examples/get_started/main/main.c").read_text()
    assert "digits_push(digits_arena, input);" in main
    folders = [f"-I{tmp_path}/esp-idf/models/{name}/include" for name in ("ops", "digits")]
    (tmp_path / "main.c").write_text(main)
    run("gcc", "-std=c99", *STRICT, f"-I{STUB}/include", *folders, "-fsyntax-only", "main.c", folder=tmp_path)


def test_a_core_that_the_system_does_not_have_is_refused(tmp_path: Path) -> None:
    module = aboard.compile(DIGITS, target="c -mcpu=cortex-m4")
    with pytest.raises(
        ProjectError,
        match=r"^template esp-idf: is not for the core, got cortex-m4, expected one of: generic, rv32imc, rv32imac, "
        r"rv32imafc\. Compile with --target \"c -mcpu=<core>\", or use --template cmake-lib$",
    ):
        aboard.create(module, boards.of_core("cortex-m4"), "esp-idf", tmp_path / "library")


def test_firmware_needs_a_board(tmp_path: Path) -> None:
    module = aboard.compile(DIGITS, target="c -mcpu=generic")
    with pytest.raises(
        ProjectError,
        match=r"^template baremetal: needs a board, got the core generic alone, expected memory and drivers of a "
        r"board\. Name one with --board, or use --template arduino or cmake-lib or cmsis-pack or esp-idf or makefile "
        r"or platformio$",
    ):
        aboard.create(module, boards.of_core("generic"), "baremetal", tmp_path / "library")
    other = aboard.compile(DIGITS, target="c -mcpu=cortex-m0")
    with pytest.raises(ProjectError, match=r"got cortex-m0, expected generic .* with --target \"c -mcpu=generic\"$"):
        aboard.create(other, boards.of_core("generic"), "makefile", tmp_path / "library")


def test_flags_that_a_pack_cannot_give_are_refused(tmp_path: Path) -> None:
    module = aboard.compile(DIGITS, target="c -mcpu=generic -opt=speed")
    with pytest.raises(
        ProjectError,
        match=r"^template cmsis-pack: cannot give single sources the flags that digits needs for -opt=speed\. "
        r"Compile the model without it, or use --template cmake-lib$",
    ):
        aboard.create(module, boards.of_core("generic"), "cmsis-pack", tmp_path / "library")
