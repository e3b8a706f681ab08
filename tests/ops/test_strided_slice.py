"""Strided slices against tflite-micro, and against LiteRT where the former ignores a mask or refuses five axes."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from aboard.errors import ModelError
from aboard.importers import load
from aboard.ops import get
from aboard.ops.sharing import Share
from support import one_op, oracle
from support.examples import examples
from support.tflite_builder import ModelBuilder

dtypes = st.sampled_from([np.int8, np.float32])


@dataclass
class Case:
    """A slice as the operator's operands say it."""

    shape: tuple[int, ...]
    begin: list[int] = field(default_factory=list)
    end: list[int] = field(default_factory=list)
    strides: list[int] = field(default_factory=list)
    masks: dict[str, int] = field(default_factory=dict)
    result: tuple[int, ...] = ()

    def add(self, begin: int, end: int, stride: int, masks: tuple[str, ...] = ()) -> None:
        for mask in masks:
            self.masks[mask] = self.masks.get(mask, 0) | 1 << len(self.begin)
        self.begin.append(begin)
        self.end.append(end)
        self.strides.append(stride)

    def model(self, dtype: type = np.int8) -> bytes:
        quant = {"scale": 0.25, "zero_point": 3} if dtype == np.int8 else {}
        count = (len(self.begin),)
        return (
            ModelBuilder()
            .tensor("x", self.shape, dtype, **quant)
            .tensor("b", count, np.int32, data=self.begin)
            .tensor("e", count, np.int32, data=self.end)
            .tensor("s", count, np.int32, data=self.strides)
            .tensor("y", self.result, dtype, **quant)
            .op("STRIDED_SLICE", ["x", "b", "e", "s"], ["y"], self.masks)
            .build(["x"], ["y"])
        )


def values(shape: tuple[int, ...], dtype: type = np.int8) -> np.ndarray:
    return np.random.default_rng(0).integers(-128, 128, shape).astype(dtype)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    shape = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4).map(tuple))
    case, index = Case(shape), []
    for extent in shape:
        stride = draw(st.integers(1, 3)) * draw(st.sampled_from([1, 1, -1]))
        begin, end = draw(st.integers(-extent, extent - 1)), draw(st.integers(-extent - 2, extent + 2))
        chosen = {name for name in ("BeginMask", "EndMask", "ShrinkAxisMask") if draw(st.integers(0, 3)) == 0}
        if "ShrinkAxisMask" in chosen:
            chosen, stride = {"ShrinkAxisMask"}, 1
            index.append(begin)
        else:
            first = None if "BeginMask" in chosen else begin
            last = None if "EndMask" in chosen else end
            index.append(slice(first, last, stride))
        case.add(begin, end, stride, tuple(chosen))
    case.result = np.empty(shape)[tuple(index)].shape
    assume(0 not in case.result)
    return case


@settings(max_examples=examples(40), deadline=None)
@given(cases(), dtypes)
def test_strided_slice(case: Case, dtype: type) -> None:
    one_op.check_equal(case.model(dtype), values(case.shape, dtype))


def test_new_axis_ellipsis_and_missing_entries() -> None:
    case = Case((3, 4, 5, 2), result=(1, 2, 4, 5, 1))
    case.add(0, 0, 1, ("NewAxisMask",))
    case.add(0, 3, 2)
    case.add(0, 0, 1, ("EllipsisMask",))
    case.add(1, 2, 1)
    one_op.check_equal(case.model(), values(case.shape), reference=oracle.litert_ref)
    short = Case((3, 4, 2), result=(2, 4, 2))
    short.add(1, 3, 1)
    one_op.check_equal(short.model(), values(short.shape), reference=oracle.litert_ref)


def test_five_axes() -> None:
    case = Case((2, 3, 2, 4, 3), result=(2, 2, 1, 2, 3))
    for begin, end, stride in [(0, 2, 1), (2, 0, -1), (1, 2, 1), (0, 4, 2), (0, 3, 1)]:
        case.add(begin, end, stride)
    one_op.check_equal(case.model(), values(case.shape), reference=oracle.litert_ref)


def test_a_box_shares_the_memory_of_the_operand() -> None:
    case = Case((2, 4, 5, 3), result=(2, 4, 3, 3))
    for begin, end in [(0, 2), (0, 4), (1, 4), (0, 3)]:
        case.add(begin, end, 1)
    made = load(case.model(), name="model").nodes[0]
    assert get("strided_slice").shares(made) == [Share(0, 0, True, (0, 0, 1, 0))]
    case.strides[2], case.result = 2, (2, 4, 2, 3)
    made = load(case.model(), name="model").nodes[0]
    assert get("strided_slice").shares(made) == []


def test_a_run_of_elements_shares_the_memory_of_the_operand_where_its_axis_goes() -> None:
    case = Case((1, 4, 5, 3), result=(1, 5, 3))
    for begin, end, masks in [(0, 1, ()), (2, 3, ("ShrinkAxisMask",)), (0, 5, ()), (0, 3, ())]:
        case.add(begin, end, 1, masks)
    made = load(case.model(), name="model").nodes[0]
    assert get("strided_slice").shares(made) == [Share(0, 0, True, None, 30)]
    one_op.check_equal(case.model(), values(case.shape))
    case = Case((2, 4, 5, 3), case.begin, [2, 3, 5, 3], case.strides, case.masks, (2, 5, 3))
    assert get("strided_slice").shares(load(case.model(), name="model").nodes[0]) == []


def refusal(case: Case) -> str:
    with pytest.raises(ModelError) as caught:
        load(case.model(), name="model")
    return str(caught.value)


def test_refuses_what_gives_nothing_or_makes_no_sense() -> None:
    case = Case((4,), [2], [2], [1], result=(1,))
    assert "slice 2:2:1 of an axis of 4, got nothing, expected an index" in refusal(case)
    case = Case((4,), [0], [2], [0], result=(2,))
    assert "stride, got 0, expected not 0" in refusal(case)
    case = Case((4,), [2], [0], [-1], {"ShrinkAxisMask": 1}, ())
    assert "stride, got -1, expected not 0, and above 0 where the axis is dropped" in refusal(case)
    case = Case((4,), [0, 0], [4, 4], [1, 1], result=(4,))
    assert "got [0, 0], [4, 4] and [1, 1] for 1 axes, expected three lists of one length" in refusal(case)
    case = Case((4,), [7], [8], [1], {"ShrinkAxisMask": 1}, ())
    assert "slice 7:8:1 of an axis of 4, got nothing" in refusal(case)
