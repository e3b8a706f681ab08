from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard.emit import c_text
from aboard.errors import VerifyError


def test_literals_are_c() -> None:
    fields = {"a": 1, "b": -(2**31), "c": {"d": 0.5, "e": True}, "f": [1, 2], "g": "NAME"}
    assert c_text.literal(fields) == ("{.a = 1, .b = INT32_MIN, .c = {.d = 0.5f, .e = true}, .f = {1, 2}, .g = NAME}")


def test_arrays_state_type_size_and_alignment() -> None:
    text = c_text.array("w", np.array([[1, -2], [3, -128]], np.int8), 8)
    assert text == "static const int8_t w[4] ABOARD_ALIGNED(8) = {\n    1, -2, 3, -128,\n};"


def test_array_lines_stay_within_the_limit() -> None:
    text = c_text.array("w", np.arange(-500, 500, dtype=np.int32), 4)
    assert max(map(len, text.splitlines())) <= c_text.WIDTH


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.float32])
def test_array_lines_are_filled_with_all_elements(dtype: type) -> None:
    values = np.random.default_rng(1).integers(-128, 128, 997).astype(dtype)
    lines = c_text.array("w", values, 4).splitlines()[1:-1]
    words = [line.split() for line in lines]
    read = [word.removesuffix(",").removesuffix("f") for line in words for word in line]
    np.testing.assert_array_equal(np.array(read, np.float64), values)
    assert max(map(len, lines)) <= c_text.WIDTH
    for line, (first, *_) in zip(lines, words[1:], strict=False):
        assert len(line) + 1 + len(first) > c_text.WIDTH


def test_an_array_without_elements_has_no_line() -> None:
    assert c_text.array("w", np.zeros(0, np.int8), 4) == "static const int8_t w[0] ABOARD_ALIGNED(4) = {\n};"


def test_a_type_without_a_c_twin_is_refused() -> None:
    with pytest.raises(VerifyError, match=r"constant of type complex64: no C type, expected one of int8"):
        c_text.array("w", np.zeros(1, np.complex64), 4)


def test_a_comment_cannot_be_closed_by_its_text() -> None:
    assert c_text.comment(["end */ of \\ it"]) == "/*\n * end * / of \\134 it\n */\n"


def test_lines_are_broken_where_c_allows() -> None:
    code = "    call(" + ", ".join(f"argument_{i}" for i in range(20)) + ");"
    head = "static void f(" + ", ".join(f"int argument_{i}" for i in range(20)) + ") {"
    note = "    /* " + "word " * 40 + "*/"
    macro = "#define NAME " + '"a, b" ' * 30
    lines = c_text.fitted("\n".join([code, head, note, macro])).split("\n")
    assert max(len(line) for line in lines if line != macro) <= c_text.WIDTH
    assert macro in lines
    joined = " ".join(" ".join(lines).replace("     * word", "word").split())
    assert joined == " ".join(f"{code} {head} {note} {macro}".split())


@given(st.lists(st.floats(width=32, allow_nan=False), min_size=20, max_size=40))
@settings(max_examples=5, deadline=None)
def test_float_literals_read_back_bit_for_bit(values: list[float]) -> None:
    source = "#include <stdio.h>\nint main(void) { static const float v[] = {"
    source += ", ".join(c_text.floating(v) for v in values)
    source += "}; fwrite(v, sizeof v, 1, stdout); return 0; }"
    program = Path(subprocess.run(["mktemp"], capture_output=True, text=True, check=True).stdout.strip())
    subprocess.run(["gcc", "-xc", "-w", "-", "-o", str(program)], input=source, text=True, check=True)
    printed = subprocess.run([str(program)], capture_output=True, check=True).stdout
    program.unlink()
    assert printed == struct.pack(f"<{len(values)}f", *values)
