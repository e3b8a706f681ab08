"""The C functions of a model that takes its input row by row, called as an application calls them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import cffi
import numpy as np
import pytest

import aboard
from aboard.base import resources
from aboard.compiler.host_runtime import build_library
from aboard.errors import TargetError
from support.channel_models import ChannelModel
from support.one_op import HOST
from support.sanitized import compile_strictly

DIGITS = resources.models() / "digits.tflite"
NULL, SMALL, MISALIGNED, STATE = 3, 1, 2, 8
ROWS, ROW_BYTES = 8, 8


class Digits:
    """The model, with an arena full of noise."""

    def __init__(self, folder: Path) -> None:
        self.module = aboard.compile(DIGITS, target=f"{HOST} -input=rows")
        self.ffi = cffi.FFI()
        self.ffi.cdef(
            "int digits_begin(void *, size_t); int8_t *digits_row(void *); int digits_push(void *, const int8_t *);"
            "int digits_run(void *, size_t);"
        )
        self.c: Any = self.ffi.dlopen(str(build_library(self.module, folder)))
        self.bytes = self.module.manifest.ram_bytes
        self._memory = self.ffi.new("uint8_t[]", bytes(np.random.default_rng(0).bytes(self.bytes + 32)))
        shift = -int(self.ffi.cast("uintptr_t", self._memory)) % 16
        self.arena = self._memory + shift

    def output(self) -> bytes:
        record = self.module.manifest.outputs[0]
        return bytes(self.ffi.buffer(self.arena + record.offset, record.bytes))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Digits:
    return Digits(tmp_path_factory.mktemp("digits"))


def image() -> np.ndarray:
    return np.random.default_rng(1).integers(-128, 128, (ROWS, ROW_BYTES)).astype(np.int8)


def expected() -> bytes:
    x = image().reshape(1, ROWS, ROW_BYTES, 1)
    whole = aboard.compile(DIGITS, target=HOST)
    return np.asarray(whole.run(x)).tobytes()


def test_rows_may_be_copied_or_put_where_they_go(library: Digits) -> None:
    c, arena = library.c, library.arena
    for in_place in (False, True, False):
        assert c.digits_begin(arena, library.bytes) == 0
        for row in image():
            data: Any = row.tobytes()
            if in_place:
                data = c.digits_row(arena)
                library.ffi.memmove(data, row.tobytes(), ROW_BYTES)
            assert c.digits_push(arena, data) == 0
        assert c.digits_row(arena) == library.ffi.NULL
        assert c.digits_run(arena, library.bytes) == 0
        assert library.output() == expected()


def test_what_does_not_fit_the_state_of_a_run_is_refused(library: Digits) -> None:
    c, arena = library.c, library.arena
    assert c.digits_begin(arena, library.bytes) == 0
    for row in image():
        assert c.digits_run(arena, library.bytes) == STATE
        assert c.digits_push(arena, row.tobytes()) == 0
    assert c.digits_push(arena, bytes(ROW_BYTES)) == STATE
    assert c.digits_run(arena, library.bytes) == 0
    assert c.digits_run(arena, library.bytes) == STATE
    assert c.digits_push(arena, bytes(ROW_BYTES)) == STATE
    assert library.output() == expected()


def test_a_wrong_arena_is_refused(library: Digits) -> None:
    c, arena, null = library.c, library.arena, library.ffi.NULL
    assert c.digits_begin(null, library.bytes) == NULL
    assert c.digits_begin(arena, library.bytes - 1) == SMALL
    assert c.digits_begin(arena + 1, library.bytes) == MISALIGNED
    assert c.digits_push(null, bytes(ROW_BYTES)) == NULL
    assert c.digits_push(arena, null) == NULL
    assert c.digits_run(null, library.bytes) == NULL


def test_the_header_says_how_rows_come(library: Digits) -> None:
    header = library.module.files["include/digits.h"]
    assert "#define DIGITS_INPUT_0_ROWS 8\n#define DIGITS_INPUT_0_ROW_BYTES 8\n" in header
    assert "aboard_status_t digits_push(void *arena, const int8_t *row);" in header
    assert "digits_input_0(" not in header
    assert "INPUT_0_OFFSET" not in header


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_it_compiles_under_all_warnings(library: Digits, tmp_path: Path, compiler: str) -> None:
    compile_strictly(library.module, tmp_path, [compiler])


@pytest.mark.parametrize("arenas", ["-arena=dtcm", "-arena=dtcm:1K,axi_sram"])
def test_it_compiles_for_other_arenas(tmp_path: Path, arenas: str) -> None:
    module = aboard.compile(DIGITS, target=f"st/nucleo_h743zi {arenas} -input=rows")
    compile_strictly(module, tmp_path, ["arm-none-eabi-gcc"])


def test_an_input_that_no_cascade_takes_is_stored_whole() -> None:
    model = ChannelModel(1, (1, 6, 5, 3)).conv(4).build()
    whole = aboard.compile(model, target=HOST, name="model")
    module = aboard.compile(model, target=f"{HOST} -opt=speed -input=rows", name="model")
    x = np.random.default_rng(2).integers(-128, 128, (1, 6, 5, 3)).astype(np.int8)
    np.testing.assert_array_equal(np.asarray(module.run(x)), np.asarray(whole.run(x)))
    assert module.manifest.ram_bytes >= x.size


def test_the_loop_of_the_manual_computes_what_the_model_does(library: Digits, tmp_path: Path) -> None:
    page = (resources.firmware().parent / "docs" / "reference" / "model_api.md").read_text(encoding="utf-8")
    loop = next(block for block in re.findall(r"```c\n(.*?)```", page, re.DOTALL) if "digits_push" in block)
    values = ", ".join(map(str, image().ravel().tolist()))
    (tmp_path / "main.c").write_text(
        '#include <stdio.h>\n#include <string.h>\n#include "aboard/config.h"\n#include "digits.h"\n'
        "static uint8_t arena[DIGITS_ARENA_BYTES] ABOARD_ALIGNED(ABOARD_ARENA_ALIGN);\n"
        f"static const int8_t image[] = {{{values}}};\nstatic size_t read;\n"
        "static void camera_read_row(int8_t *row) { memcpy(row, image + read, DIGITS_INPUT_0_ROW_BYTES);\n"
        "    read += DIGITS_INPUT_0_ROW_BYTES; }\n"
        "static void show(const int8_t *output) { fwrite(output, 1, DIGITS_OUTPUT_0_BYTES, stdout); }\n"
        f"int main(void) {{\n{loop}    return 0;\n}}\n"
    )
    bundle = library.module.save(tmp_path / "bundle")
    manifest = library.module.manifest
    includes = [f"-I{bundle / folder}" for folder in ("include", *manifest.include_folders)]
    sources = [str(tmp_path / "main.c"), *(str(bundle / path) for path in manifest.sources)]
    program = tmp_path / "program"
    subprocess.run(["gcc", "-std=c99", *manifest.cflags, *includes, *sources, "-o", str(program)], check=True)
    assert subprocess.run([str(program)], capture_output=True, check=True).stdout == expected()


def test_what_has_no_rows_is_refused() -> None:
    with pytest.raises(TargetError) as error:
        aboard.compile(ChannelModel(2, (1, 12)).dense(4).build(), target=f"{HOST} -input=rows", name="flat")
    assert str(error.value) == (
        "flat: -input=rows does not suit the inputs of the model, got 1x12, expected one image of 1 x rows x columns x "
        "channels. Leave -input=rows out"
    )
