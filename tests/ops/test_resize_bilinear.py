"""Bilinear resizing against tflite-micro."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aboard
from aboard.errors import ModelError
from aboard.importers import load
from support import moves, one_op, oracle
from support.element_models import check_near
from support.examples import examples
from support.moves import Case
from support.tflite_builder import ModelBuilder


@st.composite
def resize(draw: st.DrawFn, dtype: type) -> Case:
    batch, channels = draw(st.integers(1, 2)), draw(st.integers(1, 3))
    before, after = ((draw(st.integers(1, 9)), draw(st.integers(1, 9))) for _ in range(2))
    options = draw(st.sampled_from([{}, {"AlignCorners": True}, {"HalfPixelCenters": True}]))
    result = (batch, *after, channels)
    return Case("RESIZE_BILINEAR", [(batch, *before, channels), list(after)], [result], options, dtype)


@settings(max_examples=examples(40), deadline=None)
@given(resize(np.int8))
def test_meaning(case: Case) -> None:
    moves.check_meaning(case)


@settings(max_examples=2, deadline=None)
@given(st.tuples(*[resize(np.int8)] * 8))
def test_int8_equals_the_reference(cases: tuple[Case, ...]) -> None:
    moves.check(*cases)


@settings(max_examples=2, deadline=None)
@given(st.tuples(*[resize(np.float32)] * 4))
def test_float_is_near_the_reference(cases: tuple[Case, ...]) -> None:
    feed = [values for case in cases for values in case.feed()]
    check_near(moves.model(*cases), *feed, relative=1e-6, absolute=1e-5)


@pytest.mark.parametrize("size", ["size", "balanced"])
def test_rows_of_a_cascade(size: str) -> None:
    quant = {"scale": 0.5, "zero_point": 3}
    build = ModelBuilder().tensor(
        "w", (4, 3, 3, 4), np.int8, scales=[0.1] * 4, data=moves.values((4, 3, 3, 4), np.int8)
    )
    build.tensor("s", (2,), np.int32, data=[24, 24])
    for name, shape in (("x", (1, 24, 24, 4)), ("a", (1, 12, 12, 4)), ("b", (1, 24, 24, 4)), ("y", (1, 12, 12, 4))):
        build.tensor(name, shape, np.int8, **quant)
    strided = {"StrideH": 2, "StrideW": 2, "Padding": "SAME"}
    build.op("CONV_2D", ["x", "w", -1], ["a"], strided)
    build.op("RESIZE_BILINEAR", ["a", "s"], ["b"], {"HalfPixelCenters": True})
    model = build.op("CONV_2D", ["b", "w", -1], ["y"], strided).build(["x"], ["y"])
    x = moves.values((1, 24, 24, 4), np.int8)
    module = aboard.compile(model, target=f"c -runtime=host -opt={size} -input=kept", name="model")
    np.testing.assert_array_equal(one_op.compiled(model, x, attributes=f"-opt={size}")[0], oracle.tflm(model, x)[0])
    # The whole middle tensor has 2304 bytes: with rolling buffers it never exists.
    assert size != "size" or module.manifest.ram_bytes < 24 * 24 * 4 + 2304 + 12 * 12 * 4


REFUSED = [
    (Case("RESIZE_BILINEAR", [(1, 2, 2), [4, 4]], [(1, 4, 4)]), "operand and size, got (1, 2, 2) and [4, 4]"),
    (Case("RESIZE_BILINEAR", [(1, 2, 2, 1), [4, 4]], [(1, 4, 4, 1)], {}, np.int16), "expected one of int8, float32"),
    (
        Case(
            "RESIZE_BILINEAR",
            [(1, 2, 2, 1), [4, 4]],
            [(1, 4, 4, 1)],
            {"AlignCorners": True, "HalfPixelCenters": True},
        ),
        "options, got AlignCorners and HalfPixelCenters",
    ),
    (
        Case("RESIZE_BILINEAR", [(1, 2, 3, 1), [2, 4099]], [(1, 2, 4099, 1)]),
        "size, got (2, 4099) for an image of (2, 3), expected places inside",
    ),
]


@pytest.mark.parametrize(("case", "message"), REFUSED, ids=lambda value: getattr(value, "kind", ""))
def test_refuses_what_the_reference_cannot(case: Case, message: str) -> None:
    model = moves.model(case)
    with pytest.raises(ModelError) as caught:
        load(model, name="model")
    assert message in str(caught.value)
