"""Models that PyTorch exported, on an emulated Cortex-M4 against onnxruntime, through `aboard verify`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from aboard import cli
from support import models

FLOAT = [
    "digits_torch_dynamo",
    "dscnn_dynamo",
    "dscnn_legacy",
    "lstm_dynamo",
    "lstm_legacy",
    "tcn_dynamo",
    "tinyvit_dynamo",
]
QUANTISED = ["digits_torch_qdq", "dscnn_qdq", "resnet8_qdq", "tcn_qdq", "unet_qdq"]


def path(name: str) -> Path:
    return (models.folder() or Path()) / "onnx" / f"{name}.onnx"


def found(names: list[str]) -> list[str]:
    """Returns the names for which there is a file."""
    return [name for name in names if path(name).is_file()]


def verify(name: str, attributes: str, capsys: pytest.CaptureFixture[str]) -> Any:
    capsys.readouterr()
    code = cli.invoke(
        ["verify", str(path(name)), "--target", f"arm/mps2_an386 {attributes}", "--samples", "1", "--json"]
    )
    out, err = capsys.readouterr()
    result = json.loads(out)
    assert code == 0, err or result
    assert result["reference"] == "onnxruntime"
    return result


@pytest.mark.parametrize("name", found(FLOAT))
def test_floats_are_near_those_of_onnxruntime(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert verify(name, "", capsys)["max_abs_diff"] < 1e-3


@pytest.mark.parametrize("name", found(QUANTISED))
@pytest.mark.parametrize("arithmetic", ["tflite", "exact"])
def test_integers_are_within_steps_of_onnxruntime(
    name: str, arithmetic: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert verify(name, f"-arithmetic={arithmetic}", capsys)["differing_bytes"] == 0


@pytest.mark.parametrize("name", found(QUANTISED[:2]))
def test_inputs_and_outputs_of_integers(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    result = verify(name, "-io=int8 -input-layout=nhwc -arithmetic=exact", capsys)
    assert (result["differing_bytes"], result["max_abs_diff"] <= 1) == (0, True)
