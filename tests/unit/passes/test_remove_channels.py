"""Channel removal: what is left has the values it had, and what can go is gone."""

import copy

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard import ops
from aboard.importers import load
from aboard.ops.interpreter import run_all
from aboard.passes import HOST, NEUTRAL, run_passes
from aboard.passes.remove_channels import RemoveChannels
from support.channel_models import random_model
from support.rewrites import check_survivors, inputs_of


def reduced(model, seeds=3):
    """Returns the graph after the pass, checked on random and extreme inputs, on values at random near the extremes."""
    before = load(model)
    run_passes(before, [p for p in (*NEUTRAL, *HOST) if not isinstance(p, RemoveChannels)])
    after = copy.deepcopy(before)
    run_passes(after, [RemoveChannels()])
    feeds = [inputs_of(before, seed) for seed in range(seeds)]
    feeds += [{name: np.full_like(x, v) for name, x in feeds[0].items()} for v in (-128, 127)]
    feeds += [{name: np.where(x > 0, 127, -128).astype(np.int8) for name, x in feeds[0].items()}]
    for feed in feeds:
        check_survivors(after, run_all(after, feed), run_all(before, feed))
    return before, after


def macs(graph):
    return sum(ops.get(node.op).macs(node) for node in graph.nodes)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_random_graphs_keep_their_values(seed):
    before, after = reduced(random_model(seed))
    assert macs(after) <= macs(before)
