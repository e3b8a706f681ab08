"""The device cmsis-nn on emulated cores: bit for bit what the host alone, and tflite-micro, give.

All of it needs a source tree of CMSIS-NN, named by CMSIS_NN_PATH; without one these tests are deselected, which the
first lines of pytest say (`support.cmsis_nn_tree`). A Cortex-M4 takes the library's paths for DSP instructions, a
Cortex-M55 those for Helium.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import aboard
from aboard.compiler.pipeline import Module, partition_model
from support import fake_device, models, oracle
from support.cmsis_nn_tree import trees
from support.weighted_models import Layer, layers, window_out
from support.zoo import many_ops

BOARDS = ("arm/mps2_an386", "arm/mps3_an547")
BATCH = 8
ONCE = settings(
    max_examples=3, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate]
)


def composite(board: str, tree: Path) -> str:
    return f"{board} + cmsis-nn -cmsis-nn={tree}"


def outputs(modules: Sequence[Module], board: str, inputs: Sequence[np.ndarray]) -> list[dict[str, np.ndarray]]:
    """Returns the outputs of models in one image, each run on its input."""
    with tempfile.TemporaryDirectory() as folder:
        project = aboard.create(list(modules), board=board, path=Path(folder) / "project")
        project.build()
        with project.session() as device:
            return [device.infer(x, model=m.name).outputs for m, x in zip(modules, inputs, strict=True)]


@pytest.mark.parametrize("tree", trees())
@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("name", models.available(["digits", *models.INT8]))
def test_real_models_are_exact(name: str, board: str, tree: Path) -> None:
    """Needs a source tree: CMSIS_NN_PATH."""
    model = models.path(name)
    assert model is not None
    alone = aboard.compile(model, board=board, name="alone")
    shared = aboard.compile(model, target=composite(board, tree), name="shared")
    assert any(node.device == "cmsis-nn" for node in shared.manifest.nodes)
    rng = np.random.default_rng(11)
    feed = rng.integers(-128, 128, alone.manifest.inputs[0].shape).astype(np.int8)
    # Two of the larger models do not fit one image.
    (expected,), (got,) = outputs([alone], board, [feed]), outputs([shared], board, [feed])
    assert expected.keys() == got.keys()
    for output, values in expected.items():
        np.testing.assert_array_equal(got[output], values)


@st.composite
def wide_layers(draw: st.DrawFn) -> Layer:
    """Draws a layer of any kind, often one line of an image, often more channels than a vector has."""
    kind = draw(st.sampled_from(["CONV_2D", "CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"]))
    layer = draw(layers(kind))
    if kind == "FULLY_CONNECTED" or draw(st.booleans()):
        return layer
    taps, stride = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    padding, pixels = draw(st.sampled_from(["SAME", "VALID"])), draw(st.integers(6, 24))
    depth, channels = draw(st.sampled_from([1, 4, 16, 20])), draw(st.integers(1, 9))
    width = window_out(pixels, taps, stride, 1, padding)
    layer.options = {**layer.options, "Padding": padding, "StrideH": 1, "StrideW": stride}
    layer.options |= {"DilationHFactor": 1, "DilationWFactor": 1}
    layer.shape_in = (layer.shape_in[0], 1, pixels, depth)
    if kind == "CONV_2D":
        layer.shape_weights = (channels, 1, taps, depth)
    else:
        channels = depth * draw(st.sampled_from([1, 4]))
        layer.options |= {"DepthMultiplier": channels // depth}
        layer.shape_weights = (1, 1, taps, channels)
    layer.shape_out = (layer.shape_in[0], 1, width, channels)
    return layer


@pytest.mark.parametrize("tree", trees())
@pytest.mark.parametrize("board", BOARDS)
@ONCE
@given(drawn=st.lists(wide_layers(), min_size=BATCH, max_size=BATCH))
def test_random_layers_are_exact(board: str, tree: Path, drawn: list[Layer]) -> None:
    """Needs a source tree: CMSIS_NN_PATH."""
    target = composite(board, tree)
    claimed = [layer for layer in drawn if partition_model(layer.model(), target=target, name="m").claims]
    modules = [aboard.compile(layer.model(), target=target, name=f"m{i}") for i, layer in enumerate(claimed)]
    results = outputs(modules, board, [layer.input() for layer in claimed])
    for layer, result in zip(claimed, results, strict=True):
        (expected,) = oracle.tflm(layer.model(), layer.input())
        np.testing.assert_array_equal(next(iter(result.values())), expected, err_msg=str(layer))


@pytest.mark.parametrize("tree", trees())
@pytest.mark.parametrize("board", BOARDS)
def test_a_model_of_many_ops_is_exact(board: str, tree: Path) -> None:
    """Needs a source tree: CMSIS_NN_PATH."""
    modules = [aboard.compile(many_ops(), board=board, name="alone")]
    modules.append(aboard.compile(many_ops(), target=composite(board, tree), name="shared"))
    x = np.random.default_rng(5).integers(-128, 128, modules[0].manifest.inputs[0].shape).astype(np.int8)
    expected, got = outputs(modules, board, [x, x])
    assert got.keys() == expected.keys()
    for output, values in expected.items():
        np.testing.assert_array_equal(got[output], values)


@pytest.mark.parametrize("tree", trees())
@pytest.mark.parametrize("board", BOARDS)
def test_an_accelerator_the_library_and_the_host_share_a_model(board: str, tree: Path) -> None:
    """Needs a source tree: CMSIS_NN_PATH."""
    with fake_device.fake_device():
        target = f"{board} + fake -model=v2 + cmsis-nn -cmsis-nn={tree}"
        modules = [aboard.compile(many_ops(), board=board, name="alone")]
        modules.append(aboard.compile(many_ops(), target=target, name="shared"))
        assert {node.device for node in modules[1].manifest.nodes} == {None, "fake", "cmsis-nn"}
        x = np.random.default_rng(6).integers(-128, 128, modules[0].manifest.inputs[0].shape).astype(np.int8)
        expected, got = outputs(modules, board, [x, x])
    assert got.keys() == expected.keys()
    for output, values in expected.items():
        np.testing.assert_array_equal(got[output], values)
