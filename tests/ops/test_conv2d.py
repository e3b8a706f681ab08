"""Convolution against tflite-micro, and its messages."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import aboard
from aboard.errors import ModelError, VerifyError
from aboard.importers import load
from aboard.ops import get
from aboard.ops.window import Padding
from support import one_op, oracle, sanitized
from support.tflite_builder import ModelBuilder
from support.weighted_models import ACTIVATIONS, Layer, refusal

OPTIONS = {"Padding": "SAME", "StrideH": 1, "StrideW": 1}
LAYER = Layer("CONV_2D", (1, 5, 4, 3), (5, 3, 3, 3), (1, 5, 4, 5), 0, OPTIONS)


def test_hybrid_agrees_with_litert_on_the_largest() -> None:
    # LiteRT quantises the activations too, so that its numbers are only near.
    layer = dataclasses.replace(LAYER, form="hybrid", options={**OPTIONS, "FusedActivationFunction": "NONE"})
    expected = oracle.litert_ref(layer.model(), layer.input())[0]
    (result,) = one_op.compiled(layer.model(), layer.input())
    assert float(np.abs(result - expected).max()) < 0.03 * float(np.abs(expected).max())


@pytest.mark.parametrize("opt", ["size", "speed"])
@pytest.mark.parametrize("spread", [1.0, 1e-4])
def test_two_layers_that_share_code(opt: str, spread: float) -> None:
    # With -opt=size both call one instance, whose parameters are run-time values.
    first = dataclasses.replace(LAYER, spread=spread)
    build, operands = first.builder()
    weights = np.random.default_rng(5).integers(-127, 128, (6, 1, 1, 5))
    build.tensor("w2", (6, 1, 1, 5), np.int8, scale=0.01, data=weights)
    build.tensor("y2", (1, 3, 2, 6), np.int8, scale=first.scale_out, zero_point=9)
    build.op("CONV_2D", operands, ["y"], OPTIONS)
    build.op("CONV_2D", ["y", "w2"], ["y2"], {"StrideH": 2, "StrideW": 2, "FusedActivationFunction": "RELU"})
    model = build.build(["x"], ["y2"])
    expected = oracle.tflm(model, first.input())[0]
    np.testing.assert_array_equal(one_op.compiled(model, first.input(), attributes=f"-opt={opt}")[0], expected)


def moved_up(shift: int, bias: int) -> bytes:
    """Returns a model whose result has the scale of its sums, divided by 2^shift; 12 products of 127 and 255."""
    build = ModelBuilder().tensor("x", (1, 1, 1, 12), np.int8, scale=0.5, zero_point=127)
    build.tensor("w", (1, 1, 1, 12), np.int8, scale=0.25, data=np.full((1, 1, 1, 12), 127))
    build.tensor("b", (1,), np.int32, scale=0.125, data=[bias])
    build.tensor("y", (1, 1, 1, 1), np.int8, scale=0.125 / 2**shift, zero_point=-128)
    return build.op("CONV_2D", ["x", "w", "b"], ["y"], {"StrideH": 1, "StrideW": 1, "Padding": "VALID"}).build(
        ["x"], ["y"]
    )


@pytest.mark.parametrize("value", [-128, 127])
def test_a_sum_that_is_moved_up_within_32_bits(value: int) -> None:
    # A ratio of 2^11 is a shift by 12, which sums below 2^19 survive.
    bias = 2**19 - 1 - 12 * 127 * 255
    one_op.check_equal(moved_up(11, bias), np.full((1, 1, 1, 12), value, np.int8))


def test_refuses_a_sum_that_would_leave_32_bits_when_it_is_moved_up() -> None:
    bias = 2**19 - 12 * 127 * 255
    with pytest.raises(ModelError) as caught:
        load(moved_up(11, bias))
    assert str(caught.value).startswith(
        "model (bytes): node 0 CONV_2D: scales of input and weights by that of the result, got 2048 for sums of up to "
        "524288 in channel 0, expected less than 2^31 for their product. Quantise the model again"
    )


def test_accumulator_that_wraps() -> None:
    layer = dataclasses.replace(LAYER, bias=False)
    build, operands = layer.builder()
    build.tensor("b", (5,), np.int32, scales=layer.scales * np.float32(0.05), data=[2**31 - 1, -(2**31), 2**30, 5, -1])
    model = build.op("CONV_2D", [*operands, "b"], ["y"], OPTIONS).build(["x"], ["y"])
    one_op.check_equal(model, layer.input())


@pytest.mark.parametrize("form", ["int8", "float32", "hybrid"])
def test_generated_c_is_clean(form: str, tmp_path: Path) -> None:
    options = {"Padding": "SAME", "StrideH": 2, "StrideW": 1, "FusedActivationFunction": "RELU6"}
    layer = Layer("CONV_2D", (2, 5, 5, 4), (6, 3, 2, 2), (2, 3, 5, 6), 0, options, form=form)
    module = aboard.compile(layer.model(), target=one_op.HOST, name="model")
    (name,) = (record.name for record in module.manifest.inputs)
    (result,) = sanitized.run(module, {name: layer.input()}, tmp_path).values()
    np.testing.assert_array_equal(result, one_op.compiled(layer.model(), layer.input())[0])
    for compiler in (["gcc"], ["clang"], ["arm-none-eabi-gcc", "-mcpu=cortex-m3", "-mthumb"]):
        sanitized.compile_strictly(module, tmp_path, compiler)


@pytest.mark.parametrize("number", [4, 5])
def test_refuses_activations_that_the_reference_ignores(number: int) -> None:
    message = refusal(dataclasses.replace(LAYER, options={**OPTIONS, "FusedActivationFunction": number}))
    assert (
        f"fused activation, got {'TANH' if number == 4 else 'SIGN_BIT'}, expected one of {', '.join(ACTIVATIONS)}"
        in (message)
    )


def test_refuses_shapes_that_do_not_fit() -> None:
    assert "ranks of input and weights, got 3 and 4, expected 4 and 4" in refusal(
        dataclasses.replace(LAYER, shape_in=(5, 4, 3))
    )
    message = refusal(dataclasses.replace(LAYER, shape_weights=(5, 3, 3, 2), shape_in=(1, 5, 4, 3)))
    assert "channels, got 3 of the input with weights of 2 for 5 outputs, expected input and outputs" in message
    message = refusal(dataclasses.replace(LAYER, options={**OPTIONS, "Padding": "VALID"}, shape_in=(1, 2, 4, 3)))
    assert "window of 3x3 with dilation 1x1, got an image of 2x4, expected a larger image" in message
    message = refusal(dataclasses.replace(LAYER, options={**OPTIONS, "StrideH": 32768}))
    assert "strides and dilations of at most 32767" in message
    wide = {**OPTIONS, "Padding": "SAME", "DilationHFactor": 32767, "DilationWFactor": 1}
    taller = dataclasses.replace(LAYER, shape_weights=(5, 4, 3, 3), options=wide)
    assert "padding of 49151 pixels for an image of 5x4, expected at most 32767" in refusal(taller)


def test_refuses_options_that_no_model_has() -> None:
    assert "strides, dilations and window, got (0, 1), (1, 1) and (3, 3), expected at least 1 each" in refusal(
        dataclasses.replace(LAYER, options={**OPTIONS, "StrideH": 0})
    )
    assert "padding, got 7, expected 0 (SAME) or 1 (VALID)" in refusal(
        dataclasses.replace(LAYER, options={**OPTIONS, "Padding": 7})
    )


def test_refuses_element_types_and_quantisation() -> None:
    message = refusal(LAYER, "x", dtype=np.dtype(np.int16))
    assert "element types of input, weights and result, got int16, int8, int8, expected int8, int8, int8 or" in message
    assert "bias b, got float32, expected int32" in refusal(LAYER, "b", dtype=np.dtype(np.float32))
    assert "bias b, got 4 values, expected 5, one for each output channel" in refusal(
        LAYER, "b", shape=(4,), data=np.zeros(4, np.int32).tobytes(), scales=[0.1], zero_points=[0]
    )
    assert "weights w, got a zero point that is not 0, expected symmetric" in refusal(
        LAYER, "w", zero_points=[0, 0, 1, 0, 0]
    )
    assert "weights w, got no quantisation, expected scales" in refusal(LAYER, "w", scales=[], zero_points=[])
    square = dataclasses.replace(LAYER, shape_in=(1, 5, 4, 5), shape_weights=(5, 3, 3, 5))
    message = refusal(square, "w", axis=3)
    assert "weights w, got 5 scales on axis 3, expected 1, or 5 on axis 0" in message
    assert "tensor y, got no quantisation, expected one scale and zero point" in refusal(LAYER, "y", scales=[])
    assert "got 1e-20, expected more than 2^-30 times the product of the scales of input and weights" in refusal(
        LAYER, "y", scales=[1e-20]
    )
    relu6 = dataclasses.replace(LAYER, options={**OPTIONS, "FusedActivationFunction": 3})
    assert "got 1e-20 with RELU6, expected more than 2.79397e-09" in refusal(relu6, "y", scales=[1e-20])


def test_verifier_names_broken_rules() -> None:
    graph = load(LAYER.model(), name="model")
    node = graph.nodes[0]
    op = get("conv2d")
    good = node.attrs
    for change, message in (
        ({"strides": (0, 1)}, "strides and dilations, got (0, 1) and (1, 1), expected at least 1"),
        ({"padding": Padding(-1, 0, 0, 0)}, "expected at least 0"),
        ({"dilations": (9, 1)}, "window of 3x3, got an image of 5x4, expected a larger image"),
    ):
        node.attrs = dataclasses.replace(good, **change)
        with pytest.raises(VerifyError) as caught:
            op.verify(node)
        assert message in str(caught.value)
    node.attrs, node.inputs = good, node.inputs[:1]
    with pytest.raises(VerifyError, match="operands, got 1, expected 2 or 3"):
        op.verify(node)


def test_weights_computed_at_run_time_are_refused() -> None:
    build, _ = dataclasses.replace(LAYER, bias=False).builder()
    next(t for t in build._tensors if t.name == "w").data = None
    model = build.op("CONV_2D", ["x", "w"], ["y"], OPTIONS).build(["x", "w"], ["y"])
    with pytest.raises(ModelError, match="w is computed at run time, weights and bias must be constants"):
        aboard.compile(model, target=one_op.HOST, name="model")


def test_macs_count_padding() -> None:
    graph = load(LAYER.model(), name="model")
    assert get("conv2d").macs(graph.nodes[0]) == 5 * 4 * 5 * 3 * 3 * 3
