"""Kernels mixed layer by layer for Cortex-M55 (`aboard.compiler.mixed`): less RAM, and the bytes of tflite-micro."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import aboard
from aboard.compiler import budgets
from aboard.errors import CapacityError
from aboard.schedule import aims
from aboard.schedule.aims import Aim
from support import oracle, stripe_models

BOARD = "arm/mps3_an547"
MODEL = stripe_models.column(5)


def compiled(options: str, name: str = "m") -> aboard.Module:
    return aboard.compile(MODEL, target=f"{BOARD} {options}", name=name)


def least() -> int:
    """Returns the least RAM that is found."""
    with pytest.raises(CapacityError) as caught:
        compiled("-ram-max=16")
    assert caught.value.least_bytes is not None
    return caught.value.least_bytes


def test_less_ram_for_few_instructions(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = compiled("")
    limit = plain.manifest.ram_bytes - 400
    found = compiled(f"-ram-max={limit}")
    schedule = found.schedule()
    assert schedule.aim is Aim.MIXED
    assert not schedule.program.assignment.cascades
    assert found.manifest.ram_bytes <= limit
    assert schedule.instructions < 1.2 * plain.schedule().instructions
    words = f"the fastest kernels found within -ram-max={limit}, layer by layer, without cascades"
    assert aims.rule(schedule.calls.target, schedule.aim) == words
    monkeypatch.setattr(budgets, "mixed", lambda *_: None)
    assert compiled(f"-ram-max={limit}").schedule().instructions > 2 * schedule.instructions


def test_the_fastest_kernels_are_taken_for_a_limit_that_they_keep() -> None:
    plain = compiled("")
    found = compiled(f"-ram-max={plain.manifest.ram_bytes}")
    assert found.schedule().aim is not Aim.MIXED
    assert found.schedule().instructions == plain.schedule().instructions


def test_for_size_few_instructions_are_spent() -> None:
    plain, found = compiled("").schedule(), compiled("-opt=size").schedule()
    assert found.layout.ram < 0.95 * plain.layout.ram
    assert plain.instructions < found.instructions <= 1.1 * plain.instructions


def test_mixed_kernels_compute_what_the_fastest_do(tmp_path: Path) -> None:
    highest = compiled("").manifest.ram_bytes
    limits = np.linspace(least(), highest, 5, dtype=int)
    modules = [compiled(f"-ram-max={limit}", f"m{limit}") for limit in limits[:-1]]
    assert Aim.MIXED in {module.schedule().aim for module in modules}
    modules.append(compiled("-opt=size", "size"))
    project = aboard.create(modules, board=BOARD, path=tmp_path / "project")
    project.build()
    rng = np.random.default_rng(3)
    with project.session() as device:
        for module in modules:
            x = rng.integers(-128, 128, module.manifest.inputs[0].shape, np.int8)
            (wanted,) = oracle.tflm(MODEL, x)
            np.testing.assert_array_equal(device.run(x, model=module.name), wanted, err_msg=module.name)
