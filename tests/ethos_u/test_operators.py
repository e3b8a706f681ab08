"""Operators and graphs on the functional model of the Ethos-U55, compared with the reference, bit for bit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import aboard
from aboard.compiler.host_runtime import HostModel
from aboard.importers.free_names import FreeNames
from aboard_ethos_u import phases
from support import (
    cmsis_nn_tree,
    elementwise,
    ethos_u,
    image_models,
    moves,
    npu_draws,
    npu_models,
    npu_series,
    one_op,
    oracle,
    scale_draws,
)
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
    "QUANTIZE int8 to int8": 1,
    "QUANTIZE int8 to int16": 1,
    "QUANTIZE int16 to int8": 2,
    "QUANTIZE int16 to int16": 2,
}
ATTRIBUTES = ("", "-memory=sram_only", "-optimise=size", "-memory=sram_only -optimise=size")


#: Seeds of graphs that the NPU and the host share.
SPLIT = (5, 7, 24, 25)


#: Seeds of graphs that the NPU, CMSIS-NN and the host share, with what the NPU may claim of each.
SHARED = (2, 4, 5, 16)
CLAIMS = ("conv2d,add,max_pool2d,logistic", "depthwise_conv2d,add,mul,max_pool2d", "conv2d,mul,average_pool2d,sub")


def compared(model: bytes, target: str, seed: int) -> set[str | None]:
    """Fails unless the model equals the reference for a random input; returns the devices, None for the host.

    The C is not optimised: the compiler takes most of the time.
    """
    module = aboard.compile(model, target=target, name="model")
    (record,) = module.manifest.inputs
    x = np.random.default_rng(seed).integers(-128, 128, record.shape).astype(np.int8)
    results = HostModel(module, ["-O0"]).run_named(x)
    got = [results[each.name] for each in module.manifest.outputs]
    for mine, wanted in zip(got, oracle.tflm(model, x), strict=True):
        np.testing.assert_array_equal(mine, wanted)
    devices = {node.device for node in module.manifest.nodes}
    npu_series.GRAPHS[" + ".join(sorted(device or "host" for device in devices))] += 1
    return devices


@pytest.fixture(autouse=True, scope="module")
def counts() -> Iterator[None]:
    """Writes what was computed, for `make npu-operators`."""
    yield
    npu_series.write_counts()


@pytest.fixture(autouse=True)
def quick_vela() -> Iterator[None]:
    """Compiles with Vela in this process."""
    with npu_series.vela_in_this_process():
        yield


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=either(700, 12), deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_layers(kind: str, data: st.DataObject) -> None:
    layer: Layer = data.draw(layers(kind))
    model = layer.model()
    assume(npu_series.is_whole(model))
    one_op.check_equal(model, layer.input(), run=with_macs(data.draw(st.sampled_from(ethos_u.MACS))))


@pytest.mark.parametrize("name", FAMILIES)
def test_elements(name: str) -> None:
    before = npu_series.COMPUTED.total()
    elementwise.FAMILIES[name].check(11, either(30, 2) * FAMILIES[name], npu_series.on_model)
    assert npu_series.COMPUTED.total() > before


@pytest.mark.parametrize("name", npu_draws.DRAWS)
def test_movements(name: str) -> None:
    rng, taken = np.random.default_rng(13), 0
    while taken < either(60, 4):
        case = npu_draws.DRAWS[name](rng)
        if npu_series.is_whole(moves.model(case)):
            moves.check(case, run=with_macs(int(rng.choice(ethos_u.MACS))))
            taken += 1


def test_operands_that_are_repeated_or_constant() -> None:
    rng = np.random.default_rng(21)
    for _ in range(either(60, 6)):
        drawn, values = npu_draws.pairs(rng)
        scale_draws.check([drawn], [values], run=with_macs(int(rng.choice(ethos_u.MACS))))


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("stride", [1, 2])
def test_transposed_convolutions(stride: int, padding: str) -> None:
    rng = np.random.default_rng([stride, len(padding)])
    for _ in range(either(60, 4)):
        model, x = npu_models.transposed(rng, (stride, stride), padding)
        graph, _ = npu_series.decided(model)
        written = phases.restored(graph, FreeNames(tensor.name for tensor in graph.tensors()))
        assert [node.op for node in written] in ([phases.OP], [phases.OP, "strided_slice"], ["conv2d"])
        assert (stride == 1) == (written[0].op == "conv2d")
        one_op.check_equal(model, x, run=with_macs(int(rng.choice(ethos_u.MACS))))


def with_macs(macs: int) -> Callable[..., list[np.ndarray]]:
    """Returns what computes the outputs of a model by the NPU."""
    return lambda model, *inputs: npu_series.on_model(model, *inputs, macs=macs)


@pytest.mark.parametrize(("macs", "attributes"), list(zip(ethos_u.MACS, ATTRIBUTES, strict=True)))
def test_every_operation(macs: int, attributes: str) -> None:
    target = f"c -runtime=host + ethos-u55 -macs={macs} {attributes}"
    for number, make in enumerate(npu_models.EVERY_OPERATION.values()):
        assert compared(make(), target, number) == {"ethos-u55"}


@pytest.mark.parametrize("seed", either(range(300), SPLIT))
def test_graphs_of_which_the_host_computes_a_part(seed: int) -> None:
    limit = f"-claim-ops={CLAIMS[seed % 3]}" if seed % 2 else ""
    target = f"c -runtime=host + ethos-u55 -macs={ethos_u.MACS[seed % 4]} {limit}"
    computed = compared(image_models.image_model(seed), target, seed)
    assert computed == {None, "ethos-u55"} or seed not in SPLIT


@pytest.mark.parametrize("tree", cmsis_nn_tree.trees())
@pytest.mark.parametrize("seed", either(range(300), SHARED))
def test_graphs_of_which_the_npu_cmsis_nn_and_the_host_compute_parts(seed: int, tree: Path) -> None:
    """Needs a source tree: CMSIS_NN_PATH."""
    npu = f"ethos-u55 -macs={ethos_u.MACS[seed % 4]} -claim-ops={CLAIMS[seed % 3]}"
    target = f"c -runtime=host + {npu} + cmsis-nn -cmsis-nn={tree}"
    computed = compared(image_models.image_model(seed), target, seed)
    assert len(computed) == 3 or seed not in SHARED
