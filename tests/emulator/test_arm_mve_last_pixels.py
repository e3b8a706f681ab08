"""The last pixels of 1x1 convolutions with Helium, on an emulated Cortex-M55: the bytes of tflite-micro."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import aboard
from aboard.compiler.pipeline import Module
from aboard.kernels.contract import Implementation
from aboard.kernels.select import strategy
from support import mve_last_pixels, oracle, whole_windows
from support.weighted_models import Layer

BOARD, KERNEL = "arm/mps3_an547", "arm_mve_s8"

#: Instructions of an inference: in short ones every form is worth its flash, in longer ones some are not.
SHORT, LONGER = 0, 30_000

#: Spread and zero point of layers with a single rounding, with two products, and with a product and a shift.
ROUNDINGS = [(1.0, -128), (0.01, 5), (100.0, -7)]


def compiled(layer: Layer, inference: float, name: str) -> Module:
    """Returns a layer compiled with the kernel as in a model whose inference takes `inference` instructions."""

    def rule(explained: strategy.Explanation) -> Implementation:
        (found,) = (c.implementation for c in explained.candidates if c.implementation.name == KERNEL)
        return found.at(replace(found.tuned, values={"windows": "direct"})).within(inference)

    target = f"c -hardware={BOARD}"
    with strategy.forced(rule):
        return aboard.compile(layer.model(), target=target, name=name, passes=whole_windows.passes(target))


def parameter(module: Module, name: str) -> int:
    """Returns a field of the parameters in a module's code."""
    found = re.search(rf"\.{name} = (\d+)", module.files[f"src/{module.name}.c"])
    assert found is not None
    return int(found[1])


@pytest.mark.parametrize("toolchain", ["arm-none-eabi-gcc", "zig"])
@pytest.mark.parametrize(("spread", "zero_point"), ROUNDINGS)
def test_results(spread: float, zero_point: int, toolchain: str, tmp_path: Path) -> None:
    layers = list(mve_last_pixels.layers(spread, zero_point))
    modules = [
        compiled(layer, (SHORT, LONGER)[number % 2 ^ number // 4 % 2], f"m{number}")
        for number, layer in enumerate(layers)
    ]
    check_forms(modules)
    project = aboard.create(modules, board=BOARD, path=tmp_path / "project")
    project.build(toolchain)
    with project.session() as device:
        for number, layer in enumerate(layers):
            wanted = oracle.tflm(layer.model(), layer.input())[0]
            np.testing.assert_array_equal(device.run(layer.input(), model=f"m{number}"), wanted, err_msg=str(number))


def check_forms(modules: Sequence[Module]) -> None:
    """Fails unless all pixels are read in place, with one to three last ones, and with and without other options."""
    assert {parameter(module, "last") for module in modules} == {1, 2, 3}
    for name in ("words", "begun"):
        assert {parameter(module, name) for module in modules} == {0, 1}
    assert {parameter(module, "back") > 0 for module in modules} == {True, False}
    assert {parameter(module, "unit") for module in modules} == {1, 2, 4}
