"""Kernels of blocks of four pixels of float32 on emulated cores: random layers give the results of their ops.

Each image carries several models, because building one takes longer than running them all.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import aboard
from aboard.kernels.contract import Implementation
from aboard.kernels.select import strategy
from support import float_layers, one_op
from support.examples import either, without_shrinking
from support.float_layers import DSP, KINDS, MVE, implementation
from support.weighted_models import Layer

BOARDS = {DSP: "arm/mps2_an386", MVE: "arm/mps3_an547"}
BATCH = 12


def check(drawn: Sequence[Layer], name: str) -> None:
    """Fails unless all layers, in one image, give the op's results with a kernel, within 1e-5 of the largest."""

    def always(explained: strategy.Explanation) -> Implementation:
        return implementation(explained.node, name)

    with strategy.forced(always), tempfile.TemporaryDirectory() as folder:
        modules = [aboard.compile(each.model(), board=BOARDS[name], name=f"m{i}") for i, each in enumerate(drawn)]
        assert {node.implementation for module in modules for node in module.manifest.nodes} == {name}
        project = aboard.create(modules, board=BOARDS[name], path=Path(folder) / "project")
        project.build()
        with project.session() as device:
            for number, layer in enumerate(drawn):
                (wanted,) = one_op.evaluate(layer.model(), layer.input())
                got = device.run(layer.input(), model=f"m{number}")
                limit = 1e-5 * max(float(np.abs(wanted).max()), 1e-3)
                assert float(np.abs(got - wanted).max()) <= limit, f"model {number}: {layer}"


# Without shrinking: an example takes seconds, and the message names the layer.
@pytest.mark.parametrize("name", [DSP, MVE])
@without_shrinking(either(5, 1))
@given(st.lists(st.sampled_from(KINDS).flatmap(float_layers.layers), min_size=BATCH, max_size=BATCH))
def test_random_layers(name: str, drawn: list[Layer]) -> None:
    check(drawn, name)


def layer(kind: str, cols: int, depth: int, channels: int, activation: str) -> Layer:
    options = {"Padding": "SAME", "StrideH": 1, "StrideW": 1, "FusedActivationFunction": activation}
    shapes = (1, 2, cols, depth), (channels, 3, 3, depth), (1, 2, cols, channels)
    if kind == "CONV_2D":
        return Layer(kind, *shapes, 0, options, form="float32")
    options["DepthMultiplier"] = 1
    return Layer(kind, shapes[0], (1, 3, 3, depth), (1, 2, cols, depth), 3, options, form="float32")


@pytest.mark.parametrize("name", [DSP, MVE])
def test_every_path_of_the_assembly(name: str) -> None:
    # Blocks of four taps and single taps, blocks of pixels and single pixels, parts of blocks of channels, and limits.
    drawn = [layer("CONV_2D", 9, depth, channels, "NONE") for depth, channels in [(1, 4), (3, 5), (4, 8), (6, 3)]]
    drawn += [layer("CONV_2D", 9, 5, 8, activation) for activation in ("RELU", "RELU6", "RELU_N1_TO_1")]
    drawn += [layer("DEPTHWISE_CONV_2D", 9, 8, 8, activation) for activation in ("NONE", "RELU", "RELU_N1_TO_1")]
    drawn += [Layer("FULLY_CONNECTED", (rows, 9), (6, 9), (rows, 6), 0, form="float32") for rows in (1, 4, 7)]
    check(drawn, name)
