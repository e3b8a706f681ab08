"""Transposed convolutions of quantised ONNX files are integer convolutions of the image itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import aboard
from support.examples import examples
from support.onnx_models import expected, model, node

#: Steps of the result.
STEP = np.float32(0.2)

CONSTANTS = {"s": np.float32(0.05), "z": np.int8(-10), "t": STEP, "u": np.int8(5)}


def network(
    strides=(2, 2), size=(3, 3), pads=(0, 0, 0, 0), extra=(0, 0), bias="", relu=False, per_channel=False,
    unsigned=False, shape=(1, 3, 5, 6), channels=4,
):  # fmt: skip
    """Returns a file with a transposed convolution between integers, and its input."""
    rng = np.random.default_rng(1)
    constants = dict(CONSTANTS)
    stored = rng.integers(-127, 128, (shape[1], channels, *size))
    constants["w"] = (stored + 128).astype(np.uint8) if unsigned else stored.astype(np.int8)
    scales = rng.uniform(0.002, 0.01, channels).astype(np.float32) if per_channel else np.float32(0.005)
    points = np.full(np.shape(scales), 128 if unsigned else 0, constants["w"].dtype)
    constants |= {"ws": scales, "wz": points}
    nodes = [node("QuantizeLinear", "x s z", "q"), node("DequantizeLinear", "q s z", "d")]
    nodes.append(node("DequantizeLinear", "w ws wz", "v", axis=1))
    if bias == "float":
        constants["b"] = rng.normal(0, 1, channels).astype(np.float32)
    elif bias:
        constants["bi"] = rng.integers(-3000, 3000, channels).astype(np.int32)
        constants["bs"] = (CONSTANTS["s"] * scales).astype(np.float32)
        nodes.append(node("DequantizeLinear", "bi bs", "b", axis=0))
    options = {"strides": list(strides), "pads": list(pads), "output_padding": list(extra)}
    nodes.append(node("ConvTranspose", "d v b" if bias else "d v", "c", **options))
    nodes += [node("Relu", "c", "r")] if relu else []
    nodes += [node("QuantizeLinear", f"{'r' if relu else 'c'} t u", "o"), node("DequantizeLinear", "o t u")]
    x = rng.normal(0, 2, shape).astype(np.float32)
    return model(nodes, {"x": x}, constants), {"x": x}


def inside(module):
    """Returns the nodes between the integers of the border."""
    return [each for each in module.graph.nodes if each.op not in ("quantize", "dequantize")]


def assert_integers(data, feed, attributes="", steps=1.0):
    module = aboard.compile(data, target=f"c -runtime=host{attributes}")
    assert not [each for each in inside(module) if each.output.dtype.is_float]
    assert "pad" not in {each.op for each in inside(module)}
    (wanted,) = expected(data, feed)
    assert np.abs(module.run(feed["x"]) - wanted).max() <= steps * STEP * 1.001
    return module


PAIR = st.tuples(st.integers(1, 3), st.integers(1, 3))


@given(
    PAIR,
    st.tuples(st.integers(1, 4), st.integers(1, 4)),
    st.tuples(*[st.integers(0, 2)] * 4),
    st.tuples(st.integers(0, 1), st.integers(0, 1)),
    st.sampled_from(["", "float", "int"]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
@settings(max_examples=examples(40), deadline=None)
def test_any_window(strides, size, pads, extra, bias, relu, per_channel, unsigned):
    # Crops within the windows: other results are convolutions with padding.
    for axis, extent in enumerate((5, 6)):
        low, high = pads[axis], pads[axis + 2]
        assume(max(low, high) < size[axis] and extra[axis] <= high and extra[axis] < strides[axis])
        assume((extent - 1) * strides[axis] + size[axis] > low + high)
    assert_integers(*network(strides, size, pads, extra, bias, relu, per_channel, unsigned))


@pytest.mark.parametrize("per_channel", [False, True], ids=["per tensor", "per channel"])
def test_phases_compute_a_quarter_of_the_products(per_channel):
    data, feed = network(size=(4, 4), pads=(1, 1, 1, 1), channels=8, bias="int", relu=True, per_channel=per_channel)
    module = assert_integers(data, feed)
    spread = 10 * 12 * 4 * 4 * 3 * 8  # of an image with zeros between its pixels
    assert sum(each.macs for each in module.manifest.nodes) <= 0.75 * spread
    assert "relu" not in {each.op for each in inside(module)}


def test_exact_arithmetic():
    data, feed = network(bias="int", relu=True, per_channel=True)
    assert_integers(data, feed, " -arithmetic=exact")


def test_weights_with_a_scale_for_each_input_channel_stay_real():
    feed = network()[1]
    wrong = np.array([0.1, 0.2, 0.3], np.float32)
    constants = {**CONSTANTS, "w": np.ones((3, 4, 2, 2), np.int8), "ws": wrong, "wz": np.zeros(3, np.int8)}
    nodes = [node("QuantizeLinear", "x s z", "q"), node("DequantizeLinear", "q s z", "d")]
    nodes += [node("DequantizeLinear", "w ws wz", "v", axis=0), node("ConvTranspose", "d v", "c", strides=[2, 2])]
    nodes += [node("QuantizeLinear", "c t u", "o"), node("DequantizeLinear", "o t u")]
    data = model(nodes, feed, constants)
    module = aboard.compile(data, target="c -runtime=host")
    np.testing.assert_allclose(module.run(feed["x"]), expected(data, feed)[0], atol=STEP * 1.001)
