"""The short form of requantisation in C against the numpy of the reference, at the places where rounding decides."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import cffi
import numpy as np
import pytest

from aboard.base import resources
from aboard.ir import Attributes, DType, Node, Quantization, Tensor, TensorType
from aboard.ir.numerics import multiply_by_quantized_multiplier, multiply_exactly
from aboard.kernels.portable.epilogue import epilogue
from aboard.kernels.weights import refusal
from aboard.ops.activation import Activation
from aboard.ops.weighted import Precision

_SOURCE = """
#include "portable/epilogue.h"
void run(const int32_t *sums, int8_t *y, int32_t n, int32_t zero, int32_t bias, int32_t multiplier, int32_t shift);
void run(const int32_t *sums, int8_t *y, int32_t n, int32_t zero, int32_t bias, int32_t multiplier, int32_t shift) {
    const aboard_epilogue_t f = {1, zero, -128, 127};
    for (int32_t i = 0; i < n; ++i) { y[i] = aboard_epilogue(&f, sums[i], bias, multiplier, shift); }
}
"""


def built(folder: Path, source: str, declared: str) -> tuple[Any, cffi.FFI]:
    """Returns the library of a C source, which stops on undefined behaviour."""
    (folder / "run.c").write_text(source)
    include = [f"-I{resources.firmware() / 'include'}", f"-I{resources.firmware() / 'kernels'}"]
    command = ["gcc", "-std=c99", "-O1", "-fsanitize=undefined", "-fno-sanitize-recover", "-shared", "-fPIC", *include]
    subprocess.run([*command, str(folder / "run.c"), "-o", str(folder / "run.so")], check=True)
    ffi = cffi.FFI()
    ffi.cdef(declared)
    return ffi.dlopen(str(folder / "run.so")), ffi


@pytest.fixture(scope="module")
def short_form(tmp_path_factory: pytest.TempPathFactory):
    """Returns a function that applies the short form of the C kernel to accumulators."""
    folder = tmp_path_factory.mktemp("epilogue")
    declared = "void run(const int32_t *, int8_t *, int32_t, int32_t, int32_t, int32_t, int32_t);"
    library, ffi = built(folder, _SOURCE, declared)

    def run(sums: np.ndarray, zero_point: int, multiplier: int, exponent: int) -> np.ndarray:
        y = np.zeros(len(sums), np.int8)
        data = np.ascontiguousarray(sums, np.int32)
        pointers = ffi.cast("int32_t *", ffi.from_buffer(data)), ffi.cast("int8_t *", ffi.from_buffer(y))
        library.run(*pointers, len(sums), zero_point, 0, multiplier, exponent - 1)
        return y

    return run


@pytest.mark.parametrize("exponent", [1, 2, 5, 7, 12, 20, 30, 31])
@pytest.mark.parametrize("multiplier", [1 << 30, (1 << 31) - 1, 1_569_364_972, 1_171_292_447])
def test_short_form_rounds_as_the_reference(short_form, multiplier: int, exponent: int) -> None:
    rng = np.random.default_rng(exponent)
    # Where the exact result is a whole number and a half, and its neighbours; and any accumulator at all.
    halves = (np.arange(-300, 300) * 2 + 1) * 2.0 ** (exponent + 30) / multiplier
    near = (halves[:, np.newaxis] + np.arange(-2, 3)).reshape(-1)
    sums = np.concatenate([near, np.arange(-70, 70), rng.integers(-(1 << 30) + 1, 1 << 30, 2000)])
    sums = np.clip(np.round(sums), -(1 << 30) + 1, (1 << 30) - 1).astype(np.int64)
    for zero_point in (-128, -7, 127):
        expected = np.clip(multiply_by_quantized_multiplier(sums, multiplier, -exponent) + zero_point, -128, 127)
        np.testing.assert_array_equal(short_form(sums, zero_point, multiplier, exponent), expected)


def node(weights: np.ndarray, scale_out: float) -> Node:
    quant = Quantization((0.5,), (3,))
    x = Tensor("x", TensorType((1, weights.shape[1]), DType.INT8, quant))
    w = Tensor("w", TensorType(weights.shape, DType.INT8, Quantization((0.25,), (0,))), weights)
    out = TensorType((1, len(weights)), DType.INT8, Quantization((scale_out,), (-4,)))
    return Node("fully_connected", "y", [x, w], [Tensor("y", out)], Attributes())


def test_short_form_only_where_it_is_proven() -> None:
    weights = np.array([[5, -7], [0, 0]], np.int8)
    good = epilogue(node(weights, 1.0), weights, None, Activation.NONE, 0)
    assert good.fast
    assert good.params == {"fast": 2, "zero_point": -4, "low": -128, "high": 127}
    assert good.bias[0] == 2 * -3 * (5 - 7)
    # A shift to the left, and an accumulator that cannot be doubled, need the general form.
    assert not epilogue(node(weights, 0.01), weights, None, Activation.NONE, 0).fast
    assert not epilogue(node(weights, 1.0), weights, np.array([1 << 30, 0]), Activation.NONE, 0).fast


def test_channel_without_weights_keeps_its_one_result() -> None:
    weights = np.array([[5, -7], [0, 0]], np.int8)
    found = epilogue(node(weights, 1.0), weights, np.array([0, 2**31 - 1]), Activation.NONE, 0)
    assert found.fast
    assert (found.multiplier[1], found.shift[1], found.bias[1]) == (1 << 30, 0, 8 * (127 + 4))


def test_more_products_than_an_accumulator_holds_are_refused() -> None:
    weights = np.zeros((1, 1 << 17), np.int8)
    message = refusal(node(weights, 1.0), Precision.INT8, 0)
    assert message == "sums 131072 products, at most 131071 fit an accumulator of 32 bits"
    assert refusal(node(weights[:, 1:], 1.0), Precision.INT8, 0) is None
    assert refusal(node(weights, 1.0), Precision.FLOAT, 0) == "is for float32"


_EXACT_SOURCE = """
#include "portable/requantize.h"
void run(const int64_t *sums, int32_t *y, int32_t n, int32_t multiplier, int32_t shift);
void run(const int64_t *sums, int32_t *y, int32_t n, int32_t multiplier, int32_t shift) {
    for (int32_t i = 0; i < n; ++i) { y[i] = aboard_requantize_exactly(sums[i], multiplier, shift); }
}
"""


@pytest.mark.parametrize("shift", [-31, -20, -8, -1, 0, 1, 14])
@pytest.mark.parametrize("multiplier", [0, 1 << 30, (1 << 31) - 1, 1_569_364_972])
def test_exact_rounding_in_c_is_that_of_numpy(exact_form, multiplier: int, shift: int) -> None:
    rng = np.random.default_rng(shift + 40)
    halves = (np.arange(-300, 300) * 2 + 1) * 2.0 ** (30 - shift) / max(multiplier, 1)
    near = (halves[:, np.newaxis] + np.arange(-2, 3)).reshape(-1)
    near = np.clip(np.round(near), -(2.0**47) + 1, 2.0**47 - 1).astype(np.int64)
    most = [2**47 - 1, -(2**47) + 1]
    sums = np.concatenate([near, np.arange(-300, 300), rng.integers(-(2**47) + 1, 2**47, 500), most])
    wanted = np.clip(multiply_exactly(sums, multiplier, shift), -(2**30), 2**30)
    np.testing.assert_array_equal(exact_form(sums, multiplier, shift), wanted)


@pytest.fixture(scope="module")
def exact_form(tmp_path_factory: pytest.TempPathFactory):
    """Returns a function that rounds sums exactly with the C function."""
    folder = tmp_path_factory.mktemp("exact")
    library, ffi = built(folder, _EXACT_SOURCE, "void run(const int64_t *, int32_t *, int32_t, int32_t, int32_t);")

    def run(sums: np.ndarray, multiplier: int, shift: int) -> np.ndarray:
        y, data = np.zeros(len(sums), np.int32), np.ascontiguousarray(sums, np.int64)
        pointers = ffi.cast("int64_t *", ffi.from_buffer(data)), ffi.cast("int32_t *", ffi.from_buffer(y))
        library.run(*pointers, len(sums), multiplier, shift)
        return y

    return run
