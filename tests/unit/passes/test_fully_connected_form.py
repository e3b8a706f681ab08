"""Convolutions of a single window, and fully connected layers of several samples: each is the other, too."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aboard
from aboard.importers import load
from aboard.ir import Rounding
from aboard.kernels.select import strategy
from aboard.kernels.select.cost_model import cost
from aboard.passes import Pass
from aboard.passes.fully_connected_form import FullyConnectedForm
from aboard.passes.trim_windows import TrimWindows
from aboard.target import Target
from support import rolling_models, sanitized
from support.examples import examples
from support.rewrites import check_rewrite, kinds
from support.single_layers import SingleLayer, model
from support.tflite_builder import ModelBuilder

M4 = FullyConnectedForm("cortex-m4")
PIXEL = SingleLayer("conv2d", 40, 24)
SAMPLES = SingleLayer("fully_connected", 40, 24, batch=8)
MAP = SingleLayer("conv2d", 12, 24, (3, 2), (3, 2), padding="valid")
_BIASES = {np.int8: np.int32, np.int16: np.int64, np.float32: np.float32}


def pixel(dtype: type) -> bytes:
    """Returns a model of a convolution of one pixel of some type."""
    is_float, rng = dtype is np.float32, np.random.default_rng(2)
    quant = {} if is_float else {"scale": 0.05, "zero_point": -5 if dtype is np.int8 else 0}
    scales = 0.01 + 0.001 * np.arange(24)
    m = ModelBuilder().tensor("x", (1, 1, 1, 40), dtype, **quant).tensor("y", (1, 1, 1, 24), dtype, **quant)
    per_channel = {} if is_float else {"scales": scales, "axis": 0}
    m.tensor(
        "w",
        (24, 1, 1, 40),
        np.float32 if is_float else np.int8,
        data=rng.integers(-99, 99, (24, 1, 1, 40)),
        **per_channel,
    )
    scaled = {} if is_float else {"scales": 0.05 * scales}
    m.tensor("b", (24,), _BIASES[dtype], data=rng.integers(-999, 999, 24), **scaled)
    return m.op("CONV_2D", ["x", "w", "b"], ["y"], {"StrideH": 1, "StrideW": 1, "Padding": "SAME"}).build(["x"], ["y"])


@pytest.mark.parametrize(
    ("dtype", "core"), [(np.int8, "cortex-m4"), (np.int16, "cortex-m4"), (np.float32, "cortex-m55")]
)
def test_a_pixel_is_a_sample(dtype: type, core: str) -> None:
    graph = check_rewrite(pixel(dtype), FullyConnectedForm(core))
    assert kinds(graph) == ["fully_connected"]
    assert graph.nodes[0].input(1).shape == (24, 40)
    assert graph.nodes[0].output.shape == (1, 1, 1, 24)


@pytest.mark.parametrize("core", ["cortex-m0", "cortex-m3", "cortex-m4", "cortex-m55", "rv32imc"])
def test_a_pixel_costs_less_on_every_core(core: str) -> None:
    before, after = (
        check_rewrite(model([PIXEL]), each).nodes[0] for each in (FullyConnectedForm(), FullyConnectedForm(core))
    )
    assert after.op == "fully_connected"
    target = Target(f"c -mcpu={core}")
    costs = [cost(node, strategy.choose(node, target).implementation, target).time for node in (before, after)]
    assert costs[1] < costs[0]


def test_a_map_that_one_window_reads_is_a_sample() -> None:
    graph = check_rewrite(model([MAP]), M4)
    assert kinds(graph) == ["reshape", "fully_connected"]
    assert graph.nodes[1].input(0).shape == (1, 1, 1, 72)


def test_each_image_of_a_batch_is_a_sample() -> None:
    # Up to four samples take fewer instructions as pixels of one convolution.
    graph = check_rewrite(model([replace(MAP, batch=5)]), FullyConnectedForm("cortex-m55"))
    assert kinds(graph) == ["reshape", "fully_connected"]
    assert graph.nodes[1].output.shape == (5, 1, 1, 24)


@pytest.mark.parametrize("core", ["cortex-m0", "cortex-m3", "cortex-m4"])
def test_samples_are_pixels(core: str) -> None:
    graph = check_rewrite(model([SAMPLES]), FullyConnectedForm(core))
    assert kinds(graph) == ["reshape", "conv2d", "reshape"]
    assert graph.nodes[1].input(0).shape == (1, 8, 1, 40)
    assert graph.nodes[1].input(1).shape == (24, 1, 1, 40)


def test_samples_of_an_image_are_its_pixels() -> None:
    quant = {"scale": 0.05, "zero_point": -5}
    m = ModelBuilder().tensor("x", (2, 3, 4, 40), np.int8, **quant).tensor("y", (2, 3, 4, 24), np.int8, **quant)
    m.tensor("w", (24, 40), np.int8, scale=0.01, data=np.random.default_rng(2).integers(-99, 99, (24, 40)))
    net = m.op("FULLY_CONNECTED", ["x", "w"], ["y"], {"KeepNumDims": True}).build(["x"], ["y"])
    assert kinds(check_rewrite(net, M4)) == ["conv2d"]


def test_a_window_of_one_pixel_and_padding_is_one_tap() -> None:
    layer = replace(PIXEL, kernel=(3, 3))
    assert kinds(check_rewrite(model([layer]), M4)) == ["conv2d"]
    assert kinds(check_rewrite(model([layer]), TrimWindows(), M4)) == ["fully_connected"]


@pytest.mark.parametrize(
    ("layer", "form"),
    [
        (PIXEL, FullyConnectedForm()),
        (replace(PIXEL, size=(2, 1)), M4),
        (replace(PIXEL, groups=2), M4),
        (replace(MAP, size=(4, 2)), M4),
        (SingleLayer("conv2d", 12, 24, (5, 2), (3, 2), dilation=(2, 1), padding="valid"), M4),
        (SingleLayer("depthwise_conv2d", 12, 12), M4),
        (SingleLayer("fully_connected", 40, 24), M4),
        (SAMPLES, FullyConnectedForm()),
    ],
    ids=["no core", "pixels", "groups", "windows", "dilation", "depthwise", "one sample", "samples, no core"],
)
def test_what_stays(layer: SingleLayer, form: Pass) -> None:
    assert kinds(check_rewrite(model([layer]), form)) == [layer.op]


@pytest.mark.parametrize("layer", [PIXEL, MAP, SAMPLES])
def test_results_are_rounded_as_before(layer: SingleLayer) -> None:
    graph = load(model([layer]))
    (node,) = graph.nodes
    node.attrs = replace(node.attrs, rounding=Rounding.EXACT)
    (after,) = (each for each in check_rewrite(graph, M4).nodes if each.op != "reshape")
    assert after.op != node.op
    assert after.attrs.rounding is Rounding.EXACT
    assert after.output.source == node.output.source


def test_layers_of_one_input_and_matrix_have_tensors_of_their_own() -> None:
    quant = {"scale": 0.05, "zero_point": -5}
    m = ModelBuilder().tensor("x", (1, 8, 40), np.int8, **quant)
    m.tensor("w", (24, 40), np.int8, scale=0.01, data=np.random.default_rng(2).integers(-99, 99, (24, 40)))
    for name in ("q", "k", "v"):
        m.tensor(name, (1, 8, 24), np.int8, **quant).op("FULLY_CONNECTED", ["x", "w"], [name], {"KeepNumDims": True})
    graph = check_rewrite(m.build(["x"], ["q", "k", "v"]), M4)
    assert kinds(graph) == ["reshape", "conv2d", "reshape"] * 3
    names = [tensor.name for tensor in graph.tensors()]
    assert len(names) == len(set(names))


def test_what_costs_more_stays() -> None:
    """Kernels of 1x1 layers of 16 channels have all weights of a channel in registers."""
    assert kinds(check_rewrite(model([SingleLayer("conv2d", 16, 96)]), M4)) == ["conv2d"]


def test_rows_of_a_state_are_read_by_a_window() -> None:
    stream = rolling_models.model([rolling_models.Layer("CONV_2D", 2, 5, 3, channels=32)], 3, 1, 40)
    graph = load(stream)
    assert M4.pending(graph) is None
    module = aboard.compile(stream, target="c -mcpu=cortex-m4", name="net")
    assert module.manifest.state is not None
    assert module.manifest.state.rolling == {0: 5}


@settings(max_examples=examples(24), deadline=None)
@given(
    st.builds(
        SingleLayer,
        op=st.sampled_from(["conv2d", "fully_connected"]),
        in_channels=st.integers(1, 70),
        out_channels=st.integers(1, 40),
        batch=st.integers(1, 9),
        input_zero_point=st.integers(-128, 127),
        output_zero_point=st.sampled_from([-128, 3]),
    )
    | st.builds(
        lambda size, **given: SingleLayer("conv2d", size=size, kernel=size, padding="valid", **given),
        size=st.tuples(st.integers(1, 4), st.integers(1, 4)),
        in_channels=st.integers(1, 9),
        out_channels=st.integers(1, 20),
        batch=st.integers(1, 3),
    ),
    st.sampled_from(["cortex-m3", "cortex-m4", "cortex-m0"]),
)
def test_generated_code_gives_the_same(layer: SingleLayer, core: str) -> None:
    net = model([layer])
    module = aboard.compile(net, target=f"c -mcpu={core} -opt=speed", name="net")
    sanitized.check_as_native(module, net, sanitized.random_feed(module, 1))
