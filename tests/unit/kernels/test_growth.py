"""How much more work kernels do in turns of a few rows than all at once."""

from __future__ import annotations

import pytest

from aboard.importers import load
from aboard.kernels.contract import Implementation
from aboard.kernels.select import strategy
from aboard.target import Target
from support.weighted_models import Layer

VALID = {"Padding": "VALID", "StrideH": 1, "StrideW": 1}
SAME = {"Padding": "SAME", "StrideH": 1, "StrideW": 1}
POINTS = Layer("CONV_2D", (1, 25, 5, 64), (64, 1, 1, 64), (1, 25, 5, 64), 0, SAME)
PLANES = Layer("DEPTHWISE_CONV_2D", (1, 25, 5, 64), (1, 3, 3, 64), (1, 25, 5, 64), 3, {**SAME, "DepthMultiplier": 1})


def growth(layer: Layer, core: str, rows: int) -> float:
    (node,) = load(layer.model(), name="m").nodes
    chosen = strategy.choose(node, Target(f"c -mcpu={core}")).implementation
    assert isinstance(chosen, Implementation)
    return chosen.growth(node, rows)


@pytest.mark.parametrize("core", ["cortex-m0", "cortex-m3", "cortex-m4"])
def test_an_odd_pixel_is_computed_as_a_pair(core: str) -> None:
    assert growth(POINTS, core, 1) == 6 / 5
    assert growth(POINTS, core, 2) == 1.0
    assert growth(POINTS, core, 25) == 126 / 125


def test_rows_between_strips_are_staged_twice() -> None:
    # A layer of kws on Cortex-M4, in cycles: at once, in turns of two rows, and of one.
    assert growth(PLANES, "cortex-m4", 25) == 1.0
    assert growth(PLANES, "cortex-m4", 2) == pytest.approx(202_231 / 146_251, rel=0.05)
    assert growth(PLANES, "cortex-m4", 1) == pytest.approx(254_341 / 146_251, rel=0.03)


def test_rows_that_a_kernel_keeps_are_staged_once() -> None:
    assert growth(PLANES, "cortex-m3", 1) == 1.0


def test_with_helium_stripes_pack_rows_instead_of_columns() -> None:
    # A layer of kws on Cortex-M55: 39,862 instructions at once, 64,264 in stripes of four rows.
    assert growth(PLANES, "cortex-m55", 4) == pytest.approx(64_264 / 39_862, rel=0.1)


def test_with_helium_stripes_of_eight_rows_pack_columns_if_four_channels_are_packed() -> None:
    # A layer of kws on Cortex-M55: 31,900 instructions at once, 38,100 in stripes of eight rows, of which 1,600 are
    # set-ups of calls.
    (node,) = load(PLANES.model(), name="m").nodes
    few = strategy.choose(node, Target("c -mcpu=cortex-m55")).implementation.in_less_scratch(node)
    assert few is not None
    assert few.growth(node, 8) == pytest.approx(36_500 / 31_900, rel=0.1)
    assert few.growth(node, 25) == few.growth(node, 8)
    assert few.growth(node, 1) > 2


def test_with_helium_stripes_of_another_function_grow_from_all_its_rows() -> None:
    # Columns of one pixel are computed as lines at once, and in parts of 4x4 taps in stripes.
    column = Layer(
        "DEPTHWISE_CONV_2D", (1, 24, 1, 32), (1, 9, 1, 32), (1, 16, 1, 32), 3, {**VALID, "DepthMultiplier": 1}
    )
    assert 1 < growth(column, "cortex-m55", 1) < 2
