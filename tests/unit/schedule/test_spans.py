"""Cascades that are given instead of searched."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aboard.compiler.pipeline import Module, compile_model
from aboard.errors import CapacityError, TargetError
from aboard.kernels import tunable
from aboard.kernels.tunable import has_data_memory
from aboard.schedule import spans
from aboard.schedule.aims import Aim, rule
from aboard.schedule.spans import Span
from aboard.target import Target
from aboard.tuning.choice import DEFAULTS, GivenEach, TunedPart
from aboard.tuning.records import Recorded
from support import models

BOARD = "arm/mps2_an386"


def compiled(tuning: Any = DEFAULTS, **options: Any) -> Module:
    return compile_model(models.path(models.SHIPPED), board=BOARD, tuning=tuning, **options)


@pytest.fixture(scope="module")
def searched() -> Module:
    return compiled()


def part(module: Module) -> TunedPart:
    found = module.schedule()
    return spans.part(found.graph_of_file, module.target)


def given_cascades(module: Module, text: str, **further: Any) -> GivenEach:
    return GivenEach({("host", part(module).workload): {"cascades": text, **further}})


@st.composite
def drawn(draw: st.DrawFn) -> list[Span]:
    ends = sorted(draw(st.sets(st.integers(0, 999), min_size=2, max_size=12)))
    found = []
    for first, last in zip(ends[::2], ends[1::2], strict=False):
        least = draw(st.booleans())
        rows = None if least else draw(st.none() | st.integers(1, 64))
        found.append(Span(first, last, rows, least))
    return found


@given(drawn())
def test_text_and_back(found: list[Span]) -> None:
    assert spans.parse(spans.text_of(found)) == tuple(found)


@pytest.mark.parametrize("text", ["", "3", "5-3", "0-4 4-6", "0-4:0", "0-4:two", "0-4;5-6", "0-99999999", "searched"])
def test_what_is_no_text_of_spans(text: str) -> None:
    assert spans.parse(text) is None


def test_no_cascade_is_a_choice_too() -> None:
    assert spans.parse("none") == ()
    assert spans.text_of([]) == "none"


def test_the_cascades_that_the_search_finds_give_the_same_code(searched: Module) -> None:
    found = searched.schedule()
    text = spans.text_of(spans.of(found.program.assignment, found.nodes))
    assert text != "none"
    again = compiled(given_cascades(searched, text))
    assert again.files == searched.files
    assert again.schedule().aim is Aim.TUNED
    assert rule(again.target, Aim.TUNED) == "the cascades that aboard tune found"


def test_other_cascades_and_heights_give_other_code(searched: Module) -> None:
    plain = compiled(given_cascades(searched, "none"))
    assert not plain.schedule().program.assignment.cascades
    high = compiled(given_cascades(searched, "0-2:4"))
    (cascade,) = high.schedule().program.assignment.cascades
    assert {cascade.stripe_height(node) for node in cascade.nodes} == {4}
    assert [len(cascade.nodes), high.manifest.nodes[2].cascade, high.manifest.nodes[3].cascade] == [3, 0, None]


def test_nodes_that_cannot_be_a_cascade_are_refused(searched: Module) -> None:
    with pytest.raises(
        CapacityError, match=r"digits: cascades, got 0-6, expected nodes that kernels compute row by row"
    ):
        compiled(given_cascades(searched, "0-6"))


@pytest.mark.parametrize("text", ["0-99", "some", "4-2"])
def test_what_names_no_nodes_is_refused(searched: Module, text: str) -> None:
    with pytest.raises(
        TargetError, match=rf"tuning of host: value of cascades, got {text}, expected searched, none, or spans"
    ):
        compiled(given_cascades(searched, text))


def test_the_code_may_be_copied_to_ram(searched: Module) -> None:
    moved = compiled(given_cascades(searched, "searched", code="ram"))
    assert "#define ABOARD_CODE_IN_RAM\n" in moved.files["src/digits.c"]
    assert "ABOARD_CODE_IN_RAM" not in searched.files["src/digits.c"]
    code = (searched.manifest.flash_predicted_bytes or 0) - searched.manifest.weights_bytes
    assert (searched.manifest.copied_bytes, moved.manifest.copied_bytes) == (0, code)


@pytest.mark.parametrize(
    ("board", "code", "weights"),
    [
        (BOARD, ("flash", "ram"), True),
        # Data lies in a DTCM; or instructions have other addresses than data.
        ("arm/mps3_an547", ("flash",), True),
        ("espressif/esp32c3_devkitm", ("flash",), True),
        ("host/native", ("flash",), False),
    ],
)
def test_code_is_copied_only_to_memory_that_every_core_runs_from(
    board: str, code: tuple[str, ...], weights: bool
) -> None:
    module = compile_model(models.path(models.SHIPPED), board=board, tuning=DEFAULTS)
    knobs = {knob.name: knob.values for knob in part(module).space.alternatives[0]}
    assert knobs["code"] == code
    assert has_data_memory(module.target) is weights


def test_a_target_without_points_asks_no_part(searched: Module) -> None:
    assert not tunable.may_tune(searched.target, DEFAULTS)
    assert tunable.may_tune(searched.target, given_cascades(searched, "none"))
    assert not tunable.may_tune(Target("c -mcpu=cortex-m4"), Recorded({}))


@pytest.mark.parametrize("model", models.available(["wake_vad"]))
def test_a_model_with_state_has_a_schedule_to_tune_too(model: str) -> None:
    plain = compile_model(models.path(model), board=BOARD, tuning=DEFAULTS)
    assert plain.schedule().program.graph.states
    again = compile_model(models.path(model), board=BOARD, tuning=given_cascades(plain, "none"))
    assert not again.schedule().program.assignment.cascades
