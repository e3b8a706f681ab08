"""A device from pattern to running code: bit for bit what the reference gives, in this process."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aboard
from aboard.compiler.pipeline import Module
from aboard.errors import TargetError
from aboard.ir import DType
from aboard.kernels.accelerator import ClaimedRegion, DeviceCode
from aboard.kernels.contract import ConstantArg, InputArg, OutputArg, PackedConstant, Scratch, ScratchArg
from aboard.partition.pattern import DevicePattern, any_tensor, constant, op
from aboard.target import Runtime, Target
from support import fake_device, oracle, sanitized
from support.device import device
from support.tflite_builder import ModelBuilder

HOST = "c -runtime=host"


@pytest.fixture(autouse=True)
def fake() -> Iterator[None]:
    with fake_device.fake_device():
        yield


#: Shape, scale and zero point of each tensor; what relu and reshape pass on keeps its quantisation.
TENSORS = {
    "x": ((1, 5, 4, 3), 0.05, 3),
    "a": ((1, 5, 4, 6), 0.07, -2),
    "b": ((1, 5, 4, 7), 0.08, -5),
    "c": ((1, 5, 4, 7), 0.08, -5),
    "d": ((1, 5, 4, 2), 0.05, 4),
    "flat": ((1, 40), 0.05, 4),
    "y": ((1, 5), 0.09, 1),
}
#: Weights: shape, and the tensor that is multiplied.
WEIGHTS = {"w1": ((6, 3, 3, 3), "x"), "w2": ((7, 1, 1, 6), "a"), "w3": ((2, 1, 1, 7), "c"), "w4": ((5, 40), "flat")}


def network(*outputs: str) -> bytes:
    """Returns conv 3x3, conv 1x1, relu, conv 1x1 with a fused relu6, reshape, fully connected."""
    rng = np.random.default_rng(5)
    build = ModelBuilder()
    for name, (shape, scale, zero) in TENSORS.items():
        build.tensor(name, shape, np.int8, scale=scale, zero_point=zero)
    for name, (shape, source) in WEIGHTS.items():
        scales = rng.uniform(0.002, 0.02, shape[0] if len(shape) == 4 else 1).astype(np.float32)
        data = rng.integers(-127, 128, shape).astype(np.int8)
        build.tensor(name, shape, np.int8, scales=scales, zero_points=[0] * len(scales), axis=0, data=data)
        bias = rng.integers(-900, 900, shape[0]).astype(np.int32)
        of_bias = scales * np.float32(TENSORS[source][1])
        build.tensor(f"b{name}", bias.shape, np.int32, scales=of_bias, zero_points=[0] * len(scales), data=bias)
    build.tensor("shape", (2,), np.int32, data=np.array([1, 40], np.int32))
    conv = {"StrideH": 1, "StrideW": 1, "Padding": "SAME", "DilationHFactor": 1, "DilationWFactor": 1}
    build.op("CONV_2D", ["x", "w1", "bw1"], ["a"], conv)
    build.op("CONV_2D", ["a", "w2", "bw2"], ["b"], conv)
    build.op("RELU", ["b"], ["c"], {})
    build.op("CONV_2D", ["c", "w3", "bw3"], ["d"], {**conv, "FusedActivationFunction": "RELU6"})
    build.op("RESHAPE", ["d", "shape"], ["flat"], {})
    build.op("FULLY_CONNECTED", ["flat", "w4", "bw4"], ["y"], {})
    return build.build(["x"], ["y", *outputs])


def compiled(model: bytes, device_spec: str, attributes: str = "") -> Module:
    return aboard.compile(model, target=f"{HOST} {attributes} + {device_spec}", name="net")


def check_exact(model: bytes, module: Module, seeds: int = 3) -> None:
    for seed in range(seeds):
        x = np.random.default_rng(seed).integers(-128, 128, (1, 5, 4, 3)).astype(np.int8)
        results = module.run(x)
        named = results if isinstance(results, dict) else {module.manifest.outputs[0].name: results}
        for record, expected in zip(module.manifest.outputs, oracle.tflm(model, x), strict=True):
            np.testing.assert_array_equal(named[record.name], expected)


@pytest.mark.parametrize(("version", "devices"), [("v1", [None, *["fake"] * 3]), ("v2", [None, "fake", "fake"])])
@pytest.mark.parametrize("attributes", ["", "-opt=size", "-input=kept"])
def test_what_the_device_computes_is_exact(version: str, devices: list[str | None], attributes: str) -> None:
    model = network()
    module = compiled(model, f"fake -model={version}", attributes)
    assert [node.device for node in module.manifest.nodes] == devices
    check_exact(model, module)


def test_the_code_is_clean_under_sanitizers_and_warnings(tmp_path: Path) -> None:
    model = network("c")
    module = compiled(model, "fake -model=v2")
    feed = sanitized.random_feed(module, 1)
    results = sanitized.run(module, feed, tmp_path / "run")
    for record, expected in zip(module.manifest.outputs, oracle.tflm(model, feed["x"]), strict=True):
        np.testing.assert_array_equal(results[record.name], expected)
    sanitized.compile_strictly(module, tmp_path / "strict", ["gcc"])


def test_an_output_of_the_model_may_lie_inside_a_region() -> None:
    model = network("c")
    module = compiled(model, "fake -model=v2")
    assert [len(node.outputs) for node in module.manifest.nodes] == [1, 2, 1]
    check_exact(model, module)


def test_versions_share_the_runtime_byte_for_byte() -> None:
    first, second = (compiled(network(), f"fake -model={version}") for version in ("v1", "v2"))
    runtimes = [{p: text for p, text in m.files.items() if p.startswith("src/devices/")} for m in (first, second)]
    assert runtimes[0] == runtimes[1]
    assert sorted(runtimes[0]) == ["src/devices/fake/fake_product.c", "src/devices/fake/include/fake_product.h"]
    assert first.files["src/net_fake_0.c"] != second.files["src/net_fake_0.c"]


def test_the_bundle_states_what_devices_add(tmp_path: Path) -> None:
    module = compiled(network(), "fake")
    manifest = module.manifest
    assert manifest.include_folders == ("src/devices/fake/include",)
    assert "-DFAKE_ROUNDS_TWICE=1" in manifest.cflags
    assert set(manifest.sources) == {
        "src/net.c",
        "src/devices/fake/fake_product.c",
        *(f"src/net_fake_{number}.c" for number in range(3)),
    }
    cmake = module.files["CMakeLists.txt"]
    assert all(source in cmake for source in manifest.sources)
    assert "target_compile_definitions(model_net PRIVATE FAKE_ROUNDS_TWICE=1)" in cmake
    read = Module.load(module.save(tmp_path / "bundle"))
    assert read.manifest == manifest
    assert read.target.devices == (Target("fake -model=v1", as_device=True),)
    x = np.zeros((1, 5, 4, 3), np.int8)
    np.testing.assert_array_equal(read.run(x), module.run(x))  # type: ignore[arg-type]


def test_the_module_says_who_computes_what() -> None:
    decided = compiled(network(), "fake -model=v2").partition
    assert decided is not None
    assert [(p.node.op, p.device, p.claim) for p in decided.placements] == [
        ("conv2d", "c", None),
        ("conv2d", "fake", 0),
        ("relu", "fake", 0),
        ("conv2d", "fake", 0),
        ("reshape", "c", None),
        ("fully_connected", "fake", 1),
    ]
    assert decided.placements[0].refused[0].reason == "window, got 3x3, expected 1x1 over all channels"


def good_code(region: ClaimedRegion) -> DeviceCode:
    return fake_device.codegen(Target("fake", as_device=True), region)


def wrong_shape(target: Target, region: ClaimedRegion) -> DeviceCode:
    return DeviceCode(good_code(region).source, good_code(region).arguments, ((1, 2, 3),))


def no_output(target: Target, region: ClaimedRegion) -> DeviceCode:
    code = good_code(region)
    kept = tuple(a for a in code.arguments if not isinstance(a, OutputArg))
    return DeviceCode(code.source, (*kept, InputArg(4, "const int8_t *")), code.results)


def odd_scratch(target: Target, region: ClaimedRegion) -> DeviceCode:
    code = good_code(region)
    return DeviceCode(code.source, (*code.arguments, ScratchArg(Scratch(4, 3), "int8_t *")), code.results)


def empty_constant(target: Target, region: ClaimedRegion) -> DeviceCode:
    code = good_code(region)
    nothing = ConstantArg(PackedConstant("nothing", np.zeros(0, np.int8)))
    return DeviceCode(code.source, (*code.arguments, nothing), code.results)


def other_function(target: Target, region: ClaimedRegion) -> DeviceCode:
    code = good_code(region)
    return DeviceCode(code.source.replace(region.name, "other"), code.arguments, code.results)


def no_cycles(target: Target, region: ClaimedRegion) -> DeviceCode:
    return dataclasses.replace(good_code(region), cycles=0.0)


def endless_cycles(target: Target, region: ClaimedRegion) -> DeviceCode:
    return dataclasses.replace(good_code(region), cycles=float("inf"))


def text_alone(target: Target, region: ClaimedRegion) -> str:
    return good_code(region).source


WRONG = [
    (
        wrong_shape,
        r"kind wrong, column codegen: shapes of the results of net_wrong_0, got 1x2x3, expected 1x5x4x7\.",
    ),
    (no_output, r"arguments of net_wrong_0, got inputs \[0, 4\] and outputs \[\], expected each of 1 inputs at most"),
    (
        odd_scratch,
        r"net_wrong_0: a buffer, got 4 elements aligned to 3, expected at least 1, aligned to a power of two",
    ),
    (empty_constant, r"a buffer, got 0 elements aligned to 4"),
    (other_function, r"source of net_wrong_0 does not define it, expected `aboard_status_t net_wrong_0\(\.\.\.\)`"),
    (no_cycles, r"estimated cycles of net_wrong_0, got 0\.0, expected a finite number above 0\."),
    (endless_cycles, r"estimated cycles of net_wrong_0, got inf, expected a finite number above 0\."),
    (
        text_alone,
        r"kind wrong, column codegen: its function's result: got str, expected DeviceCode\. Give the column such",
    ),
]


@pytest.mark.parametrize(("generator", "text"), WRONG, ids=[function.__name__ for function, _ in WRONG])
def test_wrong_code_is_refused(generator: Any, text: str) -> None:
    with device(fake_device.patterns(), name="wrong", codegen=generator), pytest.raises(TargetError, match=text):
        compiled(network(), "wrong")


@pytest.mark.parametrize("path", ["/etc/fake.c", "../fake.h", "fake.txt"])
def test_runtime_files_stay_in_their_folder(path: str) -> None:
    def outside(target: Target) -> Runtime:
        return Runtime({path: ""})

    columns = {"codegen": fake_device.codegen, "runtime": outside}
    with (
        device(fake_device.patterns(), name="wrong", **columns),
        pytest.raises(
            TargetError,
            match=rf"column runtime: a file, got {path}, expected a \.c or \.h, or a LICENSE, below the device's",
        ),
    ):
        compiled(network(), "wrong")


def test_a_device_without_a_code_generator_is_not_compiled_for() -> None:
    text = r"kind dumb claims 1 nodes and generates no code, expected a column codegen\. `aboard partition` shows"
    with (
        device([DevicePattern("r", op("relu"))], name="dumb"),
        pytest.raises(TargetError, match=text),
    ):
        compiled(network(), "dumb")


def renamed(text: str) -> str:
    return text.replace("fake_", "other_").replace("FAKE_", "OTHER_")


def other_runtime(target: Target) -> Runtime:
    original = fake_device.runtime(target)
    files = {renamed(path): renamed(text) for path, text in original.files.items()}
    return Runtime(files, original.include_folders, tuple(map(renamed, original.definitions)))


def other_codegen(target: Target, region: ClaimedRegion) -> DeviceCode:
    code = fake_device.codegen(target, region)
    return DeviceCode(renamed(code.source), code.arguments, code.results)


def test_two_devices_and_the_host_share_one_model() -> None:
    model = network()
    operands = (any_tensor(), constant(DType.INT8), constant())
    only_fc = [DevicePattern("fc", op("fully_connected", *operands, name="layer"))]
    with device(only_fc, name="other", codegen=other_codegen, runtime=other_runtime):
        module = aboard.compile(model, target=f"{HOST} + other + fake", name="net")
        assert [node.device for node in module.manifest.nodes] == [None, "fake", "fake", "other"]
        check_exact(model, module)


def test_two_kinds_that_claim_one_folder_are_refused() -> None:
    operands = (any_tensor(), constant(DType.INT8), constant())
    only_fc = [DevicePattern("fc", op("fully_connected", *operands, name="layer"))]
    rest = {"codegen": fake_device.codegen, "runtime": fake_device.runtime}
    text = r"kinds my-npu and my_npu: both claim the folder src/devices/my_npu, expected names that differ in more than"
    with (
        device(only_fc, name="my_npu", **rest),
        device(fake_device.patterns(), name="my-npu", **rest),
        pytest.raises(TargetError, match=text),
    ):
        aboard.compile(network(), target=f"{HOST} + my_npu + my-npu", name="net")
