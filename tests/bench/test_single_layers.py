"""The page of single layers is what was recorded, and limits count what they say."""

from __future__ import annotations

import json

import pytest

from bench import single_layer_page, single_layers
from bench.layer_counts import Counted
from bench.layer_limits import Compared
from support.single_layers import SingleLayer


def test_the_page_is_what_was_recorded() -> None:
    record = json.loads(single_layers.RECORD.read_text(encoding="utf-8"))
    peers = json.loads(single_layers.PEERS.read_text(encoding="utf-8"))
    assert single_layers.PAGE.read_text(encoding="utf-8") == single_layer_page.page(record, peers)


def test_every_recorded_core_has_every_listed_layer() -> None:
    record, listed = json.loads(single_layers.RECORD.read_text(encoding="utf-8")), single_layers.listed()
    assert tuple(record) == single_layers.CORES
    assert {len(mine["layers"]) for mine in record.values()} == {len(listed)} == {55}
    assert [SingleLayer.read(row).macs for row in listed] == [row["macs"] for row in listed]


def test_geometric_mean_of_ratios() -> None:
    layers = [{"cmsis_nn": {"m4": {"cycles": 100}}}, {"cmsis_nn": {"m4": {"cycles": 400}}}]
    found = single_layer_page.ratios("m4", {"layers": [{"cycles": 50}, {"cycles": 50}]}, layers, "cycles")
    assert found == [0.5, 0.125]
    assert single_layer_page.mean(found) == pytest.approx(0.25)


def compared(time: int, plain: int, fours: int, layer: SingleLayer, fastest: int | None = None) -> Compared:
    speed = time if fastest is None else fastest
    return Compared(
        Counted(layer, "own", time, time, in_cycles=True),
        Counted(layer, "portable_s8", plain, plain, in_cycles=True),
        Counted(layer, "own", speed, speed, in_cycles=True),
        Counted(layer.of_fours(), "own", fours, fours, in_cycles=True),
    )


@pytest.mark.parametrize(
    ("time", "plain", "fours", "inputs", "above", "cliff"),
    [
        (105, 100, 105, 8, False, False),
        (106, 100, 106, 8, True, False),
        (240, 300, 100, 9, True, True),  # more products than the layer of fours has
        (100, 300, 90, 2, False, False),  # half of the products in as much time
        (140, 300, 100, 2, True, True),
    ],
)
def test_limits(time: int, plain: int, fours: int, inputs: int, above: bool, cliff: bool) -> None:
    found = compared(time, plain, fours, SingleLayer("fully_connected", inputs, 8))
    assert (found.is_above, found.is_cliff) == (above, cliff)


def test_whole_blocks_are_compared_without_a_price_of_flash() -> None:
    layer = SingleLayer("fully_connected", 9, 8)
    assert not compared(240, 300, 100, layer, fastest=120).is_above
    assert compared(120, 300, 100, layer, fastest=240).is_cliff
