"""Depthwise convolution against tflite-micro, and its messages."""

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

OPTIONS = {"Padding": "SAME", "StrideH": 1, "StrideW": 1, "DepthMultiplier": 1}
LAYER = Layer("DEPTHWISE_CONV_2D", (1, 5, 8, 3), (1, 3, 3, 3), (1, 5, 8, 3), 3, OPTIONS)


@pytest.mark.parametrize("window", [(17, 1), (20, 3), (1, 9)])
def test_large_windows(window: tuple[int, int]) -> None:
    height, width = window
    options = {**OPTIONS, "Padding": "VALID"}
    layer = Layer("DEPTHWISE_CONV_2D", (1, height + 2, width + 1, 3), (1, *window, 3), (1, 3, 2, 3), 3, options)
    one_op.check_equal(layer.model(), layer.input())
    padded = dataclasses.replace(layer, shape_out=layer.shape_in, options=OPTIONS)
    one_op.check_equal(padded.model(), padded.input())


@pytest.mark.parametrize("opt", ["size", "speed"])
def test_two_layers_that_share_code(opt: str) -> None:
    # With -opt=size both call one instance, whose parameters are run-time values.
    build, operands = LAYER.builder()
    weights = np.random.default_rng(5).integers(-127, 128, (1, 2, 1, 6))
    build.tensor("w2", weights.shape, np.int8, scale=0.01, data=weights)
    build.tensor("y2", (1, 2, 4, 6), np.int8, scale=LAYER.scale_out, zero_point=9)
    build.op("DEPTHWISE_CONV_2D", operands, ["y"], OPTIONS)
    options = {"StrideH": 2, "StrideW": 2, "Padding": "VALID", "DepthMultiplier": 2}
    model = build.op("DEPTHWISE_CONV_2D", ["y", "w2"], ["y2"], options).build(["x"], ["y2"])
    expected = oracle.tflm(model, LAYER.input())[0]
    np.testing.assert_array_equal(one_op.compiled(model, LAYER.input(), attributes=f"-opt={opt}")[0], expected)


@pytest.mark.parametrize("form", ["int8", "float32", "hybrid"])
def test_generated_c_is_clean(form: str, tmp_path: Path) -> None:
    options = {"Padding": "SAME", "StrideH": 2, "StrideW": 1, "FusedActivationFunction": "RELU6"}
    layer = Layer("DEPTHWISE_CONV_2D", (2, 5, 5, 4), (1, 3, 2, 8), (2, 3, 5, 8), 3, options, form=form)
    layer.options = {**options, "DepthMultiplier": 2}
    module = aboard.compile(layer.model(), target=one_op.HOST, name="model")
    (name,) = (record.name for record in module.manifest.inputs)
    (result,) = sanitized.run(module, {name: layer.input()}, tmp_path).values()
    np.testing.assert_array_equal(result, one_op.compiled(layer.model(), layer.input())[0])
    for compiler in (["gcc"], ["clang"], ["arm-none-eabi-gcc", "-mcpu=cortex-m3", "-mthumb"]):
        sanitized.compile_strictly(module, tmp_path, compiler)


def test_refuses_shapes_that_do_not_fit() -> None:
    message = refusal(dataclasses.replace(LAYER, shape_weights=(1, 3, 3, 4)))
    assert "shape of weights, got (1, 3, 3, 4) for an input of 3 channels, expected (1, height, width, a multiple" in (
        message
    )
    message = refusal(dataclasses.replace(LAYER, options={**OPTIONS, "DepthMultiplier": 2}))
    assert "depth multiplier, got 2, expected 1 as the shapes have it. Export the model again" in message


def test_refuses_element_types() -> None:
    message = refusal(LAYER, "x", dtype=np.dtype(np.int16))
    assert "node 0 DEPTHWISE_CONV_2D: element types of input, weights and result, got int16, int8, int8" in message


def test_verifier_names_broken_rules() -> None:
    node = load(LAYER.model(), name="model").nodes[0]
    good = node.inputs
    node.inputs = good[:1]
    with pytest.raises(VerifyError, match="operands, got 1, expected 2 or 3"):
        get("depthwise_conv2d").verify(node)
    node.inputs = good
    node.input(1).type = dataclasses.replace(node.input(1).type, shape=(1, 3, 3, 4))
    with pytest.raises(VerifyError, match="shape of weights, got"):
        get("depthwise_conv2d").verify(node)


def test_macs_count_padding() -> None:
    node = load(LAYER.model(), name="model").nodes[0]
    assert get("depthwise_conv2d").macs(node) == 5 * 8 * 3 * 3 * 3
