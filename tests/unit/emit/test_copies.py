"""Constants that the start-up code copies to RAM, as a tuned point wants them: their C, and what counts them."""

from __future__ import annotations

import re

import pytest

from aboard import boards
from aboard.base import resources
from aboard.compiler.pipeline import Module, compile_model
from aboard.emit.instances import Instances
from aboard.kernels import tunable
from aboard.project.capacity import fit
from aboard.tuning.choice import DEFAULTS, GivenEach, Tuning

BOARD = "st/nucleo_f746zg"


def compiled(tuning: Tuning) -> Module:
    return compile_model(resources.models() / "digits.tflite", board=BOARD, opt="speed", tuning=tuning)


@pytest.fixture(scope="module")
def plain() -> Module:
    return compiled(DEFAULTS)


@pytest.fixture(scope="module")
def moved(plain: Module) -> Module:
    """Returns the model with the constants of its first layer in RAM."""
    step = plain.schedule().program.steps[0]
    part = tunable.part(step.node, step.implementation, plain.target)
    assert part is not None
    return compiled(GivenEach({(part.label, part.workload): {"weights": "ram"}}))


def test_arrays_in_ram_are_data_of_their_own_section(plain: Module, moved: Module) -> None:
    before, after = (module.files["src/digits_weights.h"] for module in (plain, moved))
    data = re.compile(r"^static \w+ (\w+)\[.*ABOARD_SECTION\(\"\.data\.aboard\"\)", re.MULTILINE)
    assert data.findall(before) == []
    assert data.findall(after) == ["digits_0_weights"]
    assert len(re.findall("^static const ", after, re.MULTILINE)) == len(re.findall("^static const ", before, re.M)) - 1


def test_they_count_as_ram_and_as_flash(plain: Module, moved: Module) -> None:
    found = moved.schedule()
    copied = Instances(found.program, found.calls.target, standalone=False).ram_constants_bytes
    assert copied > 0
    assert (plain.manifest.copied_bytes, moved.manifest.copied_bytes) == (0, copied)
    assert moved.manifest.weights_bytes == plain.manifest.weights_bytes
    uses = [fit([module.manifest], {}, boards.load(BOARD)) for module in (plain, moved)]
    assert uses[1].ram.needed - uses[0].ram.needed == copied
    assert uses[1].ram.items["copied weights and code"] == copied
    assert uses[1].flash.needed == uses[0].flash.needed
