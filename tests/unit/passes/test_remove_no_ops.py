"""No-op elimination."""

import numpy as np
import pytest

from aboard.passes.remove_no_ops import RemoveNoOps
from support.rewrites import check_rewrite, kinds
from support.tflite_builder import ModelBuilder

SHAPE = (1, 2, 3, 4)
#: What is given to each operator besides the image, its options, and the quantisation of its result.
NO_OPS = {
    "RESHAPE": ([[1, 2, 3, 4]], {"NewShape": list(SHAPE)}),
    "TRANSPOSE": ([[0, 1, 2, 3]], {}),
    "PAD": ([[[0, 0], [0, 0], [0, 0], [0, 0]]], {}),
    "STRIDED_SLICE": ([[0, 0, 0, 0], list(SHAPE), [1, 1, 1, 1]], {}),
    "RESIZE_NEAREST_NEIGHBOR": ([[2, 3]], {}),
    "CONCATENATION": ([], {"Axis": 1}),
    "QUANTIZE": ([], {}),
}


def between(kind, constants, options, dtype=np.int8, shape=SHAPE, result=(0.5, 3), last=True):
    """Returns abs-like: leaky_relu -> the operator -> leaky_relu."""
    m = ModelBuilder()
    quant = {} if dtype is np.float32 else {"scale": 0.5, "zero_point": 3}
    for name in "xa":
        m.tensor(name, SHAPE, dtype, **quant)
    other = {} if dtype is np.float32 else {"scale": result[0], "zero_point": result[1]}
    m.tensor("b", shape, dtype, **other).tensor("y", shape, dtype, **other)
    names = []
    for index, values in enumerate(constants):
        m.tensor(f"c{index}", np.shape(values), np.int32, data=values)
        names.append(f"c{index}")
    m.op("LEAKY_RELU", ["x"], ["a"], {"Alpha": 0.5}).op(kind, ["a", *names], ["b"], options)
    m.op("LEAKY_RELU", ["b"], ["y"], {"Alpha": 0.5})
    return m.build(["x"], ["y"] if last else ["y", "b"])


@pytest.mark.parametrize("dtype", [np.int8, np.float32])
@pytest.mark.parametrize("kind", NO_OPS)
def test_operators_that_do_nothing_go(kind, dtype):
    if kind == "QUANTIZE" and dtype is np.float32:
        return
    constants, options = NO_OPS[kind]
    after = check_rewrite(between(kind, constants, options, dtype), RemoveNoOps())
    assert kinds(after) == ["leaky_relu", "leaky_relu"]
    assert after.nodes[0].sources == (0, 1)


@pytest.mark.parametrize("kind", ["RESHAPE", "TRANSPOSE"])
def test_an_output_keeps_its_name(kind):
    after = check_rewrite(between(kind, *NO_OPS[kind], last=False), RemoveNoOps())
    assert kinds(after) == ["leaky_relu", "leaky_relu"]
    assert after.nodes[0].output.name == "b"


def test_activations_that_never_clamp_go():
    """With the zero point at the lower end of the range nothing is below zero."""
    m = ModelBuilder()
    for name in "xab":
        m.tensor(name, (1, 4), np.int8, scale=0.01, zero_point=-128)
    m.tensor("y", (1, 4), np.int8, scale=0.02, zero_point=0)
    m.op("RELU", ["x"], ["a"]).op("RELU6", ["a"], ["b"]).op("QUANTIZE", ["b"], ["y"], {})
    assert kinds(check_rewrite(m.build(["x"], ["y"]), RemoveNoOps())) == ["quantize"]


def test_what_does_something_stays():
    flip = between("TRANSPOSE", [[0, 2, 1, 3]], {}, shape=(1, 3, 2, 4))
    assert kinds(check_rewrite(flip, RemoveNoOps())) == ["leaky_relu", "transpose", "leaky_relu"]
    pad = between("PAD", [[[0, 0], [0, 1], [0, 0], [0, 0]]], {}, shape=(1, 3, 3, 4))
    assert kinds(check_rewrite(pad, RemoveNoOps())) == ["leaky_relu", "pad", "leaky_relu"]
    scaled = between("QUANTIZE", [], {}, result=(0.25, 3))
    assert kinds(check_rewrite(scaled, RemoveNoOps())) == ["leaky_relu", "quantize", "leaky_relu"]
    relabelled = between("RESHAPE", *NO_OPS["RESHAPE"], result=(0.25, 3))
    assert kinds(check_rewrite(relabelled, RemoveNoOps())) == ["leaky_relu", "reshape", "leaky_relu"]


def test_a_transpose_of_single_axes_becomes_a_reshape():
    moved = between("TRANSPOSE", [[1, 0, 2, 3]], {}, shape=(2, 1, 3, 4))
    assert kinds(check_rewrite(moved, RemoveNoOps())) == ["leaky_relu", "reshape", "leaky_relu"]


def test_from_input_to_output_one_node_stays():
    m = ModelBuilder()
    for name in "xab":
        m.tensor(name, (1, 4), np.float32)
    m.tensor("s", (2,), np.int32, data=[1, 4])
    m.op("RESHAPE", ["x", "s"], ["a"], {}).op("RESHAPE", ["a", "s"], ["b"], {})
    after = check_rewrite(m.build(["x"], ["b"]), RemoveNoOps())
    assert kinds(after) == ["reshape"]
    assert after.nodes[0].input(0) is after.inputs[0]
    both = check_rewrite(m.build(["x"], ["a", "b"]), RemoveNoOps())
    assert kinds(both) == ["reshape", "reshape"]
