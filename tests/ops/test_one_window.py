"""Eight channels at once with Helium for windows that cover an image: the C that says what the assembly computes."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aboard.importers import load
from aboard.ir import Rounding
from aboard.kernels import one_window as one_window_taps
from aboard.kernels.arm_mve.depthwise_one_window import MveOneS8, eights
from aboard.kernels.contract import KernelCall
from aboard.kernels.view import View
from ops.test_overlaps import check, distances
from support import kernel_call, kernel_views
from support.examples import examples
from support.mve_layers import TARGET, implementation
from support.one_window_layers import NAME, chosen, one_window, one_windows, refusal
from support.weighted_models import Layer

SETTINGS = settings(deadline=None, suppress_health_check=list(HealthCheck))

kernel = partial(implementation, name=NAME)


def lowered(layer: Layer, **changed: int) -> KernelCall:
    """Returns the call of a layer; the view of its operand is `changed`."""
    (node,) = load(layer.model(), name="model").nodes
    x, y = View.whole(layer.shape_in, 1), View.whole(layer.shape_out, 1)
    return kernel(node).lower(node, [replace(x, **changed), None, None], [y], TARGET)


@settings(SETTINGS, max_examples=examples(40))
@given(st.data(), one_windows())
def test_any_view_and_any_rows(data: st.DataObject, layer: Layer) -> None:
    x, y = (data.draw(kernel_call.views(shape, 1)) for shape in (layer.shape_in, layer.shape_out))
    kernel_views.check(layer, kernel, TARGET, x, y, data.draw(kernel_call.row_ranges(y.rows, 1)))


_CHOSEN = chosen()


@pytest.mark.parametrize("layer", _CHOSEN)
def test_chosen_layers(layer: Layer) -> None:
    x, y = View.whole(layer.shape_in, 1), View.whole(layer.shape_out, 1)
    kernel_views.check(layer, kernel, TARGET, x, y, [(0, y.rows)])


@settings(SETTINGS, max_examples=examples(12))
@given(st.data(), one_windows())
def test_results_over_their_operand(data: st.DataObject, layer: Layer) -> None:
    check(data, layer.model(), layer.input(), ["arm_mve"])


@pytest.mark.parametrize(("channels", "distance"), [(8, 0), (24, 0), (17, 7), (22, 2), (25, 7), (31, 1)])
def test_distances_from_the_operand(channels: int, distance: int) -> None:
    # If channels are no whole blocks of eight, some are computed again after their results were written.
    layer = one_window((6, 1), (6, 1), channels, batch=2)
    (node,) = load(layer.model(), name="model").nodes
    x, y = View.whole(layer.shape_in, 1), View.whole(layer.shape_out, 1)
    assert distances(kernel(node), node, x, y) == {distance, distance + 3}
    assert distances(kernel(node), node, replace(x, pixel_stride=channels + 1), y) == set()

    @settings(SETTINGS, max_examples=1)
    @given(st.data())
    def at_every_distance(data: st.DataObject) -> None:
        check(data, layer.model(), layer.input(), ["arm_mve"])

    at_every_distance()


def test_what_is_refused() -> None:
    assert refusal(one_window((6, 1), (5, 1), 16)) == "is for one window in each image"
    assert refusal(one_window((1, 6), (1, 5), 16)) == "is for one window in each image"
    for channels in (1, 4, 7, 9, 15):
        assert refusal(one_window((5, 1), (5, 1), channels)) == "is for 8 channels, or for 16 or more"
    long = "is for windows of at most 32 words of 4 taps in a row"
    assert refusal(one_window((129, 1), (129, 1), 16)) == refusal(one_window((9, 13), (9, 13), 16)) == long
    assert refusal(one_window((128, 1), (128, 1), 16)) is refusal(one_window((8, 13), (8, 13), 16)) is None
    outside = one_window((1, 1), (2, 2), 16, "SAME", dilations=(3, 3))
    few = "is for windows of at least 5 taps in the image"
    assert refusal(outside) == refusal(one_window((4, 1), (4, 1), 16)) == few
    limited = one_window((5, 1), (5, 1), 16)
    limited.options = {**limited.options, "FusedActivationFunction": "RELU6"}
    assert refusal(limited) == "is for results without limits"
    large = one_window((5, 1), (5, 1), 16)
    large.spread = 1e-4
    assert refusal(large) == "is for multipliers below 1"
    twice = one_window((5, 1), (5, 1), 16)
    twice.shape_weights, twice.shape_out = (1, 5, 1, 32), (1, 1, 1, 32)
    twice.options = {**twice.options, "DepthMultiplier": 2}
    assert refusal(twice) == "is for a depth multiplier of 1"
    floats = one_window((5, 1), (5, 1), 16)
    floats.form = "float32"
    assert refusal(floats) == "is for int8"


def test_exact_rounding() -> None:
    layer = one_window((5, 1), (5, 1), 16)
    layer.spread = 1e-4
    (node,) = load(layer.model(), name="model").nodes
    node.attrs = replace(node.attrs, rounding=Rounding.EXACT)
    assert MveOneS8().refuses(node, TARGET) == "has no single rounding that equals the exact one"


def test_lines_of_taps() -> None:
    # Rows without gaps are one line, also if the view has gaps between pixels; with gaps between rows each is a line.
    layer = one_window((3, 5), (3, 5), 24)
    fields = ("lines", "taps", "first", "tap", "line")
    assert [lowered(layer).params[name] for name in fields] == [1, 15, 0, 24, 0]
    assert [lowered(layer, pixel_stride=30, row_stride=150).params[name] for name in fields] == [1, 15, 0, 30, 0]
    wide = lowered(layer, row_stride=121)
    assert [wide.params[name] for name in fields] == [3, 5, 0, 24, 121]
    assert wide.scratch[0].bytes == 64 * 6
    backwards = lowered(layer, row_stride=-120)
    assert [backwards.params[name] for name in fields] == [3, 5, 0, 24, -120]
    # A column whose rows are stored backwards is a line.
    column = lowered(one_window((5, 1), (5, 1), 24), row_stride=-24)
    assert [column.params[name] for name in fields] == [1, 5, 0, -24, 0]
    cropped = one_window((4, 4), (9, 7), 24, "SAME", strides=(4, 5))
    assert [lowered(cropped).params[name] for name in fields] == [1, 16, 0, 24, 0]


@pytest.mark.parametrize(("channels", "tap", "reads"), [(30, 60, 1), (128, 128, 0), (127, 128, 2), (512, 512, 2)])
def test_how_taps_are_read(channels: int, tap: int, reads: int) -> None:
    assert lowered(one_window((5, 1), (5, 1), channels), row_stride=tap, pixel_stride=tap).params["reads"] == reads


def test_blocks_of_channels() -> None:
    assert eights(8).tolist() == [list(range(8))]
    assert eights(16)[:, 0].tolist() == [0, 8]
    assert eights(20)[:, 0].tolist() == [0, 8, 12]
    assert eights(30)[:, 0].tolist() == [0, 8, 14, 22]


def test_taps_in_the_image() -> None:
    (node,) = load(one_window((4, 1), (9, 2), 16, "SAME", strides=(4, 3)).model(), name="model").nodes
    found = one_window_taps.taps(node)
    assert found.rows == (range(4), range(2, 6))
    assert found.cols == (range(1), range(1))


def test_lanes_share_words_with_weights_of_zero() -> None:
    # 21 taps are six words in two parts: lanes begin at words 0, 2, 4 and again 4.
    layer = one_window((21, 1), (21, 1), 16)
    weights = lowered(layer).constants[0].values[0, 32 : 32 + 2 * 8 * 16].reshape(2, 8, 4, 4)
    matrix = layer.weights.reshape(21, 16)
    for part in range(2):
        for lane, first in enumerate((0, 8, 16)):
            wanted = np.zeros(4, np.int8)
            words = matrix[first + 4 * part : first + 4 * part + 4, 0]
            wanted[: len(words)] = words
            np.testing.assert_array_equal(weights[part, 0, lane], wanted)
    assert not weights[:, :, 3].any()
