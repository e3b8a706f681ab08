"""The device cmsis-nn: what it claims, and what it says of the rest."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from aboard.backends import cmsis_nn
from aboard.compiler import compile_model, partition_model
from aboard.errors import TargetError
from aboard.partition.partitioner import Partition
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


def test_what_it_refuses_has_a_reason() -> None:
    conv = Layer("CONV_2D", (1, 4, 4, 4), (6, 3, 3, 2), (1, 4, 4, 6), 0, CONV)
    assert reason(conv) == "groups, got 2, expected 1"
    depthwise = Layer("DEPTHWISE_CONV_2D", (2, 4, 4, 3), (1, 3, 3, 3), (2, 4, 4, 3), 3, {**CONV, "DepthMultiplier": 1})
    assert reason(depthwise) == "batch, got 2, expected 1"
    hybrid = Layer("FULLY_CONNECTED", (1, 4), (3, 4), (1, 3), 0, {}, form="hybrid")
    assert reason(hybrid) == "result, got float32, expected int8"


def test_the_probe_looks_where_the_environment_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(cmsis_nn.VARIABLE, raising=False)
    (missing,) = cmsis_nn.probe()
    assert (missing.found, missing.path) == (False, None)
    assert "git clone https://github.com/ARM-software/CMSIS-NN" in missing.how_to_get
    (tmp_path / "Include").mkdir()
    (tmp_path / "Include" / "arm_nnfunctions.h").write_text("")
    monkeypatch.setenv(cmsis_nn.VARIABLE, str(tmp_path))
    (there,) = cmsis_nn.probe()
    assert (there.found, there.path) == (True, str(tmp_path))


def test_it_generates_no_code_yet_and_says_so() -> None:
    text = (
        r"kind cmsis-nn claims 8 nodes and generates no code, .*`aboard partition` shows the claims; to compile, leave"
    )
    with pytest.raises(TargetError, match=text):
        compile_model(many_ops(), target=TARGET, name="m")
