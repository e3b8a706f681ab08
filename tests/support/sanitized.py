"""Runs a compiled model as a sanitized process (ASan, UBSan), or compiles it under every warning."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import aboard
from aboard.compiler.pipeline import Module
from aboard.device.tensor_io import Inputs, Values, decode, encode

WARNINGS = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-Wconversion", "-Wshadow", "-Wundef", "-Wpedantic")
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g1", "-O1")

_MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include "{name}.h"

int main(void) {{
    /* Exactly as large as stated, so that the sanitizer sees the first byte beyond. */
    void *arena = NULL;
    if (posix_memalign(&arena, ABOARD_ARENA_ALIGN, {upper}_ARENA_BYTES) != 0) {{ return 2; }}
    const aboard_stream_t *stream = {name}_model.stream;
    const aboard_memory_t memory = {{arena, {upper}_ARENA_BYTES}};
    if ({name}_model.reset != NULL && {name}_model.reset(&memory) != ABOARD_OK) {{ return 7; }}
    if (stream != NULL && stream->begin(&memory) != ABOARD_OK) {{ return 5; }}
    for (size_t i = 0; stream != NULL && i < stream->rows; ++i) {{
        void *row = stream->slot(&memory);
        if (row == NULL || fread(row, 1, stream->row_bytes, stdin) != stream->row_bytes) {{ return 3; }}
        if (stream->push(&memory, row, NULL) != ABOARD_OK) {{ return 6; }}
    }}
    for (size_t i = 0; stream == NULL && i < {name}_model.input_count; ++i) {{
        const aboard_tensor_t *t = &{name}_model.inputs[i];
        if (fread((char *)arena + t->offset, 1, t->bytes, stdin) != t->bytes) {{ return 3; }}
    }}
    if ({name}_run(arena, {upper}_ARENA_BYTES) != ABOARD_OK) {{ return 4; }}
    for (size_t i = 0; i < {name}_model.output_count; ++i) {{
        const aboard_tensor_t *t = &{name}_model.outputs[i];
        fwrite((char *)arena + t->offset, 1, t->bytes, stdout);
    }}
    free(arena);
    return 0;
}}
"""


def run(
    module: Module, feed: Inputs, folder: Path, compiler: str = "gcc", flags: Sequence[str] = ()
) -> dict[str, Values]:
    """Returns the outputs of a run in a sanitized process; fails with the sanitizer's report.

    Args:
        module: The model; state of its is at the end of the arena.
        feed: Its inputs.
        folder: Where to build.
        compiler: The compiler.
        flags: More of the compiler's.
    """
    bundle = module.save(folder / "bundle")
    name, manifest = module.name, module.manifest
    main = folder / "main.c"
    main.write_text(_MAIN.format(name=name, upper=name.upper()))
    program = folder / "sanitized"
    sources = [str(bundle / path) for path in manifest.sources]
    command = [
        compiler,
        "-std=gnu99",
        *SANITIZERS,
        *flags,
        *(flag for flag in manifest.cflags if flag.startswith("-D")),
        *(f"-I{bundle / include}" for include in ("include", *manifest.include_folders)),
        str(main),
        *sources,
        "-o",
        str(program),
    ]
    subprocess.run(command, check=True)
    done = subprocess.run(
        [str(program)], input=b"".join(encode(feed, manifest.inputs, name)), capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    data, outputs = done.stdout, []
    for record in manifest.outputs:
        outputs.append(data[: record.bytes])
        data = data[record.bytes :]
    return decode(outputs, manifest.outputs)


def compile_strictly(module: Module, folder: Path, compiler: list[str]) -> None:
    """Compiles the generated sources under the project's warnings, in every build option, and as C++ where included."""
    switches = ["-DABOARD_HOOKS=1", "-DABOARD_TRACE=1", "-DABOARD_RUN_OP=1"]
    plain, hooked = module.save(folder / "plain"), module.with_hooks().save(folder / "hooked")
    for bundle, options in ((plain, []), (hooked, []), (hooked, switches)):
        for source in module.manifest.sources:
            command = [*compiler, *WARNINGS, *module.manifest.cflags, *options]
            command += [f"-I{bundle / include}" for include in ("include", *module.manifest.include_folders)]
            done = subprocess.run(
                [*command, "-c", str(bundle / source), "-o", "/dev/null"], capture_output=True, text=True
            )
            assert done.returncode == 0, done.stderr


def random_feed(module: Module, seed: int) -> dict[str, Values]:
    """Returns random inputs over the whole range of each type."""
    rng = np.random.default_rng(seed)
    feed: dict[str, Values] = {}
    for record in module.manifest.inputs:
        dtype = np.dtype(record.dtype)
        if dtype.kind == "f":
            feed[record.name] = rng.standard_normal(record.shape).astype(dtype)
        else:
            limits = np.iinfo(dtype)
            feed[record.name] = rng.integers(limits.min, limits.max + 1, record.shape).astype(dtype)
    return feed


def check_as_native(module: Module, model: bytes, feed: Inputs) -> None:
    """Fails unless a module gives the outputs of its model in portable C, both in sanitized processes."""
    native = aboard.compile(model, target="host/native", name=module.name)
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        got, wanted = run(module, feed, Path(first)), run(native, feed, Path(second))
    assert got.keys() == wanted.keys()
    for name, values in wanted.items():
        np.testing.assert_array_equal(got[name], values)
