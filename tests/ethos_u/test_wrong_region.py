"""A region whose constants are damaged on purpose is named, with its layers, and no other region is."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import aboard
from aboard.check import region_check
from aboard.check.host_trace import TracedHostModel
from aboard.compiler.pipeline import Module
from aboard.device import input_files
from aboard.target import Target
from aboard_ethos_u import borders, codegen, vela
from support import npu_models
from support.examples import either

#: The average pooling stays on the CPU, so that the NPU computes two regions, one before and one behind it.
TARGET = "c -runtime=host + ethos-u55 -macs=128 -claim-nodes=0..2,6..7"
#: The register of the first entry of bias and scale, each of which begins with the bias.
SCALE_BASE = 0x22
#: A bias so large that its channel saturates, which a softmax shows.
BIAS = (4 << 20).to_bytes(5, "little")


def compiled(damaged: int | None, monkeypatch: pytest.MonkeyPatch) -> Module:
    """Returns the model with other biases in one region; None for no region."""
    real = vela.compiled

    def wrong(model: bytes, target: Target, where: str) -> vela.Compiled:
        made = real(model, target, where)
        if damaged is None or not where.endswith(f"_{damaged}"):
            return made
        constants = made.constants.copy()
        base = next(value for code, value in _set(made) if code == SCALE_BASE)
        constants[base : base + len(BIAS)] = list(BIAS)
        return dataclasses.replace(made, constants=constants)

    monkeypatch.setattr(codegen.vela, "compiled", wrong)
    return aboard.compile(npu_models.layers(), target=TARGET, name="layers")


def _set(made: vela.Compiled) -> list[tuple[int, int]]:
    found = borders.commands(made.stream.tolist())
    return [(each.code, each.payload) for each in found if each.payload is not None]


def faults(module: Module) -> list[region_check.WrongRegion]:
    rng = np.random.default_rng(8)
    inputs = [input_files.random(module.manifest.inputs, rng) for _ in range(2)]
    return list(region_check.faults(module, TracedHostModel(module).trace, inputs))


def test_undamaged_regions_are_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    module = compiled(None, monkeypatch)
    assert [node.device is not None for node in module.manifest.nodes].count(True) == 2
    assert faults(module) == []


@pytest.mark.parametrize("damaged", either((0, 1), (1,)))
def test_the_damaged_region_is_named_with_its_layers(damaged: int, monkeypatch: pytest.MonkeyPatch) -> None:
    module = compiled(damaged, monkeypatch)
    regions = [index for index, node in enumerate(module.manifest.nodes) if node.device is not None]
    found = faults(module)
    assert found
    assert {(fault.node, fault.device) for fault in found} == {(regions[damaged], "ethos-u55")}
    ops = [layer.split()[0] for layer in found[0].layers]
    assert ops == ([["conv2d", "depthwise_conv2d", "conv2d"], ["fully_connected", "softmax"]][damaged])
