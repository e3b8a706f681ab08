"""Products of matrices against tflite-micro."""

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


@st.composite
def product(draw: st.DrawFn, dtype: type) -> Case:
    batches = tuple(draw(st.lists(st.integers(1, 3), max_size=3)))
    one, other = (tuple(draw(st.sampled_from([1, extent])) for extent in batches) for _ in range(2))
    result = np.broadcast_shapes(one, other)
    rows, depth, cols = (draw(st.integers(1, 5)) for _ in range(3))
    adj_x, adj_y = draw(st.booleans()), draw(st.booleans())
    x = (*one, depth, rows) if adj_x else (*one, rows, depth)
    y = (*other, cols, depth) if adj_y else (*other, depth, cols)
    quant: list[dict[str, float]] = [{}] * 3
    if dtype != np.float32:
        zeros = zero_points if dtype == np.int8 else st.just(0)
        quant = [{"scale": draw(floats32(0.1, 2.0)), "zero_point": draw(zeros)} for _ in range(3)]
        quant[2]["scale"] *= 50 if dtype == np.int8 else 30000
    integers = [np.random.default_rng(seed).integers(-50, 50, shape).astype(dtype) for seed, shape in ((0, x), (1, y))]
    options = {"AdjX": adj_x, "AdjY": adj_y}
    return Case("BATCH_MATMUL", [x, y], [(*result, rows, cols)], options, dtype, None, quant, integers)


@settings(max_examples=examples(40), deadline=None)
@given(st.one_of(product(np.int8), product(np.int16)))
def test_meaning(case: Case) -> None:
    moves.check_meaning(case)


@settings(max_examples=2, deadline=None)
@given(st.tuples(*[product(np.int8)] * 3, *[product(np.int16)] * 3, *[product(np.float32)] * 3))
def test_batch_matmul(cases: tuple[Case, ...]) -> None:
    moves.check(*cases)


def test_scales_are_multiplied_in_double_precision() -> None:
    """With a product in float32 one of these sums is rounded to -72 instead of -71."""
    rng, quant = np.random.default_rng(2), [{"scale": 0.05, "zero_point": zero} for zero in (-17, 0)]
    integers = [rng.integers(-128, 128, shape).astype(np.int8) for shape in ((1, 37, 33), (1, 33, 9))]
    result = {"scale": 0.2 * 33**0.5, "zero_point": 11}
    shapes = [x.shape for x in integers]
    moves.check(Case("BATCH_MATMUL", shapes, [(1, 37, 9)], {}, np.int8, None, [*quant, result], integers))


REFUSED = [
    (Case("BATCH_MATMUL", [(2, 3), (4, 2)], [(2, 2)]), "shapes, got (2, 3) and (4, 2), expected matrices"),
    (Case("BATCH_MATMUL", [(2, 2, 3), (3, 3, 2)], [(2, 2, 2)]), "batches that are equal or 1"),
    (Case("BATCH_MATMUL", [(3,), (3, 2)], [(2,)]), "expected matrices with two to 5 axes"),
    (Case("BATCH_MATMUL", [(2, 2), (2, 2)], [(2, 2)], {}, np.int32), "element types, got int32, int32, int32"),
    (Case("BATCH_MATMUL", [(1, 40000), (40000, 1)], [(1, 1)]), "depth, got 40000 products in a sum of 32 bits"),
    (
        Case("BATCH_MATMUL", [(2, 2), (2, 2)], [(2, 2)], {}, np.int16, None, [{"scale": 1.0}] * 2 + [{"scale": 1e-3}]),
        "scale of the result, got 0.001, expected more than 2^-7 times the product",
    ),
]


@pytest.mark.parametrize(("case", "message"), REFUSED, ids=lambda value: getattr(value, "kind", ""))
def test_refuses_what_the_reference_cannot(case: Case, message: str) -> None:
    model = moves.model(case)
    with pytest.raises(ModelError) as caught:
        load(model, name="model")
    assert message in str(caught.value)
