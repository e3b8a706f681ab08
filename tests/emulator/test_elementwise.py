"""Elementwise kernels that have their own form on a core, on 65,536 values or pairs: the bytes of tflite-micro.

Sums of int8 are computed by vectors on Cortex-M55, those of int16 by SMMULR and SMMLAR on Cortex-M4. Pairs are
broadcast where the form allows it: a line to an emulator is slow.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import aboard
from support.elementwise import Family, binary, every_pair, every_value, pairs, unary
from support.examples import either
from support.scale_draws import accepted, check, model

BOARDS = {"m3": "arm/mps2_an385", "m4": "arm/mps2_an386", "m55": "arm/mps3_an547"}
WIDE = [Family(binary(kind, np.int16, broadcast=1), pairs, 1, 1) for kind in ("ADD", "SUB", "MUL")]
SLOPE = Family(unary("LEAKY_RELU", np.int16, np.int16), every_value, 1, 1)
VECTORS = [Family(binary(kind, np.int8, broadcast=0), every_pair, 1, 1) for kind in ("ADD", "SUB")]
BROADCAST = [Family(binary(kind, np.int8, broadcast=kind != "MUL"), every_pair, 1, 1) for kind in ("ADD", "SUB", "MUL")]
FAMILIES = {"m3": [*WIDE, SLOPE], "m4": [*WIDE, SLOPE], "m55": [*VECTORS, *BROADCAST, WIDE[1]]}
if not os.environ.get("ABOARD_FULL"):
    # Each form once: differences are sums of negated operands.
    FAMILIES |= {"m4": [WIDE[0], WIDE[2], SLOPE], "m55": [VECTORS[0], BROADCAST[0], BROADCAST[2], WIDE[1]]}


@pytest.mark.parametrize("core", either([*BOARDS], ["m4", "m55"]))
def test_every_value(core: str, tmp_path: Path) -> None:
    board, drawn, modules = BOARDS[core], [], []
    for number, family in enumerate(FAMILIES[core]):
        rng = np.random.default_rng(number + 2)
        draws = accepted(family.draw, rng, family.count)
        drawn.append((draws, [family.values(rng, draw) for draw in draws]))
        modules.append(aboard.compile(model(draws), board=board, name=f"m{number}"))
    kernels = [node.implementation for module in modules for node in module.manifest.nodes]
    names = [(VECTORS, "arm_mve_s8"), (BROADCAST, "mve_broadcast_s8")]
    for family, kernel in zip(FAMILIES[core], kernels, strict=True):
        assert [name for members, name in names if family in members] == [kernel] * ("mve" in kernel)
    project = aboard.create(modules, board=board, path=tmp_path / "project")
    project.build()
    with project.session() as device:
        for (draws, values), module in zip(drawn, modules, strict=True):

            def run(data: bytes, *feed: np.ndarray, module: aboard.Module = module) -> list[np.ndarray]:
                names = [record.name for record in module.manifest.inputs]
                return [np.asarray(device.run(dict(zip(names, feed, strict=True)), model=module.name))]

            check(draws, values, run=run)
