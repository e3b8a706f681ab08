"""The choice among kernel variants: what a byte must save, code that layers share, and what fits a limit."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aboard
from aboard.errors import CapacityError
from aboard.kernels.contract import Implementation, KernelCall
from aboard.kernels.select import code_size
from aboard.kernels.select.cost_model import KernelCost, Prediction
from aboard.kernels.select.flash import model_bytes
from aboard.kernels.select.price import PRICES, flash_price
from aboard.kernels.select.variants import Variant, VariantChoice
from aboard.target import Target
from support import models
from support.weighted_models import Layer

BALANCED, SPEED, SIZE = (Target(f"c -mcpu=cortex-m4 -opt={opt}") for opt in ("balanced", "speed", "size"))


def stub(called: str) -> Implementation:
    """Returns an implementation with a name, which is all that a choice looks at."""

    class Stub(Implementation):
        op = "conv2d"
        name = called

        def lower(self, node, inputs, outputs, target) -> KernelCall:
            """Never called."""
            raise AssertionError("a choice lowers nothing")

    return Stub()


def variant(name: str, instructions: float, **flash: int) -> Variant:
    prediction = Prediction(round(instructions), 0, "a test", None)
    return Variant(stub(name), KernelCost(instructions, 0, flash, 0, 0, prediction))


#: A layer without a choice, of an inference so long that the price of `-opt=balanced` holds.
LONG = [variant("long", 10_000_000)]


def named(choice: VariantChoice) -> list[str]:
    return [options[index].implementation.name for options, index in zip(choice.options, choice.chosen, strict=True)]


def test_a_byte_must_save_what_the_preference_says() -> None:
    assert {opt: (each.flash, each.ram) for opt, each in PRICES.items()} == {
        "speed": (0, 0),
        "balanced": (40, 0),
        "size": (1000, 1),
    }
    just = [LONG, [variant("narrow", 10_000, a=100), variant("wide", 10_000 - 40 * 100 - 1, b=200)]]
    not_quite = [LONG, [variant("narrow", 10_000, a=100), variant("wide", 10_000 - 40 * 100 + 1, b=200)]]
    assert named(VariantChoice(just, BALANCED)) == ["long", "wide"]
    assert named(VariantChoice(not_quite, BALANCED)) == ["long", "narrow"]
    assert named(VariantChoice(not_quite, SPEED)) == ["long", "wide"]
    assert named(VariantChoice(just, SIZE)) == ["long", "narrow"]
    assert named(VariantChoice([[variant("long", 500, a=10), variant("short", 500, b=9)]], SPEED)) == ["short"]


@pytest.mark.parametrize(
    ("core", "opt", "price"),
    [
        ("cortex-m0", "balanced", 40),
        ("cortex-m4", "balanced", 40),
        ("cortex-m55", "balanced", 5.0),
        ("cortex-m55", "size", 1000),
        ("cortex-m55", "speed", 0),
        ("cortex-m55+nomve", "balanced", 40),
    ],
)
def test_on_a_core_that_multiplies_more_at_once_a_byte_must_save_less(core: str, opt: str, price: float) -> None:
    assert flash_price(Target(f"c -mcpu={core} -opt={opt}")) == price


def test_of_a_short_inference_a_kilobyte_must_save_a_hundredth() -> None:
    short = [variant("other", 1_000_000, c=50)]
    fastest = short[0].cost.time + 10_000
    saved = 200 * fastest / 102_400
    for slower, taken in ((saved - 1, "narrow"), (saved + 1, "wide")):
        options = [short, [variant("narrow", 10_000 + slower, a=100), variant("wide", 10_000, b=300)]]
        assert named(VariantChoice(options, BALANCED)) == ["other", taken]


def test_shared_code_is_taken_or_left_for_all() -> None:
    # Alone a layer saves too little for a function of 1,000 bytes; five of them are worth it.
    def layer(n: int) -> list[Variant]:
        return [variant("narrow", 20_000, **{f"n{n}": 10}), variant("wide", 10_000, shared=1000, **{f"w{n}": 20})]

    assert named(VariantChoice([LONG, layer(0)], BALANCED)) == ["long", "narrow"]
    assert named(VariantChoice([LONG, *(layer(n) for n in range(4))], BALANCED))[1:] == ["narrow"] * 4
    assert named(VariantChoice([LONG, *(layer(n) for n in range(5))], BALANCED))[1:] == ["wide"] * 5
    # What a layer without a choice needs anyway costs nothing more.
    fixed = [variant("other", 0, shared=1000)]
    assert named(VariantChoice([LONG, fixed, layer(0)], BALANCED))[1:] == ["other", "wide"]


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=3), max_size=4), st.data()
)
def test_without_shared_code_no_choice_is_better(drawn: list[list[tuple[int, int]]], data: st.DataObject) -> None:
    options = [
        LONG,
        *(
            [variant(f"f{i}", 100.0 * count, **{f"p{node}_{i}": 5 * size}) for i, (count, size) in enumerate(each)]
            for node, each in enumerate(drawn)
        ),
    ]
    choice = VariantChoice(options, BALANCED)

    def cost(chosen) -> float:
        picked = [variants[i] for variants, i in zip(options, chosen, strict=True)]
        return sum(v.cost.instructions for v in picked) + PRICES["balanced"].flash * choice.bytes(chosen)

    every = list(itertools.product(*(range(len(each)) for each in options)))
    assert cost(choice.chosen) == pytest.approx(min(map(cost, every)), rel=1e-9)
    # Within a limit: never beyond it where that can be, and never slower with more room.
    smallest = min(map(choice.bytes, every))
    room = data.draw(st.integers(smallest, smallest + 60))
    within, wider = VariantChoice(options, BALANCED, room), VariantChoice(options, BALANCED, room + 40)
    assert within.bytes() <= room
    fastest = min(sum(o[i].cost.instructions for o, i in zip(options, c, strict=True)) for c in every)
    assert sum(o[i].cost.instructions for o, i in zip(options, wider.chosen, strict=True)) >= fastest


def test_a_limit_below_everything_leaves_the_narrowest() -> None:
    options = [[variant("fast", 1, a=100), variant("narrow", 9, b=10)]]
    assert named(VariantChoice(options, SPEED, 0)) == ["narrow"]


def test_the_same_array_counts_once() -> None:
    layer = Layer(
        "CONV_2D", (1, 2, 3, 8), (4, 1, 1, 8), (1, 2, 3, 4), 0, {"Padding": "VALID", "StrideH": 1, "StrideW": 1}
    )
    module = aboard.compile(layer.model(), target=BALANCED, name="m")
    assert module.scheduled is not None
    (step,) = module.scheduled.program.steps
    once = model_bytes([(step.node, step.call)], 0, BALANCED)
    twice = model_bytes([(step.node, step.call)] * 2, 0, BALANCED)
    frame = code_size.frame
    assert twice - once == frame(BALANCED, 2, 0) - frame(BALANCED, 1, 0)
    constants = sum(c.values.nbytes for c in step.call.constants)
    assert module.manifest.weights_bytes == constants < once


KWS = models.available(["kws"])


@pytest.mark.parametrize("name", KWS)
def test_flash_max_takes_what_fits(name: str) -> None:
    # By instructions wider weights are worth flash in kws, which on Cortex-M4 they are not by cycles.
    def compiled(attributes: str):
        return aboard.compile(models.path(name), target=f"arm/mps2_an505 {attributes}").manifest

    small, default, free = (compiled(f"-opt={opt}") for opt in ("size", "balanced", "speed"))
    # Equal where no smaller build certainly needs no more RAM: then -opt=size is the build of -opt=balanced.
    assert small.flash_predicted_bytes <= default.flash_predicted_bytes < free.flash_predicted_bytes
    between = (default.flash_predicted_bytes + free.flash_predicted_bytes) // 2
    some, all_of_it = compiled(f"-flash-max={between}"), compiled("-flash-max=1M")
    assert some.flash_predicted_bytes <= between
    count = [sum(n.implementation == "dsp_wide_s8" for n in m.nodes) for m in (default, some, all_of_it)]
    assert count[0] < count[1] < count[2]


@pytest.mark.parametrize("name", KWS)
def test_flash_that_is_not_enough(name: str) -> None:
    with pytest.raises(CapacityError) as caught:
        aboard.compile(models.path(name), target="arm/mps2_an386 -flash-max=20K")
    words = str(caught.value)
    assert words.startswith("kws: needs more flash than -flash-max allows, got ")
    got = int(words.split("got ")[1].split()[0])
    assert f"expected at most 20480: {got - 20480} too many. Raise -flash-max, compile with -opt=size, or " in words
    with pytest.raises(CapacityError, match=r"too many\. Raise -flash-max, or take a smaller model"):
        aboard.compile(models.path(name), target="arm/mps2_an386 -flash-max=20K -opt=size")


@pytest.mark.parametrize("name", models.available(["kws", "vww", "ic", "ad", "sww"]))
def test_variants_differ_as_the_preference_says(name: str) -> None:
    made = [aboard.compile(models.path(name), target=target).manifest.nodes for target in (SIZE, BALANCED, SPEED)]
    constants = [sum(n.weights_bytes for n in nodes) for nodes in made]
    wide = [sum(n.implementation in ("dsp_wide_s8", "dsp_points_s8") for n in nodes) for nodes in made]
    # A faster kernel of a small layer may have fewer constants than portable C, but none has fewer than the smallest.
    assert (constants[0], wide) == (min(constants), sorted(wide))
