"""The kernels that are chosen for the shipped model cost no more than others, with the flash of linked code."""

from __future__ import annotations

import itertools
from pathlib import Path

import aboard
from aboard.kernels.contract import Implementation
from aboard.kernels.select import strategy
from aboard.kernels.select.cost_model import cost
from aboard.kernels.select.price import flash_price
from aboard.target import Target
from support import linked, models

M4 = Target("c -mcpu=cortex-m4 -opt=balanced")


def costs(folder: Path, wanted: tuple[str, ...] = ()) -> tuple[float, int, tuple[str, ...]]:
    """Returns cycles, predicted, and bytes of flash, linked; and the kernels of the convolutions.

    Args:
        folder: For what is built.
        wanted: A kernel for each convolution; without them the strategy chooses.
    """
    left = list(wanted)

    def rule(explained: strategy.Explanation) -> Implementation | None:
        if explained.node.op != "conv2d" or not left:
            return None
        name = left.pop(0)
        return next(c.implementation for c in explained.candidates if c.implementation.name == name and not c.refused)

    with strategy.forced(rule):
        module = aboard.compile(models.read(models.SHIPPED), target=M4, name="model")
    calls = module.schedule().calls.implementations
    cycles = sum(cost(node, implementation, M4).cycles for node, implementation in calls.items())
    flash = linked.flash_bytes(linked.link(module, folder / "_".join(wanted), []))
    kernels = tuple(kernel.name for node, kernel in calls.items() if node.op == "conv2d")
    return cycles, flash, kernels


def test_chosen_kernels_cost_no_more_than_others(tmp_path: Path) -> None:
    """The first convolution holds windows in registers or stages them by lines, the second by pixels: code of very
    different size."""
    combinations = itertools.product(
        ("dsp_s8", "dsp_blocks_s8", "dsp_plane_s8"), ("dsp_s8", "dsp_blocks_s8", "dsp_points_s8")
    )
    found = [costs(tmp_path, wanted) for wanted in combinations]
    # A byte is worth few cycles in an inference as short as this one.
    price = flash_price(M4, min(cycles for cycles, _, _ in found))
    every = {kernels: cycles + price * flash for cycles, flash, kernels in found}
    assert len(every) == 9
    _, _, chosen = costs(tmp_path)
    assert every[chosen] == min(every.values())
