"""Shared by the tests of the passes: a pass must not change what a graph computes, not by a bit."""

from __future__ import annotations

import copy
from collections.abc import Mapping

import numpy as np

from aboard.importers import load
from aboard.ir import Graph
from aboard.ops.interpreter import run_all
from aboard.passes import run_passes


def inputs_of(graph: Graph, seed: int) -> dict[str, np.ndarray]:
    """Returns random values for the inputs of a graph: integers over the whole range of the type, floats around 0."""
    rng = np.random.default_rng(seed)
    values = {}
    for tensor in graph.inputs:
        if tensor.dtype.is_float:
            values[tensor.name] = rng.normal(0, 3, tensor.shape).astype(np.float32)
        else:
            info = np.iinfo(tensor.dtype.value)
            values[tensor.name] = rng.integers(info.min, info.max + 1, tensor.shape).astype(tensor.dtype.numpy)
    return values


def check_rewrite(model: bytes | Graph, *passes, seeds: int = 2) -> Graph:
    """Runs passes on a model and checks that every tensor that survives has the value it had.

    Args:
        model: A model file, or a graph.
        passes: The passes, in order.
        seeds: How many random inputs are tried.

    Returns:
        The graph after the passes.
    """
    before = model if isinstance(model, Graph) else load(model)
    after = copy.deepcopy(before)
    run_passes(after, passes)
    for seed in range(seeds):
        inputs = inputs_of(before, seed)
        expected, got = run_all(before, inputs), run_all(after, inputs)
        assert {tensor.name for tensor in after.outputs} == {tensor.name for tensor in before.outputs}
        check_survivors(after, got, expected)
    return after


def check_survivors(graph: Graph, got: Mapping[str, np.ndarray], expected: Mapping[str, np.ndarray]) -> None:
    """Checks values of tensors by name against those before passes, on the channels that are left.

    Args:
        graph: After the passes.
        got: Its values.
        expected: Values before, of tensors that may be gone.
    """
    for tensor in graph.tensors():
        if tensor.is_constant or tensor.name not in expected:
            continue
        wanted = expected[tensor.name]
        if tensor.channel_map is not None:
            assert wanted.shape[-1] == tensor.channel_map.of
            wanted = wanted[..., list(tensor.channel_map.kept)]
        if tensor.order is not None:
            wanted = wanted.transpose(tensor.order)
        np.testing.assert_array_equal(got[tensor.name], wanted, err_msg=tensor.name, strict=True)


def kinds(graph: Graph) -> list[str]:
    """Returns the ops of a graph, in order."""
    return [node.op for node in graph.nodes]
