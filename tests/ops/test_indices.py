"""Operators with indices or shapes that are known at run time, against tflite-micro."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard.errors import ModelError
from aboard.importers import load
from support import moves, one_op
from support.examples import examples
from support.moves import Case

Shape = tuple[int, ...]

floats_and_bytes = st.sampled_from([np.int8, np.float32])


def shapes(least: int = 1, most: int = 4) -> st.SearchStrategy[Shape]:
    return st.lists(st.integers(1, 4), min_size=least, max_size=most).map(tuple)


def indexed(draw: st.DrawFn, kind: str, operand: Shape, indices: np.ndarray, result: Shape, options: Any) -> Case:
    """The operator with indices of a run, or constant ones."""
    dtype = draw(floats_and_bytes)
    if draw(st.booleans()):
        return Case(kind, [operand, indices], [result], options, dtype)
    given = [moves.values(operand, dtype), indices]
    return Case(kind, [operand, indices.shape], [result], options, dtype, dtype, (moves.quant(dtype), {}), given)


@st.composite
def gather(draw: st.DrawFn) -> Case:
    shape = draw(shapes())
    axis = draw(st.integers(0, len(shape) - 1))
    batch = draw(st.integers(0, axis))
    places = (*shape[:batch], *draw(shapes(0, 2)))
    indices = np.random.default_rng(0).integers(0, shape[axis], places).astype(np.int32)
    result = (*shape[:axis], *places[batch:], *shape[axis + 1 :])
    options = {"Axis": axis - draw(st.sampled_from([0, len(shape)])), "BatchDims": batch}
    return indexed(draw, "GATHER", shape, indices, result, options)


@st.composite
def gather_nd(draw: st.DrawFn) -> Case:
    shape = draw(shapes(most=5))
    length = draw(st.integers(1, len(shape)))
    places = draw(shapes(0, 2))
    rng = np.random.default_rng(0)
    indices = np.stack([rng.integers(0, extent, places) for extent in shape[:length]], -1).astype(np.int32)
    return indexed(draw, "GATHER_ND", shape, indices, (*places, *shape[length:]), {})


@st.composite
def embedding(draw: st.DrawFn) -> Case:
    table, count = draw(shapes(2)), draw(st.integers(1, 4))
    dtype, result = draw(st.sampled_from([(np.int8, np.int8), (np.int8, np.float32), (np.float32, np.float32)]))
    numbers = np.random.default_rng(0).integers(0, table[0], count).astype(np.int32)
    quant = ({}, {"scale": 0.3} if dtype == np.int8 else {}, {"scale": 0.3} if result == np.int8 else {})
    given = [numbers, moves.values(table, dtype)]
    return Case("EMBEDDING_LOOKUP", [(count,), table], [(count, *table[1:])], {}, dtype, result, quant, given)


@st.composite
def update(draw: st.DrawFn) -> Case:
    shape = draw(shapes())
    part = tuple(draw(st.integers(1, extent)) for extent in shape)
    dtype = draw(st.sampled_from([np.int8, np.int16, np.int32, np.float32]))
    starts = np.array([draw(st.integers(-2, 5)) for _ in shape], draw(st.sampled_from([np.int32, np.int64])))
    given = [moves.values(shape, dtype), moves.values(part, dtype), starts]
    quant = (moves.quant(dtype), moves.quant(dtype), {}, moves.quant(dtype))
    return Case("DYNAMIC_UPDATE_SLICE", [shape, part, starts.shape], [shape], {}, dtype, dtype, quant, given)


@st.composite
def box(draw: st.DrawFn) -> Case:
    shape = draw(shapes())
    part = [draw(st.integers(1, extent)) for extent in shape]
    dtype = draw(st.sampled_from([np.int8, np.int16, np.int32, np.float32, np.bool_]))
    numbers = draw(st.sampled_from([np.int32, np.int64]))
    begins = np.array(
        [draw(st.integers(0, extent - count)) for extent, count in zip(shape, part, strict=True)], numbers
    )
    given = [moves.values(shape, dtype), begins]
    sizes = np.array(part, numbers)
    return Case("SLICE", [shape, begins.shape, sizes], [part], {}, dtype, dtype, (moves.quant(dtype), {}), given)


@st.composite
def arguments(draw: st.DrawFn) -> Case:
    shape, dtype = draw(shapes()), draw(st.sampled_from([np.int32, np.int64]))
    one = [draw(st.sampled_from([1, extent])) for extent in shape]
    other = [1 if a == extent and draw(st.booleans()) else extent for a, extent in zip(one, shape, strict=True)]
    cut = draw(st.integers(0, len(shape) - 1))
    given = [np.array(one, dtype), np.array(other[cut:], dtype)]
    return Case("BROADCAST_ARGS", [(len(one),), (len(other) - cut,)], [(len(one),)], {}, dtype, values=given)


KINDS = (gather(), gather_nd(), embedding(), update(), box(), arguments())


@settings(max_examples=examples(60), deadline=None)
@given(st.one_of(*KINDS))
def test_meaning(case: Case) -> None:
    moves.check_meaning(case)


@settings(max_examples=2, deadline=None)
@given(st.tuples(*KINDS, *KINDS))
def test_indices(cases: tuple[Case, ...]) -> None:
    moves.check(*cases)


def test_indices_out_of_range_stand_for_the_nearest() -> None:
    table = moves.values((3, 4), np.int8)
    far = np.array([-(2**31), -1, 3, 2**31 - 1], np.int32)
    pairs = np.array([[-1, 7], [3, -5]], np.int32)
    starts = np.array([2**62, -(2**62)], np.int64)
    cases = (
        Case("GATHER", [(3, 4), (4,)], [(4, 4)], quant=({"scale": 1.0}, {}, {"scale": 1.0}), values=[table, far]),
        Case("GATHER_ND", [(3, 4), (2, 2)], [(2,)], quant=({"scale": 1.0}, {}, {"scale": 1.0}), values=[table, pairs]),
        Case(
            "DYNAMIC_UPDATE_SLICE",
            [(3, 4), (1, 2), (2,)],
            [(3, 4)],
            quant=({"scale": 1.0}, {"scale": 1.0}, {}, {"scale": 1.0}),
            values=[table, np.array([[100, 101]], np.int8), starts],
        ),
    )
    cut = np.array([-(2**62), 3], np.int64)
    same = ({"scale": 1.0}, {}, {"scale": 1.0})
    last = Case("SLICE", [(3, 4), (2,), [2, 2]], [(2, 2)], quant=same, values=[table, cut])
    cases = (*cases, last)
    changed = table.copy()
    changed[2, :2] = 100, 101
    wanted = [table[[0, 0, 2, 2]], table[[0, 2], [3, 0]], changed, table[:2, 2:]]
    feed = [values for case in cases for values in case.feed()]
    for results in (one_op.evaluate(moves.model(*cases), *feed), one_op.compiled(moves.model(*cases), *feed)):
        for got, expected in zip(results, wanted, strict=True):
            np.testing.assert_array_equal(got, expected)


def begun(begins: int, size: int) -> Case:
    """Returns a slice that begins where an input says."""
    given = [moves.values((3,), np.int8), np.zeros(begins, np.int32)]
    return Case("SLICE", [(3,), (begins,), [size]], [(max(size, 1),)], values=given)


REFUSED = [
    (Case("GATHER", [(3,), [3]], [(1,)]), "indices in x0_1, got 3 to 3, expected numbers from 0 and below (3,)"),
    (Case("GATHER", [(3,), [0]], [(1,)], {"Axis": 1}), "axis, got 1, expected a number in [-1, 0]"),
    (Case("GATHER", [(3,), [0]], [(1,)], {"BatchDims": 1}), "batch dimensions, got 1 for (3,) and indices of (1,)"),
    (Case("GATHER", [(3,), [0]], [(1,)], {}, np.int16), "got int16, expected one of float32, int8"),
    (Case("GATHER", [(3,), (1,)], [(1,)], {}, np.int8), "element type of x0_1, got int8, expected one of int32"),
    (Case("GATHER_ND", [(3,), [[0, 0]]], [(1,)]), "indices, got shape (1, 2) for an operand of (3,)"),
    (Case("GATHER_ND", [(3, 2), [[0, 2]]], [(1,)]), "got 0 to 2, expected numbers from 0 and below (3, 2)"),
    (Case("GATHER_ND", [(3,), [[0]]], [(1,)], {}, np.int32), "got int32, expected one of float32, int8"),
    (Case("EMBEDDING_LOOKUP", [[0], (3,)], [(1,)]), "expected a table of float32 or int8 with at least two axes"),
    (Case("EMBEDDING_LOOKUP", [[0], (3, 2)], [(1, 2)], {}, np.int8, np.float32), "one scale and"),
    (begun(1, -1), "size, got [-1] with a begin"),
    (begun(1, 4), "size, got [4], expected a part"),
    (begun(2, 2), "begin, got int32[2], expected 1"),
    (Case("DYNAMIC_UPDATE_SLICE", [(3,), (4,), [0]], [(3,)]), "update, got int8[4] q(0.25, 3), expected a part"),
    (Case("DYNAMIC_UPDATE_SLICE", [(3,), (2,), [0, 0]], [(3,)]), "start, got int32[2], expected 1 numbers"),
    (Case("DYNAMIC_UPDATE_SLICE", [(3,), (2,), [0]], [(3,)], {}, np.int64), "got int64, expected one of float32"),
    (Case("BROADCAST_ARGS", [[2], [3]], [(1,)], {}, np.int32), "shapes, got [2] and [3], expected equal extents"),
    (Case("BROADCAST_ARGS", [(2,), (2,)], [(2,)]), "expected two lists of int32 or of int64"),
]  # fmt: skip


@pytest.mark.parametrize(("case", "message"), REFUSED, ids=lambda value: getattr(value, "kind", ""))
def test_refuses_what_makes_no_sense(case: Case, message: str) -> None:
    model = moves.model(case)
    with pytest.raises(ModelError) as caught:
        load(model, name="model")
    assert message in str(caught.value)
