"""Code sizes of kernels: of each variant apart; of what was not measured, those of the nearest, or the median."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

import aboard
from aboard.kernels.arm_dsp.conv2d import DspS8
from aboard.kernels.contract import Call, KernelCall
from aboard.kernels.select import code_size
from aboard.kernels.select.cost_model import whole_call
from aboard.kernels.select.measured import CodeMeasurement
from aboard.target import Target
from support.weighted_models import Layer


@pytest.mark.parametrize("opt", ["size", "balanced", "speed"])
@pytest.mark.parametrize("core", ["cortex-m0", "cortex-m3", "cortex-m4", "rv32imc"])
def test_a_function_that_was_not_measured(core: str, opt: str) -> None:
    call = KernelCall("new.h", "aboard_new_one", "aboard_new_t", {}, (), 1)
    found = code_size.code(call, Target(f"c -mcpu={core} -opt={opt}"))
    assert 0 < found.instance < 10_000
    assert found.shared == {}


def test_steps_of_cascades_are_never_free() -> None:
    """Of this core no measured model has cascades with -opt=balanced: what they cost with -opt=size is taken."""
    size, balanced = (Target(f"c -mcpu=cortex-m55 -opt={opt}") for opt in ("size", "balanced"))
    costs = [code_size.frame(target, 10, 10) - code_size.frame(target, 10, 0) for target in (size, balanced)]
    assert costs[0] > 0
    assert abs(costs[0] - costs[1]) <= 1


def measured(monkeypatch: pytest.MonkeyPatch, instances: Mapping[str, int]) -> None:
    """Lets the table have these variants of a function, with the bytes of an instance of each."""
    rows = [CodeMeasurement("cortex-m4", "size", "aboard_f", name, bytes_, {}) for name, bytes_ in instances.items()]
    monkeypatch.setattr(code_size, "_rows", lambda target, function: tuple(rows))


def instance(variant: str, *, shared: bool = False) -> int:
    call = KernelCall("x.h", "aboard_f", "t", {}, (), 1, code_variant=variant)
    return code_size.code(call, Target("c -mcpu=cortex-m4 -opt=size"), shared=shared).instance


def test_a_variant_that_was_not_measured_takes_the_figures_of_the_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    measured(monkeypatch, {"shared": 9000, "a=1 b=1": 10, "a=1 b=2": 20, "a=2 b=1": 30})
    assert [instance(variant) for variant in ("a=1 b=1", "a=1 b=2", "a=2 b=1")] == [10, 20, 30]
    assert instance("a=3 b=2") == 20
    assert instance("a=2 b=3") == 30
    # One instance for all parameters is no variant of an instance with its own.
    assert instance("c=1") == 10
    assert instance("a=1 b=1", shared=True) == 9000


def conv2d(channels: int, window: int) -> Call:
    """Returns the call of a convolution with SWAR-packed weights."""
    shape, weights = (1, 8, 8, channels), (4, window, window, channels)
    layer = Layer("CONV_2D", shape, weights, (1, 8, 8, 4), 0, {"Padding": "SAME", "StrideH": 1, "StrideW": 1})
    module = aboard.compile(layer.model(), target="c -mcpu=cortex-m4", name="m")
    (step,) = module.schedule().program.steps
    return whole_call(step.node, DspS8(), Target("c -mcpu=cortex-m4"))


@pytest.mark.parametrize("opt", ["size", "balanced", "speed"])
def test_ways_to_stage_windows_have_figures_of_their_own(opt: str) -> None:
    """Whole pixels, whole windows, and rows of windows of any length take code of very different size."""
    made = {"pixels": conv2d(8, 1), "windows": conv2d(4, 3), "lines": conv2d(1, 3)}
    calls = {name: call for name, call in made.items() if isinstance(call, KernelCall)}
    assert [call.code_variant.split()[0] for call in calls.values()] == [f"im2col={name}" for name in made]
    sizes = [code_size.code(call, Target(f"c -mcpu=cortex-m4 -opt={opt}")).instance for call in calls.values()]
    assert sizes[0] * 2 < sizes[1]
    assert sizes[1] * 3 < sizes[2] * 2


def test_sharing_can_be_forced() -> None:
    target = Target("c -mcpu=cortex-m4 -opt=size")
    calls = [KernelCall("new.h", "aboard_lookup", "t", {"n": n}, (), 1) for n in (1, 2)]
    for always in (True, False):
        with code_size.forced_sharing(always):
            assert code_size.shares(calls, target) is always
            assert not code_size.shares(calls[:1], target)
            assert not code_size.shares(calls, Target("c -mcpu=cortex-m4 -opt=balanced"))
