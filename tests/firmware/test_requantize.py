"""requantize.h on cores without products of 64 bits: products by halves are those of exact integers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import cffi
import numpy as np

from aboard.base import resources

SOURCE = """
#define ABOARD_THUMB1 1
#include "portable/requantize.h"
void run(const int32_t *a, const int32_t *b, int32_t *high, int32_t *rounded, int32_t n);
void run(const int32_t *a, const int32_t *b, int32_t *high, int32_t *rounded, int32_t n) {
    for (int32_t i = 0; i < n; ++i) {
        high[i] = aboard_high_mul(a[i], b[i]);
        rounded[i] = aboard_rounded_high_mul(a[i], b[i]);
    }
}
"""


def test_products_by_halves(tmp_path: Path) -> None:
    (tmp_path / "high.c").write_text(SOURCE)
    flags = ["-std=c99", "-O1", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-Wconversion"]
    flags += ["-fsanitize=undefined", "-fsanitize-undefined-trap-on-error"]
    include = [f"-I{resources.firmware() / 'include'}", f"-I{resources.firmware() / 'kernels'}"]
    subprocess.run(["gcc", *flags, *include, str(tmp_path / "high.c"), "-o", str(tmp_path / "high.so")], check=True)
    ffi = cffi.FFI()
    ffi.cdef("void run(const int32_t *a, const int32_t *b, int32_t *high, int32_t *rounded, int32_t n);")
    rng = np.random.default_rng(5)
    ends = [-(2**31), -(2**31) + 1, -65536, -65535, -1, 0, 1, 32767, 65535, 65536, 2**31 - 1, 0x7FFF0000, 0x7FFFFFFF]
    pairs = np.array([(a, b) for a in ends for b in ends if (a, b) != (-(2**31), -(2**31))])
    drawn = rng.integers(-(2**31), 2**31, (200_000, 2)) >> rng.integers(0, 20, (200_000, 2))
    a, b = (np.ascontiguousarray(v, np.int32) for v in np.concatenate([pairs, drawn]).T)
    high, rounded = np.zeros_like(a), np.zeros_like(a)
    pointers = [ffi.from_buffer("int32_t[]", v) for v in (a, b, high, rounded)]
    ffi.dlopen(str(tmp_path / "high.so")).run(*pointers, len(a))
    product = a.astype(np.int64) * b
    np.testing.assert_array_equal(high, product >> 32)
    np.testing.assert_array_equal(rounded, (product + 2**31) >> 32)
