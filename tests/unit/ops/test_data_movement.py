"""What the verifier says of data-movement nodes that break a rule, and what their kernels refuse."""

from __future__ import annotations

import pytest

from aboard.errors import ModelError, VerifyError
from aboard.ir import Attributes, DType, Node, Tensor, TensorType
from aboard.kernels.select import strategy
from aboard.ops import get
from aboard.ops.concatenation import ConcatenationAttributes
from aboard.ops.pad import PadAttributes
from aboard.ops.reshape import ReshapeAttributes
from aboard.ops.resize_nearest_neighbor import ResizeNearestNeighborAttributes
from aboard.ops.split import SplitAttributes
from aboard.ops.strided_slice import AxisSlice, StridedSliceAttributes
from aboard.ops.transpose import TransposeAttributes
from aboard.target import Target

Shape = tuple[int, ...]


def node(op: str, attrs: Attributes, operands: list[Shape], results: list[Shape]) -> Node:
    def tensors(letter: str, shapes: list[Shape]) -> list[Tensor]:
        return [Tensor(f"{letter}{i}", TensorType(shape, DType.INT8)) for i, shape in enumerate(shapes)]

    return Node(op, "n", list(tensors("x", operands)), tensors("y", results), attrs)


def slices(*parts: AxisSlice, shape: Shape) -> StridedSliceAttributes:
    return StridedSliceAttributes(parts, shape)


def resize(*size: int) -> ResizeNearestNeighborAttributes:
    return ResizeNearestNeighborAttributes((size[0], size[1]), False, False)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (
            node("reshape", ReshapeAttributes((5,)), [(2, 3)], [(5,)]),
            "reshape n: elements, got 6 before and 5 after, expected the same",
        ),
        (
            node("pad", PadAttributes(((0, 1),), 0), [(2, 3)], [(2, 4)]),
            "pad n: paddings, got 1, expected 2, one for each axis",
        ),
        (
            node("pad", PadAttributes(((0, -1),), 0), [(3,)], [(2,)]),
            "pad n: paddings, got ((0, -1),), expected none below 0",
        ),
        (
            node("concatenation", ConcatenationAttributes(2), [(2, 3)], [(2, 3)]),
            "concatenation n: axis, got 2, expected less than 2",
        ),
        (
            node("concatenation", ConcatenationAttributes(0), [(2, 3), (2, 4)], [(4, 3)]),
            "concatenation n: operand x1, got int8[2x4], expected int8[2x3] but for axis 0",
        ),
        (
            node("split", SplitAttributes(1, (3,)), [(3,)], [(3,)]),
            "split n: axis, got 1, expected less than 1",
        ),
        (
            node("split", SplitAttributes(0, (1, 1)), [(3,)], [(1,), (1,)]),
            "split n: sizes, got (1, 1) for 2 results, expected a sum of 3",
        ),
        (
            node("transpose", TransposeAttributes((0, 0)), [(2, 3)], [(2, 2)]),
            "transpose n: order, got (0, 0), expected a permutation of 2 axes",
        ),
        (
            node("resize_nearest_neighbor", resize(2, 2), [(2, 2)], [(2, 2)]),
            "resize_nearest_neighbor n: operand, got 2 axes, expected 4",
        ),
        (
            node("resize_nearest_neighbor", resize(0, 2), [(1, 2, 2, 1)], [(1, 0, 2, 1)]),
            "resize_nearest_neighbor n: size, got (0, 2), expected at least 1",
        ),
        (
            node("strided_slice", slices(AxisSlice(0, 1, 2), shape=(2,)), [(2, 3)], [(2,)]),
            "strided_slice n: slices, got 1, expected 2",
        ),
        (
            node("strided_slice", slices(AxisSlice(1, 2, 2), shape=(2,)), [(3,)], [(2,)]),
            "strided_slice n: slice, got AxisSlice(start=1, stride=2, count=2), expected indices below 3",
        ),
        (
            node("strided_slice", slices(AxisSlice(0, 1, 2), shape=(3,)), [(3,)], [(3,)]),
            "strided_slice n: shape, got (3,), expected the counts (2,)",
        ),
    ],
)
def test_verify_names_the_node_and_the_rule(made: Node, message: str) -> None:
    with pytest.raises(VerifyError) as caught:
        get(made.op).verify(made)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (
            node("concatenation", ConcatenationAttributes(0), [(1,)] * 17, [(17,)]),
            "17 operands, at most 16 are supported",
        ),
        (node("split", SplitAttributes(0, (1,) * 17), [(17,)], [(1,)] * 17), "17 parts, at most 16 are supported"),
        (node("pad", PadAttributes(((0, 0),) * 8, 0), [(1,) * 8], [(1,) * 8]), "8 axes, at most 7 are supported"),
        (
            node("resize_nearest_neighbor", resize(1, 1), [(1, 1, 70000, 1)], [(1, 1, 1, 1)]),
            "70000 rows or pixels, at most 65535 are supported",
        ),
    ],
)
def test_kernels_say_what_they_refuse(made: Node, reason: str) -> None:
    with pytest.raises(ModelError) as caught:
        strategy.choose(made, Target("c -mcpu=cortex-m4 -runtime=standalone"))
    assert f"(portable: {reason})" in str(caught.value)


def test_data_movement_says_so_and_costs_no_macs() -> None:
    made = node("transpose", TransposeAttributes((1, 0)), [(2, 3)], [(3, 2)])
    assert get("transpose").macs(made) == 0
    moving = {"concatenation", "pad", "reshape", "resize_nearest_neighbor", "split", "strided_slice", "transpose"}
    assert all(get(name).moves_data for name in moving)
