"""Reshape elimination."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard.passes.merge_reshapes import MergeReshapes
from aboard.passes.remove_dead_code import RemoveDeadCode
from support.rewrites import check_rewrite, kinds
from support.tflite_builder import ModelBuilder

SHAPES = [(24,), (1, 24), (4, 6), (2, 3, 4), (1, 2, 3, 4)]


def chain(shapes, outputs):
    """Returns relu -> reshape -> reshape ... -> leaky_relu, with the chosen reshapes as outputs too."""
    m = ModelBuilder().tensor("x", SHAPES[0], np.float32).tensor("t0", SHAPES[0], np.float32).op("RELU", ["x"], ["t0"])
    for index, shape in enumerate(shapes, 1):
        m.tensor(f"t{index}", shape, np.float32).tensor(f"s{index}", (len(shape),), np.int32, data=shape)
        m.op("RESHAPE", [f"t{index - 1}", f"s{index}"], [f"t{index}"], {"NewShape": list(shape)})
    last = len(shapes)
    m.tensor("y", shapes[-1], np.float32).op("LEAKY_RELU", [f"t{last}"], ["y"], {"Alpha": 0.5})
    return m.build(["x"], ["y", *(f"t{index}" for index in sorted(outputs) if index <= last)])


def test_a_chain_becomes_one():
    after = check_rewrite(chain([(4, 6), (2, 3, 4), (1, 24)], set()), MergeReshapes())
    assert kinds(after) == ["relu", "reshape", "leaky_relu"]
    assert after.nodes[1].sources == (1, 2, 3)


def test_there_and_back_is_nothing():
    after = check_rewrite(chain([(4, 6), (24,)], set()), MergeReshapes())
    assert kinds(after) == ["relu", "leaky_relu"]


@given(
    st.lists(st.sampled_from(SHAPES), min_size=1, max_size=5),
    st.sets(st.integers(1, 5), max_size=3),
)
@settings(max_examples=40, deadline=None)
def test_any_chain(shapes, outputs):
    after = check_rewrite(chain(shapes, outputs), MergeReshapes(), RemoveDeadCode(), seeds=1)
    named = {tensor.name for tensor in after.outputs}
    reshapes = [node for node in after.nodes if node.op == "reshape"]
    assert len(reshapes) <= max(len(named), 1)
    assert all(math.prod(node.output.shape) == 24 for node in reshapes)
