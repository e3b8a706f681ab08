"""memcpy, memmove, memset and memcmp of the runtime, in the variant for each kind of core, against Python's bytes."""

from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path

import cffi
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard.base import resources

RUNTIME = resources.firmware() / "ports" / "runtime"
SPACE = 96
_NAMES = ("memcpy", "memmove", "memset", "memcmp")
_VARIANTS = {"loose": [], "aligned": ["-U__x86_64__", "-U__aarch64__"]}


@pytest.fixture(scope="module", params=sorted(_VARIANTS))
def runtime(request, tmp_path_factory):
    """The functions, compiled under other names so that the C library's stay what they are."""
    ffi = cffi.FFI()
    ffi.cdef(
        "void our_memcpy(void *to, const void *from, size_t count);"
        "void our_memmove(void *to, const void *from, size_t count);"
        "void our_memset(void *to, int value, size_t count);"
        "int our_memcmp(const void *one, const void *other, size_t count);"
    )
    renamed = [f"-D{name}=our_{name}" for name in _NAMES]
    source = (RUNTIME / "memory.c").read_text(encoding="utf-8").replace("#include <string.h>", '#include "string.h"')
    folder: Path = tmp_path_factory.mktemp("runtime")
    (folder / "memory.c").write_text(source)
    declarations = (
        "#include <stddef.h>\nvoid *our_memcpy(void *, const void *, size_t);"
        "void *our_memmove(void *, const void *, size_t);"
        "void *our_memset(void *, int, size_t);int our_memcmp(const void *, const void *, size_t);"
    )
    name = f"runtime_{request.param}"
    objects = _compile(folder, [*renamed, *_VARIANTS[request.param]])
    ffi.set_source(name, declarations, extra_objects=[objects])
    path = ffi.compile(tmpdir=str(folder))
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _compile(folder: Path, flags: list[str]) -> str:
    command = [
        "gcc",
        "-c",
        "-fPIC",
        "-std=c99",
        "-O2",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-Wconversion",
        "-Wshadow",
        "-Wundef",
    ]
    command += ["-fno-builtin", "-ffreestanding", "-fno-tree-loop-distribute-patterns", f"-I{RUNTIME / 'include'}"]
    target = str(folder / "memory.o")
    subprocess.run([*command, *flags, str(folder / "memory.c"), "-o", target], check=True)
    return target


def block(runtime):
    """Memory with known content, aligned to a word."""
    memory = runtime.ffi.new("uint32_t[]", SPACE // 4)
    data = runtime.ffi.buffer(memory)
    data[:] = bytes((7 * i + 1) & 0xFF for i in range(SPACE))
    return memory, runtime.ffi.cast("uint8_t *", memory), data


places = st.integers(0, 40)
counts = st.integers(0, 48)


@settings(max_examples=150, deadline=None)
@given(to=places, start=places, count=counts)
def test_memmove_between_any_two_places(runtime, to, start, count):
    _keep, at, data = block(runtime)
    expected = bytearray(data[:])
    expected[to : to + count] = bytes(expected[start : start + count])
    runtime.lib.our_memmove(at + to, at + start, count)
    assert data[:] == bytes(expected)


@settings(max_examples=150, deadline=None)
@given(to=st.integers(0, 7), start=st.integers(0, 7), count=st.integers(0, SPACE - 8))
def test_memcpy_at_any_alignment(runtime, to, start, count):
    _one, source, read = block(runtime)
    _other, target, written = block(runtime)
    expected = bytearray(written[:])
    expected[to : to + count] = read[start : start + count]
    runtime.lib.our_memcpy(target + to, source + start, count)
    assert written[:] == bytes(expected)


@settings(max_examples=100, deadline=None)
@given(to=places, count=counts, value=st.integers(-128, 511))
def test_memset(runtime, to, count, value):
    _keep, at, data = block(runtime)
    expected = bytearray(data[:])
    expected[to : to + count] = bytes([value & 0xFF]) * count
    runtime.lib.our_memset(at + to, value, count)
    assert data[:] == bytes(expected)


@settings(max_examples=100, deadline=None)
@given(one=st.binary(max_size=20), other=st.binary(max_size=20))
def test_memcmp(runtime, one, other):
    count = min(len(one), len(other))
    result = runtime.lib.our_memcmp(one, other, count)
    assert (result > 0) - (result < 0) == (one[:count] > other[:count]) - (one[:count] < other[:count])
