"""Buffers and paths of cmsis-nn: sizes are those of Arm's functions; where a path is not exact, another is taken."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from aboard.backends.cmsis_nn import exact, sizes
from aboard.backends.cmsis_nn.geometry import Size, Unit, WindowedLayer
from aboard.target import Target
from support import cmsis_nn_tree


def size_of(function: str, window: WindowedLayer, unit: Unit) -> int:
    """Returns what our side says for one of `cmsis_nn_tree.QUESTIONS`."""
    if function == "fully_connected":
        return sizes.fully_connected(window.outputs, unit)
    ours = {
        "convolve_wrapper": sizes.convolve_wrapper,
        "depthwise_conv_wrapper": sizes.depthwise_wrapper,
        "avgpool": sizes.average_pool,
    }
    return ours[function](window, unit)


def test_sizes_are_those_that_were_recorded() -> None:
    entries = cmsis_nn_tree.recorded()
    assert {entry["function"] for entry in entries} == set(cmsis_nn_tree.QUESTIONS)
    for entry in entries:
        window = cmsis_nn_tree.window(entry["window"])
        got = {unit.value: size_of(entry["function"], window, unit) for unit in Unit}
        assert got == {unit.value: entry[unit.value] for unit in Unit}, entry


@pytest.mark.parametrize("tree", cmsis_nn_tree.trees())
def test_sizes_are_those_of_the_compiled_functions(tree: Path) -> None:
    """Needs a source tree: CMSIS_NN_PATH."""
    rng = np.random.default_rng()
    for number in range(4000):
        function = cmsis_nn_tree.QUESTIONS[number % len(cmsis_nn_tree.QUESTIONS)]
        window = cmsis_nn_tree.random_window(rng, depthwise=function != "convolve_wrapper")
        for unit in Unit:
            assert size_of(function, window, unit) == cmsis_nn_tree.ask(tree, function, window, unit), (window, unit)


@pytest.mark.parametrize("tree", cmsis_nn_tree.trees())
def test_what_was_recorded_is_what_the_tree_says(tree: Path) -> None:
    """Needs a source tree: CMSIS_NN_PATH."""
    for entry in cmsis_nn_tree.recorded():
        window = cmsis_nn_tree.window(entry["window"])
        said = {unit.value: cmsis_nn_tree.ask(tree, entry["function"], window, unit) for unit in Unit}
        assert said == {unit.value: entry[unit.value] for unit in Unit}, entry


@pytest.mark.parametrize(
    ("target", "unit"),
    [
        ("c -mcpu=cortex-m0", Unit.C),
        ("c -mcpu=cortex-m3", Unit.C),
        ("c -mcpu=cortex-m4", Unit.DSP),
        ("c -mcpu=cortex-m33+nodsp", Unit.C),
        ("c -mcpu=cortex-m55", Unit.MVE),
        ("c -mcpu=cortex-m55+nomve", Unit.DSP),
        ("c -mcpu=rv32imc", Unit.C),
        ("c -runtime=host", Unit.C),
    ],
)
def test_the_core_decides_what_the_library_uses(target: str, unit: Unit) -> None:
    assert Unit.of(Target(target)) is unit


def line(pixels: int, taps: int, result: int, stride: int, pad: int, channels: int = 4) -> WindowedLayer:
    return WindowedLayer(
        1, Size(1, pixels), channels, Size(1, taps), channels, Size(1, result), 3, Size(1, stride), Size(0, pad)
    )


@pytest.mark.parametrize(
    ("window", "is_exact"),
    [
        (line(10, 3, 10, 1, 1), True),  # as SAME pads
        (line(8, 3, 6, 1, 0), True),  # no padding
        (line(9, 5, 5, 2, 2), False),  # the right end is copied with one pixel too many
        (line(8, 3, 3, 2, 0), False),  # the last pixel is not seen, and counted as padding
        (line(8, 3, 2, 3, 0), False),  # two pixels are not seen: the library reports a failure
        (line(2, 4, 2, 1, 1), True),  # the ends do not add up: it takes its other path by itself
        (line(8, 3, 3, 2, 0, channels=1), True),  # no line for the library: rows are no whole words
    ],
)
def test_lines_with_helium_are_left_to_the_wrapper_where_it_is_exact(window: WindowedLayer, is_exact: bool) -> None:
    assert exact.convolve_wrapper_is_exact(window, Unit.MVE) is is_exact
    assert exact.convolve_wrapper_is_exact(window, Unit.DSP)
    assert exact.convolve_wrapper_is_exact(window, Unit.C)


def image(width: int, result: int, stride: int, pad: int, multiplier: int = 1) -> WindowedLayer:
    return WindowedLayer(
        1, Size(5, width), 2, Size(3, 3), 1, Size(5, result), 2 * multiplier, Size(1, stride), Size(1, pad)
    )


@pytest.mark.parametrize(
    ("window", "is_exact"),
    [
        (image(5, 5, 1, 1), True),
        (image(6, 3, 2, 0), True),
        (image(6, 3, 3, 1), False),  # the middle of the last window is beyond the image
        (image(6, 3, 3, 1, multiplier=2), True),  # has no function of its own
    ],
)
def test_3x3_depthwise_looks_beyond_images(window: WindowedLayer, is_exact: bool) -> None:
    assert exact.depthwise_wrapper_is_exact(window, Unit.DSP) is is_exact
    assert exact.depthwise_wrapper_is_exact(window, Unit.C) is is_exact
    assert exact.depthwise_wrapper_is_exact(window, Unit.MVE)
