"""Fully connected layers against tflite-micro, and their messages."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import aboard
from aboard.errors import VerifyError
from aboard.importers import load
from aboard.ops import get
from support import one_op, oracle, sanitized
from support.weighted_models import Layer, refusal

LAYER = Layer("FULLY_CONNECTED", (2, 7), (5, 7), (2, 5), 0)


def test_input_of_more_dimensions_is_read_as_samples() -> None:
    layer = Layer("FULLY_CONNECTED", (2, 3, 2, 4), (9, 12), (4, 9), 0)
    one_op.check_equal(layer.model(), layer.input())


@pytest.mark.parametrize("opt", ["size", "speed"])
def test_two_layers_that_share_code(opt: str) -> None:
    # With -opt=size both call one instance, whose parameters are run-time values.
    build, operands = LAYER.builder()
    weights = np.random.default_rng(5).integers(-127, 128, (11, 5))
    build.tensor("w2", weights.shape, np.int8, scale=0.01, data=weights)
    build.tensor("y2", (2, 11), np.int8, scale=LAYER.scale_out, zero_point=9)
    model = build.op("FULLY_CONNECTED", operands, ["y"]).op("FULLY_CONNECTED", ["y", "w2"], ["y2"]).build(["x"], ["y2"])
    expected = oracle.tflm(model, LAYER.input())[0]
    np.testing.assert_array_equal(one_op.compiled(model, LAYER.input(), attributes=f"-opt={opt}")[0], expected)


@pytest.mark.parametrize("form", ["int8", "float32", "hybrid"])
def test_generated_c_is_clean(form: str, tmp_path: Path) -> None:
    layer = dataclasses.replace(LAYER, form=form, options={"FusedActivationFunction": "RELU6"})
    module = aboard.compile(layer.model(), target=one_op.HOST, name="model")
    (name,) = (record.name for record in module.manifest.inputs)
    (result,) = sanitized.run(module, {name: layer.input()}, tmp_path).values()
    np.testing.assert_array_equal(result, one_op.compiled(layer.model(), layer.input())[0])
    for compiler in (["gcc"], ["clang"], ["arm-none-eabi-gcc", "-mcpu=cortex-m3", "-mthumb"]):
        sanitized.compile_strictly(module, tmp_path, compiler)


def test_refuses_shapes_and_formats() -> None:
    message = refusal(dataclasses.replace(LAYER, options={"WeightsFormat": 1}))
    assert "weights format, got 1, expected 0 (DEFAULT). Convert the model without shuffled weights" in message
    message = refusal(dataclasses.replace(LAYER, shape_in=(2, 9)))
    assert "input, got shape (2, 9), expected samples of 7 values as the weights have" in message
    message = refusal(dataclasses.replace(LAYER, shape_weights=(5, 7, 1)))
    assert "rank of weights, got 3, expected 2" in message
    message = refusal(dataclasses.replace(LAYER, shape_in=(1, 14), options={"KeepNumDims": True}))
    assert "input, got shape (1, 14), expected samples of 7" in message


def test_refuses_element_types() -> None:
    message = refusal(LAYER, "x", dtype=np.dtype(np.int16))
    assert "node 0 FULLY_CONNECTED: element types of input, weights and result, got int16, int8, int8" in message


def test_verifier_names_broken_rules() -> None:
    node = load(LAYER.model(), name="model").nodes[0]
    good = node.inputs
    node.inputs = good[:1]
    with pytest.raises(VerifyError, match="operands, got 1, expected 2 or 3"):
        get("fully_connected").verify(node)
    node.inputs = [node.outputs[0], good[1], None]
    with pytest.raises(VerifyError, match="expected samples of 7 values"):
        get("fully_connected").verify(node)


def test_macs() -> None:
    node = load(LAYER.model(), name="model").nodes[0]
    assert get("fully_connected").macs(node) == 2 * 5 * 7
