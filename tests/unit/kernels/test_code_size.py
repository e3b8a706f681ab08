"""Code sizes of kernels that were not measured: of what was, the median."""

from __future__ import annotations

import pytest

from aboard.kernels.contract import KernelCall
from aboard.kernels.select import code_size
from aboard.target import Target


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


def test_the_parameters_that_a_kernel_declares_select_the_variant() -> None:
    target = Target("c -mcpu=cortex-m4 -opt=balanced")
    params = {"single_rounding": 1, "wide": 8, "zero_point": 3}

    def call(*declared: str, **changed: int) -> KernelCall:
        made = {**params, **changed}
        return KernelCall("x.h", "aboard_conv2d_dsp", "t", made, (), 1, code_parameters=declared)

    assert code_size.variant(call("single_rounding", "wide")) == "single_rounding=1 wide=8"
    assert code_size.variant(call()) == ""
    sizes = {code_size.code(call("single_rounding", "wide", wide=wide), target).instance for wide in (0, 8, 16)}
    assert len(sizes) > 1


def test_sharing_can_be_forced() -> None:
    target = Target("c -mcpu=cortex-m4 -opt=size")
    calls = [KernelCall("new.h", "aboard_lookup", "t", {"n": n}, (), 1) for n in (1, 2)]
    for always in (True, False):
        with code_size.forced_sharing(always):
            assert code_size.shares(calls, target) is always
            assert not code_size.shares(calls[:1], target)
            assert not code_size.shares(calls, Target("c -mcpu=cortex-m4 -opt=balanced"))
