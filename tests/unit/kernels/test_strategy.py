"""Which implementation computes a node: keys, predicate, priority, cost."""

from __future__ import annotations

import pytest

from aboard.errors import ModelError
from aboard.ir import DType, Node, Quantization, Tensor, TensorType
from aboard.kernels import strategy
from aboard.kernels.contract import Implementation, KernelCall
from aboard.target import Target

TYPE = TensorType((1, 3), DType.INT8, Quantization((0.5,), (1,)))
M4 = Target("c -mcpu=cortex-m4")


def made(name: str, *, priority: int = 0, keys: tuple[str, ...] = ("portable",), no: str | None = None, cost=None):
    class Made(Implementation):
        op = "relu"

        def refuses(self, node: Node, target: Target) -> str | None:
            return no

        def cost(self, node: Node, target: Target) -> float | None:
            return cost

        def lower(self, node, inputs, outputs, target) -> KernelCall:
            raise AssertionError("the strategy must not lower")

    Made.name, Made.priority, Made.keys = name, priority, frozenset(keys)
    return Made()


def explain(monkeypatch: pytest.MonkeyPatch, *implementations: Implementation) -> strategy.Explanation:
    monkeypatch.setattr(strategy, "of", lambda op: list(implementations))
    return strategy.explain(Node("relu", "n", [Tensor("x", TYPE)], [Tensor("y", TYPE)]), M4)


def reasons(explained: strategy.Explanation) -> dict[str, str]:
    return {candidate.implementation.name: explained.why(candidate) for candidate in explained.candidates}


def test_every_candidate_has_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    explained = explain(
        monkeypatch,
        made("plain"),
        made("vector", priority=100, keys=("arm_mve",)),
        made("narrow", priority=50, no="channels, got 3, expected a multiple of 4"),
        made("fast", priority=10, keys=("arm_dsp", "arm_mve")),
    )
    assert explained.chosen is not None
    assert explained.chosen.implementation.name == "fast"
    assert reasons(explained) == {
        "vector": "needs one of arm_mve",
        "narrow": "channels, got 3, expected a multiple of 4",
        "fast": "the first that can",
        "plain": "priority, got 0, less than 10",
    }


def test_cost_decides_between_equal_priorities_then_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    explained = explain(monkeypatch, made("a"), made("b", cost=20.0), made("c", cost=7.5), made("d", cost=7.5))
    assert [candidate.implementation.name for candidate in explained.candidates] == ["c", "d", "b", "a"]
    assert reasons(explained)["d"] == "of the same priority, another costs less or comes first by name"
    assert reasons(explain(monkeypatch, made("alone")))["alone"] == "the only one that can"


def test_a_node_that_nobody_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    explained = explain(monkeypatch, made("a", no="is too large"))
    assert explained.chosen is None
    with pytest.raises(ModelError, match=r"relu n: no implementation for .* on cortex-m4 \(a: is too large\)"):
        strategy.choose(explained.node, M4)
