"""Random layers under random limits: what a plan says is right, and executing it gives what the layer gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aboard.errors import TargetError
from aboard.ir import Array, Tensor
from aboard.ops.subgraph import Matched
from aboard.target import MemoryRegion, TileConstraint
from aboard.tiling.plan import check, plan
from support import tile_layers
from support.examples import either
from support.tile_executor import Machine, reference

T = TypeVar("T")
AXES = ((1, 3), (1, 2, 3), (1,), (3,), ())


@st.composite
def constraints(draw: st.DrawFn) -> TileConstraint:
    axes = draw(st.sampled_from(AXES))
    return TileConstraint(
        region="pad",
        multiples={axis: draw(st.integers(1, 4)) for axis in axes if draw(st.booleans())},
        max_sizes={axis: draw(st.integers(4, 12)) for axis in axes if draw(st.booleans())},
        axes=axes,
        double_buffer=draw(st.booleans()),
        parameter_bytes=draw(st.sampled_from([None, 0, 5, 12])),
        weight_bytes=draw(st.sampled_from([None, None, 80])),
        constants=draw(st.sampled_from([True, True, True, False])),
        order=draw(st.sampled_from([(), (1, 3), (3, 1)])),
        macs_per_cycle=draw(st.sampled_from([1.0, 16.0])),
    )


def operands(matched: Matched) -> dict[Tensor, Array]:
    made = {node.output for node in matched.nodes}
    rng = np.random.default_rng(11)
    read = dict.fromkeys(t for node in matched.nodes for t in node.operands if t not in made and t.data is None)
    return {tensor: rng.integers(-128, 128, tensor.shape).astype(np.int8) for tensor in read}


def outcome(function: Callable[..., T], matched: Matched, constraint: TileConstraint, region: MemoryRegion) -> T | str:
    """Returns what `plan` or `check` returns, or the text of its error."""
    try:
        return function(matched, constraint, region, "npu")
    except TargetError as error:
        return str(error)


@settings(max_examples=either(50, 15), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(tile_layers.matches(), constraints(), st.sampled_from([96, 200, 400, 900, 4000]), st.sampled_from([1, 4, 16]))
def test_tiles_compute_what_the_layer_computes(
    matched: Matched, constraint: TileConstraint, size: int, align: int
) -> None:
    region = MemoryRegion("pad", size, align)
    made = outcome(plan, matched, constraint, region)
    assert outcome(check, matched, constraint, region) == (made if isinstance(made, str) else None)
    if isinstance(made, str):
        return
    inputs = operands(matched)
    expected = reference(matched, inputs)
    for eager in (False, True):
        machine = Machine(made, matched, inputs, eager=eager, constraint=constraint)
        np.testing.assert_array_equal(machine.run(), expected)
        assert machine.traffic == made.traffic_bytes
    assert made.bytes <= size
    assert constraint.double_buffer or not made.double_buffered


@settings(max_examples=either(25, 8), deadline=None)
@given(tile_layers.matches(), constraints())
def test_the_least_memory_that_an_error_names_is_enough_and_no_byte_less(
    matched: Matched, constraint: TileConstraint
) -> None:
    text = outcome(plan, matched, constraint, MemoryRegion("pad", 1))
    if "scratchpad too small" not in text:
        assert "on axis" in text
        return
    least = int(text.split("at least ")[1].split(". ")[0].replace(",", ""))
    assert plan(matched, constraint, MemoryRegion("pad", least), "npu").bytes <= least
    with pytest.raises(TargetError, match=f"got {least - 1:,} bytes in region pad, expected at least {least:,}\\."):
        plan(matched, constraint, MemoryRegion("pad", least - 1), "npu")


@settings(max_examples=either(25, 8), deadline=None)
@given(tile_layers.matches(), st.sampled_from([300, 700]))
def test_more_memory_is_never_slower(matched: Matched, size: int) -> None:
    constraint = TileConstraint("pad", double_buffer=False)
    small = outcome(plan, matched, constraint, MemoryRegion("pad", size))
    if isinstance(small, str):
        return
    large = plan(matched, constraint, MemoryRegion("pad", 1 << 20), "npu")
    assert large.cycles <= small.cycles
