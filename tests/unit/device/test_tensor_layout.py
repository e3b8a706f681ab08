from __future__ import annotations

import re

import numpy as np
import pytest

from aboard.base.manifest_records import OperandRecord
from aboard.device import tensor_layout
from aboard.errors import InputError, ProtocolError


def operand(
    shape: tuple[int, ...], row_stride: int, pixel_stride: int, dtype: str = "int8", **more: object
) -> OperandRecord:
    fields = {"tensor": "t", "source": None, "dtype": dtype, "shape": shape, "offset": 0}
    strides = {"row_stride": row_stride, "pixel_stride": pixel_stride}
    return OperandRecord.model_validate({**fields, **strides, **more})


@pytest.mark.parametrize(
    ("shape", "rows"),
    [((), (1, 1, 1)), ((5,), (1, 1, 5)), ((4, 5), (4, 1, 5)), ((3, 4, 5), (3, 4, 5)), ((2, 3, 4, 5), (6, 4, 5))],
)
def test_rows_are_counted_as_kernels_count_them(shape: tuple[int, ...], rows: tuple[int, int, int]) -> None:
    assert tensor_layout.rows_of(operand(shape, 1, 1)) == rows


@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_place_and_extract_are_inverse_around_gaps(dtype: str) -> None:
    size = np.dtype(dtype).itemsize
    record = operand((2, 3, 4, 5), row_stride=40 * size, pixel_stride=8 * size, dtype=dtype)
    values = np.arange(120).reshape(record.shape).astype(dtype)
    memory = tensor_layout.place(values, record, "here")
    assert len(memory) == tensor_layout.span(record) == (5 * 40 + 3 * 8 + 5) * size
    grid = np.frombuffer(memory.ljust(6 * 40 * size, b"\0"), dtype).reshape(6, 5, 8)
    np.testing.assert_array_equal(grid[:, :4, :5], values.reshape(6, 4, 5))
    assert not grid[:, 4:].any()
    assert not grid[:, :, 5:].any()
    np.testing.assert_array_equal(tensor_layout.widen(tensor_layout.extract(memory, record), record), values)


def test_missing_channels_are_masked() -> None:
    record = operand((1, 2, 2), 4, 2, channel_map=(3, 1), reference_channels=5)
    wide = tensor_layout.widen(bytes([1, 2, 3, 4]), record)
    assert tensor_layout.reference_shape(record) == wide.shape == (1, 2, 5)
    assert isinstance(wide, np.ma.MaskedArray)
    np.testing.assert_array_equal(wide.filled(-9), [[[-9, 2, -9, 1, -9], [-9, 4, -9, 3, -9]]])
    assert tensor_layout.place(np.asarray(wide), record, "here") == bytes([1, 2, 3, 4])


def test_wrong_operands_are_named() -> None:
    record = operand((1, 2, 2), 4, 2)
    message = "here: operand t is wrong, got float64 (2,), expected int8 (1, 2, 2)"
    with pytest.raises(InputError, match=re.escape(message)):
        tensor_layout.place(np.zeros(2), record, "here")
    with pytest.raises(ProtocolError, match=r"t: wrong size, got 3 bytes, expected 4\. Repeat the call"):
        tensor_layout.widen(bytes(3), record)
