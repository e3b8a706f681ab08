"""Drawn layers cost no more than portable C, nor much more than layers whose channels are multiples of four."""

from __future__ import annotations

import pytest

from bench.layer_limits import compared
from support.examples import either
from support.single_layers import SingleLayer, drawn

#: Drawn layers of each core in `make test-full`.
COUNTS = {"m3": 500, "m4": 2000, "m55": 500}

#: A few in CI, and the core that they run on.
USUAL, USUAL_CORE = 4, "m4"


@pytest.mark.parametrize("core", either([*COUNTS], [USUAL_CORE]))
def test_no_drawn_layer_is_above_its_limits(core: str) -> None:
    found = compared(drawn(either(COUNTS[core], USUAL), seed=2), core)
    assert [each.text for each in found if each.is_above] == []


def test_layers_are_drawn_of_all_kinds() -> None:
    layers = drawn(300, seed=1)
    assert {layer.op for layer in layers} == {"conv2d", "depthwise_conv2d", "fully_connected"}
    assert {max(layer.kernel) for layer in layers} == set(range(1, 10))
    assert {max(layer.stride) for layer in layers} == {1, 2, 3, 4}
    assert {layer.padding for layer in layers} == {"same", "valid"}
    for several in ("groups", "batch"):
        assert max(getattr(layer, several) for layer in layers) > 1
    assert max(max(layer.dilation) for layer in layers) > 1
    assert sum(layer.taps * 255 * 127 > 2**23 for layer in layers) > 10
    assert len({layer.input_zero_point for layer in layers}) > 50


def test_the_nearest_layer_of_fours() -> None:
    conv = SingleLayer("conv2d", 6, 1, (5, 5), (3, 3))
    assert (conv.of_fours().in_channels, conv.of_fours().out_channels) == (8, 4)
    grouped = SingleLayer("conv2d", 6, 10, groups=2)
    assert (grouped.of_fours().in_channels, grouped.of_fours().out_channels) == (8, 8)
    depthwise = SingleLayer("depthwise_conv2d", 5, 15, (5, 5), (3, 3))
    assert (depthwise.of_fours().in_channels, depthwise.of_fours().out_channels) == (4, 12)
    assert SingleLayer("fully_connected", 12, 8).of_fours() == SingleLayer("fully_connected", 12, 8)
