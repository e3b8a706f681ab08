"""Expansions that are computed again: where no other schedule is within `-ram-max`, and with the same results."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

import aboard
from aboard.base.manifest import Manifest
from aboard.compiler import recompute
from aboard.errors import CapacityError
from aboard.importers import load
from aboard.ir import Graph
from aboard.reports import compiled as report
from support import models
from support.channel_models import ChannelModel
from support.examples import either, examples
from support.inverted_residuals import inverted, least
from support.one_op import HOST, check_equal, compiled

EXPANDED = "expanded_depthwise_conv2d"
M4 = "c -mcpu=cortex-m4"


def within(data: bytes, target: str, limit: int) -> Manifest:
    found = aboard.compile(data, target=f"{target} -ram-max={limit}", name="model").manifest
    assert found.ram_bytes <= limit
    return found


def expanded(manifest: Manifest) -> list[int]:
    return [index for index, node in enumerate(manifest.nodes) if node.op == EXPANDED]


@settings(max_examples=examples(20), deadline=None, phases=[Phase.explicit, Phase.generate])
@given(st.integers(0, 10_000), st.sampled_from([3, 5, 7]), st.sampled_from(["", " -input=rows", " -input=kept"]))
@example(0, 3, "")  # with both expansions computed again; some drawn models need the least without
def test_the_same_bytes_in_less_memory(seed: int, window: int, mode: str) -> None:
    data = inverted(seed, window).build()
    x = np.random.default_rng(seed).integers(-128, 128, (1, 20, 20, 3)).astype(np.int8)
    limit = least(data, HOST + mode)
    assert expanded(within(data, HOST + mode, limit)) or seed
    check_equal(data, x, run=lambda m, *inputs: compiled(m, *inputs, attributes=f"{mode} -ram-max={limit}"))


@pytest.mark.parametrize("opt", either(["size", "balanced", "speed"], ["balanced", "speed"]))
def test_only_where_nothing_else_is_within_the_limit(opt: str) -> None:
    data, target = inverted(1).build(), f"{M4} -input=rows -opt={opt}"
    stored = aboard.compile(data, target=target, name="model").manifest
    assert not expanded(stored)
    assert not expanded(within(data, target, stored.ram_bytes))
    assert least(data, target) < 0.9 * stored.ram_bytes
    assert expanded(within(data, target, least(data, target)))


def test_the_least_works_and_less_does_not() -> None:
    data, target = inverted(2, 5).build(), f"{M4} -input=rows"
    within(data, target, least(data, target))
    with pytest.raises(CapacityError, match=f"expected at least {least(data, target)}"):
        aboard.compile(data, target=f"{target} -ram-max={least(data, target) - 1}", name="model")


def test_a_wider_limit_computes_less_again() -> None:
    data, target = inverted(3).build(), f"{M4} -input=rows"
    stored = aboard.compile(data, target=target, name="model").manifest
    limits = stored.ram_lower_bound_bytes - 4, least(data, target)
    some, all_of_them = (within(data, target, limit) for limit in limits)
    assert 1 <= len(expanded(some)) <= 2
    assert stored.macs_run <= some.macs_run <= all_of_them.macs_run
    assert stored.macs_run < all_of_them.macs_run
    assert sum(node.macs for node in all_of_them.nodes) == all_of_them.macs_run


def test_the_report_says_what_is_computed_again() -> None:
    data, target = inverted(3).build(), f"{M4} -input=rows"
    found = within(data, target, least(data, target))
    nodes = f"node {expanded(found)[0]}" if len(expanded(found)) == 1 else "nodes 1, 3"
    wanted = f"of {nodes}: not stored, computed again by each stripe; MACs as compiled are "
    text = " ".join(report.totals(found).split())
    assert f"{wanted}{found.macs_run / found.macs:.2f} times those in the model" in text
    assert "expansions" not in report.totals(aboard.compile(data, target=target, name="model").manifest)


def graph(model: ChannelModel, *outputs: str) -> Graph:
    return load(model.build(*outputs), name="model")


def test_a_pair_is_an_expansion_and_its_only_reader() -> None:
    found = graph(inverted(0))
    assert [(p.expansion.op, p.depthwise.op, p.joined.op) for p in recompute.pairs(found)] == [
        ("conv2d", "depthwise_conv2d", EXPANDED)
    ] * 2
    assert all(p.joined.sources == (*p.expansion.sources, *p.depthwise.sources) for p in recompute.pairs(found))
    made = recompute.joined(found, recompute.pairs(found)[:1])
    assert len(made.nodes) == len(found.nodes) - 1
    assert [node.op for node in found.nodes].count(EXPANDED) == 0


def test_other_layers_are_no_pair() -> None:
    model = ChannelModel(0, (1, 8, 8, 4)).conv(16, (1, 1))
    read_twice = model.last
    model.depthwise()
    assert not recompute.pairs(graph(model, read_twice))
    assert not recompute.pairs(graph(ChannelModel(0, (1, 8, 8, 4)).conv(16, (1, 1), 2).depthwise()))
    assert not recompute.pairs(graph(ChannelModel(0, (1, 8, 8, 4)).conv(16, (3, 3)).depthwise()))
    assert not recompute.pairs(graph(ChannelModel(0, (1, 8, 8, 4)).conv(4, (1, 1)).depthwise()))
    assert len(recompute.pairs(graph(ChannelModel(0, (1, 8, 8, 4)).conv(5, (1, 1)).depthwise()))) == 1


#: RAM of `mcunet_vww`, and the multiply-accumulates with it, at most, as a factor of those of the model.
LINE = {12288: 1.10, 10240: 1.25}


@pytest.mark.parametrize("limit", either([*LINE], [12288]))
@pytest.mark.parametrize("name", models.available(["mcunet_vww"]))
def test_a_published_model(name: str, limit: int) -> None:
    found = within(models.read(name), f"{M4} -input=rows -io=int8", limit)
    assert expanded(found)
    assert found.macs_run <= LINE[limit] * found.macs
