"""What a device says of its memory reaches its code generator as plans, and keeps away what does not fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import aboard
from aboard.errors import TargetError
from aboard.ir import Graph
from aboard.kernels.accelerator import ClaimedRegion, Cost, DeviceCode
from aboard.ops.subgraph import Matched
from aboard.partition.partitioner import partition
from aboard.partition.pattern import DevicePattern, chain, op, optional
from aboard.target import Knob, MemoryRegion, Target, TileConstraint, columns
from aboard.tiling import accelerator as tiling
from support import fake_device, tile_layers
from support.device import device
from support.tflite_builder import ModelBuilder

HOST = "c -mcpu=cortex-m4"
PATTERNS = [DevicePattern("conv", chain(op("conv2d", name="conv"), optional(op("relu"))))]
CPU = MemoryRegion("sram", 1 << 16)


def scratchpad(size: int) -> Callable[[Target], tuple[MemoryRegion, ...]]:
    return lambda target: (CPU, MemoryRegion("scratchpad", size, align=8))


def by_scratchpad(target: Target, matched: Matched, tuning: Mapping[str, Any]) -> TileConstraint:
    return TileConstraint("scratchpad", max_sizes={1: int(tuning.get("rows", 8))})


def graph() -> Graph:
    node = tile_layers.conv((1, 12, 6, 4), 8, tile_layers.Window((1, 1)), with_bias=False)
    relu = tile_layers.with_relu(node).nodes[1]
    return Graph("m", [node.input(0)], [relu.output], [node, relu])


def test_what_does_not_fit_is_refused_with_the_reason() -> None:
    reason = (
        "fake: scratchpad too small for conv2d layer, got 32 bytes in region scratchpad, expected at least 40. "
        "Use a device with more memory, or leave the layer to the host"
    )
    with device(PATTERNS, memory=scratchpad(32), tiles=by_scratchpad):
        small = partition(graph(), Target(f"{HOST} + fake"))
    assert small.claims == ()
    assert [[r.reason for r in place.refused] for place in small.placements] == [[reason], [reason]]
    with device(PATTERNS, memory=scratchpad(40), tiles=by_scratchpad):
        large = partition(graph(), Target(f"{HOST} + fake"))
    assert [place.device for place in large.placements] == ["fake", "fake"]


def model() -> bytes:
    """Returns two fully connected layers: 24 to 16 to 8 channels, of 5 samples."""
    rng = np.random.default_rng(3)
    build = ModelBuilder()
    for name, shape in {"x": (5, 24), "a": (5, 16), "y": (5, 8)}.items():
        build.tensor(name, shape, np.int8, scale=0.1, zero_point=1)
    for name, outs, ins in (("v", 16, 24), ("w", 8, 16)):
        build.tensor(name, (outs, ins), np.int8, scale=0.01, data=rng.integers(-127, 128, (outs, ins)).astype(np.int8))
    build.op("FULLY_CONNECTED", ["x", "v"], ["a"], {})
    build.op("FULLY_CONNECTED", ["a", "w"], ["y"], {})
    return build.build(["x"], ["y"])


class Seen:
    """Columns of a device that note which regions they are asked about."""

    def __init__(self) -> None:
        self.regions: list[ClaimedRegion] = []

    def codegen(self, target: Target, region: ClaimedRegion) -> DeviceCode:
        self.regions.append(region)
        return fake_device.codegen(target, region)

    def cost(self, target: Target, region: ClaimedRegion) -> Cost:
        (tiles,) = region.tiles
        assert tiles is not None
        self.regions.append(region)
        return Cost(tiles.cycles)


def knobs(target: Target) -> tuple[Knob, ...]:
    return (Knob("rows", (2, 4), "Samples of a tile"),)


def test_code_generators_get_plans_and_memory() -> None:
    seen = Seen()
    given = {"runtime": fake_device.runtime, "memory": scratchpad(400), "tiles": by_scratchpad, "tuning": knobs}
    with device(fake_device.patterns(merge=True), codegen=seen.codegen, **given):
        aboard.compile(model(), target="c -runtime=host + fake", name="net")
    (region,) = seen.regions
    assert [memory.name for memory in region.memory] == ["sram", "scratchpad"]
    assert len(region.tiles) == len(region.patterns) == 2
    for plan, matched in zip(region.tiles, region.patterns, strict=True):
        assert plan is not None
        assert plan.region == region.memory[1]
        assert plan.bytes <= 400
        assert {tile.store.tensor for tile in plan.tiles} == {matched.nodes[-1].output}
        assert {tile.output.shape[0] for tile in plan.tiles} <= {1, 2}, "the knob's default limits the rows"


def test_a_device_may_ask_for_no_tiles() -> None:
    seen = Seen()
    given = {"runtime": fake_device.runtime, "tiles": lambda target, matched, tuning: None}
    with device(fake_device.patterns(), codegen=seen.codegen, **given):
        aboard.compile(model(), target="c -runtime=host + fake", name="net")
    assert [(region.tiles, region.memory) for region in seen.regions] == [((None,), ())] * 2


def test_costs_may_be_those_of_the_plan() -> None:
    seen = Seen()
    given = {"cost": seen.cost, "memory": scratchpad(400), "tiles": by_scratchpad}
    with device(PATTERNS, **given):
        decided = partition(graph(), Target(f"composite -host='{HOST}' -device=fake -partition=cost"))
    asked = [region.tiles[0].cycles for region in seen.regions if region.tiles[0] is not None]
    assert sorted(price.cost.compute for price in decided.prices) == sorted(asked)
    assert len(asked) == 2


REGION = MemoryRegion("scratchpad", 400)
WRONG: list[tuple[Any, TileConstraint, str]] = [
    ("text", TileConstraint("scratchpad"), r"column memory: got str, expected MemoryRegion\. Return a tuple of them"),
    (
        MemoryRegion("scratchpad", 0),
        TileConstraint("scratchpad"),
        r"column memory: region scratchpad, got 0 bytes at 4\.0 a cycle, expected more than 0 of both\. Correct it",
    ),
    (
        MemoryRegion("scratchpad", 64, align=12),
        TileConstraint("scratchpad"),
        r"column memory: region scratchpad, alignment, got 12, expected a power of two\. Correct it",
    ),
    (CPU, TileConstraint("sram"), r"column memory: got region sram twice, expected names of their own\. Rename one"),
    (
        REGION,
        TileConstraint("scratch"),
        r"kind fake, column tiles: got region scratch, expected one of column memory\. Did you mean scratchpad",
    ),
    (
        REGION,
        TileConstraint("scratchpad", axes=(0, 1)),
        r"column tiles: axes, got \[0\], expected 1 \(rows\), 2 \(columns\) or 3 \(channels\)\. Correct it",
    ),
    (
        REGION,
        TileConstraint("scratchpad", multiples={3: 0}),
        r"column tiles: multiples and sizes, got 0, expected at least 1\. Correct it",
    ),
    (
        REGION,
        TileConstraint("scratchpad", macs_per_cycle=0),
        r"column tiles: macs_per_cycle, got 0, expected more than 0\. Correct it",
    ),
    (
        REGION,
        TileConstraint("scratchpad", weight_bytes=0),
        r"column tiles: weight_bytes, got 0, expected at least 1\. Correct it",
    ),
]


@pytest.mark.parametrize(("region", "constraint", "text"), WRONG, ids=[text[:30] for _, _, text in WRONG])
def test_wrong_columns_are_the_packages_fault_and_no_refusal(
    region: Any, constraint: TileConstraint, text: str
) -> None:
    given = {"memory": lambda target: (CPU, region), "tiles": lambda target, matched, tuning: constraint}
    with device(PATTERNS, **given), pytest.raises(TargetError, match=text):
        partition(graph(), Target(f"{HOST} + fake"))


def test_only_tiles_may_return_nothing() -> None:
    with (
        device(PATTERNS, memory=lambda target: None),
        pytest.raises(TargetError, match=r"kind fake, column memory: its function's result: got NoneType, expected"),
    ):
        tiling.memory(Target("fake", as_device=True))
    assert [name for name, column in columns.columns().items() if column.optional] == ["tiles"]
