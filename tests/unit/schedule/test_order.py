"""Orders of nodes: as good as the best of all orders, right, and taken only where they need less."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aboard
from aboard.importers import load
from aboard.ir import Graph, Node, Tensor
from aboard.kernels.select import strategy
from aboard.ops import get
from aboard.schedule import order
from aboard.target import Target
from support.channel_models import ChannelModel
from support.one_op import HOST, check_equal, compiled

TARGET = Target("c -mcpu=cortex-m4")


def branches(seed: int, count: int, wide: int = 24) -> bytes:
    """Returns a model whose branches widen, all of them, before any of them narrows again, and then are added up."""
    model = ChannelModel(seed, (1, 6, 6, 4))
    start = model.last, model.shape, model.scale, model.zero_point
    ends = []
    for _ in range(count):
        model.last, model.shape, model.scale, model.zero_point = start
        model.conv(wide, (1, 1))
        ends.append((model.last, model.shape, model.scale, model.zero_point))
    narrow = []
    for end in ends:
        model.last, model.shape, model.scale, model.zero_point = end
        model.conv(4, (1, 1))
        narrow.append(model.last)
    for other in narrow[:-1]:
        model.binary("ADD", other)
    return model.build()


def random_branches(seed: int) -> bytes:
    """Returns a model of a few layers, each of which goes on from any image of the same size."""
    rng = np.random.default_rng(seed)
    model = ChannelModel(seed, (1, 5, 4, 4))
    states = [(model.last, model.shape, model.scale, model.zero_point)]
    for _ in range(int(rng.integers(2, 6))):
        model.last, model.shape, model.scale, model.zero_point = states[int(rng.integers(len(states)))]
        same = [state[0] for state in states if state[1] == model.shape and state[0] != model.last]
        if same and rng.random() < 0.4:
            model.binary("ADD", same[int(rng.integers(len(same)))])
        else:
            model.conv(int(rng.choice([2, 4, 12])), (1, 1))
        states.append((model.last, model.shape, model.scale, model.zero_point))
    return model.build(*(state[0] for state in states[1:] if rng.random() < 0.3 and state[0] != model.last))


def implementations(graph: Graph) -> dict:
    return {node: choice.implementation for node, choice in strategy.choose_all(graph, TARGET).items()}


def orders(graph: Graph, done: tuple[Node, ...] = ()) -> Iterator[tuple[Node, ...]]:
    """Yields every order of the nodes of a graph."""
    if len(done) == len(graph.nodes):
        yield done
    computed = {*graph.inputs, *(t for node in done for t in node.outputs)}
    for node in graph.nodes:
        if node not in done and all(t.is_constant or t in computed for t in node.operands):
            yield from orders(graph, (*done, node))


def peak(graph: Graph, nodes: tuple[Node, ...], ways: dict) -> int:
    """Returns the bytes of the fullest step of an order, counted tensor by tensor."""

    def needed(tensor: Tensor, after: int) -> bool:
        return graph.is_output(tensor) or any(tensor in node.operands for node in nodes[after:])

    fullest = sum(t.type.bytes for t in graph.inputs)
    there = list(graph.inputs)
    for step, node in enumerate(nodes):
        during = sum(t.type.bytes for t in [*there, *node.outputs])
        dying = sum(t.type.bytes for t in there if not needed(t, step + 1) and t in node.operands)
        if get(node.op).shares(node) or ways[node].runs_in_place(node):
            during -= min(dying, sum(t.type.bytes for t in node.outputs))
        fullest = max(fullest, during)
        there = [t for t in [*there, *node.outputs] if needed(t, step + 1)]
    return fullest


@given(st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_no_order_is_better(seed: int) -> None:
    graph = load(random_branches(seed), name="model")
    ways = implementations(graph)
    found = tuple(order.best(graph, ways))
    assert sorted(found, key=id) == sorted(graph.nodes, key=id)
    best = min(peak(graph, each, ways) for each in orders(graph))
    assert peak(graph, found, ways) == best
    assert found == tuple(graph.nodes) or best < peak(graph, tuple(graph.nodes), ways)


@pytest.mark.parametrize("budget", [order.EXACT_BUDGET, 3])
def test_beyond_the_budget_a_beam_finds_good_orders(budget: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order, "EXACT_BUDGET", budget)
    graph = load(branches(1, 5), name="model")
    ways = implementations(graph)
    found = tuple(order.best(graph, ways))
    assert peak(graph, found, ways) <= 0.5 * peak(graph, tuple(graph.nodes), ways)
    assert found in set(orders_like(graph, found))


def orders_like(graph: Graph, found: tuple[Node, ...]) -> Iterator[tuple[Node, ...]]:
    """Yields the order itself when every node comes after what it reads."""
    computed = set(graph.inputs)
    for node in found:
        if not all(t.is_constant or t in computed for t in node.operands):
            return
        computed |= set(node.outputs)
    yield found


def test_a_model_takes_less_memory_and_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    data = branches(2, 3, wide=96)
    better = aboard.compile(data, target=f"{HOST} -opt=speed", name="model").manifest
    x = np.random.default_rng(0).integers(-128, 128, (1, 6, 6, 4)).astype(np.int8)
    check_equal(data, x, run=lambda m, *inputs: compiled(m, *inputs, attributes="-opt=speed"))
    monkeypatch.setattr(order, "best", lambda graph, ways: graph.nodes)
    plain = aboard.compile(data, target=f"{HOST} -opt=speed", name="model").manifest
    assert better.ram_bytes < 0.8 * plain.ram_bytes
    assert [node.name for node in better.nodes] != [node.name for node in plain.nodes]


def test_chains_are_followed_to_their_end() -> None:
    graph = load(branches(3, 3), name="model")
    found = order.along_chains(graph)
    place = {node: index for index, node in enumerate(found)}
    wide = [node for node in graph.nodes if node.op == "conv2d" and node.output.shape[3] == 24]
    readers = {t: node for node in graph.nodes for t in node.operands}
    assert [place[readers[node.output]] - place[node] for node in wide] == [1, 1, 1]
    assert [node.op for node in graph.nodes[:3]] == ["conv2d"] * 3


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000))
def test_chains_keep_the_order_of_operands(seed: int) -> None:
    graph = load(random_branches(seed), name="model")
    found = order.along_chains(graph)
    assert set(found) == set(graph.nodes)
    assert len(found) == len(graph.nodes)
    assert tuple(found) in set(orders(graph)) or len(graph.nodes) > 7
