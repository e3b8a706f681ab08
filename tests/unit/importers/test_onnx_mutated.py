"""Attributes of scikit-learn's models changed at random: a model that runs, or an error of aboard."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import onnx
import pytest

from aboard.errors import AboardError
from aboard.importers import load
from aboard.ops import interpreter
from support.examples import either
from support.markdown import CHECKOUT

FILES = sorted((CHECKOUT / "tests" / "data" / "onnx").glob("sklearn_*.onnx"))

#: Values that counts, indices and weights may have in a hostile file.
INTEGERS = [-1, 0, 1, 2, 255, 2**31, 2**40, -(2**63), 2**63 - 1]
REALS = [0.0, -1.0, float("nan"), float("inf"), -float("inf"), 3e38]
WORDS = [b"", b"LEAF", b"BRANCH_EQ", b"\xff", b"SOFTMAX"]


def change(draw: random.Random, attribute: Any) -> None:
    """Changes one value of an attribute, or the length of a list."""
    lists = [(attribute.ints, INTEGERS), (attribute.floats, REALS), (attribute.strings, WORDS)]
    values, odd = next(((each, odd) for each, odd in lists if each), (None, []))
    if values is None:
        name = {onnx.AttributeProto.INT: "i", onnx.AttributeProto.FLOAT: "f"}.get(attribute.type, "s")
        setattr(attribute, name, draw.choice({"i": INTEGERS, "f": REALS, "s": WORDS}[name]))
        return
    place = draw.randrange(len(values))
    kind = draw.randrange(5)
    if kind == 0:
        del values[place]
    elif kind == 1:
        values.append(values[place])
    elif kind == 2:
        del values[:]
    elif kind == 3:
        values[place] = draw.choice(odd)
    else:
        values[place] = draw.choice(list(values))


@pytest.mark.parametrize("seed", range(5))
def test_mutants(seed: int) -> None:
    draw, ran, refused = random.Random(seed), 0, 0
    for _ in range(either(100, 20)):
        model = onnx.load(draw.choice(FILES))
        nodes = [node for node in model.graph.node if node.domain == "ai.onnx.ml" and node.attribute]
        if not nodes:
            continue
        for _ in range(draw.randint(1, 2)):
            change(draw, draw.choice(draw.choice(nodes).attribute))
        try:
            graph = load(model.SerializeToString(), name="model")
        except AboardError:
            refused += 1
            continue
        (tensor,) = graph.inputs
        x = np.random.default_rng(seed).normal(size=tensor.shape).astype(np.float32)
        interpreter.run(graph, {tensor.name: x})
        ran += 1
    assert ran > 0
    assert refused > 0
