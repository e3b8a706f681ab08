"""What cmsis-nn says a region costs."""

from __future__ import annotations

import json

import pytest

from aboard.compiler import pipeline
from aboard.errors import TargetError
from aboard.ir import Graph
from aboard.kernels.accelerator import ClaimedRegion
from aboard.target import Target, columns
from bench import costs
from support import models

ON_M4 = "composite -host='c -mcpu=cortex-m4' -device=cmsis-nn -partition={}"


def test_the_table_is_what_the_record_says() -> None:
    rows = json.loads(costs.LIBRARY.read_text(encoding="utf-8"))
    assert rows == costs.library()
    assert {row["op"] for row in rows} == {"add", "average_pool2d", "conv2d", "depthwise_conv2d", "fully_connected"}
    assert max(row["fit"] for row in rows) < 0.15


@pytest.mark.parametrize(
    ("op", "shape", "elements"),
    [
        ("CONV_2D", "10x4x1->64 out 25x5", 64 * 25 * 5),
        ("DEPTHWISE_CONV_2D", "3x3 ch 64 mult 2 stride 1 out 25x5", 128 * 25 * 5),
        ("FULLY_CONNECTED", "640->128", 128),
        ("AVERAGE_POOL_2D", "8x8 in [1, 8, 8, 64]", 4096),
        ("ADD", "4096 elems", 4096),
    ],
)
def test_elements_of_a_recorded_layer(op: str, shape: str, elements: int) -> None:
    assert costs.elements(op, shape) == elements


def test_by_cost_the_hosts_own_kernels_keep_what_they_compute_in_fewer_instructions() -> None:
    by_cost = pipeline.partition_model(models.path(models.SHIPPED), target=ON_M4.format("cost"))
    in_order = pipeline.partition_model(models.path(models.SHIPPED), target=ON_M4.format("order"))
    conv = next(p for p in by_cost.placements if p.node.op == "conv2d")
    assert conv.device == "c"
    assert "bytes of RAM, and saves the host" in conv.refused[0].reason
    assert {p.device for p in in_order.placements if p.node.op == "conv2d"} == {"cmsis-nn"}
    (price, *_) = [price for price in by_cost.prices if price.match.nodes[-1] is conv.node]
    assert price.cost.compute > price.host
    assert price.cost.transfer == 0


def test_a_region_without_a_host_is_refused() -> None:
    region = ClaimedRegion("net_0", Graph("net_0", [], [], []), (), (), ())
    with pytest.raises(TargetError, match=r"kind cmsis-nn: the host of net_0 is missing, expected one\. Report this"):
        columns.call(Target("cmsis-nn", as_device=True), "cost", region)
