"""`-opt=size` needs no more RAM and no more flash than `-opt=balanced`, and says by which rule.

Flash is that of predictions here; `tests/emulator/test_size_promise.py` links the code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import aboard
from aboard.base.manifest import Manifest
from aboard.compiler import budgets, fitting
from aboard.compiler.scheduled import Scheduled
from aboard.errors import CapacityError
from aboard.ir import Graph
from aboard.kernels.select import code_size
from aboard.schedule import aims
from aboard.schedule.aims import Aim
from aboard.target import Target
from support import layer_shapes, models, zoo
from support.examples import either

CORES = ("cortex-m0", "cortex-m3", "cortex-m4", "cortex-m55", "rv32imac")
MADE = {
    "many_ops": zoo.many_ops(),
    "many_ops_int16": zoo.many_ops(np.int16),
    "many_ops_float": zoo.many_ops(np.float32),
    "many_shapes": layer_shapes.sample("many_shapes"),
    "deep_shapes": layer_shapes.sample("deep_shapes"),
}
REAL = models.available(["digits", "digits_f32", "hello_world", "kws", "ic", "sww", "ad"])
#: Its schedules take seconds: only where kernels are largest, and where cascades are.
SLOW = [(name, core) for name in models.available(["vww"]) for core in ("cortex-m4", "cortex-m55")]


def compiled(model: str, core: str, attributes: str) -> Manifest:
    data = MADE.get(model) or models.read(model)
    return aboard.compile(data, target=f"c -mcpu={core} {attributes}", name="model").manifest


def needs(record: Manifest) -> tuple[int, int]:
    assert record.flash_predicted_bytes is not None
    return record.ram_bytes, record.flash_predicted_bytes


# Every third: each model and each core.
@pytest.mark.parametrize(("model", "core"), [*((m, c) for m in (*MADE, *REAL) for c in CORES), *SLOW][:: either(1, 3)])
def test_size_needs_no_more_ram_and_flash_than_balanced(model: str, core: str) -> None:
    size, balanced = (needs(compiled(model, core, f"-opt={opt}")) for opt in ("size", "balanced"))
    assert size[0] <= balanced[0]
    # Helium: `balanced` has no cascades, whose code may be added for less RAM.
    more_code = 1.1 if core == "cortex-m55" and size[0] < balanced[0] else 1
    assert size[1] <= balanced[1] * more_code


@pytest.mark.parametrize(("model", "least"), [("many_shapes", 4960), ("deep_shapes", 3400)])
def test_with_helium_size_has_cascades(model: str, least: int) -> None:
    size, balanced = (compiled(model, "cortex-m55", f"-opt={opt}") for opt in ("size", "balanced"))
    assert all(node.cascade is None for node in balanced.nodes)
    assert size.ram_bytes == least < balanced.ram_bytes


@pytest.mark.parametrize("model", models.available(["person"]))
def test_with_helium_size_has_low_stripes_where_they_take_little_longer(model: str) -> None:
    size, balanced = (
        aboard.compile(models.read(model), target=f"c -mcpu=cortex-m55 -opt={opt}", name="model")
        for opt in ("size", "balanced")
    )
    taken = size.schedule()
    assert taken.aim is Aim.LEAST
    assert any(cascade.minimise_ram for cascade in taken.program.assignment.cascades)
    assert taken.instructions <= aims.MOST_INSTRUCTIONS * balanced.schedule().instructions
    assert size.manifest.ram_bytes == 14080
    assert "the least RAM found, with kernels of less scratch (with the kernels of -opt=balanced" in size.trade().rule


def test_with_helium_size_has_the_least_ram_for_a_tenth_more_instructions() -> None:
    size, balanced = (
        aboard.compile(models.read(models.SHIPPED), target=f"c -mcpu=cortex-m55 -opt={opt}", name="model")
        for opt in ("size", "balanced")
    )
    taken = size.schedule()
    assert taken.aim is Aim.LIMITED
    assert taken.instructions <= aims.MOST_INSTRUCTIONS * balanced.schedule().instructions
    assert size.manifest.ram_bytes == 1920
    assert "the least RAM found for at most 10 % more instructions" in size.trade().rule
    assert "-ram-max" not in size.files["src/model.c"]


def test_with_helium_size_takes_little_longer_within_a_limit_too() -> None:
    size, balanced = (
        aboard.compile(models.read(models.SHIPPED), target=f"c -mcpu=cortex-m55 -opt={opt} -ram-max=1800", name="m")
        for opt in ("size", "balanced")
    )
    assert size.schedule().instructions <= aims.MOST_INSTRUCTIONS * balanced.schedule().instructions
    assert size.manifest.ram_bytes == balanced.manifest.ram_bytes == 1664
    assert "kernels of -opt=balanced" in size.trade().rule


def test_a_schedule_that_does_not_fit_hides_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, within_flash = list[Aim](), budgets.within_flash

    def without_low_stripes(graph: Graph, target: Target, aim: Aim, *more: Any, **options: Any) -> Scheduled:
        asked.append(aim)
        if aim is Aim.LEAST:
            raise CapacityError("too much flash")
        return within_flash(graph, target, aim, *more, **options)

    monkeypatch.setattr(budgets, "within_flash", without_low_stripes)
    size, balanced = (compiled("many_ops", "cortex-m55", f"-opt={opt}") for opt in ("size", "balanced"))
    assert Aim.LEAST in asked
    assert size.ram_bytes < balanced.ram_bytes


@dataclass
class Found:
    """A schedule, of which RAM and instructions count."""

    ram: int
    instructions: int

    @property
    def layout(self) -> Found:
        return self


@pytest.mark.parametrize(
    ("others", "taken"),
    [
        ([], (100, 10)),
        ([(50, 11)], (50, 11)),
        ([(50, 12)], (100, 10)),
        ([(52, 10), (50, 11)], (52, 10)),
        ([(53, 10), (50, 11)], (50, 11)),
        ([(99, 9), (97, 12)], (99, 9)),
        ([(104, 9)], (100, 10)),
    ],
)
def test_near_the_least_ram_the_fastest_schedule_is_taken(
    others: list[tuple[int, int]], taken: tuple[int, int]
) -> None:
    given: Any = [Found(*each) for each in others]
    plain: Any = Found(100, 10)
    found: Any = fitting._near_least(plain, given, most=11)
    assert (found.ram, found.instructions) == taken


@pytest.mark.parametrize("model", models.available(["vww"]))
def test_the_rule_names_the_kernels_of_balanced(model: str) -> None:
    module = aboard.compile(models.read(model), target="c -mcpu=cortex-m55 -opt=size", name="model")
    assert module.trade().rule == (
        "the fewest stripes within 5 % of the least RAM found "
        "(with the kernels of -opt=balanced, since others may take more flash or time)"
    )


@pytest.mark.parametrize(("model", "overwrites"), [(m, m == "kws") for m in models.available(["kws", "sww"])])
def test_with_helium_size_takes_no_cascades_that_take_much_longer(model: str, overwrites: bool) -> None:
    """Stripes of eight rows that lie over their operands take less than a tenth more instructions, as predicted.

    Without stripes, other kernels in some layers lower the RAM.
    """
    size, balanced = (compiled(model, "cortex-m55", f"-opt={opt}") for opt in ("size", "balanced"))
    counts = [sum(node.estimated_instructions or 0 for node in each.nodes) for each in (size, balanced)]
    assert counts[0] <= 1.1 * counts[1]
    assert any(node.cascade is not None for node in size.nodes) is overwrites
    assert (size.ram_bytes < 0.5 * balanced.ram_bytes) is overwrites
    assert (0.9 * balanced.ram_bytes < size.ram_bytes < balanced.ram_bytes) is not overwrites


@pytest.mark.parametrize("model", models.available(["kws"]))
def test_less_scratch_comes_before_cascades_where_ram_is_limited(model: str) -> None:
    found = aboard.compile(models.read(model), target="c -mcpu=cortex-m55 -ram-max=10000", name="model")
    assert found.manifest.ram_bytes <= 10000
    assert all(node.cascade is None for node in found.manifest.nodes)
    assert found.trade().rule == "the fewest stripes within -ram-max=10000, with kernels of less scratch"


@pytest.mark.parametrize("model", models.available(["kws"]))
def test_the_rule_names_less_scratch(model: str) -> None:
    module = aboard.compile(models.read(model), target="c -mcpu=cortex-m55 -opt=size", name="model")
    assert module.trade().rule == (
        "the fewest stripes within 5 % of the least RAM found, with kernels of less scratch "
        "(with the kernels of -opt=balanced, since others may take more flash or time)"
    )


@pytest.mark.parametrize("attributes", ["-input=kept", "-input=rows", "-ram-max=1600", "-ram-max=1550 -flash-max=16K"])
@pytest.mark.parametrize("core", ["cortex-m0", "cortex-m3"])
def test_so_it_is_with_other_options(core: str, attributes: str) -> None:
    size, balanced = (needs(compiled("digits", core, f"-opt={opt} {attributes}")) for opt in ("size", "balanced"))
    assert size[0] <= balanced[0]
    assert size[1] <= balanced[1]


@pytest.mark.parametrize("model", models.available(["ad"]))
def test_code_that_is_no_smaller_is_that_of_balanced(model: str) -> None:
    """Kernels of the Cortex-M55 are mostly assembler, and -Os makes the rest of some models larger."""
    size, balanced = (
        aboard.compile(models.read(model), target=f"c -mcpu=cortex-m55 -opt={opt}", name="model")
        for opt in ("size", "balanced")
    )
    assert size.target.opt == "size"
    assert size.manifest.cflags == balanced.manifest.cflags
    assert size.files == balanced.files
    assert size.trade().rule == (
        "no cascades, which is fastest (as with -opt=balanced, since less RAM would take more flash)"
    )


@pytest.mark.parametrize(("more", "flags"), [(0, "-Os"), (1, "-O2")])
def test_a_gain_that_predictions_may_be_wrong_by_is_none(
    more: int, flags: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(code_size, "doubt", lambda target: 0)
    size, balanced = (needs(compiled("digits", "cortex-m4", f"-opt={opt}")) for opt in ("size", "balanced"))
    monkeypatch.setattr(code_size, "doubt", lambda target: (balanced[1] - size[1]) // 2 + more)
    assert flags in compiled("digits", "cortex-m4", "-opt=size").cflags


@pytest.mark.parametrize("core", [*CORES, "cortex-m0plus", "cortex-m7", "cortex-m33", "cortex-m55+nomve", "rv32imc"])
def test_every_core_has_a_doubt(core: str) -> None:
    assert 0 <= code_size.doubt(Target(f"c -mcpu={core} -opt=size")) < 1000


def test_a_limit_decides_where_no_schedule_is_sure_to_take_less_flash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_size, "doubt", lambda target: 1 << 20)
    free, balanced = (compiled("digits", "cortex-m4", f"-opt={opt}") for opt in ("size", "balanced"))
    held = compiled("digits", "cortex-m4", "-opt=size -ram-max=1204")
    assert needs(free) == needs(balanced)
    assert held.ram_bytes == 1204 < free.ram_bytes


def test_small_code_on_a_dsp_core_stays_small() -> None:
    assert needs(compiled("digits", "cortex-m4", "-opt=size")) < needs(compiled("digits", "cortex-m4", "-opt=balanced"))
    assert "-Os" in compiled("digits", "cortex-m4", "-opt=size").cflags


def test_on_a_host_memory_alone_counts() -> None:
    size, balanced = (
        aboard.compile(models.read("digits"), target=f"c -runtime=host -opt={opt}", name="model").schedule()
        for opt in ("size", "balanced")
    )
    assert size.layout.peak <= balanced.layout.peak
    assert size.aim is Aim.LEAST
