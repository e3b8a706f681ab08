"""Another core as a device: what it claims, the code that is made for it, its flags; results by a plain call."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import numpy as np
import pytest

import aboard
from aboard.backends.core import bringup
from aboard.base import resources
from aboard.base.fault_record import FaultRecord
from aboard.boards import cpu as cpus
from aboard.compiler.pipeline import partition_model
from aboard.errors import ProjectError, TargetError
from support import fake_device, models, oracle, zoo
from support.examples import either
from support.tflite_builder import ModelBuilder

FIRST, SECOND = "arm/mps2_an521:cpu0", "arm/mps2_an521:cpu1"
PLAIN = f"c -runtime=host + {SECOND}"


@pytest.fixture(scope="module")
def digits() -> aboard.Module:
    return aboard.compile(models.path(models.SHIPPED), target=f"{FIRST} + {SECOND} -claim-ops=conv2d,depthwise_conv2d")


def test_by_order_it_takes_all_it_can() -> None:
    decided = partition_model(models.path(models.SHIPPED), target=f"{FIRST} + {SECOND}")
    assert {placement.device for placement in decided.placements} == {SECOND}
    assert len(decided.claims) == 1


def test_two_devices_share_by_claims() -> None:
    target = f"{FIRST} + {SECOND} -claim-nodes=1..2"
    decided = partition_model(models.path(models.SHIPPED), target=target)
    assert [placement.device for placement in decided.placements][:4] == ["c", SECOND, SECOND, "c"]
    assert decided.placements[0].refused[0].reason == "-claim-nodes leaves out 0"


def test_cost_asks_the_core() -> None:
    text = f"composite -host={FIRST} -device={SECOND} -partition=cost"
    decided = partition_model(models.path(models.SHIPPED), target=text)
    first = decided.placements[0]
    assert (first.node.op, first.device) == ("conv2d", SECOND)
    prices = {price.match.pattern.name: price for price in decided.prices}
    assert prices["conv2d"].cost.compute > 1000
    assert prices["conv2d"].cost.transfer == 0
    assert prices["softmax"].cost.compute < 1000  # a kernel that both cores execute alike: either place is right


def test_the_bundle_has_what_the_core_executes_with_flags_of_its_own(digits: aboard.Module) -> None:
    manifest = digits.manifest
    [flags] = manifest.source_flags
    root = "src/devices/c"
    assert flags.sources == (f"{root}/aboard_core_cpu1.c", f"{root}/digits_c_0_core.c")
    assert flags.gcc == ("-mcpu=cortex-m33", "-mfloat-abi=softfp", "-mfpu=fpv5-sp-d16")
    assert flags.clang == ("-mcpu=cortex_m33+dsp+fp_armv8d16sp",)
    assert {f"{root}/core.c", f"{root}/aboard_core_cpu1_start.c", "src/digits_c_0.c"} <= set(manifest.sources)
    cmake = digits.files["CMakeLists.txt"]
    assert (
        'PROPERTIES COMPILE_OPTIONS "$<$<C_COMPILER_ID:GNU>:-mcpu=cortex-m33;-mfloat-abi=softfp;-mfpu=fpv5-sp-d16>;'
        '$<$<C_COMPILER_ID:Clang>:-mcpu=cortex_m33+dsp+fp_armv8d16sp>")'
    ) in cmake


def test_its_kernels_are_those_of_its_units(digits: aboard.Module) -> None:
    source = digits.files["src/devices/c/digits_c_0_core.c"]
    assert '#include "kernels/arm_dsp/conv2d_plane.h"' in source
    assert "src/devices/c/kernels/arm_dsp/conv2d_plane.h" in digits.files
    assert "arm_dsp" not in digits.files["src/digits.c"]


def test_the_soc_file_says_how_it_is_started(digits: aboard.Module) -> None:
    start = digits.files["src/devices/c/aboard_core_cpu1_start.c"]
    first = "REGISTER(0x50021114u) = (uint32_t)(uintptr_t)aboard_core_cpu1_vectors;"
    assert start.index(first) < start.index("REGISTER(0x50021118u) &= ~0x2u;")
    assert "{.number = 1, .mailbox = &aboard_core_cpu1_mailbox, .start = start}" in start
    assert '#define ABOARD_CORE_STACK ".aboard.ssram3"' in digits.files["src/devices/c/aboard_core_cpu1.c"]


def test_patience_grows_with_the_work(digits: aboard.Module) -> None:
    [rounds] = map(int, re.findall(r"sizeof\(uint32_t\), (\d+)\)", digits.files["src/digits_c_0.c"]))
    node = next(node for node in digits.manifest.nodes if node.device == SECOND)
    assert rounds * 256 > 64 * node.macs


def test_weights_are_counted_once(digits: aboard.Module) -> None:
    alone = aboard.compile(models.path(models.SHIPPED), target="c -mcpu=cortex-m33")
    assert abs(digits.manifest.weights_bytes - alone.manifest.weights_bytes) < 200


#: Types, claims and preferences: in every run half of them, which has each pair of values.
CALLS = list(itertools.product([np.int8, np.float32], ["", "-claim-nodes=0,2,4,6,8,10,12,14,16"], ["size", "balanced"]))


@pytest.mark.parametrize(("dtype", "claims", "opt"), either(CALLS, [CALLS[index] for index in (0, 3, 5, 6)]))
def test_every_op_is_exact_as_a_plain_call(dtype: type, claims: str, opt: str) -> None:
    model = zoo.many_ops(dtype)
    both = aboard.compile(model, target=f"c -runtime=host -opt={opt} + {SECOND} {claims}", name="zoo")
    alone = aboard.compile(model, target=f"c -runtime=host -opt={opt}", name="zoo")
    assert any(node.device == SECOND for node in both.manifest.nodes)
    record = both.manifest.inputs[0]
    rng = np.random.default_rng(2)
    feed = rng.normal(0, 1, record.shape) if dtype is np.float32 else rng.integers(-128, 128, record.shape)
    results, expected = both.run(feed.astype(dtype)), alone.run(feed.astype(dtype))
    assert isinstance(results, dict)
    assert isinstance(expected, dict)
    for name, value in expected.items():
        np.testing.assert_array_equal(results[name], value)


def test_three_devices_in_this_process() -> None:
    with fake_device.fake_device():
        target = f"c -runtime=host + fake -claim-ops=fully_connected + {SECOND} -claim-ops=conv2d,softmax"
        module = aboard.compile(models.path(models.SHIPPED), target=target)
        shape = module.manifest.inputs[0].shape
        feed = np.random.default_rng(4).integers(-128, 128, shape).astype(np.int8)
        result = module.run(feed)
    assert {node.device for node in module.manifest.nodes} == {"fake", SECOND, None}
    np.testing.assert_array_equal(
        result, aboard.compile(models.path(models.SHIPPED), target="c -runtime=host").run(feed)
    )


def test_a_call_with_too_many_arguments() -> None:
    plan = bringup.CoreCall("aboard_core_cpu1", 1)
    plan.check(bringup.ARGUMENTS, "here")
    with pytest.raises(
        TargetError,
        match=r"here: has too many operands and results, got 33 with constants and scratch, expected at most 32\. "
        r"Limit what the core claims with -claim-nodes or -claim-ops",
    ):
        plan.check(bringup.ARGUMENTS + 1, "here")
    bringup.CoreCall().check(99, "a plain call")


def test_numbers_that_stand_in_c_and_here() -> None:
    headers = resources.firmware() / "include" / "aboard"
    assert f"ABOARD_CORE_ARGUMENT_WORDS {bringup.ARGUMENTS}\n" in (headers / "core.h").read_text()
    [shift] = re.findall(r"ABOARD_FAULT_CORE_SHIFT (\d+)", (headers / "port.h").read_text())
    fault = FaultRecord(3 + (5 << int(shift)), (0,) * 16, 0, 0)
    assert (fault.core, fault.exception) == (5, 3)


@pytest.mark.parametrize(
    ("core", "host", "flags"),
    [
        ("cortex-m4", "cortex-m7", ("-mcpu=cortex-m4", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16")),
        ("cortex-m4", "cortex-m0plus", ("-mcpu=cortex-m4", "-mfloat-abi=softfp", "-mfpu=fpv4-sp-d16")),
        ("cortex-m0plus", "cortex-m0plus", ("-mcpu=cortex-m0plus", "-mfloat-abi=soft")),
    ],
)
def test_flags_link_with_the_hosts_code(core: str, host: str, flags: tuple[str, ...]) -> None:
    assert bringup.flags(cpus.find(core), cpus.find(host))["gcc"] == flags


def test_a_template_without_a_linker_script_starts_no_core(digits: aboard.Module, tmp_path: Path) -> None:
    with pytest.raises(
        ProjectError,
        match=r"template zephyr: does not start other cores, got digits, which calls one, expected a model for one "
        r"core\. Compile without that device, or use --template baremetal",
    ):
        aboard.create(digits, board="arm/mps2_an521", template="zephyr", path=tmp_path / "project")


def test_cores_of_no_board_can_be_looked_at_and_not_compiled() -> None:
    model = resources.models() / "digits.tflite"
    target = "c -mcpu=cortex-m4 + c -mcpu=cortex-m33"
    assert {placement.claim for placement in partition_model(model, target=target).placements} == {0}
    with pytest.raises(
        TargetError, match=r"names no board, got cortex-m33 beside cortex-m4, expected two cores of one"
    ):
        aboard.compile(model, target=target)
    assert aboard.Target("c -mcpu=cortex-m4 + c -mcpu=cortex-m4").devices[0].hardware is None


def test_a_kernel_whose_scratch_has_no_bytes_computes_there() -> None:
    # One pixel by eight channels of one: nothing is staged, and the call names its scratch all the same.
    builder = ModelBuilder().tensor("x", (1, 1, 1, 1), np.int8, scale=0.05, zero_point=-128)
    builder.tensor("w", (1, 1, 1, 8), np.int8, scale=0.02, data=np.arange(-4, 4))
    builder.tensor("y", (1, 1, 1, 8), np.int8, scale=0.01, zero_point=23)
    options = {"Padding": "VALID", "StrideH": 1, "StrideW": 1, "DepthMultiplier": 8}
    data = builder.op("DEPTHWISE_CONV_2D", ["x", "w"], ["y"], options).build(["x"], ["y"])
    x = np.full((1, 1, 1, 1), 100, np.int8)
    module = aboard.compile(data, target=PLAIN, name="m")
    assert [node.op for node in module.manifest.nodes] == ["subgraph"]
    np.testing.assert_array_equal(module.run(x), oracle.tflm(data, x)[0])
