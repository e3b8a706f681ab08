"""Which implementation computes a node: keys, predicate, priority, cost."""

from __future__ import annotations

import pytest

from aboard.errors import ModelError
from aboard.ir import DType, Node, Quantization, Tensor, TensorType
from aboard.kernels.contract import Implementation, KernelCall
from aboard.kernels.select import strategy
from aboard.kernels.select.estimate import Estimate
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


def explain(
    monkeypatch: pytest.MonkeyPatch, *implementations: Implementation, target: Target = M4
) -> strategy.Explanation:
    monkeypatch.setattr(strategy, "of", lambda op: list(implementations))
    return strategy.explain(Node("relu", "n", [Tensor("x", TYPE)], [Tensor("y", TYPE)]), target)


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


def measured(monkeypatch: pytest.MonkeyPatch, **cycles: tuple[int, float | None]) -> None:
    """Lets estimates of implementations be these: cycles, and by how much they are wrong; None where not measured."""

    def found(node: Node, implementation: Implementation, target: Target) -> Estimate:
        return Estimate(1, cycles[implementation.name][0], "a test", 0.0, cycles[implementation.name][1])

    monkeypatch.setattr(strategy, "_estimated", found)


SPEED = Target("c -mcpu=cortex-m4 -opt=speed")


@pytest.mark.parametrize(
    ("fast", "plain", "chosen"),
    [
        # More cycles than one that is not preferred.
        ((1000, 0.02), (900, 0.05), "plain"),
        # By less than one of the two estimates is wrong.
        ((1000, 0.02), (960, 0.05), "fast"),
        ((1000, 0.0), (995, 0.0), "fast"),
        ((1000, 0.0), (985, 0.0), "plain"),
        # What was not measured is not compared.
        ((1000, None), (10, 0.0), "fast"),
        ((1000, 0.0), (10, None), "fast"),
    ],
)
def test_cycles_decide_where_speed_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
    fast: tuple[int, float | None],
    plain: tuple[int, float | None],
    chosen: str,
) -> None:
    measured(monkeypatch, fast=fast, plain=plain)
    both = (made("fast", priority=10), made("plain"))
    found = explain(monkeypatch, *both, target=SPEED).chosen
    assert found is not None
    assert found.implementation.name == chosen
    balanced = explain(monkeypatch, *both).chosen
    assert balanced is not None
    assert balanced.implementation.name == "fast"


def test_a_choice_by_cycles_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    measured(monkeypatch, fast=(1000, 0.0), plain=(900, 0.0))
    explained = explain(monkeypatch, made("fast", priority=10), made("plain"), target=SPEED)
    assert reasons(explained) == {
        "fast": "takes more cycles, about 1,000 (-opt=speed)",
        "plain": "takes the fewest cycles, about 900 (-opt=speed)",
    }
    assert strategy.choose(explained.node, SPEED).implementation.name == "plain"
