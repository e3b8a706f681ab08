"""Real numbers become integers in the same way in Python, in the graph's QUANTIZE and in the C header."""

from __future__ import annotations

import subprocess
from pathlib import Path

import cffi
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aboard
from aboard.base.manifest_records import TensorRecord
from aboard.device import real_values, tensor_io
from aboard.errors import InputError
from aboard.ir import Attributes, DType, Node, Quantization, Rounding, Tensor, TensorType
from aboard.ops import get
from support.tflite_builder import ModelBuilder


def record(dtype: str, scale: float, zero_point: int, rounding: Rounding = Rounding.TFLITE) -> TensorRecord:
    return TensorRecord(
        name="x", c_name="x", dtype=dtype, shape=(1,), scale=scale, zero_point=zero_point, rounding=rounding.value,
        offset=0, bytes=1,
    )  # fmt: skip


def numbers(scale: float) -> np.ndarray:
    """Returns halves of steps and their neighbours, numbers out of range, and such as are none."""
    halves = np.arange(-700, 700, dtype=np.float32) / 2 * np.float32(scale)
    near = np.concatenate([np.nextafter(halves, np.float32(side), dtype=np.float32) for side in (-np.inf, np.inf)])
    rest = np.array([np.inf, -np.inf, np.nan, 1e38, -1e38, -0.0], np.float32)
    return np.concatenate([halves, near, rest]).astype(np.float32)


@pytest.mark.parametrize("rounding", Rounding)
@pytest.mark.parametrize("dtype", [DType.INT8, DType.INT16])
@settings(max_examples=30, deadline=None)
@given(scale=st.floats(2**-20, 2**20, width=32), zero_point=st.integers(-128, 127))
def test_python_is_the_quantize_of_the_graph(rounding: Rounding, dtype: DType, scale: float, zero_point: int) -> None:
    point = zero_point if dtype is DType.INT8 else 0
    x = numbers(scale)
    result = Tensor("q", TensorType(x.shape, dtype, Quantization((scale,), (point,))))
    operand = Tensor("x", TensorType(x.shape, DType.FLOAT32))
    node = Node("quantize", "q", [operand], [result], Attributes(rounding=rounding))
    (wanted,) = get("quantize").evaluate(node, [x])
    got = real_values.quantised(x, record(dtype.value, scale, point, rounding))
    np.testing.assert_array_equal(got, wanted)
    back = real_values.real(got, record(dtype.value, scale, point))
    (real,) = get("dequantize").evaluate(Node("dequantize", "x", [result], [operand]), [got])
    np.testing.assert_array_equal(back, real)


@pytest.mark.parametrize("attributes", ["", "-arithmetic=exact", "-io=uint8"])
@pytest.mark.parametrize("dtype", [np.int8, np.int16])
def test_the_header_is_python(attributes: str, dtype: type, tmp_path: Path) -> None:
    if dtype is np.int16 and attributes == "-io=uint8":
        attributes = "-io=int8"  # integers of 16 bits stay
    quant = {"scale": 0.037, "zero_point": 5 if dtype is np.int8 else 0}
    build = ModelBuilder().tensor("x", (1, 8), dtype, **quant).tensor("y", (1, 8), dtype, **quant)
    module = aboard.compile(
        build.op("RELU", ["x"], ["y"]).build(["x"], ["y"]), target=f"c -runtime=host {attributes}", name="net"
    )
    module.save(tmp_path / "net")
    (given_,), (made,) = module.manifest.inputs, module.manifest.outputs
    ctype = f"{given_.dtype}_t"
    declared = (
        f"void to_integers(const float *real, {ctype} *values, size_t count);"
        f"void to_real(const {ctype} *values, float *real, size_t count);"
    )
    (tmp_path / "use.c").write_text(
        f"""#include "net.h"
{declared}
void to_integers(const float *real, {ctype} *values, size_t count) {{ net_quantize_input(real, values, count); }}
void to_real(const {ctype} *values, float *real, size_t count) {{ net_dequantize_output(values, real, count); }}
"""
    )
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-fsanitize=undefined", "-fno-sanitize-recover"]
    command = ["gcc", *flags, "-shared", "-fPIC", f"-I{tmp_path / 'net' / 'include'}", str(tmp_path / "use.c")]
    subprocess.run([*command, "-o", str(tmp_path / "use.so")], check=True)
    ffi = cffi.FFI()
    ffi.cdef(declared)
    library = ffi.dlopen(str(tmp_path / "use.so"))
    x = numbers(given_.scale or 1.0)
    values, real = np.zeros(len(x), given_.dtype), np.zeros(len(x), np.float32)
    library.to_integers(
        ffi.cast("float *", ffi.from_buffer(x)), ffi.cast(f"{ctype} *", ffi.from_buffer(values)), len(x)
    )
    np.testing.assert_array_equal(values, real_values.quantised(x, given_))
    library.to_real(ffi.cast(f"{ctype} *", ffi.from_buffer(values)), ffi.cast("float *", ffi.from_buffer(real)), len(x))
    np.testing.assert_array_equal(real, real_values.real(values, made))


def test_states_are_never_quantised() -> None:
    with pytest.raises(InputError, match=r"m: state x has a wrong type, got float32, expected int8\. Convert it with"):
        tensor_io.encode_states({"x": np.zeros(1, np.float32)}, [record("int8", 0.5, 3)], "m")
