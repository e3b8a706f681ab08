"""Templates of which an application is made: the library for any build system, and the Arduino library.

Both are built and run on this machine, and have to compute what the model computes in this process.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import aboard
from aboard.api import Project
from aboard.base import programs, resources
from aboard.cli import invoke
from aboard.errors import ProjectError
from support import markdown
from support.bundles import tiny_bundle, tiny_manifest

DIGITS = resources.models() / "digits.tflite"
FLOATS = resources.models() / "digits_f32.tflite"
STUB = markdown.CHECKOUT / "tests" / "support" / "arduino"
STRICT = ("-Wall", "-Wextra", "-Werror")

#: https://arduino.github.io/arduino-cli/latest/library-specification/
CATEGORIES = {
    "Display",
    "Communication",
    "Signal Input/Output",
    "Sensors",
    "Device Control",
    "Timing",
    "Data Storage",
    "Data Processing",
    "Other",
}


def run(*command: str | Path, folder: Path, **variables: str) -> str:
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def sample() -> np.ndarray:
    with np.load(resources.models() / "digits_test.npz") as archive:
        return np.asarray(archive["x"][3])


def expected(model: Path, x: np.ndarray | None = None) -> list[float]:
    """Returns what a model computes in this process; of real zeros where no input is given."""
    module = aboard.compile(model, target="c -runtime=host")
    record = module.manifest.inputs[0]
    zeros = np.full(record.shape, record.zero_point or 0, record.dtype)
    result = module.run(zeros if x is None else x)
    assert isinstance(result, np.ndarray)
    return [float(value) for value in result.ravel()]


def texts(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file() and "build" not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in files}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A library of two models for this machine, built."""
    modules = [aboard.compile(model, board="host/native") for model in (DIGITS, FLOATS)]
    project = aboard.create(modules, "host/native", "cmake-lib", tmp_path_factory.mktemp("library") / "models")
    built = project.build("gcc")
    assert built.image == project.path / "build" / "example"
    assert set(built.sizes.models) == {"digits", "digits_f32"}
    return project


@pytest.fixture(scope="module")
def arduino(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """An Arduino library for a core without extensions, whose code is portable."""
    modules = [aboard.compile(model, board="raspberrypi/rpi_pico") for model in (DIGITS, FLOATS)]
    return aboard.create(modules, "raspberrypi/rpi_pico", "arduino", tmp_path_factory.mktemp("arduino") / "digits")


def printed(line: str) -> list[float]:
    return [float(word) for word in line.partition(":")[2].partition(":")[2].split()]


def test_the_example_computes_what_the_model_computes(library: Project, tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes(sample().tobytes())
    whole, floats = run(library.image, tmp_path / "x.bin", folder=tmp_path).splitlines()
    assert whole.startswith("digits: output 0: ")
    assert printed(whole) == expected(DIGITS, sample())
    assert floats.startswith("digits_f32: output 0: ")
    np.testing.assert_allclose(printed(floats), expected(FLOATS), rtol=1e-8)
    assert printed(run(library.image, folder=tmp_path).splitlines()[0]) == expected(DIGITS)


def test_the_example_names_a_file_that_is_too_short(library: Project, tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes(b"few")
    done = subprocess.run([library.image, "x.bin"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "x.bin: cannot be read, expected 64 bytes\n")


def test_the_library_has_tests_of_its_own(library: Project) -> None:
    ctest = programs.require("cmake", "").parent / "ctest"
    assert "100% tests passed" in run(ctest, "--test-dir", "build", folder=library.path)


def test_the_librarys_tests_notice_writes_behind_the_arena(tmp_path: Path) -> None:
    module = aboard.compile(DIGITS, board="host/native")
    project = aboard.create(module, "host/native", "cmake-lib", tmp_path / "library")
    header = project.path / "models/digits/include/digits.h"
    text = header.read_text()
    size = module.manifest.ram_bytes
    # The header promises less than the model takes.
    header.write_text(text.replace(f"ARENA_BYTES {size}", f"ARENA_BYTES {size - 16}"))
    project.build("gcc")
    done = subprocess.run(["build/test_models"], cwd=project.path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "digits: failed: nothing is written behind the arena" in done.stderr


@pytest.fixture(scope="module")
def installed(library: Project, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the library is installed, after it was moved."""
    prefix = tmp_path_factory.mktemp("installed")
    run(programs.require("cmake", ""), "--install", "build", "--prefix", prefix / "first", folder=library.path)
    return (prefix / "first").rename(prefix / "moved")


def test_pkg_config_leads_to_the_library(library: Project, installed: Path, tmp_path: Path) -> None:
    variables = {"PKG_CONFIG_PATH": str(installed / "lib" / "pkgconfig")}
    flags = run("pkg-config", "--cflags", "--libs", "models", folder=tmp_path, **variables).split()
    source = library.path / "examples" / "main.c"
    run("gcc", "-std=c99", *STRICT, source, *flags, "-o", "app", folder=tmp_path)
    assert printed(run("./app", folder=tmp_path).splitlines()[0]) == expected(DIGITS)


CONSUMER = """\
cmake_minimum_required(VERSION 3.20)
project(app C)
{find}
add_executable(app {source})
target_link_libraries(app PRIVATE models::digits models::digits_f32)
"""


@pytest.mark.parametrize("find", ["find_package(models 1.0 REQUIRED)", "add_subdirectory({library} models)"])
def test_a_cmake_project_uses_it(library: Project, installed: Path, tmp_path: Path, find: str) -> None:
    source = library.path / "examples" / "main.c"
    text = CONSUMER.format(find=find.format(library=library.path), source=source)
    (tmp_path / "CMakeLists.txt").write_text(text)
    cmake = programs.require("cmake", "")
    run(cmake, "-S", ".", "-B", "out", f"-DCMAKE_PREFIX_PATH={installed}", folder=tmp_path)
    run(cmake, "--build", "out", folder=tmp_path)
    assert printed(run("out/app", folder=tmp_path).splitlines()[0]) == expected(DIGITS)


def test_the_compiler_call_of_the_manual_works(library: Project, tmp_path: Path) -> None:
    calls = re.findall(r"^ {4}(cc .*)$", (library.path / "README.md").read_text(), re.MULTILINE)
    assert len(calls) == 2
    for call in calls:
        run(*call.split(), "-o", tmp_path / "model.o", folder=library.path)


@pytest.mark.parametrize("toolchain", ["arm-none-eabi-gcc", "zig"])
def test_a_library_for_a_microcontroller_needs_no_port(tmp_path: Path, toolchain: str) -> None:
    board = "arduino/nano_33_ble"
    module = aboard.compile(DIGITS, board=board)
    project = aboard.create(module, board, "cmake-lib", tmp_path / "library")
    built = project.build(toolchain)
    assert built.image == project.path / "build/models/digits/libmodel_digits.a"
    assert built.sizes.image_ram_bytes == 0
    assert built.sizes.models["digits"] == built.sizes.image_flash_bytes > module.manifest.weights_bytes


def test_what_has_no_server_is_not_run(library: Project) -> None:
    with pytest.raises(
        ProjectError,
        match=r"template cmake-lib: its images have no RPC server, so that aboard cannot run them\. Use --template "
        r"baremetal or native or zephyr",
    ):
        library.session()


@pytest.mark.parametrize("fixture", ["library", "arduino"])
def test_libraries_are_plain_sources(request: pytest.FixtureRequest, fixture: str) -> None:
    project: Project = request.getfixturevalue(fixture)
    files = texts(project.path)
    assert not {path for path in files if path.startswith("firmware/") or "aboard_build" in path}
    for path, text in files.items():
        assert not re.search(r"[ \t]+$", text, re.MULTILINE), path
        assert str(project.path.parent) not in text, path
    assert all(path.endswith(("/manifest.json", "/README.md")) or "malloc" not in text for path, text in files.items())


def test_generated_c_is_formatted(library: Project) -> None:
    style = f"--style=file:{markdown.CHECKOUT / '.clang-format'}"
    for path in ("examples/main.c", "tests/test_models.c"):
        formatted = run(programs.require("clang-format", ""), style, path, folder=library.path)
        assert formatted == (library.path / path).read_text()


def test_the_tests_of_the_library_prove_its_build(library: Project) -> None:
    listed = run("ctest", "--test-dir", "build", "-N", folder=library.path)
    names = re.findall(r"Test +#\d+: (\w+)", listed)
    assert sorted(names) == ["example", "test_digits", "test_digits_f32", "test_models"]
    assert run(library.path / "build/models/digits/test_digits", folder=library.path) == "digits: ok\n"
    assert run(library.path / "build/models/digits_f32/test_digits_f32", folder=library.path) == "digits_f32: ok\n"


def test_the_arduino_library_has_the_layout_of_the_specification(arduino: Project) -> None:
    files = texts(arduino.path)
    assert {"library.properties", "keywords.txt", "src/digits.h", "src/digits.c", "src/aboard/model.h"} <= set(files)
    assert "examples/digits/digits.ino" in files
    assert "examples/digits_f32/digits_f32.ino" in files
    # Sources beside src/ would make it a library of the old form; sketches are named as their folders.
    assert {path for path in files if path.endswith((".c", ".h"))} == {p for p in files if p.startswith("src/")}
    assert not {path for path in files if path.startswith(("utility/", ".development")) or path.endswith(".exe")}
    assert [model.name for model in arduino.models] == ["digits", "digits_f32"]


def test_the_properties_are_those_of_the_specification(arduino: Project) -> None:
    text = (arduino.path / "library.properties").read_text()
    found = dict(line.split("=", 1) for line in text.splitlines())
    assert set(found) == {
        "name",
        "version",
        "author",
        "maintainer",
        "sentence",
        "paragraph",
        "category",
        "url",
        "architectures",
        "includes",
    }
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.\- ]{0,62}", found["name"])
    assert "arduino" not in found["name"].lower()
    assert re.fullmatch(r"\d+\.\d+\.\d+", found["version"])
    assert found["category"] in CATEGORIES
    assert found["architectures"] == "*"
    assert not re.search(r"\barduino\b", found["sentence"], re.IGNORECASE)
    for header in found["includes"].split(","):
        assert (arduino.path / "src" / header).is_file()
    keywords = [line.split("\t") for line in (arduino.path / "keywords.txt").read_text().splitlines()]
    assert ["digits_run", "KEYWORD2"] in keywords
    assert all(len(words) == 2 for words in keywords)


def compile_library(arduino: Path, out: Path, prefix: str, *flags: str) -> list[Path]:
    """Compiles what Arduino compiles of a library: every C file below src/, with src/ alone to find headers in."""
    objects = []
    for source in sorted((arduino / "src").rglob("*.c")):
        objects.append(out / f"{source.stem}.o")
        run(
            f"{prefix}gcc",
            "-c",
            "-Os",
            "-std=gnu11",
            *STRICT,
            *flags,
            "-Isrc",
            source,
            "-o",
            objects[-1],
            folder=arduino,
        )
    return objects


def compile_sketch(arduino: Path, name: str, out: Path, prefix: str, *flags: str) -> Path:
    """Compiles a sketch as Arduino does: as C++, behind an include of Arduino.h."""
    sketch = arduino / "examples" / name / f"{name}.ino"
    words = ["-c", "-Os", "-std=gnu++17", "-x", "c++", "-include", "Arduino.h", f"-I{STUB}", "-Isrc"]
    run(f"{prefix}g++", *words, *STRICT, *flags, sketch, "-o", out / "sketch.o", folder=arduino)
    return out / "sketch.o"


def run_sketch(arduino: Path, name: str, out: Path) -> list[str]:
    """Builds a sketch for this machine, calls setup and loop once, and returns what it prints."""
    (out / "main.cpp").write_text("void setup();\nvoid loop();\nint main() {\n    setup();\n    loop();\n}\n")
    objects = [*compile_library(arduino, out, ""), compile_sketch(arduino, name, out, "")]
    run("g++", "main.cpp", *objects, "-o", "sketch", folder=out)
    return run("./sketch", folder=out).splitlines()


def test_the_sketches_print_what_the_models_compute(arduino: Project, tmp_path: Path) -> None:
    outputs, time = run_sketch(arduino.path, "digits", tmp_path)
    assert [float(word) for word in outputs.removeprefix("output 0:").split()] == expected(DIGITS)
    assert time == "time in us: 0"
    outputs, _ = run_sketch(arduino.path, "digits_f32", tmp_path)
    values = [float(word) for word in outputs.removeprefix("output 0:").split()]
    np.testing.assert_allclose(values, expected(FLOATS), atol=1e-6)


def test_a_library_for_a_core_with_dsp_is_for_boards_with_it(tmp_path: Path) -> None:
    board = "arduino/nano_33_ble"
    project = aboard.create(aboard.compile(DIGITS, board=board), board, "arduino", tmp_path / "digits")
    m4 = ("-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=softfp", "-mfpu=fpv4-sp-d16")
    compile_library(project.path, tmp_path, "arm-none-eabi-", *m4)
    compile_sketch(project.path, "digits", tmp_path, "arm-none-eabi-", *m4)
    with pytest.raises(AssertionError, match="This library is for cortex-m4: choose a board with that core"):
        compile_library(project.path, tmp_path, "arm-none-eabi-", "-mcpu=cortex-m0plus", "-mthumb")


def test_the_library_is_compiled_with_the_models_flags(arduino: Project) -> None:
    (flags,) = re.findall(r"#pragma GCC optimize\((.*)\)", (arduino.path / "src/digits.c").read_text())
    wanted = [f'"{flag.removeprefix("-f").removeprefix("-")}"' for flag in arduino.models[0].cflags]
    assert flags.split(", ") == wanted
    assert len(wanted) == 2


def test_an_arduino_library_is_built_by_arduino(arduino: Project) -> None:
    with pytest.raises(
        ProjectError,
        match=r"is not built by aboard, got a project of the template arduino, expected one that CMake builds\. "
        r"Copy the folder into the `libraries` folder of the Arduino IDE",
    ):
        arduino.build()


def test_models_of_different_versions_do_not_share_a_library(tmp_path: Path) -> None:
    first, second = (tiny_bundle(tmp_path / name, "cortex-m0plus", name) for name in ("one", "two"))
    header = second / "include/aboard/model.h"
    header.write_text(header.read_text() + "/* later */\n")
    with pytest.raises(
        ProjectError,
        match=r"template arduino: two: src/aboard/model\.h: two models have different files there, got two contents, "
        r"expected one\. Compile both with the same version",
    ):
        aboard.create([first, second], "raspberrypi/rpi_pico", "arduino", tmp_path / "library")
    assert not (tmp_path / "library").exists()


def test_code_that_needs_flags_is_no_arduino_library(tmp_path: Path) -> None:
    bundle = tiny_bundle(tmp_path / "tiny", "cortex-m0plus")
    record = tiny_manifest("cortex-m0plus").model_copy(update={"cflags": ("-O2", "-DFAST=1")})
    (bundle / "manifest.json").write_text(record.model_dump_json())
    with pytest.raises(
        ProjectError,
        match=r"template arduino: cannot give single sources the flags that tiny needs for a device\. Compile the "
        r"model without that device, or use --template cmake-lib",
    ):
        aboard.create(bundle, "raspberrypi/rpi_pico", "arduino", tmp_path / "library")


def test_the_command_line_says_what_comes_next(
    library: Project, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--board", "arduino/uno_r4", "--template", "arduino", "-o", str(tmp_path / "sketches")]
    assert invoke(["create", "digits", *words]) == 0
    said = capsys.readouterr().out
    assert said.endswith(
        "Next: Copy the folder into the `libraries` folder of the Arduino IDE (or name it with `arduino-cli compile "
        "--library`), and open its example\n"
    )
    assert invoke(["build", str(library.path)]) == 0
    said = capsys.readouterr().out
    assert re.search(
        r"^RAM +3,904 bytes \(3\.8 KiB\) for the arena, which the application provides$", said, re.MULTILINE
    )
    assert "aboard run" not in said


def test_deploy_refuses_before_it_compiles(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--board", "host/native", "--template", "cmake-lib", "-o", str(tmp_path / "out")]
    assert invoke(["deploy", "digits", *words]) == 1
    assert "template cmake-lib: its images have no RPC server" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
