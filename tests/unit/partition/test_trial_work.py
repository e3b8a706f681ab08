"""Trials of one search share what equal nodes cost, and leave the graph and the collector of garbage as they were."""

from __future__ import annotations

import gc
from collections import Counter

import pytest

from aboard import ops
from aboard.importers import load
from aboard.ir.printer import dump
from aboard.kernels import tunable
from aboard.kernels.accelerator import ClaimedRegion, Cost
from aboard.kernels.select import strategy
from aboard.partition import pipeline, trial
from aboard.schedule import search
from aboard.target import Target
from support import fake_device, models
from support.device import device
from support.examples import either

#: What a search does at most: trials of whole models, refusals and costs of kernels, calls, and cascades with stripes.
MOST = {
    "digits": {"_compiled": 4, "refusal": 94, "cost": 20, "lowered": 18, "build_cascade": 14},
    "kws": {"_compiled": 31, "refusal": 214, "cost": 42, "lowered": 113, "build_cascade": 111},
    "vww": {"_compiled": 24, "refusal": 1221, "cost": 241, "lowered": 252, "build_cascade": 67},
}
COUNTED = [
    (trial.CostTrial, "_compiled"),
    (strategy, "refusal"),
    (strategy, "cost"),
    (tunable, "lowered"),
    (search, "build_cascade"),
]
TARGET = "composite -host='c -mcpu=cortex-m4' -device=fake -partition=cost"


def cost(target: Target, region: ClaimedRegion) -> Cost:
    macs = sum(ops.get(node.op).macs(node) for node in region.graph.nodes)
    border = sum(tensor.type.bytes for tensor in (*region.graph.inputs, *region.graph.outputs))
    return Cost(60 + macs * 0.3, border * 4)


def decide(name: str, cost=cost) -> tuple[str, str]:
    """Returns the graph of a model before and after its partition is decided."""
    graph = load(models.path(name), name="m")
    before = dump(graph)
    with device(fake_device.patterns(), codegen=fake_device.codegen, runtime=fake_device.runtime, cost=cost):
        pipeline.decide(graph, Target(TARGET))
    return before, dump(graph)


def counted(patch: pytest.MonkeyPatch, owner: object, name: str, counts: Counter[str]) -> None:
    function = getattr(owner, name)

    def counting(*args, **kwargs):
        counts[name] += 1
        return function(*args, **kwargs)

    patch.setattr(owner, name, counting)


@pytest.mark.parametrize("name", models.available(either(["digits", "kws", "vww"], ["digits", "kws"])))
def test_no_search_does_more_than_it_did(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counts: Counter[str] = Counter()
    for owner, function in COUNTED:
        counted(monkeypatch, owner, function, counts)
    decide(name)
    assert counts.keys() == MOST[name].keys()
    assert {each: (counts[each], most) for each, most in MOST[name].items() if counts[each] > most} == {}


def test_a_search_leaves_the_graph_as_it_was() -> None:
    before, after = decide("digits")
    assert before == after


@pytest.mark.parametrize("enabled", [True, False])
def test_no_cycles_of_garbage_are_searched_in_a_trial(enabled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Afterwards they are searched again, if they were before: an error changes nothing."""
    seen = []

    def failing(*args) -> int:
        seen.append(gc.isenabled())
        raise ArithmeticError

    monkeypatch.setattr(trial, "lower_bound", failing)
    was_enabled = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        with pytest.raises(ArithmeticError):
            decide("digits")
        assert seen == [False]
        assert gc.isenabled() is enabled
    finally:
        (gc.enable if was_enabled else gc.disable)()
