"""Dead code elimination."""

import numpy as np

from aboard.importers import load
from aboard.passes.remove_dead_code import RemoveDeadCode
from support.rewrites import check_rewrite, kinds
from support.tflite_builder import ModelBuilder


def model():
    """Returns x -> relu -> y, with a dead chain relu6 -> tanh beside it and a split of which one half is read."""
    m = ModelBuilder()
    for name in "xabyuvw":
        m.tensor(name, (2, 2) if name in "xaby" else (1, 2), np.float32)
    m.tensor("axis", (), np.int32, data=0)
    m.op("RELU6", ["x"], ["a"]).op("TANH", ["a"], ["b"]).op("RELU", ["x"], ["y"])
    m.op("SPLIT", ["axis", "y"], ["u", "v"], {"NumSplits": 2}).op("TANH", ["v"], ["w"])
    return m.build(["x"], ["y", "w"])


def test_chains_that_nobody_reads_go():
    after = check_rewrite(model(), RemoveDeadCode())
    assert kinds(after) == ["relu", "split", "tanh"]


def test_pending_names_the_first():
    graph = load(model())
    assert RemoveDeadCode().pending(graph) == "relu6 a"
    RemoveDeadCode().run(graph)
    assert RemoveDeadCode().pending(graph) is None
