"""Runs of memory of a part of a tensor: the groups read what numpy reads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard.ir import DType, Tensor, TensorType
from aboard.tiling import Box, RunGroup, Transfer, runs

IMAGE = Tensor("x", TensorType((1, 4, 3, 8), DType.INT8))


@pytest.mark.parametrize(
    ("start", "stop", "expected"),
    [
        ((0, 1, 0, 0), (1, 3, 3, 8), [(24, 48, 1, 0)]),
        ((0, 1, 0, 2), (1, 3, 3, 4), [(26, 2, 6, 8)]),
        ((0, 1, 1, 0), (1, 3, 3, 8), [(32, 16, 2, 24)]),
        # Neither rows nor columns whole: a group of runs for each row.
        ((0, 0, 0, 0), (1, 2, 2, 4), [(0, 4, 2, 8), (24, 4, 2, 8)]),
    ],
)
def test_groups_of_a_part_of_an_image(
    start: tuple[int, ...], stop: tuple[int, ...], expected: list[tuple[int, int, int, int]]
) -> None:
    box = Box(start, stop)
    assert runs(Transfer(IMAGE, box, 0, box.elements)) == [RunGroup(*group) for group in expected]


def test_packed_parameters_are_one_run() -> None:
    assert runs(Transfer(IMAGE, Box((4,), (10,)), 0, 72, parameters=True)) == [RunGroup(48, 72, 1, 0)]


@settings(max_examples=60, deadline=None)
@given(st.data(), st.lists(st.integers(1, 5), max_size=4), st.sampled_from([DType.INT8, DType.INT16, DType.INT32]))
def test_the_groups_read_the_part_in_its_order(data: st.DataObject, shape: list[int], dtype: DType) -> None:
    ranges = [sorted(data.draw(st.lists(st.integers(0, n), min_size=2, max_size=2, unique=True))) for n in shape]
    box = Box(tuple(start for start, _ in ranges), tuple(stop for _, stop in ranges))
    tensor = Tensor("t", TensorType(tuple(shape), dtype))
    values = np.arange(tensor.type.elements).reshape(shape).astype(dtype.value)
    memory = values.tobytes()
    read = b""
    for group in runs(Transfer(tensor, box, 0, box.elements * dtype.bytes)):
        for number in range(group.repeats):
            first = group.offset + number * group.stride
            read += memory[first : first + group.bytes]
    assert read == values[box.slices].tobytes()
