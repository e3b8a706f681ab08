"""MLPerf Tiny's server in C: numbers as text, warnings, size."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import cffi
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from aboard.base import resources
from support.rpc_device import WARNINGS

SOURCES = sorted((resources.firmware() / "mlperf").glob("*.c"))
INCLUDES = (f"-I{resources.firmware() / 'include'}", f"-I{resources.firmware() / 'mlperf'}")
LINE = "void aboard_port_write(const unsigned char *data, unsigned long count);"


def compile_all(folder: Path, *compiler: str) -> list[Path]:
    objects = []
    for source in SOURCES:
        objects.append(folder / f"{source.stem}.o")
        command = [*compiler, *WARNINGS, *INCLUDES, "-Os", "-c", str(source), "-o", str(objects[-1])]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    return objects


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_no_compiler_has_a_complaint(compiler: str, tmp_path: Path) -> None:
    assert len(compile_all(tmp_path, compiler)) == 3


def test_the_server_is_small(tmp_path: Path) -> None:
    objects = compile_all(tmp_path, "arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb", "-fstack-usage")
    done = subprocess.run(["arm-none-eabi-size", "-t", *objects], capture_output=True, text=True, check=True)
    text, data, bss = map(int, done.stdout.splitlines()[-1].split()[:3])
    assert text <= 4200
    assert (data, bss) == (0, 0)
    frames = [int(line.split("\t")[1]) for file in tmp_path.glob("*.su") for line in file.read_text().splitlines()]
    assert max(frames) <= 128


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("text")
    stub = folder / "stub.c"
    stub.write_text(
        "#include <string.h>\n"
        "extern char said[256]; char said[256]; static size_t at;\n"
        f"{LINE}\n"
        "void aboard_port_write(const unsigned char *data, unsigned long count) {\n"
        "    memcpy(said + at, data, count); at += count; said[at] = 0;\n"
        "}\n"
        "void forget(void);\nvoid forget(void) { at = 0; said[0] = 0; }\n"
    )
    library = folder / "text.so"
    source = resources.firmware() / "mlperf" / "text.c"
    command = ["gcc", *WARNINGS, *INCLUDES, "-fPIC", "-shared", "-O2", str(source), str(stub), "-o", str(library)]
    subprocess.run(command, check=True)
    ffi = cffi.FFI()
    ffi.cdef(
        "extern char said[256]; void forget(void); void aboard_put_decimal(float value);"
        "void aboard_put_number(uint64_t value); bool aboard_parse_number(const char *text, uint32_t *value);"
    )
    return ffi, ffi.dlopen(str(library))


def said(text: Any, function: str, value: float) -> str:
    ffi, library = text
    library.forget()
    getattr(library, function)(value)
    return str(ffi.string(library.said).decode())


@settings(deadline=None, max_examples=50)
@given(st.integers(-(1 << 22), 1 << 22), st.sampled_from([1.0, 1 / 256, 0.125, 3.0517578125e-05]))
@example(16, 1 / 256)  # 0.0625: a tie
@example(-1, 3.0517578125e-05)
def test_decimals_are_those_of_printf(text: Any, steps: int, scale: float) -> None:
    value = float(np.float32(steps * scale))
    shown = said(text, "aboard_put_decimal", value)
    assert re.fullmatch(r"-?\d+\.\d{3}", shown)
    assert abs(float(shown) - value) <= 0.00050001
    if scale != 3.0517578125e-05:  # with the others, thousandths are exact in float32
        assert shown == f"{value:.3f}"


@pytest.mark.parametrize(
    ("value", "shown"),
    [(float("nan"), "nan"), (float("inf"), "inf"), (-1e30, "-inf"), (2.0**40, f"{2**40}.000"), (0.9999, "1.000")],
)
def test_numbers_at_the_ends(text: Any, value: float, shown: str) -> None:
    assert said(text, "aboard_put_decimal", value) == shown


def test_whole_numbers(text: Any) -> None:
    assert said(text, "aboard_put_number", 0) == "0"
    assert said(text, "aboard_put_number", 2**64 - 1) == str(2**64 - 1)
    ffi, library = text
    number = ffi.new("uint32_t *")
    accepted = [
        word
        for word in (b"0", b"42", b"4294967295", b"", b"4294967296", b"-1", b"1x", b" 1")
        if library.aboard_parse_number(word, number)
    ]
    assert accepted == [b"0", b"42", b"4294967295"]
