"""Operators and graphs on the functional model of the Ethos-U55, compared with the reference, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support import elementwise, ethos_u, image_models, moves, npu_draws, npu_models, one_op, oracle
from support.examples import either
from support.weighted_models import Layer, layers

KINDS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")
#: Families of operators on elements of which the NPU claims some, and the number of draws of each.
FAMILIES = {
    "ADD int8": 2,
    "SUB int8": 1,
    "MUL int8": 1,
    "LEAKY_RELU int8 to int8": 1,
    "HARD_SWISH int8 to int8": 2,
    "LOGISTIC int8 to int8": 1,
    "TANH int8 to int8": 1,
    "RELU6 int8 to int8": 1,
    "ADD int16": 1,
    "SUB int16": 1,
    "MUL int16": 1,
    "QUANTIZE int8 to int8": 1,
    "QUANTIZE int8 to int16": 1,
    "QUANTIZE int16 to int8": 2,
    "QUANTIZE int16 to int16": 2,
}
ATTRIBUTES = ("", "-memory=sram_only", "-optimise=size", "-memory=sram_only -optimise=size")


#: Seeds of graphs that the NPU and the host share.
SPLIT = (4, 5, 6, 9)


def equal(model: bytes, macs: int, attributes: str = "", seed: int = 0) -> set[str | None]:
    """Fails unless the model equals the reference for a random input; returns the devices, None for the host."""
    module = ethos_u.module(model, macs, attributes)
    (record,) = module.manifest.inputs
    x = np.random.default_rng(seed).integers(-128, 128, record.shape).astype(np.int8)
    results = module.run(x)
    got = [results[r.name] for r in module.manifest.outputs] if isinstance(results, dict) else [results]
    for mine, wanted in zip(got, oracle.tflm(model, x), strict=True):
        np.testing.assert_array_equal(mine, wanted)
    return {node.device for node in module.manifest.nodes}


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=either(700, 3), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_layers(kind: str, data: st.DataObject) -> None:
    layer: Layer = data.draw(layers(kind))
    macs = data.draw(st.sampled_from(ethos_u.MACS))
    one_op.check_equal(
        layer.model(), layer.input(), run=lambda model, *inputs: ethos_u.on_npu(model, *inputs, macs=macs)
    )


@pytest.mark.parametrize("name", FAMILIES)
def test_elements(name: str) -> None:
    elementwise.FAMILIES[name].check(11, either(30, 1) * FAMILIES[name], ethos_u.on_npu)


@pytest.mark.parametrize("name", npu_draws.DRAWS)
def test_movements(name: str) -> None:
    rng = np.random.default_rng(13)
    for _ in range(either(30, 1)):
        cases = [npu_draws.DRAWS[name](rng) for _ in range(2)]
        macs = int(rng.choice(ethos_u.MACS))
        assert ethos_u.is_claimed(moves.model(*cases))
        moves.check(*cases, run=lambda model, *inputs, macs=macs: ethos_u.on_npu(model, *inputs, macs=macs))


@pytest.mark.parametrize(("macs", "attributes"), list(zip(ethos_u.MACS, ATTRIBUTES, strict=True)))
def test_every_operation(macs: int, attributes: str) -> None:
    for number, make in enumerate(npu_models.EVERY_OPERATION.values()):
        assert equal(make(), macs, attributes, number) == {"ethos-u55"}


@pytest.mark.parametrize("seed", either(range(300), SPLIT))
def test_graphs_of_which_the_host_computes_a_part(seed: int) -> None:
    computed = equal(image_models.image_model(seed), ethos_u.MACS[seed % 4], seed=seed)
    assert "ethos-u55" in computed
    assert None in computed or seed not in SPLIT
