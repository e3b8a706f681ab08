"""Which implementation computes a node: keys, predicate, priority, cost; and how the choice is forced."""

from __future__ import annotations

import pytest

from aboard.errors import ModelError
from aboard.ir import DType, Node, Quantization, Tensor, TensorType
from aboard.kernels.contract import Implementation, KernelCall
from aboard.kernels.select import strategy
from aboard.kernels.select.cost_model import KernelCost, Prediction
from aboard.target import Target

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
        "fast": "the first that can",
        "plain": "priority, got 0, less than 10",
    }


def test_cost_decides_within_the_highest_priority(monkeypatch: pytest.MonkeyPatch) -> None:
    flash = {"a": 200, "b": 100, "c": 100, "plain": 0}
    measured(monkeypatch, flash, a=(100, None), b=(2000, None), c=(2500, None), plain=(0, None))
    dsp = ("arm_dsp",)
    explained = explain(
        monkeypatch, made("a", keys=dsp), made("b", keys=dsp), made("c", keys=dsp), made("plain"), target=M4
    )
    # A byte must save 30 instructions.
    assert reasons(explained) == {
        "a": "saves 1,900 instructions for 100 bytes of flash: 19.0 for each",
        "b": "best of 3: 2,000 instructions, 0 bytes of constants",
        "c": "takes 500 instructions and 0 bytes of flash more",
        "plain": "priority, got 0, less than 10",
    }
    assert reasons(explain(monkeypatch, made("alone")))["alone"] == "the only one that can"


def test_cost_decides_between_a_kernel_and_its_rivals(monkeypatch: pytest.MonkeyPatch) -> None:
    flash = {"taps": 100, "plain": 200, "other": 0}
    measured(monkeypatch, flash, taps=(9000, None), plain=(5000, None), other=(0, None))
    taps = made("taps", keys=("arm_dsp",))
    kernels = taps, made("plain"), made("other")
    assert reasons(explain(monkeypatch, *kernels))["taps"] == "the first that can"
    monkeypatch.setattr(taps, "rivals", lambda node: frozenset({"plain"}), raising=False)
    assert reasons(explain(monkeypatch, *kernels)) == {
        "taps": "saves 100 bytes of flash for 4,000 instructions: 40.0 for each",
        "plain": "best of 2: 5,000 instructions, 0 bytes of constants",
        "other": "priority, got 0, less than 10",
    }


def test_a_special_case_is_preferred_within_its_instruction_set(monkeypatch: pytest.MonkeyPatch) -> None:
    explained = explain(monkeypatch, made("general"), made("table", special=True))
    assert reasons(explained) == {"table": "the first that can", "general": "priority, got 0, less than 10"}


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


def measured(
    monkeypatch: pytest.MonkeyPatch, flash: dict[str, int] | None = None, **cycles: tuple[int, float | None]
) -> None:
    """Lets costs of implementations be these: cycles, and by how much they are wrong; None where not measured."""

    def cost(node: Node, implementation: Implementation, target: Target) -> KernelCost:
        count, wrong = cycles[implementation.name]
        pieces = {implementation.name: (flash or {}).get(implementation.name, 0)}
        return KernelCost(count, count, pieces, 0, 0, Prediction(count, count, "a test", 0.0, wrong))

    monkeypatch.setattr(strategy, "cost", cost)


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
    both = (made("fast", keys=("arm_dsp",)), made("plain"))
    found = explain(monkeypatch, *both, target=SPEED).chosen
    assert found is not None
    assert found.implementation.name == chosen
    balanced = explain(monkeypatch, *both).chosen
    assert balanced is not None
    assert balanced.implementation.name == "fast"


def test_a_choice_by_cycles_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    measured(monkeypatch, fast=(1000, 0.0), plain=(900, 0.0))
    explained = explain(monkeypatch, made("fast", keys=("arm_dsp",)), made("plain"), target=SPEED)
    assert reasons(explained) == {
        "fast": "takes more cycles, about 1,000 (-opt=speed)",
        "plain": "takes the fewest cycles, about 900 (-opt=speed)",
    }
    assert strategy.choose(explained.node, SPEED).implementation.name == "plain"
