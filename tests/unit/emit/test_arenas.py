"""Models with several arenas and placed weights: the C that is emitted, and that it computes the same."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import aboard
from aboard.base import resources
from aboard.errors import CapacityError
from support.zoo import many_ops

DIGITS = resources.models() / "digits.tflite"
WARNINGS = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-Wconversion", "-Wshadow", "-Wundef")
OPTIONS = ("-DABOARD_HOOKS=1", "-DABOARD_TRACE=1", "-DABOARD_RUN_OP=1")
TWO = "c -mcpu=cortex-m7 -arena=dtcm:1K,sram"


def test_each_region_has_a_pointer_a_size_and_its_tensors() -> None:
    module = aboard.compile(DIGITS, target=TWO)
    arenas = {arena.region: arena.bytes for arena in module.manifest.arenas}
    assert list(arenas) == ["dtcm", "sram"]
    assert arenas["dtcm"] <= 1024
    assert module.manifest.ram_bytes == sum(arenas.values())
    header, source = module.files["include/digits.h"], module.files["src/digits.c"]
    for region, size in arenas.items():
        assert f"#define DIGITS_{region.upper()}_ARENA_BYTES {size}\n" in header
        assert f" * @param {region}_arena  Memory in {region}." in header
    assert "DIGITS_ARENA_BYTES" not in header + source
    flat = re.sub(r"\s+", " ", header + source)
    run = "digits_run(void *dtcm_arena, size_t dtcm_arena_bytes, void *sram_arena, size_t sram_arena_bytes)"
    assert flat.count(run) == 2
    (given,) = module.manifest.inputs
    assert f"digits_input_0(void *{['dtcm', 'sram'][given.arena]}_arena)" in header
    assert '{.region = "dtcm", .bytes = DIGITS_DTCM_ARENA_BYTES}' in flat
    assert ".arena_count = 2, .arenas = arenas, .run_in = serve," in flat
    assert ".run = serve" not in flat
    for buffer in module.manifest.buffers:
        assert buffer.offset + buffer.bytes <= module.manifest.arenas[buffer.arena].bytes


def test_weights_lie_in_a_section_of_their_region() -> None:
    placed = aboard.compile(DIGITS, target="st/nucleo_h743zi -weights=itcm")
    plain = aboard.compile(DIGITS, target="st/nucleo_h743zi")
    assert placed.manifest.weights_region == "itcm"
    text = placed.files["src/digits_weights.h"]
    assert text.count(' ABOARD_SECTION(".aboard.weights.itcm") = {') == text.count("static const") > 3
    assert (
        text.replace(' ABOARD_SECTION(".aboard.weights.itcm")', "").splitlines()[8:]
        == (plain.files["src/digits_weights.h"].splitlines()[8:])
    )


def test_a_region_that_holds_all_leaves_the_api_as_it_is() -> None:
    plain = aboard.compile(DIGITS, target="st/nucleo_h743zi -opt=speed")
    for target in ("st/nucleo_h743zi -opt=speed -arena=dtcm,axi_sram", "st/nucleo_h743zi -opt=speed -arena=dtcm"):
        module = aboard.compile(DIGITS, target=target)
        assert [arena.region for arena in module.manifest.arenas] == ["dtcm"]
        for path, text in module.files.items():
            assert _without_target(text) == _without_target(plain.files[path]), path


def _without_target(text: str) -> str:
    return re.sub(r"^ \* Target: .*\n(?: \*   .*\n)*", "", text, flags=re.MULTILINE)


def test_the_default_region_is_the_default() -> None:
    plain = aboard.compile(DIGITS, target="st/nucleo_h743zi")
    named = aboard.compile(DIGITS, target="st/nucleo_h743zi -arena=axi_sram -weights=flash")
    assert (named.files, named.manifest) == (plain.files, plain.manifest)


@pytest.mark.parametrize("compiler", ["gcc", "clang", "arm-none-eabi-gcc"])
@pytest.mark.parametrize("options", [(), OPTIONS])
def test_it_compiles_without_warnings(tmp_path: Path, compiler: str, options: tuple[str, ...]) -> None:
    module = aboard.compile(DIGITS, target=f"{TWO} -weights=external", hooks=bool(options))
    bundle = module.save(tmp_path / "bundle")
    core = ("-mcpu=cortex-m7", "-mfloat-abi=hard", "-mfpu=fpv5-d16") if compiler.startswith("arm") else ()
    command = [compiler, *WARNINGS, *core, *options, "-O2", f"-I{bundle}/include", "-c", f"{bundle}/src/digits.c"]
    done = subprocess.run([*command, "-o", str(tmp_path / "digits.o")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("division", ["a:300,b:500,c", "a:1,b:500,c -input=kept -opt=size"])
@pytest.mark.parametrize("dtype", [np.int8, np.float32])
def test_it_computes_the_same_wherever_buffers_lie(division: str, dtype: type) -> None:
    model = many_ops(dtype)
    whole = aboard.compile(model, target="c -runtime=host", name="m")
    divided = aboard.compile(model, target=f"c -runtime=host -weights=itcm -arena={division}", name="m")
    assert len(divided.manifest.arenas) >= 2
    (given,) = whole.manifest.inputs
    rng = np.random.default_rng(7)
    feed = (rng.normal(size=given.shape) * (40 if dtype == np.int8 else 1)).astype(given.dtype)
    expected, got = whole.run(feed), divided.run(feed)
    assert expected.keys() == got.keys()
    for name, values in expected.items():
        np.testing.assert_array_equal(got[name], values)


def test_each_arena_is_checked_at_run_time(tmp_path: Path) -> None:
    module = aboard.compile(DIGITS, target="c -runtime=host -arena=a:1K,b")
    sizes = {arena.region: arena.bytes for arena in module.manifest.arenas}
    bundle = module.save(tmp_path / "bundle")
    program = tmp_path / "check"
    (tmp_path / "check.c").write_text(
        f"""#include <stdio.h>
#include "digits.h"
static uint8_t a[{sizes["a"]} + 16] __attribute__((aligned(16)));
static uint8_t b[{sizes["b"]} + 16] __attribute__((aligned(16)));
int main(void) {{
    printf("%d %d %d %d %d %d\\n", digits_run(a, {sizes["a"]}, b, {sizes["b"]}),
        digits_run(NULL, {sizes["a"]}, b, {sizes["b"]}), digits_run(a, {sizes["a"]}, NULL, {sizes["b"]}),
        digits_run(a, {sizes["a"]} - 1, b, {sizes["b"]}), digits_run(a, {sizes["a"]}, b, {sizes["b"]} - 1),
        digits_run(a, {sizes["a"]}, b + 4, {sizes["b"]}));
    return 0;
}}
"""
    )
    sources = [str(tmp_path / "check.c"), f"{bundle}/src/digits.c"]
    subprocess.run(["gcc", *WARNINGS, f"-I{bundle}/include", *sources, "-o", str(program)], check=True)
    assert subprocess.run([program], capture_output=True, text=True, check=True).stdout.split() == [
        *("0", "3", "3", "1", "1", "2")
    ]


def test_a_model_that_fits_no_division_is_refused() -> None:
    with pytest.raises(CapacityError, match=r"^digits: tensors do not fit the arenas, got 100 bytes in a, 1024 bytes"):
        aboard.compile(DIGITS, target="c -mcpu=cortex-m4 -arena=a:100,b:1K")
