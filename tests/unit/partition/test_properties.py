"""Random graphs, random patterns: claims are convex, nothing changes, and the order of patterns is no matter."""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence
from contextlib import ExitStack

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard.ir import DType, Graph, Node, Quantization, Tensor, TensorType
from aboard.ops import interpreter
from aboard.ops.arithmetic import ArithmeticAttributes
from aboard.ops.verify import verify
from aboard.partition.partitioner import Partition, apply, partition
from aboard.partition.pattern import DevicePattern, Pattern, any_tensor, chain, either, op, optional
from aboard.target import Target
from support.device import device

TYPE = TensorType((1, 3), DType.INT8, Quantization((0.5,), (1,)))
BINARY = ("add", "mul")
HOST = "c -mcpu=cortex-m4"


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    tensors = [Tensor(f"x{i}", TYPE) for i in range(draw(st.integers(1, 2)))]
    inputs = list(tensors)
    nodes: list[Node] = []
    for number in range(draw(st.integers(1, 12))):
        kind = draw(st.sampled_from(["relu", "relu6", "add", "mul"]))
        # Mostly recent tensors, so that chains, diamonds and long detours come about.
        reach = tensors[-draw(st.integers(1, 3)) :]
        operands: list[Tensor | None] = [draw(st.sampled_from(reach))]
        if kind in BINARY:
            operands.append(draw(st.sampled_from(reach)))
        result = Tensor(f"t{number}", TYPE)
        nodes.append(Node(kind, result.name, operands, [result], _attributes(kind), (number,)))
        tensors.append(result)
    read = {tensor for node in nodes for tensor in node.operands}
    loose = [node.output for node in nodes if node.output not in read]
    extra = draw(st.sampled_from(nodes)).output
    return Graph("m", [t for t in inputs if t in read] or inputs, list(dict.fromkeys([*loose, extra])), nodes)


def _attributes(kind: str):
    return ArithmeticAttributes() if kind in BINARY else type(Node("relu", "", [], []).attrs)()


def pattern_lists() -> st.SearchStrategy[list[DevicePattern]]:
    names = st.sampled_from(["relu", "relu6", "add", "mul"])
    single = names.map(op)
    link = st.one_of(names.map(op), names.map(op).map(optional))
    long = st.tuples(single, st.lists(link, min_size=1, max_size=3)).map(lambda t: chain(t[0], *t[1]))
    both = st.tuples(st.sampled_from(BINARY), single, single).map(lambda t: op(t[0], t[1], either(t[2], any_tensor())))
    whole: st.SearchStrategy[Pattern] = st.one_of(single, long, both)
    offered = st.tuples(whole, st.booleans(), st.integers(0, 1))
    several = st.lists(offered, max_size=4).map(
        lambda many: [DevicePattern(f"p{i}", p, merge, priority) for i, (p, merge, priority) in enumerate(many)]
    )
    # A device that takes single ops and merges them all meets most of the detours.
    merging = st.lists(names, min_size=1, max_size=3, unique=True).map(
        lambda kinds: [DevicePattern(kind, op(kind), merge=True) for kind in kinds]
    )
    return st.one_of(merging, merging, several)


def decide(graph: Graph, first: Sequence[DevicePattern], second: Sequence[DevicePattern]) -> Partition:
    with ExitStack() as stack:
        stack.enter_context(device(first, name="first"))
        stack.enter_context(device(second, name="second"))
        return partition(graph, Target(f"{HOST} + first + second"))


def below(graph: Graph) -> dict[Node, set[Node]]:
    """Returns for each node all nodes that need its results, by another way than the partitioner."""
    found: dict[Node, set[Node]] = {}
    for node in reversed(graph.nodes):
        found[node] = set()
        for reader in graph.consumers(node.output):
            found[node] |= {reader} | found[reader]
    return found


@given(graphs(), pattern_lists(), pattern_lists(), st.integers(0, 1000))
@settings(max_examples=150, deadline=None)
def test_partitioning_keeps_the_results_and_claims_are_convex(
    graph: Graph, first: list[DevicePattern], second: list[DevicePattern], seed: int
) -> None:
    verify(graph)
    decided = decide(graph, first, second)
    after = below(graph)
    for claim in decided.claims:
        inside = set(claim.nodes)
        assert len(inside) == len(claim.nodes)
        for outside in set(graph.nodes) - inside:
            fed = any(outside in after[node] for node in inside)
            feeds = bool(after[outside] & inside)
            assert not (fed and feeds), f"{outside.name} stands between the nodes of a region"
    claimed = [node for claim in decided.claims for node in claim.nodes]
    assert len(claimed) == len(set(claimed))
    values = {t.name: np.random.default_rng(seed).integers(-128, 128, t.shape).astype(np.int8) for t in graph.inputs}
    expected = interpreter.run(graph, values)
    apply(graph, decided)
    assert len(graph.nodes) == len(decided.placements) - len(claimed) + len(decided.claims)
    for name, value in interpreter.run(graph, values).items():
        np.testing.assert_array_equal(value, expected[name])


@given(graphs(), pattern_lists(), pattern_lists(), st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_the_order_of_patterns_is_no_matter(
    graph: Graph, first: list[DevicePattern], second: list[DevicePattern], seed: int
) -> None:
    decided = decide(graph, first, second)
    shuffled = [copy.copy(first), copy.copy(second)]
    for patterns in shuffled:
        random.Random(seed).shuffle(patterns)
    again = decide(graph, shuffled[0], shuffled[1])
    assert again.placements == decided.placements


@given(graphs(), pattern_lists())
@settings(max_examples=40, deadline=None)
def test_every_node_has_one_place_and_every_refusal_its_reason(graph: Graph, patterns: list[DevicePattern]) -> None:
    decided = decide(graph, patterns, [])
    assert [placement.node for placement in decided.placements] == graph.nodes
    for placement in decided.placements:
        assert (placement.claim is None) == (placement.device == "c")
        asked = {"c": ["first", "second"], "first": []}[placement.device]
        assert [refusal.device for refusal in placement.refused] == asked
        assert all(refusal.reason for refusal in placement.refused)
