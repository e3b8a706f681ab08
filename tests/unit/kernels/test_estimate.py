"""Estimates of instructions: how near they come to what was measured, and what stands in for what was not."""

from __future__ import annotations

import json
from typing import Any

import pytest

import aboard
from aboard.importers import load
from aboard.kernels import estimate
from aboard.passes import run_pipeline
from aboard.target import Target
from bench import costs
from support import models, zoo
from support.markdown import CHECKOUT

RECORD: dict[str, Any] = json.loads((CHECKOUT / "docs/benchmarks.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("core", ["m3", "m4", "m7", "m33", "m55", "rv32"])
@pytest.mark.parametrize("name", models.available(["digits", "kws"]))
def test_whole_models_are_estimated_within_a_fifth(name: str, core: str) -> None:
    module = aboard.compile(models.path(name), board=RECORD["boards"][core])
    estimated = sum(node.estimated_instructions for node in module.manifest.nodes)
    assert estimated == pytest.approx(RECORD["results"][name][core]["instructions"], rel=0.2)


def test_the_table_is_what_the_samples_say() -> None:
    samples = json.loads(costs.SAMPLES.read_text(encoding="utf-8"))
    assert json.loads(costs.TABLE.read_text(encoding="utf-8")) == costs.table(samples)
    common = [row for row in estimate.table() if row.layers >= 10]
    assert len(common) > 20
    assert max(row.error for row in common) < 0.2


def test_a_fit_finds_what_samples_were_made_of() -> None:
    sizes = [(1000, 10), (5000, 30), (20000, 500), (300, 200)]
    made = [{"macs": m, "elements": e, "instructions": 50 + 2 * m + 7 * e} for m, e in sizes]
    found = costs.fit(made)
    assert (found["setup"], found["mac"], found["element"]) == pytest.approx((50, 2, 7), rel=1e-3)
    assert (found["layers"], found["error"]) == (4, 0)
    alone = costs.fit([{"macs": 0, "elements": 64, "instructions": 640}])
    assert (alone["setup"], alone["mac"], alone["element"]) == (0, 0, 10)
    larger_is_cheaper = [{"macs": m, "elements": 0, "instructions": i} for m, i in ((10, 900), (1000, 1000))]
    assert costs.fit(larger_is_cheaper)["setup"] <= 450


def test_cores_that_were_not_measured_take_the_nearest() -> None:
    def first(spec: str, *, is_float: bool = False) -> str:
        return estimate.nearest(Target(spec), is_float=is_float)[0]

    assert first("c -mcpu=cortex-m7") == "cortex-m4"
    assert first("c -mcpu=cortex-m33") == "cortex-m4"
    assert first("c -mcpu=cortex-m33+nodsp+nofp") == "cortex-m3"
    assert first("c -mcpu=cortex-m0plus") == "cortex-m0"
    assert first("c -mcpu=rv32imc") == "rv32imac"
    assert first("c -mcpu=cortex-m4+nofp") == "cortex-m4"
    assert first("c -mcpu=cortex-m4+nofp", is_float=True) == "cortex-m3"
    assert first("c -mcpu=cortex-m55 + cmsis-nn") == "cortex-m55"


def test_every_estimate_says_what_it_rests_on() -> None:
    graph = load(zoo.many_ops(), name="m")
    run_pipeline(graph)
    target = Target("c -mcpu=cortex-m4")
    (conv,) = [node for node in graph.nodes if node.op == "conv2d"]
    assert estimate.estimate(conv, "dsp_s8", target).basis == "dsp_s8 on cortex-m4"
    other = estimate.estimate(conv, "portable_s8", target)
    assert (other.basis, other.error) == ("portable_s8 on cortex-m3", other.error)
    unknown = estimate.estimate(conv, "a_new_one", target)
    assert (unknown.basis, unknown.error) == ("dsp_s8 on cortex-m4", None)
    conv.op = "squeezed"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(estimate, "work", lambda node: (0, 100))
        last = estimate.estimate(conv, "", target)
    assert last.basis == "average element on cortex-m4"
    assert 0 < last.instructions < 100_000
