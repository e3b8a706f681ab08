"""The device cmsis-nn: what it claims, and what it says of the rest."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from aboard.backends.cmsis_nn import library
from aboard.compiler.pipeline import partition_model
from aboard.partition.partitioner import Partition
from support.tflite_builder import ModelBuilder
from support.weighted_models import Layer
from support.zoo import many_ops

TARGET = "cortex-m4-cmsis-nn"
CONV = {"StrideH": 1, "StrideW": 1, "Padding": "SAME", "DilationHFactor": 1, "DilationWFactor": 1}


def claims(model: bytes) -> dict[str, str]:
    return {p.node.op: p.pattern for p in decide(model).placements if p.claim is not None}


def decide(model: bytes) -> Partition:
    return partition_model(model, target=TARGET, name="m")


def reason(layer: Layer) -> str:
    (placement,) = decide(layer.model()).placements
    assert placement.device == "c"
    return placement.refused[0].reason


def test_it_claims_what_the_library_has() -> None:
    assert claims(many_ops()) == {
        "conv2d": "convolve_s8",
        "depthwise_conv2d": "depthwise_conv_s8",
        "fully_connected": "fully_connected_s8",
        "average_pool2d": "avgpool_s8",
        "max_pool2d": "max_pool_s8",
        "softmax": "softmax_s8",
        "add": "elementwise_add_s8",
        "mul": "elementwise_mul_s8",
    }


def test_each_call_is_a_region_of_its_own() -> None:
    assert {len(claim.matches) for claim in decide(many_ops()).claims} == {1}


def test_float_models_stay_on_the_host() -> None:
    decided = decide(many_ops(np.float32))
    assert decided.claims == ()
    reasons = {p.node.op: p.refused[0].reason for p in decided.placements}
    assert reasons["conv2d"] == "result, got float32, expected int8"


GROUPED = "groups with a window of {}, got 2, expected 1"
WIDE = (1, 1, 1, 32768)
REFUSED = {
    "1x1 of groups": (Layer("CONV_2D", (1, 4, 4, 4), (6, 1, 1, 2), (1, 4, 4, 6), 0, CONV), GROUPED.format("1x1")),
    "1xn of groups": (Layer("CONV_2D", (1, 1, 4, 4), (6, 1, 3, 2), (1, 1, 4, 6), 0, CONV), GROUPED.format("1x3")),
    "hybrid": (
        Layer("FULLY_CONNECTED", (1, 4), (3, 4), (1, 3), 0, {}, form="hybrid"),
        "result, got float32, expected int8",
    ),
    "long": (
        Layer("FULLY_CONNECTED", (1, 32768), (1, 32768), (1, 1), 0, {}),
        "products of an output, got 32768, expected at most 32767",
    ),
    "wide": (
        Layer(
            "DEPTHWISE_CONV_2D", (1, 1, 1, 32768), (1, 1, 1, 32768), (1, 1, 1, 32768), 3, {**CONV, "DepthMultiplier": 1}
        ),
        "sizes, got 32768, expected at most 32767",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_it_refuses_has_a_reason(name: str) -> None:
    layer, expected = REFUSED[name]
    assert reason(layer) == expected


@pytest.mark.parametrize(("bias", "refused"), [(5, False), (2**31 - 1, True)])
def test_sums_that_the_reference_wraps_around_are_refused(bias: int, refused: bool) -> None:
    layer = Layer("FULLY_CONNECTED", (1, 40), (3, 40), (1, 3), 0, {}, bias=False)
    build, operands = layer.builder()
    build.tensor("b", (3,), np.int32, data=[bias, 5, -1])
    model = build.op("FULLY_CONNECTED", [*operands, "b"], ["y"], {}).build(["x"], ["y"])
    (placement,) = decide(model).placements
    assert (placement.device == "c") is refused
    if refused:
        assert placement.refused[0].reason.startswith("sums before rescaling, got up to ")


def test_softmax_has_as_many_channels_as_it_shifts_by_less_than_a_word() -> None:
    def model(channels: int) -> bytes:
        build = ModelBuilder().tensor("x", (1, channels), np.int8, scale=0.1)
        build.tensor("y", (1, channels), np.int8, scale=1 / 256, zero_point=-128)
        return build.op("SOFTMAX", ["x"], ["y"], {"Beta": 1.0}).build(["x"], ["y"])

    assert claims(model(511)) == {"softmax": "softmax_s8"}
    (placement,) = decide(model(512)).placements
    assert placement.refused[0].reason == "channels, got 512, expected at most 511"


def test_batches_and_groups_of_images_are_claimed() -> None:
    options = {**CONV, "DepthMultiplier": 1}
    grouped = Layer("CONV_2D", (2, 4, 4, 4), (6, 3, 3, 2), (2, 4, 4, 6), 0, CONV)
    depthwise = Layer("DEPTHWISE_CONV_2D", (2, 4, 4, 3), (1, 3, 3, 3), (2, 4, 4, 3), 3, options)
    assert claims(grouped.model()) == {"conv2d": "convolve_s8"}
    assert claims(depthwise.model()) == {"depthwise_conv2d": "depthwise_conv_s8"}


def test_the_probe_looks_where_the_environment_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(library.VARIABLE, raising=False)
    monkeypatch.delenv(library.ZEPHYR, raising=False)
    (missing,) = library.probe()
    assert (missing.found, missing.path) == (False, None)
    assert "git clone -b v7.0.0 https://github.com/ARM-software/CMSIS-NN" in missing.how_to_get
    (tmp_path / "Include").mkdir()
    (tmp_path / "Include" / "arm_nnfunctions.h").write_text("")
    monkeypatch.setenv(library.VARIABLE, str(tmp_path))
    (there,) = library.probe()
    assert (there.found, there.path) == (True, str(tmp_path))


def test_the_probe_looks_in_a_zephyr_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = tmp_path / "modules" / "lib" / "cmsis-nn" / "Include"
    module.mkdir(parents=True)
    (module / "arm_nnfunctions.h").write_text("")
    (tmp_path / "zephyr").mkdir()
    monkeypatch.delenv(library.VARIABLE, raising=False)
    monkeypatch.setenv(library.ZEPHYR, str(tmp_path / "zephyr"))
    (there,) = library.probe()
    assert (there.found, there.path) == (True, str(module.parent))
