"""The C of the front end in this process, and signals to try it with."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cffi
import numpy as np

from aboard import frontend
from aboard.base import resources
from support.sanitized import WARNINGS

Samples = np.ndarray[tuple[int, ...], np.dtype[np.int16]]

#: What a caller of a front end does: pushes blocks of any length, and reads what is complete.
_DRIVER = """
#include "frontend.h"
#include "frontend.c"

int32_t run(const int16_t *samples, int32_t count, int32_t block, void *features) {
    static frontend_t stream;
    static frontend_scratch_t scratch;
    char *out = features;
    int32_t frames_read = 0;
    frontend_reset(&stream);
    while (count > 0) {
        int32_t left = block < count ? block : count;
        count -= left;
        do {
            const int32_t taken = frontend_push(&stream, samples, left);
            samples += taken;
            left -= taken;
            if (frontend_read(&stream, &scratch, (void *)out)) {
                out += FRONTEND_FEATURES * ELEMENT;
                ++frames_read;
            }
        } while (left > 0);
    }
    return frames_read;
}
"""


def sound(count: int, seed: int = 0) -> Samples:
    """Returns noise of all levels, silence, tones and both ends of int16, one after another, from integers alone."""
    rng = np.random.default_rng(seed)
    noise = rng.integers(-(2**15), 2**15, count) >> np.repeat(rng.integers(0, 16, count // 400 + 1), 400)[:count]
    tone = (np.arange(count) * np.repeat(rng.integers(1, 2**13, count // 900 + 1), 900)[:count]) % 2**16 - 2**15
    kind = np.repeat(rng.integers(0, 8, count // 700 + 1), 700)[:count]
    ends = np.where(rng.integers(0, 2, count) == 0, -(2**15), 2**15 - 1)
    found = np.select([kind == 0, kind == 1, kind == 2, kind == 3], [0 * noise, ends, ends | 2**15 - 1, tone], noise)
    return found.astype(np.int16)


@contextmanager
def library(folder: Path, text: str, declarations: str, *includes: Path) -> Iterator[Any]:
    """Compiles C of the firmware's front end as strictly as possible, and gives its functions."""
    source, shared = folder / "driver.c", folder / "driver.so"
    source.write_text(text, encoding="utf-8")
    roots = [*includes, resources.firmware(), resources.firmware() / "include"]
    flags = [*WARNINGS, "-O2", "-shared", "-fPIC", "-Wno-unused-parameter", *(f"-I{root}" for root in roots)]
    done = subprocess.run(["gcc", *flags, str(source), "-o", str(shared)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    ffi = cffi.FFI()
    ffi.cdef(declarations)
    yield ffi.dlopen(str(shared))


def compiled(front_end: frontend.AudioFrontEnd, streams: Samples, folder: Path, block: int = 77) -> np.ndarray:
    """Returns the features of streams [streams, count] as the written sources compute them."""
    place = frontend.write(front_end, folder / "written")
    dtype = np.dtype(np.int8 if front_end.scale else np.int16)
    text = _DRIVER.replace("ELEMENT", str(dtype.itemsize))
    frames = (streams.shape[1] - front_end.window) // front_end.hop + 1
    found = np.zeros((len(streams), frames, front_end.features), dtype)
    declaration = "int32_t run(const void *samples, int32_t count, int32_t block, void *features);"
    with library(folder, text, declaration, place / "include", place / "src") as loaded:
        ffi = cffi.FFI()
        for stream, out in zip(np.ascontiguousarray(streams), found, strict=True):
            assert loaded.run(ffi.from_buffer(stream), len(stream), block, ffi.from_buffer(out)) == frames
    return found
