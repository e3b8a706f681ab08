"""Activation fusion."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard.ops.activation import Activation
from aboard.passes.fuse_activations import FuseActivations
from support.rewrites import check_rewrite, kinds
from support.tflite_builder import ModelBuilder


def model(clamp, *, dtype=np.int8, fused="NONE", scale=0.05, zero_point=-20, result=None, outputs=("y",), options=None):
    """Returns x + x -> an activation."""
    quant = {} if dtype is np.float32 else {"scale": scale, "zero_point": zero_point}
    m = ModelBuilder().tensor("x", (1, 256), dtype, **quant).tensor("a", (1, 256), dtype, **quant)
    m.tensor("y", (1, 256), dtype, **(result or quant))
    m.op("ADD", ["x", "x"], ["a"], {"FusedActivationFunction": fused}).op(clamp, ["a"], ["y"], options)
    return m.build(["x"], list(outputs))


@pytest.mark.parametrize("dtype", [np.int8, np.float32])
@pytest.mark.parametrize("clamp", ["RELU", "RELU6", "RELU_N1_TO_1"])
def test_a_clamp_after_an_operator_is_its_own(clamp, dtype):
    after = check_rewrite(model(clamp, dtype=dtype), FuseActivations())
    assert kinds(after) == ["add"]
    assert after.nodes[0].attrs.activation is Activation[clamp]
    assert after.nodes[0].output.name == "y"
    assert after.nodes[0].sources == (0, 1)


@pytest.mark.parametrize("dtype", [np.int8, np.float32])
@pytest.mark.parametrize(
    ("fused", "clamp", "both"),
    [
        ("RELU", "RELU", "RELU"),
        ("RELU", "RELU6", "RELU6"),
        ("RELU6", "RELU", "RELU6"),
        ("RELU_N1_TO_1", "RELU", None),
        ("RELU6", "RELU_N1_TO_1", None),
    ],
)
def test_two_clamps_in_one(fused, clamp, both, dtype):
    after = check_rewrite(model(clamp, dtype=dtype, fused=fused, scale=0.1), FuseActivations())
    if both is None:
        assert len(after.nodes) == 2
    else:
        assert [node.attrs.activation for node in after.nodes] == [Activation[both]]


@pytest.mark.parametrize("dtype", [np.int8, np.float32])
def test_a_reshape_between_stays_behind(dtype):
    quant = {} if dtype is np.float32 else {"scale": 0.05, "zero_point": -20}
    m = ModelBuilder().tensor("s", (2,), np.int32, data=[2, 128])
    for name, shape in (("x", (1, 256)), ("a", (1, 256)), ("b", (2, 128)), ("c", (2, 128)), ("y", (2, 128))):
        m.tensor(name, shape, dtype, **quant)
    m.op("ADD", ["x", "x"], ["a"], {}).op("RESHAPE", ["a", "s"], ["b"], {})
    m.op("RELU", ["b"], ["c"]).op("RELU6", ["c"], ["y"])
    after = check_rewrite(m.build(["x"], ["y"]), FuseActivations())
    assert kinds(after) == ["add", "reshape"]
    assert after.nodes[0].attrs.activation is Activation.RELU6
    assert after.nodes[0].sources == (0, 2, 3)
    assert kinds(check_rewrite(m.build(["x"], ["b", "y"]), FuseActivations())) == ["add", "reshape", "relu", "relu6"]
    assert kinds(check_rewrite(m.build(["x"], ["a", "y"]), FuseActivations())) == ["add", "reshape", "relu", "relu6"]


def test_several_in_a_row():
    m = ModelBuilder()
    for name in "xaby":
        m.tensor(name, (1, 4), np.float32)
    m.op("ADD", ["x", "x"], ["a"], {}).op("RELU", ["a"], ["b"]).op("RELU6", ["b"], ["y"])
    after = check_rewrite(m.build(["x"], ["y"]), FuseActivations())
    assert [node.attrs.activation for node in after.nodes] == [Activation.RELU6]
    assert after.nodes[0].sources == (0, 1, 2)


def test_a_change_of_quantisation_is_not_fused():
    after = check_rewrite(model("RELU", result={"scale": 0.025, "zero_point": -128}), FuseActivations())
    assert kinds(after) == ["add", "relu"]


def test_what_others_read_is_not_fused():
    assert kinds(check_rewrite(model("RELU", outputs=("a", "y")), FuseActivations())) == ["add", "relu"]


def test_other_activations_stay():
    after = check_rewrite(model("LEAKY_RELU", options={"Alpha": 0.5}), FuseActivations())
    assert kinds(after) == ["add", "leaky_relu"]
    after = check_rewrite(model("TANH", dtype=np.float32), FuseActivations())
    assert kinds(after) == ["add", "tanh"]


@given(
    st.sampled_from(["RELU", "RELU6", "RELU_N1_TO_1"]),
    st.sampled_from(["NONE", "RELU", "RELU6", "RELU_N1_TO_1"]),
    st.floats(2**-8, 2.0, width=32),
    st.integers(-128, 127),
)
@settings(max_examples=50, deadline=None)
def test_any_quantisation(clamp, fused, scale, zero_point):
    after = check_rewrite(model(clamp, fused=fused, scale=scale, zero_point=zero_point), FuseActivations(), seeds=1)
    assert fused != "NONE" or kinds(after) == ["add"]


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.float32])
@pytest.mark.parametrize("other", ["RELU", "RELU6", "ADD"])
@pytest.mark.parametrize("first", [True, False])
def test_what_a_second_node_reads_is_not_fused(dtype, other, first):
    quant = {} if dtype is np.float32 else {"scale": 0.05, "zero_point": 0 if dtype is np.int16 else -20}
    m = ModelBuilder()
    for name in "xayz":
        m.tensor(name, (1, 16), dtype, **quant)
    m.op("ADD", ["x", "x"], ["a"], {})
    readers = [("RELU", ["a"], ["y"]), (other, ["a", "x"] if other == "ADD" else ["a"], ["z"])]
    for kind, operands, results in readers if first else readers[::-1]:
        m.op(kind, operands, results, {})
    before = sorted(["add", "relu", other.lower()])
    assert sorted(kinds(check_rewrite(m.build(["x"], ["y", "z"]), FuseActivations()))) == before


def test_what_its_only_reader_reads_twice_is_not_fused():
    m = ModelBuilder()
    for name in "xay":
        m.tensor(name, (1, 16), np.int8, scale=0.05, zero_point=-20)
    m.op("ADD", ["x", "x"], ["a"], {}).op("ADD", ["a", "a"], ["y"], {})
    assert kinds(check_rewrite(m.build(["x"], ["y"]), FuseActivations())) == ["add", "add"]
