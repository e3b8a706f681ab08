"""average_pool2d, l2_pool2d and max_pool2d against tflite-micro."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aboard
from aboard.errors import VerifyError
from aboard.importers import load
from aboard.ops import get
from aboard.ops.pool2d import PoolAttributes
from aboard.ops.window import Padding
from support import one_op, oracle, sanitized
from support.element_models import Value, activations, build, check_near, feed, floats32, real, refusal, seeds
from support.examples import examples
from support.tflite_builder import ModelBuilder

KINDS = ["AVERAGE_POOL_2D", "MAX_POOL_2D"]
OPTIONS = {"FilterHeight": 2, "FilterWidth": 3, "StrideH": 1, "StrideW": 2, "Padding": "VALID"}
Geometry = tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]


@st.composite
def geometries(draw: st.DrawFn) -> Geometry:
    """Draws shape of operand and result, and options."""
    batch, height, width, channels = (draw(st.integers(1, most)) for most in (2, 11, 11, 6))
    same = draw(st.booleans())
    window = [draw(st.integers(1, 9 if same else min(size, 9))) for size in (height, width)]
    stride = [draw(st.integers(1, 4)) for _ in window]
    if same:
        out = [-(-size // step) for size, step in zip((height, width), stride, strict=True)]
    else:
        out = [(size - w) // step + 1 for size, w, step in zip((height, width), window, stride, strict=True)]
    options = {
        "FilterHeight": window[0],
        "FilterWidth": window[1],
        "StrideH": stride[0],
        "StrideW": stride[1],
        "Padding": "SAME" if same else "VALID",
        "FusedActivationFunction": draw(activations),
    }
    return (batch, height, width, channels), (batch, *out, channels), options


@settings(max_examples=examples(50), deadline=None)
@given(st.sampled_from(KINDS), geometries(), floats32(0.01, 0.1), st.integers(-128, 127), seeds)
def test_int8_equals_the_reference(kind: str, geometry: Geometry, scale: float, zero_point: int, seed: int) -> None:
    shape, result, options = geometry
    operand = Value(shape, np.int8, scale, zero_point)
    one_op.check_equal(build(kind, [operand], replace(operand, shape=result), options), *feed([operand], seed))


@settings(max_examples=examples(20), deadline=None)
@given(st.sampled_from(KINDS), geometries(), floats32(0.0001, 0.001), seeds)
def test_int16_equals_the_reference(kind: str, geometry: Geometry, scale: float, seed: int) -> None:
    shape, result, options = geometry
    operand = Value(shape, np.int16, scale, 0)
    one_op.check_equal(build(kind, [operand], replace(operand, shape=result), options), *feed([operand], seed))


@settings(max_examples=examples(50), deadline=None)
@given(st.sampled_from(KINDS), st.sampled_from([np.int8, np.int16, np.float32]), st.data())
def test_a_window_beyond_an_image_without_padding_is_refused(kind: str, dtype: type, data: st.DataObject) -> None:
    """The reference takes it, and gives the pixels that there are."""
    size = [data.draw(st.integers(1, 9)) for _ in range(2)]
    axis = data.draw(st.integers(0, 1))
    window = [data.draw(st.integers(1, extent)) for extent in size]
    window[axis] = size[axis] + data.draw(st.integers(1, 9))
    options = {
        "FilterHeight": window[0],
        "FilterWidth": window[1],
        "StrideH": data.draw(st.integers(1, 4)),
        "StrideW": data.draw(st.integers(1, 4)),
        "Padding": "VALID",
    }
    operand = Value((1, *size, 2), dtype, None if dtype is np.float32 else 0.5, 0)
    message = refusal(kind, [operand], replace(operand, shape=(1, 1, 1, 2)), options)
    text = (
        f"window of {window[0]}x{window[1]} with dilation 1x1, got an image of {size[0]}x{size[1]}, expected a larger"
    )
    assert text in message


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.int8, np.int16])
@pytest.mark.parametrize(("height", "width"), [(65534, 9), (1, 65534), (9, 9)])
def test_windows_that_no_image_fills(kind: str, dtype: type, height: int, width: int) -> None:
    operand = Value((1, 2, 3, 2), dtype, 0.5, 0)
    options = {"FilterHeight": height, "FilterWidth": width, "StrideH": 1, "StrideW": 2, "Padding": "SAME"}
    model = build(kind, [operand], replace(operand, shape=(1, 2, 2, 2)), options)
    one_op.check_equal(model, *feed([operand], 1))


@pytest.mark.parametrize("window", [65536, 70000, 1 << 20, (1 << 31) - 1])
@pytest.mark.parametrize("side", ["FilterHeight", "FilterWidth"])
def test_padding_that_the_reference_wraps_around_is_refused(window: int, side: str) -> None:
    """Its padding has 16 bits."""
    operand = Value((1, 3, 3, 2), np.int8, 0.5, 0)
    options = {"FilterHeight": 1, "FilterWidth": 1, "StrideH": 1, "StrideW": 1, "Padding": "SAME"}
    message = refusal(KINDS[0], [operand], operand, {**options, side: window})
    assert (
        f"with dilation 1x1, got padding of {window // 2} pixels for an image of 3x3, expected at most 32767" in message
    )


@settings(max_examples=examples(20), deadline=None)
@given(st.sampled_from([*KINDS, "L2_POOL_2D"]), geometries(), seeds)
def test_float_is_near_the_reference(kind: str, geometry: Geometry, seed: int) -> None:
    shape, result, options = geometry
    check_near(build(kind, [real(shape)], real(result), options), *feed([real(shape)], seed), relative=1e-6)


@pytest.mark.parametrize("extreme", [-128, 127])
def test_a_whole_image_at_its_extremes(extreme: int) -> None:
    operand = Value((1, 25, 5, 64), np.int8, 0.08, -128)
    options = {"FilterHeight": 25, "FilterWidth": 5, "StrideH": 25, "StrideW": 5, "Padding": "VALID"}
    model = build("AVERAGE_POOL_2D", [operand], replace(operand, shape=(1, 1, 1, 64)), options)
    one_op.check_equal(model, np.full(operand.shape, extreme, np.int8))


@pytest.mark.parametrize("opt", ["size", "speed"])
def test_layers_that_share_code(opt: str) -> None:
    builder = ModelBuilder()
    for name, shape in (("a", (1, 7, 6, 3)), ("b", (1, 6, 2, 3)), ("c", (1, 5, 1, 3))):
        builder.tensor(name, shape, np.int8, scale=0.1, zero_point=2)
    builder.op("AVERAGE_POOL_2D", ["a"], ["b"], OPTIONS)
    model = builder.op("AVERAGE_POOL_2D", ["b"], ["c"], {**OPTIONS, "FilterWidth": 2}).build(["a"], ["c"])
    (x,) = feed([Value((1, 7, 6, 3))], 5)
    (result,) = one_op.compiled(model, x, attributes=f"-opt={opt}")
    np.testing.assert_array_equal(result, oracle.tflm(model, x)[0])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.int8, np.float32])
def test_generated_c_is_clean(kind: str, dtype: type, tmp_path: Path) -> None:
    operand = Value((2, 5, 5, 3), dtype, 0.1 if dtype is np.int8 else None, 0)
    options = {**OPTIONS, "Padding": "SAME"}
    model = build(kind, [operand], replace(operand, shape=(2, 5, 3, 3)), options)
    (x,) = feed([operand], 6)
    (result,) = sanitized.run(aboard.compile(model, target=one_op.HOST, name="model"), {"x0": x}, tmp_path).values()
    np.testing.assert_allclose(result, oracle.tflm(model, x)[0], rtol=1e-6)


def test_refusals() -> None:
    operand, result = Value((1, 4, 5, 2), np.int8, 0.5, 3), Value((1, 3, 2, 2), np.int8, 0.5, 3)
    kind = KINDS[0]
    assert "rank of the operand, got 3, expected 4" in refusal(
        kind, [replace(operand, shape=(4, 5, 2))], result, OPTIONS
    )
    assert "element types, got int32, int32, expected int8 or int16 or float32" in refusal(
        kind, [replace(operand, dtype=np.int32)], replace(result, dtype=np.int32), OPTIONS
    )
    message = refusal(kind, [operand], replace(result, zero_point=4), OPTIONS)
    assert "got int8[1x4x5x2] q(0.5, 3) and int8[1x3x2x2] q(0.5, 4), expected the same. Insert a QUANTIZE" in message
    assert "expected the same" in refusal(kind, [operand], replace(result, scale=0.51), OPTIONS)
    assert "got int8, int8, expected float32" in refusal("L2_POOL_2D", [operand], result, OPTIONS)
    assert "expected at least 1 each" in refusal(kind, [operand], result, {**OPTIONS, "StrideH": 0})
    assert "strides and dilations of at most 32767" in refusal(kind, [operand], result, {**OPTIONS, "StrideW": 32768})
    assert "expected a larger image" in refusal(kind, [operand], result, {**OPTIONS, "FilterHeight": 5})
    assert "fused activation, got SIGN_BIT" in refusal(
        kind, [operand], result, {**OPTIONS, "FusedActivationFunction": 5}
    )


def test_verifier_names_broken_rules() -> None:
    operand = Value((1, 4, 5, 2), np.int8, 0.5, 3)
    node = load(build(KINDS[1], [operand], replace(operand, shape=(1, 3, 2, 2)), OPTIONS), name="model").nodes[0]
    for attrs, message in (
        (PoolAttributes((0, 1)), "window and strides, got (0, 1) and (1, 1), expected at least 1"),
        (PoolAttributes((2, 2), padding=Padding(top=2)), "expected less than the window of (2, 2)"),
        (PoolAttributes((9, 9)), "window (9, 9), got an image of (4, 5), expected a larger image"),
    ):
        node.attrs = attrs
        with pytest.raises(VerifyError) as caught:
            get("max_pool2d").verify(node)
        assert message in str(caught.value)
    node.input(0).type = replace(node.input(0).type, shape=(4, 5, 2))
    for check in (get("max_pool2d").verify, get("max_pool2d").infer):
        with pytest.raises(VerifyError, match="rank of the operand, got 3, expected 4"):
            check(node)
