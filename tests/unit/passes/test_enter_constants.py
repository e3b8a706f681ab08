"""Constants that are operands of branches and loops go into their graphs; results stay."""

from __future__ import annotations

import numpy as np
import pytest

from aboard.importers import load
from aboard.ir import Attributes, DType, Graph, Node, Tensor, TensorType
from aboard.ops.arithmetic import ArithmeticAttributes
from aboard.ops.control import IfAttributes, WhileAttributes, graphs
from aboard.ops.extremes import ExtremeAttributes
from aboard.ops.fully_connected import FullyConnectedAttributes
from aboard.ops.interpreter import run
from aboard.ops.reshape import ReshapeAttributes
from aboard.ops.verify import verify
from aboard.passes import run_passes
from aboard.passes.enter_constants import EnterConstants
from aboard.passes.pipeline import HOST, NEUTRAL
from support import control_models

WEIGHTS = np.random.default_rng(0).standard_normal((4, 4)).astype(np.float32)


def tensor(name, shape, dtype=DType.FLOAT32, data=None):
    return Tensor(name, TensorType(shape, dtype), data)


def branch(name: str, *, negative: bool) -> Graph:
    x, w = tensor("x", (1, 4)), tensor("w", (4, 4))
    y, z = tensor("y", (1, 4)), tensor("z", (1, 4))
    nodes = [Node("fully_connected", "y", [x, w], [y], FullyConnectedAttributes())]
    nodes += [Node("neg", "z", [y], [z], Attributes())] if negative else []
    return Graph(name, [x, w], [z if negative else y], nodes)


def chosen(*, twice: bool = False) -> Graph:
    """Returns branches with weights that are operands; `twice` for a second node with the same branches."""
    flag, x, w = tensor("flag", (1,), DType.BOOL), tensor("x", (1, 4)), tensor("w", (4, 4), data=WEIGHTS)
    attrs = IfAttributes(branch("then", negative=False), branch("otherwise", negative=True))
    y = tensor("y", (1, 4))
    nodes, outputs = [Node("if", "y", [flag, x, w], [y], attrs)], [y]
    if twice:
        other, z = tensor("v", (4, 4), data=2 * WEIGHTS), tensor("z", (1, 4))
        nodes.append(Node("if", "z", [flag, x, other], [z], attrs))
        outputs.append(z)
    return Graph("chosen", [flag, x], outputs, nodes)


def looped() -> Graph:
    """Returns a loop that multiplies by weights until a sum is large; it gives the weights on."""

    def inside(name: str) -> tuple[Tensor, Tensor]:
        return tensor(f"{name}/x", (1, 4)), tensor(f"{name}/w", (4, 4))

    x, w = inside("condition")
    largest, flag = tensor("largest", (1, 1)), tensor("flag", (1, 1), DType.BOOL)

    nodes = [
        Node("reduce_max", "largest", [x], [largest], ExtremeAttributes((1,), True)),
        Node("less", "flag", [largest, tensor("limit", (1, 1), data=np.float32([[50]]))], [flag]),
    ]
    condition = Graph("condition", [x, w], [flag], nodes)
    x, w = inside("body")
    y, z = tensor("body/y", (1, 4)), tensor("body/z", (1, 4))
    one, same = tensor("one", (1, 4), data=np.ones((1, 4), np.float32)), tensor("body/same", (4, 4))
    nodes = [
        Node("fully_connected", "body/y", [x, w], [y], FullyConnectedAttributes()),
        Node("add", "body/z", [y, one], [z], ArithmeticAttributes()),
        Node("reshape", "body/same", [w], [same], ReshapeAttributes((4, 4))),
    ]
    attrs = WhileAttributes(condition, Graph("body", [x, w], [z, same], nodes))
    first, weights = tensor("x", (1, 4)), tensor("w", (4, 4), data=np.abs(WEIGHTS))
    y, last = tensor("y", (1, 4)), tensor("last", (4, 4))
    return Graph("looped", [first], [y], [Node("while", "y", [first, weights], [y, last], attrs)])


@pytest.mark.parametrize("make", [chosen, lambda: chosen(twice=True), looped])
def test_weights_become_constants_and_results_stay(make):
    before, after = make(), make()
    verify(before)
    run_passes(after, [EnterConstants()])
    layers = [node for body in graphs(after) for node in body.nodes if node.op == "fully_connected"]
    assert layers
    assert all(node.input(1).is_constant for node in layers)
    for seed in range(4):
        rng = np.random.default_rng(seed)
        inputs = {
            each.name: np.array([seed % 2 == 0]) if each.dtype is DType.BOOL else rng.random(each.shape, np.float32)
            for each in before.inputs
        }
        wanted = run(before, inputs)
        for name, value in run(after, inputs).items():
            np.testing.assert_array_equal(value, wanted[name])


@pytest.mark.parametrize("model", [control_models.chosen(1), control_models.looped(1), control_models.nested(1)])
def test_models_without_such_operands_are_the_same(model):
    before, after = load(model), load(model)
    run_passes(after, (*NEUTRAL, *HOST))
    inputs = {
        each.name: np.random.default_rng(2).integers(0, 5, each.shape).astype(each.dtype.numpy)
        for each in before.inputs
    }
    wanted = run(before, inputs)
    for name, value in run(after, inputs).items():
        np.testing.assert_array_equal(value, wanted[name])
