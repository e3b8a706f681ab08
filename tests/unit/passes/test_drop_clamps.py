"""Removal of clamps that never act."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard.ops.activation import Activation
from aboard.passes.drop_clamps import DropClamps
from aboard.passes.fuse_activations import FuseActivations
from support.channel_models import random_model
from support.rewrites import check_rewrite, kinds
from support.tflite_builder import ModelBuilder

#: Ends at 6 and below it.
SCALE, ZERO = 6 / 100, -20


def dense(weight: int, fused: str = "RELU6", *, bias: int = 0) -> bytes:
    """Returns a sigmoid (0 to 1) -> a fully connected layer of one weight, with its bias in steps of the result."""
    m = ModelBuilder().tensor("x", (1, 2), np.int8, scale=0.1, zero_point=0)
    m.tensor("s", (1, 2), np.int8, scale=1 / 256, zero_point=-128)
    m.tensor("w", (3, 2), np.int8, scale=0.5, data=np.full((3, 2), weight, np.int8))
    m.tensor("b", (3,), np.int32, scale=0.5 / 256, data=np.full(3, round(bias * SCALE * 512), np.int32))
    m.tensor("y", (1, 3), np.int8, scale=SCALE, zero_point=ZERO)
    m.op("LOGISTIC", ["x"], ["s"])
    m.op("FULLY_CONNECTED", ["s", "w", "b"], ["y"], {"FusedActivationFunction": fused})
    return m.build(["x"], ["y"])


def activations(graph) -> list[Activation]:
    return [node.attrs.activation for node in graph.nodes if hasattr(node.attrs, "activation")]


@pytest.mark.parametrize(
    ("weight", "bias", "fused", "left"),
    [
        (5, 0, "RELU6", "NONE"),  # 0 to 5
        (6, 0, "RELU6", "NONE"),  # 0 to 6
        (7, 0, "RELU6", "RELU6"),
        (7, 0, "RELU", "NONE"),
        (-1, 0, "RELU", "RELU"),
        (-1, 20, "RELU", "NONE"),  # 0.2 to 1.2
        (1, 0, "RELU_N1_TO_1", "NONE"),
        (2, 0, "RELU_N1_TO_1", "RELU_N1_TO_1"),
    ],
)
def test_a_fused_clamp_goes_where_sums_stay_within_it(weight, bias, fused, left):
    after = check_rewrite(dense(weight, fused, bias=bias), DropClamps())
    assert activations(after) == [Activation[left]]


def test_a_rectifier_of_what_is_not_negative_goes():
    # Two readers of the first one's result: nothing is fused.
    def model(scale: float, zero_point: int) -> bytes:
        m = ModelBuilder()
        for name in "xabyz":
            m.tensor(name, (1, 4), np.int8, scale=scale, zero_point=zero_point)
        m.op("RELU", ["x"], ["a"]).op("RELU6", ["a"], ["b"])
        m.op("LEAKY_RELU", ["b"], ["y"], {"Alpha": 0.5}).op("LEAKY_RELU", ["a"], ["z"], {"Alpha": 0.25})
        return m.build(["x"], ["y", "z"])

    # 127 is below 6, or beyond it; the slope below 0 never counts.
    assert kinds(check_rewrite(model(0.04, ZERO), DropClamps())) == ["relu", "leaky_relu"]
    assert kinds(check_rewrite(model(SCALE, ZERO), DropClamps())) == ["relu", "relu6"]


def test_an_output_of_the_model_stays():
    """Both results are the caller's, and equal."""
    m = ModelBuilder()
    for name in "xay":
        m.tensor(name, (1, 4), np.int8, scale=SCALE, zero_point=ZERO)
    m.op("RELU", ["x"], ["a"]).op("RELU", ["a"], ["y"])
    assert kinds(check_rewrite(m.build(["x"], ["a", "y"]), DropClamps())) == ["relu", "relu"]
    assert kinds(check_rewrite(m.build(["x"], ["y"]), DropClamps())) == ["relu"]


@pytest.mark.parametrize(("op", "left"), [("ADD", "RELU_N1_TO_1"), ("MUL", "NONE")])
def test_a_sum_reaches_the_limit_and_a_product_does_not(op, left):
    m = ModelBuilder().tensor("x", (1, 4), np.int8, scale=0.1, zero_point=0)
    m.tensor("s", (1, 4), np.int8, scale=1 / 256, zero_point=-128)
    m.tensor("y", (1, 4), np.int8, scale=0.01, zero_point=-128)
    m.op("LOGISTIC", ["x"], ["s"]).op(op, ["s", "s"], ["y"], {"FusedActivationFunction": "RELU_N1_TO_1"})
    assert activations(check_rewrite(m.build(["x"], ["y"]), DropClamps())) == [Activation[left]]


def test_floats_and_what_is_no_clamp_stay():
    m = ModelBuilder()
    for name in "xay":
        m.tensor(name, (1, 4), np.float32)
    m.op("RELU", ["x"], ["a"]).op("RELU", ["a"], ["y"])
    assert kinds(check_rewrite(m.build(["x"], ["y"]), DropClamps())) == ["relu", "relu"]
    # The limits of RELU are those of int8 where zero lies at its end: nothing to gain.
    m = ModelBuilder().tensor("x", (1, 4), np.int8, scale=0.1, zero_point=-128)
    m.tensor("y", (1, 4), np.int8, scale=0.1, zero_point=-128)
    m.op("ADD", ["x", "x"], ["y"], {"FusedActivationFunction": "RELU"})
    assert activations(check_rewrite(m.build(["x"], ["y"]), DropClamps())) == [Activation.RELU]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**20))
def test_random_models_stay_the_same(seed):
    check_rewrite(random_model(seed), FuseActivations(), DropClamps())
