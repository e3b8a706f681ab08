"""Patterns, who gets what, and what is said to the rest."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

import numpy as np
import pytest

from aboard.errors import TargetError
from aboard.ir import Attributes, DType, Graph, Node, Quantization, Tensor, TensorType
from aboard.ops.arithmetic import ArithmeticAttributes
from aboard.ops.subgraph import attributes
from aboard.partition.partitioner import Partition, apply, partition
from aboard.partition.pattern import (
    DevicePattern,
    any_tensor,
    chain,
    constant,
    constant_or_absent,
    either,
    op,
    optional,
)
from aboard.target import Target, attach
from support.device import device

TYPE = TensorType((1, 3), DType.INT8, Quantization((0.5,), (1,)))
HOST = "c -mcpu=cortex-m4"


class Model:
    """A graph that is written node by node."""

    def __init__(self) -> None:
        self.x = Tensor("x", TYPE)
        self.nodes: dict[str, Node] = {}

    def add(self, name: str, kind: str, *operands: str | Tensor) -> Model:
        tensors = [self.nodes[o].output if isinstance(o, str) else o for o in operands]
        attrs = ArithmeticAttributes() if kind in ("add", "mul") else Attributes()
        number = len(self.nodes)
        self.nodes[name] = Node(kind, name, list(tensors), [Tensor(f"{name}_out", TYPE)], attrs, (number,))
        return self

    def graph(self, *outputs: str) -> Graph:
        return Graph("m", [self.x], [self.nodes[o].output for o in outputs], list(self.nodes.values()))


def line(*kinds: str) -> Graph:
    model = Model()
    before: str | Tensor = model.x
    for number, kind in enumerate(kinds):
        model.add(f"n{number}", kind, before, *([model.x] if kind in ("add", "mul") else []))
        before = f"n{number}"
    return model.graph(f"n{len(kinds) - 1}")


def decide(graph: Graph, patterns: Sequence[DevicePattern], **columns: object) -> Partition:
    with device(patterns, **columns):
        return partition(graph, Target(f"{HOST} + fake"))


def places(decided: Partition) -> list[tuple[str, str]]:
    return [(placement.device, placement.pattern) for placement in decided.placements]


def test_a_chain_takes_as_much_as_there_is() -> None:
    pattern = DevicePattern("sum", chain(op("add", name="sum"), optional(op("relu6")), optional(op("mul"))))
    for kinds, wanted in [
        (("add", "relu6", "mul"), 1),
        (("add", "mul", "relu6"), 1),
        (("add", "relu", "mul"), 1),
        (("add", "add"), 2),
    ]:
        decided = decide(line(*kinds), [pattern])
        assert len(decided.claims) == wanted, kinds
        assert all(claim.matches[0].named["sum"].op == "add" for claim in decided.claims)
    sizes = [
        len(decide(line(*kinds), [pattern]).claims[0].nodes) for kinds in (("add", "relu6", "mul"), ("add", "mul"))
    ]
    assert sizes == [3, 2]


def test_a_chain_has_a_single_consumer_at_each_link() -> None:
    model = Model()
    model.add("sum", "add", model.x, model.x).add("relu", "relu", "sum").add("other", "relu6", "sum")
    decided = decide(model.graph("relu", "other"), [DevicePattern("both", chain(op("add"), op("relu")))])
    assert decided.claims == ()
    assert decided.placements[0].refused[0].reason == "both: its result is also read by other"
    seen = decide(model.graph("relu", "other", "sum"), [DevicePattern("both", chain(op("add"), op("relu")))])
    assert "read by the caller" in seen.placements[0].refused[0].reason


def test_alternatives_wildcards_and_constants() -> None:
    model = Model()
    two = Tensor("two", TYPE, np.full((1, 3), 2, np.int8))
    model.add("a", "relu", model.x).add("b", "add", "a", two).add("c", "add", "b", model.x).add("d", "mul", "c", "a")
    graph = model.graph("d")

    def small(values: np.ndarray) -> str | None:
        return None if values.max() < 2 else f"values, got {values.max()}, expected less than 2"

    shifted = op("add", any_tensor(), constant(DType.INT8), name="shift")
    assert places(decide(graph, [DevicePattern("s", shifted)])) == [("c", ""), ("fake", "s"), ("c", ""), ("c", "")]
    refused = decide(graph, [DevicePattern("s", op("add", any_tensor(), constant(where=small)))])
    assert [p.refused[0].reason for p in refused.placements] == [
        "no pattern has relu",
        "values, got 2, expected less than 2",
        "operand 1 is computed, expected a constant",
        "no pattern has mul",
    ]
    absent = decide(line("relu"), [DevicePattern("r", op("relu", any_tensor(), constant_or_absent()))])
    assert places(absent) == [("fake", "r")]
    missing = decide(line("relu"), [DevicePattern("r", op("relu", any_tensor(), constant()))])
    assert missing.placements[0].refused[0].reason == "operand 1 is missing"
    wrong = decide(graph, [DevicePattern("s", op("add", any_tensor(), constant(DType.INT32)))])
    assert wrong.placements[1].refused[0].reason == "operand 1, got int8, expected int32"
    tree = op("mul", either(op("add", op("add", any_tensor(), constant())), op("relu")), name="m")
    assert [p.claim for p in decide(graph, [DevicePattern("t", tree)]).placements] == [None, 0, 0, 0]


def test_predicates_say_why() -> None:
    pattern = [
        DevicePattern("a", op("add", attrs={"activation": "odd"})),
        DevicePattern("b", op("mul", attrs={"activation": lambda activation: False})),
        DevicePattern("c", op("relu", dtype=DType.FLOAT32)),
        DevicePattern("d", op("relu6", where=lambda node: f"shape, got {node.output.shape}, expected square")),
        DevicePattern("e", chain(op("logistic"), op("tanh"))),
    ]
    reasons = [p.refused[0].reason for p in decide(line("add", "mul", "relu", "relu6", "tanh"), pattern).placements]
    assert reasons == [
        "activation, got Activation.NONE, expected odd",
        "activation, got Activation.NONE, which it does not take",
        "result, got int8, expected float32",
        "shape, got (1, 3), expected square",
        "is in no match of a whole pattern",
    ]


def test_a_device_may_refuse_nodes_before_patterns() -> None:
    def supports(target: Target, node: Node) -> str:
        return f"{target.get('model')} has no {node.op}" if node.op == "relu6" else ""

    decided = decide(line("relu", "relu6"), [DevicePattern("r", op("relu", "relu6"))], supports=supports)
    assert places(decided) == [("fake", "r"), ("c", "")]
    assert decided.placements[1].refused[0].reason == "v1 has no relu6"


def test_versions_of_a_device_claim_differently() -> None:
    patterns = {"v1": [DevicePattern("r", op("relu"))], "v2": [DevicePattern("r", op("relu", "relu6"))]}
    with device(patterns):
        claims = [len(partition(line("relu", "relu6"), Target(f"{HOST} + fake -model={v}")).claims) for v in patterns]
    assert claims == [1, 2]


def test_regions_are_merged_only_while_convex() -> None:
    model = Model()
    model.add("a", "relu", model.x).add("b", "relu6", "a").add("c", "add", "a", "b").add("d", "relu", "c")
    some = [DevicePattern("r", op("relu"), merge=True), DevicePattern("s", op("add"), merge=True)]
    decided = decide(model.graph("d"), some)
    # b stands between a and c, on the host.
    assert [[node.name for node in claim.nodes] for claim in decided.claims] == [["a"], ["c", "d"]]
    everything = [*some, DevicePattern("six", op("relu6"), merge=True)]
    assert [len(claim.nodes) for claim in decide(model.graph("d"), everything).claims] == [4]
    apart = [DevicePattern(p.name, p.pattern) for p in everything]
    assert [len(claim.nodes) for claim in decide(model.graph("d"), apart).claims] == [1, 1, 1, 1]


def test_regions_are_merged_up_to_their_number_of_inputs_and_outputs() -> None:
    chained = line("add", "add", "relu", "relu")
    forked = Model()
    forked.add("a", "relu", forked.x).add("b", "relu6", "a").add("c", "relu6", "a").add("d", "add", "b", "c")
    for graph, most, wanted in [
        (chained, 3, [4]),  # x and the result: the sums read x twice
        (chained, 2, [1, 2]),  # the second sum alone has three
        (forked.graph("d", "b"), 3, [4]),
        (forked.graph("d", "b", "c", "a"), 4, [3, 1]),
        (forked.graph("d", "b", "c", "a"), 5, [4]),
    ]:
        ops = DevicePattern("r", op("add", "relu", "relu6"), merge=True, borders=most)
        assert [len(claim.nodes) for claim in decide(graph, [ops]).claims] == wanted


def test_a_match_with_more_inputs_and_outputs_than_the_device_takes() -> None:
    model = Model()
    model.add("a", "relu", model.x).add("b", "add", "a", model.x)
    decided = decide(model.graph("b"), [DevicePattern("sum", op("add"), borders=2)])
    assert decided.claims == ()
    (refused,) = decided.placements[1].refused
    assert refused.reason == "sum: inputs and outputs, got 3, expected at most 2"


def test_the_first_device_gets_what_both_claim() -> None:
    graph = line("relu", "add", "relu6")
    with ExitStack() as stack:
        stack.enter_context(device([DevicePattern("r", op("relu", "relu6"))], name="first"))
        stack.enter_context(device([DevicePattern("all", op("relu", "add", "relu6"))], name="second"))
        one = partition(graph, Target(f"{HOST} + first + second"))
        two = partition(graph, Target(f"{HOST} + second + first"))
    assert [placement.device for placement in one.placements] == ["first", "second", "first"]
    assert [placement.device for placement in two.placements] == ["second", "second", "second"]
    assert [r.reason for r in one.placements[1].refused] == ["no pattern has add"]


def test_a_later_device_that_also_claims_is_named_with_the_reason() -> None:
    with ExitStack() as stack:
        for name in ("first", "second", "third"):
            stack.enter_context(device([DevicePattern("r", op("relu" if name != "third" else "add"))], name=name))
        decided = partition(line("relu", "relu6"), Target(f"{HOST} + first + second + third"))
    assert [(r.device, r.reason) for r in decided.placements[0].refused] == [("second", "r: first has it")]
    assert decided.placements[0].device == "first"
    assert [r.device for r in decided.placements[1].refused] == ["first", "second", "third"]


def test_what_went_to_another_match_is_said() -> None:
    graph = line("relu", "add", "relu6")
    with ExitStack() as stack:
        stack.enter_context(device([DevicePattern("six", op("relu6"))], name="first"))
        stack.enter_context(device([DevicePattern("long", chain(op("add"), op("relu6")))], name="second"))
        decided = partition(graph, Target(f"{HOST} + first + second"))
    assert decided.placements[1].refused[1].reason == "long: part of what it would take went to another match"


def test_two_devices_of_a_kind_are_told_apart() -> None:
    with device({"v1": [DevicePattern("r", op("relu"))], "v2": [DevicePattern("s", op("relu6"))]}):
        decided = partition(line("relu", "relu6"), Target(f"{HOST} + fake -model=v1 + fake -model=v2"))
    assert [placement.device for placement in decided.placements] == ["fake -model=v1", "fake -model=v2"]


def test_apply_makes_nodes_that_compute_the_same() -> None:
    graph = line("relu", "add", "relu6")
    decided = decide(
        graph,
        [
            DevicePattern(
                "s",
                chain(
                    op("add"),
                    op("relu6"),
                ),
                merge=True,
            )
        ],
    )
    apply(graph, decided)
    assert [node.op for node in graph.nodes] == ["relu", "subgraph"]
    region = graph.nodes[1]
    assert (region.name, region.sources) == ("n2", (1, 2))
    assert [t.name for t in region.operands] == ["n0_out", "x"]
    assert attributes(region).summary() == "fake: s"
    assert attributes(region).graph.name == "m_fake_0"


BAD_PATTERNS = [
    (op("conv2dd"), r"kind fake, pattern p: matches nothing, unknown op conv2dd\. Did you mean conv2d"),
    (any_tensor(), r"kind fake, pattern p: matches nothing, got AnyTensor at its root, expected an op\. Begin it with"),
    (op(any_tensor()), r"matches nothing, got no name of an op, expected one or more\. Name it in op"),
    (either(), r"matches nothing, got no alternative, expected one or more\. Give either\(\) some"),
    (op("conv2d", attrs={"stride": (1, 1)}), r"matches nothing, conv2d has no attribute stride\. Did you mean strides"),
]


@pytest.mark.parametrize(("pattern", "text"), BAD_PATTERNS, ids=[str(i) for i in range(len(BAD_PATTERNS))])
def test_patterns_that_can_match_nothing_are_refused(pattern: object, text: str) -> None:
    with pytest.raises(TargetError, match=text):
        decide(line("relu"), [DevicePattern("p", pattern)])  # type: ignore[arg-type]


def test_wrong_columns_are_refused() -> None:
    twice = [DevicePattern("p", op("relu")), DevicePattern("p", op("add"))]
    with pytest.raises(TargetError, match=r"kind fake, pattern p: there are two of this name, expected one\. Rename"):
        decide(line("relu"), twice)
    with pytest.raises(
        TargetError, match=r"kind fake, column patterns: got str, expected DevicePattern\. Return a tuple"
    ):
        decide(line("relu"), ["relu"])  # type: ignore[list-item]
    with device([]):
        attach("fake", "patterns", lambda target: [], priority=1)
        with pytest.raises(TargetError, match=r"column patterns: its function's result: got list, expected tuple"):
            partition(line("relu"), Target(f"{HOST} + fake"))


def limited(devices: str) -> Partition:
    anything = [DevicePattern("any", op("relu", "relu6", "add", "mul"))]
    longest = [DevicePattern("chain", chain(op("add"), optional(op("relu6"))))]
    with ExitStack() as stack:
        stack.enter_context(device(anything, name="first"))
        stack.enter_context(device(anything, name="second"))
        stack.enter_context(device(longest, name="chains"))
        return partition(line("relu", "add", "relu6", "mul"), Target(f"{HOST} + {devices}"))


def test_claims_limited_by_op() -> None:
    decided = limited("first -claim-ops=add,mul")
    assert [p.device for p in decided.placements] == ["c", "first", "c", "first"]
    assert decided.placements[2].refused[0].reason == "-claim-ops leaves out relu6"


def test_claims_limited_by_number_as_the_table_shows_it() -> None:
    decided = limited("first -claim-nodes=0,2..3")
    assert [p.device for p in decided.placements] == ["first", "c", "first", "first"]
    assert decided.placements[1].refused[0].reason == "-claim-nodes leaves out 1"


def test_both_limits_at_once_and_a_second_device_for_the_rest() -> None:
    decided = limited("first -claim-ops=relu,add -claim-nodes=1..3 + second -claim-nodes=2..3")
    assert [p.device for p in decided.placements] == ["c", "first", "second", "second"]


def test_a_match_ends_where_the_claim_does() -> None:
    decided = limited("chains -claim-ops=add")
    assert [p.device for p in decided.placements] == ["c", "chains", "c", "c"]


def test_a_limit_to_an_op_that_there_is_not() -> None:
    with pytest.raises(TargetError, match=r"first: -claim-ops: unknown op rely\. Did you mean relu\b"):
        limited("first -claim-ops=rely")
