"""Code for `-mcpu=generic` is plain C99 and computes the same on cores that differ from all named ones.

AVR: 8 bits, int and addresses of 16. PowerPC: big-endian, char without sign. On both, the test program of a model
compares with the checksums of the compiler.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import aboard
from aboard.base import resources
from support import control_models, generic_builds, zoo
from support.generic_builds import AVR, BIG_ENDIAN, C99, FIRMWARE

DIGITS = resources.models() / "digits.tflite"
MODELS: dict[str, Callable[[], bytes]] = {
    "digits": DIGITS.read_bytes,
    "many_ops_int8": zoo.many_ops,
    "many_ops_int16": lambda: zoo.many_ops(np.int16),
    "many_ops_float": lambda: zoo.many_ops(np.float32),
    "looped": lambda: control_models.looped(2),
}
INCLUDES = (f"-I{FIRMWARE}", f"-I{FIRMWARE / 'include'}")


def generic(name: str) -> aboard.Module:
    return aboard.compile(MODELS[name](), target="c -mcpu=generic", name=name)


@pytest.mark.parametrize("name", MODELS)
def test_a_big_endian_core_computes_the_same(name: str, tmp_path: Path) -> None:
    assert generic_builds.run_samples(generic(name), BIG_ENDIAN, tmp_path) == f"{name}: ok\n"


@pytest.mark.parametrize("name", ["digits", "many_ops_int16", "looped"])
def test_a_core_of_8_bits_computes_the_same(name: str, tmp_path: Path) -> None:
    assert "equal" in generic_builds.run_samples(generic(name), AVR, tmp_path, ("-Wall", "-Wextra", "-Werror"))


def test_the_test_program_notices_another_result_on_both(tmp_path: Path) -> None:
    module = generic("looped")
    module.files["test/looped_test.c"] = module.files["test/looped_test.c"].replace("{0x", "{1 ^ 0x", 1)
    (tmp_path / "avr").mkdir()
    assert generic_builds.run_samples(module, BIG_ENDIAN, tmp_path) == "looped: sample 0: output 0 differs\n"
    assert "differs" in generic_builds.run_samples(module, AVR, tmp_path / "avr")


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("gnu", [(), ("-DABOARD_GNU=0", "-Wno-unused-parameter")], ids=["gnu", "c99"])
def test_every_portable_kernel_is_c99(compiler: str, gnu: tuple[str, ...], tmp_path: Path) -> None:
    source = generic_builds.every_kernel(tmp_path)
    command = [compiler, *C99, *gnu, *INCLUDES, "-fsyntax-only", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_portable_kernel_compiles_where_int_has_16_bits(tmp_path: Path) -> None:
    source = generic_builds.every_kernel(tmp_path)
    flags = ("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-Wno-unused-function", "-O1")
    assert AVR.compile(*flags, *INCLUDES, "-c", source, "-o", tmp_path / "o") == ""


def test_a_model_has_no_extension_of_c99_without_gnu_attributes(tmp_path: Path) -> None:
    module = aboard.compile(DIGITS, target="c -mcpu=generic -opt=speed")
    bundle = module.save(tmp_path / "bundle")
    command = [
        "gcc",
        "-std=c99",
        "-O2",
        "-DABOARD_GNU=0",
        "-E",
        f"-I{bundle / 'include'}",
        str(bundle / "src/digits.c"),
    ]
    expanded = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    place, ours = "", []
    for line in expanded.splitlines():
        marker = re.match(r'# \d+ "([^"]+)"', line)
        place = place if marker is None else marker[1]
        ours += [line] if place.startswith(str(bundle)) and marker is None else []
    assert len(ours) > 1000
    assert [line for line in ours if re.search(r"__\w+__|__\w+\(|__asm|#pragma", line)] == []


@pytest.mark.parametrize(
    ("difference", "complaint"),
    [
        ("#undef CHAR_BIT\n#define CHAR_BIT 16\n", "aboard needs bytes of 8 bits"),
        ("#undef FLT_MANT_DIG\n#define FLT_MANT_DIG 53\n", "aboard_requires_float_of_32_bits"),
    ],
)
def test_a_compiler_of_another_kind_is_refused(difference: str, complaint: str, tmp_path: Path) -> None:
    (tmp_path / "other.h").write_text(f"#include <float.h>\n#include <limits.h>\n{difference}")
    (tmp_path / "x.c").write_text('#include "aboard/config.h"\n')
    command = ["gcc", "-include", "other.h", *INCLUDES, "-c", "x.c"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert complaint in done.stderr
