"""Concatenations and splits of any number of parts."""

import numpy as np
import pytest

from aboard.passes.divide_wide_nodes import DivideWideNodes
from support import one_op
from support.examples import either
from support.rewrites import check_rewrite, kinds
from support.tflite_builder import ModelBuilder

QUANT = {"scale": 0.25, "zero_point": 3}


def joined(parts: int, axis: int = 3, dtype: type = np.int8) -> bytes:
    """Returns a model that joins `parts` activations of one input, of different extents."""
    quant = QUANT if dtype is np.int8 else {}
    m = ModelBuilder().tensor("y/part_0", (1, 2, 2, 4), dtype, **quant)
    shape = [1, 2, 2, 4]
    shape[axis] *= parts
    m.tensor("y", shape, dtype, **quant)
    names = []
    for index in range(parts):
        names.append(f"t{index}")
        m.tensor(names[-1], (1, 2, 2, 4), dtype, **quant)
        m.op("LEAKY_RELU", ["y/part_0"], [names[-1]], {"Alpha": (index + 1) / (parts + 1)})
    return m.op("CONCATENATION", names, ["y"], {"Axis": axis}).build(["y/part_0"], ["y"])


def divided(sizes: list[int]) -> bytes:
    """Returns a model that cuts an input into parts of these sizes, all of which are its outputs."""
    m = ModelBuilder().tensor("x", (1, 2, 2, sum(sizes)), np.int8, **QUANT).tensor("a", (), np.int32, data=[3])
    m.tensor("s", (len(sizes),), np.int32, data=sizes)
    names = [f"y{index}" for index in range(len(sizes))]
    for name, size in zip(names, sizes, strict=True):
        m.tensor(name, (1, 2, 2, size), np.int8, **QUANT)
    return m.op("SPLIT_V", ["x", "s", "a"], names, {"NumSplits": len(sizes)}).build(["x"], names)


@pytest.mark.parametrize(("parts", "nodes"), [(16, 1), (17, 3), (24, 3), (33, 4), (256, 17), (257, 20)])
def test_concatenations_become_trees(parts: int, nodes: int) -> None:
    after = check_rewrite(joined(parts), DivideWideNodes(), seeds=1)
    joins = [node for node in after.nodes if node.op == "concatenation"]
    assert len(joins) == nodes
    assert max(len(node.inputs) for node in joins) <= 16
    assert min(len(node.inputs) for node in joins) >= 2
    assert all(node.sources == (parts,) for node in joins)


@pytest.mark.parametrize("axis", [1, 2, 3])
@pytest.mark.parametrize("dtype", [np.int8, np.float32])
def test_any_axis_and_type(axis: int, dtype: type) -> None:
    after = check_rewrite(joined(20, axis, dtype), DivideWideNodes(), seeds=1)
    assert kinds(after).count("concatenation") == 3


def summed(parts: int) -> bytes:
    """Returns a model that adds `parts` float activations of one input, whose order matters."""
    m = ModelBuilder().tensor("x", (1, 5), np.float32).tensor("y", (1, 5), np.float32)
    names = [f"t{index}" for index in range(parts)]
    for index, name in enumerate(names):
        m.tensor(name, (1, 5), np.float32).op("LEAKY_RELU", ["x"], [name], {"Alpha": 10.0 ** (index % 9)})
    return m.op("ADD_N", names, ["y"], {}).build(["x"], ["y"])


@pytest.mark.parametrize(("parts", "nodes"), [(16, 1), (17, 2), (31, 2), (32, 3), *either([(100, 7)], [])])
def test_sums_of_floats_become_chains(parts: int, nodes: int) -> None:
    after = check_rewrite(summed(parts), DivideWideNodes(), seeds=2)
    sums = [node for node in after.nodes if node.op == "add_n"]
    assert len(sums) == nodes
    assert max(len(node.inputs) for node in sums) <= 16
    x = np.array([[-1, 2, -3.5, 1e-3, -7]], np.float32)
    # The compiler takes seconds for dozens of nodes; 32 have all that 31 have.
    if parts != either(None, 31):
        one_op.check_equal(summed(parts), x)


@pytest.mark.parametrize(("parts", "nodes"), [(16, 1), (17, 3), (40, 4), (300, 22)])
def test_splits_become_trees(parts: int, nodes: int) -> None:
    after = check_rewrite(divided([1 + index % 3 for index in range(parts)]), DivideWideNodes(), seeds=1)
    assert kinds(after) == ["split"] * nodes
    assert max(len(node.outputs) for node in after.nodes) <= 16
    assert len(after.outputs) == parts
