"""Elementwise operators on every value they can get, for scales drawn anew: bit for bit as the reference.

`elementwise.campaign` does the same as often as it is asked to.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest

from support import elementwise, one_op, oracle, scale_draws
from support.element_models import ALL_INT8, Value, build
from support.elementwise import FAMILIES

#: Draws that go through the whole compiler, which takes as long for one as the kernels alone for some dozens.
COMPILED = 6

#: Scales and zero points of a RELU_N1_TO_1 that a ratio in double precision would compute otherwise.
N1_TO_1 = ((0.0410025492310524, -128), (0.002239047084003687, -128))


@pytest.mark.parametrize("name", FAMILIES)
def test_every_value(name: str) -> None:
    family = FAMILIES[name]
    assert family.check(seed=0, count=family.count) >= family.count * 100


@pytest.mark.parametrize("kind", ["ADD", "SUB", "MUL"])
@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_products_by_halves(kind: str, dtype: str) -> None:
    # As on cores that have no product of 64 bits.
    run = functools.partial(scale_draws.kernels, flags=("-DABOARD_THUMB1=1",))
    FAMILIES[f"{kind} {dtype}"].check(seed=3, count=10, run=run)


@pytest.mark.parametrize("name", FAMILIES)
def test_every_value_of_compiled_models(name: str) -> None:
    FAMILIES[name].check(seed=1, count=COMPILED, run=one_op.compiled)


@pytest.mark.parametrize(
    ("kind", "operand", "result", "options"),
    [
        ("RELU", (0.33463204, -128), (0.0325478, -128), {}),
        ("LEAKY_RELU", (0.02229190059006214, 127), (0.0009651498403400183, 127), {"Alpha": 0.08687681704759598}),
        ("LEAKY_RELU", (0.020255809649825096, 127), (0.0071767535991966724, 127), {"Alpha": 0.3935762941837311}),
        ("HARD_SWISH", (0.044280972331762314, -24), (0.00698872422799468, -117), {}),
        ("HARD_SWISH", (0.24972710013389587, -106), (0.7273344397544861, -128), {}),
    ],
)
def test_ratios_that_float32_would_round_too_coarsely(
    kind: str, operand: tuple[float, int], result: tuple[float, int], options: dict[str, float]
) -> None:
    values = [Value(ALL_INT8.shape, np.int8, *each) for each in (operand, result)]
    one_op.check_equal(build(kind, values[:1], values[1], options), ALL_INT8)


def test_relu_n1_to_1_has_a_ratio_in_float32_as_in_litert() -> None:
    values = [Value(ALL_INT8.shape, np.int8, *each) for each in N1_TO_1]
    one_op.check_equal(build("RELU_N1_TO_1", values[:1], values[1]), ALL_INT8, reference=oracle.litert_ref)


def test_a_campaign_goes_from_one_family_to_the_next() -> None:
    first, second = list(FAMILIES)[:2]
    assert elementwise.campaign(seed=2, count=130) == {first: 100 * 256, second: 30 * 256}
