"""Which implementation computes a node: keys, predicate, cost, how specific it is; and how the choice is forced."""

from __future__ import annotations

import pytest

from aboard.errors import ModelError
from aboard.ir import DType, Node, Quantization, Tensor, TensorType
from aboard.kernels.contract import Implementation, KernelCall
from aboard.kernels.select import price, strategy
from aboard.kernels.select.cost_model import KernelCost, Prediction
from aboard.kernels.select.specific import generality
from aboard.target import Target

SPEED = Target("c -mcpu=cortex-m4 -opt=speed")
TYPE = TensorType((1, 3), DType.INT8, Quantization((0.5,), (1,)))
M4 = Target("c -mcpu=cortex-m4")


def made(name: str, *, keys: tuple[str, ...] = ("portable",), special: bool = False, no: str | None = None):
    class Made(Implementation):
        op = "relu"

        def refuses(self, node: Node, target: Target) -> str | None:
            return no

        def lower(self, node, inputs, outputs, target) -> KernelCall:
            raise AssertionError("the strategy must not lower")

    Made.name, Made.specialised, Made.keys = name, special, frozenset(keys)
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
        made("vector", keys=("arm_mve",)),
        made("narrow", keys=("arm_mve", "arm_dsp"), no="channels, got 3, expected a multiple of 4"),
        made("fast", keys=("arm_dsp",)),
    )
    assert explained.chosen is not None
    assert explained.chosen.implementation.name == "fast"
    assert reasons(explained) == {
        "vector": "needs one of arm_mve",
        "narrow": "channels, got 3, expected a multiple of 4",
        "fast": "the most specific one that can",
        "plain": "less specific than fast, and one of the two is not measured",
    }


def test_cost_decides_between_all_that_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    flash = {"a": 200, "b": 100, "c": 100, "plain": 50}
    measured(monkeypatch, flash, a=100, b=2000, c=2500, plain=4000, new=None)
    # Whatever the length of the inference.
    monkeypatch.setattr(price, "SHARE", 1.0)
    dsp = ("arm_dsp",)
    plain, new = made("plain"), made("new")
    explained = explain(monkeypatch, made("a", keys=dsp), made("b", keys=dsp), made("c", keys=dsp), plain, new)
    # A byte must save 40 cycles.
    assert reasons(explained) == {
        "a": "saves 1,900 cycles for 100 bytes of flash: 19.0 for each",
        "b": "best of 4: 2,000 cycles, 0 bytes of constants",
        "c": "takes 500 cycles and 0 bytes of flash more",
        "plain": "saves 50 bytes of flash for 2,000 cycles: 40.0 for each",
        "new": "less specific than a, and one of the two is not measured",
    }
    assert reasons(explain(monkeypatch, made("alone")))["alone"] == "the only one that can"


def test_portable_c_is_taken_where_it_costs_less(monkeypatch: pytest.MonkeyPatch) -> None:
    measured(monkeypatch, {"taps": 100, "plain": 200}, taps=9000, plain=5000)
    kernels = made("taps", keys=("arm_dsp",)), made("plain")
    assert reasons(explain(monkeypatch, *kernels)) == {
        "taps": "saves 100 bytes of flash for 4,000 cycles: 40.0 for each",
        "plain": "best of 2: 5,000 cycles, 0 bytes of constants",
    }
    assert chosen(explain(monkeypatch, *kernels, target=SPEED)) == "plain"
    assert chosen(explain(monkeypatch, *kernels, target=Target("c -mcpu=cortex-m4 -opt=size"))) == "taps"


@pytest.mark.parametrize(("costs"), [{"new": None, "plain": 10}, {"new": 1000, "plain": None}])
def test_a_kernel_that_is_not_measured_stands_before_less_specific_ones(
    monkeypatch: pytest.MonkeyPatch, costs: dict[str, int | None]
) -> None:
    measured(monkeypatch, {"new": 100_000, "plain": 0}, **costs)
    found = explain(monkeypatch, made("plain"), made("new", keys=("arm_dsp",)))
    assert reasons(found) == {
        "new": "the most specific one that can",
        "plain": "less specific than new, and one of the two is not measured",
    }


def test_scratch_counts_with_size_only(monkeypatch: pytest.MonkeyPatch) -> None:
    measured(monkeypatch, scratch={"wide": 600}, wide=1000, plain=1500)
    kernels = made("wide"), made("plain")
    assert [
        chosen(explain(monkeypatch, *kernels, target=Target(f"c -mcpu=cortex-m4 -opt={opt}")))
        for opt in ("speed", "balanced", "size")
    ] == ["wide", "wide", "plain"]


def test_the_fewer_cores_can_run_a_kernel_the_more_specific_it_is() -> None:
    order = [made("a", keys=(key,)) for key in ("arm_mve", "arm_dsp", "portable")]
    assert sorted(order, key=generality, reverse=True)[::-1] == order
    assert generality(made("a", special=True)) < generality(made("a"))
    assert generality(made("a", keys=("arm_dsp",))) < generality(made("a", special=True))


def test_a_special_case_is_preferred_within_its_instruction_set(monkeypatch: pytest.MonkeyPatch) -> None:
    explained = explain(monkeypatch, made("general"), made("table", special=True))
    assert reasons(explained) == {
        "table": "the most specific one that can",
        "general": "less specific than table, and one of the two is not measured",
    }


def test_a_choice_can_be_forced(monkeypatch: pytest.MonkeyPatch) -> None:
    fast, plain = made("fast", keys=("arm_dsp",)), made("plain")
    node = explain(monkeypatch, fast, plain).node
    with strategy.forced(lambda explained: explained.candidates[-1].implementation):
        assert strategy.choose(node, M4) == strategy.KernelChoice(plain, ())
        with strategy.forced(lambda explained: None):
            assert strategy.choose(node, M4).implementation is fast
    assert strategy.choose(node, M4).implementation is fast


def test_a_node_that_nobody_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    explained = explain(monkeypatch, made("a", no="is too large"))
    assert explained.chosen is None
    with pytest.raises(ModelError, match=r"relu n: no implementation for .* on cortex-m4 \(a: is too large\)"):
        strategy.choose(explained.node, M4)


def chosen(explained: strategy.Explanation) -> str:
    assert explained.chosen is not None
    return explained.chosen.implementation.name


def measured(
    monkeypatch: pytest.MonkeyPatch,
    flash: dict[str, int] | None = None,
    scratch: dict[str, int] | None = None,
    **cycles: int | None,
) -> None:
    """Lets costs of implementations be these cycles; None where not measured."""

    def cost(node: Node, implementation: Implementation, target: Target) -> KernelCost:
        name = implementation.name
        count = cycles[name] or 0
        predicted = Prediction(count, count, "a test", 0.0, in_cycles=True, is_priced=cycles[name] is not None)
        return KernelCost(count, count, {name: (flash or {}).get(name, 0)}, 0, (scratch or {}).get(name, 0), predicted)

    monkeypatch.setattr(strategy, "cost", cost)
    monkeypatch.setattr(strategy, "may_be_priced", lambda node, each: cycles.get(each.name) is not None)
