"""Sums, extremes, places of extremes and running sums against tflite-micro."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard.errors import ModelError
from aboard.importers import load
from support import moves
from support.element_models import floats32, zero_points
from support.examples import examples
from support.moves import Case

Shape = tuple[int, ...]

shapes = st.lists(st.integers(1, 5), min_size=1, max_size=5).map(tuple)
NAN, INF = np.float32(np.nan), np.float32(np.inf)


def integers(shape: Shape, dtype: type, seed: int = 0) -> np.ndarray:
    """Values of a tensor: floats are small integers, so that sums of them are exact in any order."""
    limits = (-50, 50) if dtype == np.float32 else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    return np.random.default_rng(seed).integers(*limits, shape, endpoint=True).astype(dtype)


def quants(draw: st.DrawFn, dtype: type, count: int) -> list[dict[str, float]]:
    if dtype == np.float32:
        return [{}] * count
    zeros = st.just(0) if dtype == np.int16 else zero_points
    return [{"scale": draw(floats32(0.05, 2.0)), "zero_point": draw(zeros)} for _ in range(count)]


def left(shape: Shape, axes: list[int], keep: bool) -> Shape:
    gone = {axis % len(shape) for axis in axes}
    kept = [1 if axis in gone else extent for axis, extent in enumerate(shape) if keep or axis not in gone]
    return tuple(kept)


@st.composite
def reduction(draw: st.DrawFn, kind: str, types: list[type]) -> Case:
    shape, dtype, keep = draw(shapes), draw(st.sampled_from(types)), draw(st.booleans())
    axes = draw(st.lists(st.integers(-len(shape), len(shape) - 1), min_size=1, max_size=len(shape)))
    quant = quants(draw, dtype, 2) if dtype != np.bool_ else [{}, {}]
    quant = quant if kind == "SUM" else [quant[0]] * 2
    given = moves.values(shape, dtype) | draw(st.booleans()) if dtype == np.bool_ else integers(shape, dtype)
    options = {"KeepDims": keep}
    return Case(kind, [shape, axes], [left(shape, axes, keep)], options, dtype, None, quant, [given])


@st.composite
def place(draw: st.DrawFn, kind: str) -> Case:
    shape, dtype = draw(shapes), draw(st.sampled_from([np.int8, np.float32]))
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    given = np.random.default_rng(0).integers(-2, 2, shape).astype(dtype)
    options = {"OutputType": 2}
    return Case(kind, [shape, axis], [left(shape, [axis], False)], options, dtype, np.int32, values=[given])


@st.composite
def cumsum(draw: st.DrawFn) -> Case:
    shape, dtype = draw(shapes), draw(st.sampled_from([np.int8, np.float32]))
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    options = {"Exclusive": draw(st.booleans()), "Reverse": draw(st.booleans())}
    quant = quants(draw, dtype, 2)
    return Case("CUMSUM", [shape, axis], [shape], options, dtype, None, quant, [integers(shape, dtype)])


KINDS = (
    reduction("SUM", [np.int8, np.int16, np.float32]),
    reduction("SUM", [np.int8]),
    reduction("REDUCE_MAX", [np.int8, np.float32]),
    reduction("REDUCE_MIN", [np.int8, np.float32]),
    reduction("REDUCE_ALL", [np.bool_]),
    place("ARG_MAX"),
    place("ARG_MIN"),
    cumsum(),
    cumsum(),
)


@settings(max_examples=examples(60), deadline=None)
@given(st.one_of(*KINDS))
def test_meaning(case: Case) -> None:
    moves.check_meaning(case)


@settings(max_examples=2, deadline=None)
@given(st.tuples(*KINDS))
def test_reductions(cases: tuple[Case, ...]) -> None:
    moves.check(*cases)


def test_numbers_that_are_none_and_infinite_ones() -> None:
    rows = np.array(
        [[NAN, 1, 2], [1, NAN, 2], [-INF, -INF, NAN], [INF, INF, INF], [NAN, NAN, NAN], [2, 2, NAN]], np.float32
    )
    keep = {"KeepDims": True}
    moves.check(
        *(
            Case(kind, [(6, 3), [1]], [(6, 1)], keep, np.float32, values=[rows])
            for kind in ("REDUCE_MAX", "REDUCE_MIN")
        ),
        *(
            Case(kind, [(6, 3), 1], [(6,)], {"OutputType": 2}, np.float32, np.int32, values=[rows])
            for kind in ("ARG_MAX", "ARG_MIN")
        ),
    )


def test_sums_of_many_elements_saturate_and_running_sums_wrap() -> None:
    x = np.full((2, 100), 127, np.int8)
    wide, narrow = {"scale": 1.0, "zero_point": -128}, {"scale": 100.0, "zero_point": 5}
    moves.check(
        Case("SUM", [(2, 100), [1]], [(2,)], {}, np.int8, None, [wide, wide], [x]),
        Case("SUM", [(2, 100), [0, 1]], [()], {"KeepDims": False}, np.int8, None, [wide, narrow], [x]),
        Case("CUMSUM", [(2, 100), 1], [(2, 100)], {}, np.int8, None, [wide, narrow], [x]),
    )


REFUSED = [
    (Case("SUM", [(3,), [1]], [(3,)]), "axes, got [1], expected numbers in [-1, 0]"),
    (
        Case("SUM", [(3,), [0]], [()], {}, np.int32),
        "element types, got int32, int32, expected int8 or int16 or float32",
    ),
    (Case("SUM", [(300,), [0]], [()], quant=[{"scale": 1.0}, {"scale": 1e-6}]), "scale of the result, got 1e-06"),
    (Case("REDUCE_MAX", [(3,), [0]], [()], {}, np.int16), "element types, got int16, int16, expected int8 or float32"),
    (
        Case("REDUCE_MIN", [(3,), [0]], [()], quant=[{"scale": 1.0}, {"scale": 2.0}]),
        "quantisation of the result, got int8[] q(2, 0), expected that of the operand int8[3] q(1, 0)",
    ),
    (Case("REDUCE_ALL", [(3,), [0]], [()]), "element types, got int8, int8, expected bool for both"),
    (Case("ARG_MAX", [(3,), 1], [()], {}, np.int8, np.int32), "axis, got [1], expected one number in [-1, 0]"),
    (Case("ARG_MAX", [(3,), 0], [()], {}, np.int8, np.int64), "element type of the result, got int64, expected int32"),
    (Case("ARG_MIN", [(3,), 0], [()], {}, np.int16, np.int32), "got int16, expected one of int8, float32"),
    (Case("CUMSUM", [(3,), 1], [(3,)]), "axis, got [1], expected one number in [-1, 0]"),
    (Case("CUMSUM", [(3,), 0], [(3,)], {}, np.int32), "element types, got int32, int32, expected int8 or float32"),
    (
        Case("CUMSUM", [(3,), 0], [(3,)], quant=[{"scale": 1.0}, {"scale": 1e-6}]),
        "scale of the result, got 1e-06 for an operand of scale 1, expected more than 1.90735e-06",
    ),
]


@pytest.mark.parametrize(("case", "message"), REFUSED, ids=lambda value: getattr(value, "kind", ""))
def test_refuses_what_the_reference_refuses(case: Case, message: str) -> None:
    model = moves.model(case)
    with pytest.raises(ModelError) as caught:
        load(model, name="model")
    assert message in str(caught.value)
