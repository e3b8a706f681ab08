"""What schedules cost that the search weighs, and by which rule one is taken."""

from __future__ import annotations

import itertools

import pytest

from aboard.base import resources
from aboard.compiler.pipeline import Module, compile_model
from aboard.schedule import aims
from aboard.schedule.trade import Trade
from aboard.target import Target
from support.examples import either
from support.models import available, path

DIGITS = resources.models() / "digits.tflite"
M4 = "c -mcpu=cortex-m4"


def compiled(target: str, model: str = "digits") -> Module:
    found = path(model)
    assert found is not None
    return compile_model(found, target=target)


OPTS = ["size", "balanced", "speed"]


def trade(module: Module) -> Trade:
    return module.trade()


#: Models whose schedules take long: in `make test-full` with each preference.
SLOW = available(["ic"])


@pytest.mark.parametrize(
    ("opt", "model"),
    [
        *itertools.product(OPTS, available(["digits", "digits_f32", "kws", "ad", "hello_world"])),
        *itertools.product(either(OPTS, OPTS[1:2]), SLOW),
    ],
)
def test_what_was_taken_is_weighed_and_costs_what_the_manifest_says(opt: str, model: str) -> None:
    module = compiled(f"{M4} -opt={opt}", model)
    found = trade(module)
    (taken,) = (each for each in found.weighed if each.taken)
    manifest = module.manifest
    assert (taken.ram_bytes, taken.bound_bytes) == (manifest.ram_bytes, manifest.ram_lower_bound_bytes)
    assert taken.instructions == sum(node.estimated_instructions or 0 for node in manifest.nodes)
    members = {index for index, node in enumerate(manifest.nodes) if node.cascade is not None}
    assert members == {index for first, last in taken.cascades for index in range(first, last + 1)}


@pytest.mark.parametrize("model", available(["kws"]))
def test_kernels_of_less_scratch_are_weighed_too(model: str) -> None:
    found = trade(compiled("c -mcpu=cortex-m55", model)).weighed
    plain, less = found[:2]
    assert (plain.cascades, plain.less_scratch, less.cascades, less.less_scratch) == ((), False, (), True)
    assert less.ram_bytes < 0.75 * plain.ram_bytes
    assert plain.instructions < less.instructions < 1.02 * plain.instructions


@pytest.mark.parametrize("model", available(["digits", "kws", "ic"]))
def test_each_further_schedule_needs_less_memory_and_more_stripes(model: str) -> None:
    found = trade(compiled(M4, model)).weighed
    assert (found[0].cascades, found[0].extra_stripes) == ((), 0)
    assert len(found) > 1
    for one, next_ in itertools.pairwise(found):
        assert one.bound_bytes > next_.bound_bytes
        assert one.extra_stripes < next_.extra_stripes
        assert one.instructions < next_.instructions


@pytest.mark.parametrize("model", available(["digits", "kws"]))
def test_ram_max_takes_the_schedule_that_it_names(model: str) -> None:
    for wanted in trade(compiled(M4, model)).weighed:
        module = compiled(f"{M4} -ram-max={wanted.ram_bytes}", model)
        assert module.manifest.ram_bytes == wanted.ram_bytes
        (taken,) = (each for each in trade(module).weighed if each.taken)
        assert taken == type(wanted)(**{**vars(wanted), "taken": True})


def test_the_ends_are_what_speed_and_size_take() -> None:
    # Each among the schedules of its own kernels.
    assert trade(compiled(f"{M4} -opt=speed")).weighed[0].taken
    assert trade(compiled(f"{M4} -opt=size")).weighed[-1].taken


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (M4, f"the fewest stripes within {100 * (aims.SLACK - 1):.0f} % of the least RAM found (-opt=balanced)"),
        (f"{M4} -opt=size", "the least RAM found (-opt=size)"),
        (f"{M4} -opt=size -ram-max=4096", "the least RAM found (-opt=size)"),
        (f"{M4} -opt=speed", "no cascades, which is fastest (-opt=speed)"),
        (f"{M4} -opt=speed -ram-max=4096", "the fewest stripes within -ram-max=4096"),
        (
            "c -mcpu=cortex-m55",
            "no cascades, which is fastest (-opt=balanced on a core with Helium)",
        ),
        ("c -mcpu=cortex-m55 -opt=size", "the fewest stripes within 5 % of the least RAM found (-opt=size)"),
        ("c -mcpu=cortex-m55 -ram-max=4K", "the fewest stripes within -ram-max=4096"),
    ],
)
def test_the_rule_in_words(target: str, words: str) -> None:
    assert aims.rule(Target(target)) == words
