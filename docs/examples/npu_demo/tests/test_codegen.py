"""Code for layers: the command lists and jobs are executed by the model, and give what the compiler's ops give."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard.errors import TargetError
from aboard.ir import Node
from aboard.ops.subgraph import Matched
from aboard.ops.window import Padding
from aboard.target import MemoryRegion, Target, columns
from aboard.tiling import TilePlan
from aboard.tiling import accelerator as tiling
from npu_demo import arithmetic, core, fast, packing, v1, v2
from npu_demo.commands import decode
from npu_machine import PARAMETERS, WEIGHTS, Machine, X, Y
from support import tile_layers
from support.tile_executor import reference
from support.tile_layers import Window


def device(text: str) -> Target:
    return Target(f"arm/mps2_an386 + npu-demo {text}").devices[0]


def place_operands(machine: Machine, matched: Matched, x: np.ndarray, *, transposed: bool) -> None:
    machine.write(X, x.astype(np.int8).tobytes())
    machine.write(WEIGHTS, packing.weights(matched, transposed=transposed).values.tobytes())
    machine.write(PARAMETERS, packing.parameters(matched).values.astype("<i4").tobytes())


def inputs(node: Node) -> np.ndarray:
    return np.random.default_rng(11).integers(-128, 128, node.input(0).shape).astype(np.int8)


def result(machine: Machine, matched: Matched) -> np.ndarray:
    y = matched.nodes[-1].output
    return np.frombuffer(machine.read(Y, y.type.bytes), np.int8).reshape(y.shape)


@st.composite
def layers(draw: st.DrawFn) -> Matched:
    """Draws a match of v2."""
    rows, cols, channels = draw(st.integers(1, 9)), draw(st.integers(1, 7)), draw(st.integers(1, 20))
    kind = draw(st.sampled_from(["pointwise", "conv", "depthwise", "product"]))
    if kind == "product":
        node = tile_layers.dense((rows, channels), draw(st.integers(1, 40)), with_bias=draw(st.booleans()))
    else:
        taps = 1 if kind == "pointwise" else 3
        least = max(0, taps - min(rows, cols))
        padding = Padding(*(draw(st.integers(min(least, taps - 1), taps - 1)) for _ in range(4)))
        strides = draw(st.integers(1, 2)), draw(st.integers(1, 2))
        window, shape = Window((taps, taps), strides, padding, (1, 1)), (1, rows, cols, channels)
        if kind == "depthwise":
            node = tile_layers.depthwise(shape, 1, window)
        else:
            node = tile_layers.conv(shape, draw(st.integers(1, 40)), window)
    return tile_layers.with_relu(node) if draw(st.booleans()) else Matched("layer", (node,), {"layer": node})


@settings(deadline=None, max_examples=50)
@given(layers(), st.sampled_from([1, 2]), st.sampled_from([0, 4]), st.sampled_from(["any", "weights", "rows"]))
def test_lists_compute_what_the_ops_compute(matched: Matched, buffers: int, rows: int, order: str) -> None:
    tuning = {"buffers": buffers, "tile_rows": rows, "order": order}
    matched = Matched(matched.pattern, matched.nodes, {**matched.named, "activation": matched.nodes[-1]})
    if len(matched.nodes) == 1:
        matched = Matched(matched.pattern, matched.nodes, {"layer": matched.nodes[0]})
    node = packing.layer_of(matched)
    small = device("-model=v2 -scratchpad=1024")
    if tiling.problem(small, matched, tuning) is not None:
        small = device("-model=v2 -scratchpad=8192")
    (plan,) = tiling.plans(small, [matched], tuning)
    assert plan is not None
    assert rows == 0 or all(tile.output.shape[max(0, len(tile.output.shape) - 3)] <= rows for tile in plan.tiles)
    words = v2.commands(matched, plan)
    machine = Machine(2, int(small.attrs["scratchpad"]))
    x = inputs(node)
    place_operands(machine, matched, x, transposed=False)
    machine.activate()
    machine.start_list(words)
    machine.finish()
    np.testing.assert_array_equal(result(machine, matched), reference(matched, {node.input(0): x}))


@settings(deadline=None, max_examples=25)
@given(st.integers(1, 9), st.integers(1, 20), st.integers(1, 20), st.booleans())
def test_jobs_compute_what_the_ops_compute(rows: int, inner: int, outputs: int, pointwise: bool) -> None:
    window = Window((1, 1), (1, 1), Padding(), (1, 1))
    shape = (1, rows, 2, inner)
    node = tile_layers.conv(shape, outputs, window) if pointwise else tile_layers.dense((rows, inner), outputs)
    matched = Matched("layer", (node,), {"layer": node})
    x = inputs(node)
    for compute in (fast.compute, arithmetic.compute):
        machine = Machine(1, compute=compute)
        place_operands(machine, matched, x, transposed=True)
        machine.activate()
        machine.place_bases()
        zeros = packing.zero_points(matched)
        samples = node.output.type.elements // outputs
        for offset, value in zip(core.JOB, (samples, inner, outputs, *zeros), strict=True):
            machine.put(offset, value & 0xFFFFFFFF)
        machine.put(core.CTRL, core.ACTIVE | core.START)
        assert machine.get(core.CYCLES) == v1.cycles(matched)
        machine.finish()
        low, high = packing.limits(matched)
        expected = reference(matched, {node.input(0): x})
        # V1 has no activation of its own: its pattern asks for one that changes nothing.
        np.testing.assert_array_equal(np.clip(result(machine, matched), low, high), expected)


def test_two_buffers_are_faster_than_one() -> None:
    node = tile_layers.conv((1, 24, 24, 16), 32, Window((1, 1), (1, 1), Padding(), (1, 1)))
    matched = Matched("layer", (node,), {"layer": node})
    cycles: dict[int, int] = {}
    for buffers in (1, 2):
        tuning = {"buffers": buffers, "tile_rows": 4, "order": "any"}
        (plan,) = tiling.plans(device("-model=v2"), [matched], tuning)
        assert isinstance(plan, TilePlan)
        cycles[buffers] = decode(v2.commands(matched, plan), 16384).cycles
        # The estimate by which the plan was chosen is near what the list takes.
        assert plan.cycles == pytest.approx(cycles[buffers], rel=0.1)
    assert cycles[2] < 0.8 * cycles[1]


def test_a_scratchpad_too_small() -> None:
    node = tile_layers.dense((1, 1000), 4)
    matched = Matched("layer", (node,), {"layer": node})
    tiny = device("-model=v2 -scratchpad=512")
    with pytest.raises(TargetError, match=r"npu-demo: scratchpad too small for fully_connected layer, got 512 bytes"):
        tiling.plans(tiny, [matched], {"buffers": 1, "tile_rows": 0, "order": "any"})


def test_memory_of_the_device() -> None:
    (region,) = [m for m in columns.call(device("-model=v2 -scratchpad=2048"), "memory") if m.name == "scratchpad"]
    assert isinstance(region, MemoryRegion)
    assert (region.size_bytes, region.align, region.bytes_per_cycle) == (2048, 16, 4)
