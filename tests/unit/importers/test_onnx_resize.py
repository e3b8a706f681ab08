"""Resize and Upsample of ONNX: against onnxruntime where it follows the standard, else against its evaluator."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper, numpy_helper

from aboard.importers.onnx.operators.resampling import Axis, Interpolation, banded, weights
from support.examples import examples
from support.onnx_models import check, expected, model, node, refusal, runtime

extents = st.integers(1, 7)
seeds = st.integers(0, 2**32 - 1)


def resized(x: np.ndarray, sizes: list[int], **attributes: object) -> bytes:
    return model([node("Resize", "x _ _ z", **attributes)], {"x": x}, {"z": np.array(sizes, np.int64)}, 19)


def drawn(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


@given(
    st.tuples(extents, extents),
    st.tuples(st.integers(1, 12), st.integers(1, 12)),
    st.sampled_from(["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"]),
    st.sampled_from([{"mode": "linear"}, {"mode": "cubic"}, {"mode": "cubic", "cubic_coeff_a": -0.5}]),
    st.booleans(),
    st.booleans(),
    seeds,
)
@settings(max_examples=examples(200), deadline=None)
def test_images(before, after, coordinates, how, excludes, antialiases, seed):
    x = drawn(seed, 1, 2, *before)
    how = {**how, "exclude_outside": int(excludes and how["mode"] == "cubic"), "antialias": int(antialiases)}
    data = resized(x, [1, 2, *after], coordinate_transformation_mode=coordinates, **how)
    check(data, {"x": x}, wanted=runtime(data, {"x": x}), rtol=1e-5)


@given(st.lists(st.sampled_from([0.5, 1, 2, 3, 4]), min_size=1, max_size=4), st.sampled_from([1, 3]), seeds, st.data())
@settings(max_examples=examples(200), deadline=None)
def test_nearest_pixels(scales, least, seed, data):
    x = drawn(seed, *(data.draw(st.integers(2, 6)) for _ in scales)).astype(data.draw(st.sampled_from(["f4", "u1"])))
    how = {
        "nearest_mode": data.draw(st.sampled_from(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])),
        "coordinate_transformation_mode": data.draw(st.sampled_from(["half_pixel", "asymmetric"])),
    }
    made = model([node("Resize", "x _ s", **how)], {"x": x}, {"s": np.array(scales, np.float32)}, 19)
    check(made, {"x": x}, wanted=runtime(made, {"x": x}))


@given(
    st.sampled_from(["not_larger", "not_smaller"]),
    st.tuples(st.integers(2, 7), st.integers(2, 7)),
    st.tuples(st.integers(3, 9), st.integers(3, 9)),
    seeds,
)
@settings(max_examples=examples(60), deadline=None)
def test_kept_aspect_ratios(policy, before, after, seed):
    x = drawn(seed, 1, 1, *before)
    how = {"axes": [3, 2], "keep_aspect_ratio_policy": policy, "mode": "linear"}
    check(resized(x, list(after), coordinate_transformation_mode="align_corners", **how), {"x": x}, rtol=1e-5)


@given(
    st.tuples(extents, extents),
    st.lists(st.sampled_from([-0.5, 0, 0.25, 0.5, 0.75, 1, 1.25]), min_size=4, max_size=4),
    seeds,
)
@settings(max_examples=examples(60), deadline=None)
def test_regions(after, roi, seed):
    x = drawn(seed, 1, 2, 4, 5)
    how = {"coordinate_transformation_mode": "tf_crop_and_resize", "mode": "linear", "extrapolation_value": 2.5}
    constants = {"roi": np.array(roi, np.float32), "z": np.array(after, np.int64)}
    data = model([node("Resize", "x roi _ z", axes=[2, 3], **how)], {"x": x}, constants, 19)
    check(data, {"x": x}, rtol=1e-5)


@pytest.mark.parametrize(
    ("shape", "sizes", "how"),
    [
        ((1, 2, 3, 4), [1, 2, 7, 9], {"mode": "cubic"}),
        ((2, 3, 9), [2, 3, 4], {"mode": "linear", "antialias": 1}),
        ((1, 2, 2, 3, 3), [1, 2, 4, 5, 2], {"mode": "linear"}),
        ((1, 2, 3, 4), [1, 2, 6, 8], {"mode": "linear"}),
    ],
)
def test_as_c(shape, sizes, how):
    x = drawn(0, *shape)
    check(resized(x, sizes, **how), {"x": x}, rtol=1e-5, compiled=True)


@pytest.mark.parametrize(("kind", "opset"), [("Upsample", 7), ("Upsample", 9), ("Resize", 10)])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_old_definitions_begin_at_the_corner(kind, opset, mode):
    x = drawn(1, 1, 2, 3, 4)
    scales = [1.0, 1.0, 2.0, 3.0]
    made = node(kind, "x", mode=mode, scales=scales) if opset < 9 else node(kind, "x s", mode=mode)
    data = model([made], {"x": x}, {} if opset < 9 else {"s": np.array(scales, np.float32)}, opset)
    check(data, {"x": x}, wanted=runtime(data, {"x": x}))


def test_places_that_are_whole_but_for_rounding_are_whole():
    matrix, _ = weights(Interpolation("linear"), Axis(7, 17, 17 / 7))
    np.testing.assert_array_equal(matrix[8], np.eye(7)[3])


def test_weights_in_bands_are_those_of_the_matrix():
    matrix, _ = weights(Interpolation("linear", antialiases=True), Axis(9, 4, 4 / 9))
    starts, taps = banded(matrix)
    assert taps.shape[1] < 9
    wide = np.zeros((4, 9))
    for row, start in enumerate(starts):
        wide[row, start : start + taps.shape[1]] = taps[row]
    np.testing.assert_allclose(wide, matrix, rtol=1e-6)


X = np.zeros((1, 1, 4, 4), np.float32)
REFUSED = {
    "no scales": ({"s": np.zeros(0, np.float32)}, "x _ s", {}, "scales or sizes, got None"),
    "number of scales": ({"s": np.ones(2, np.float32)}, "x _ s", {"axes": [3]}, r"got \[1.0, 1.0\], expected a number"),
    "infinite": ({"s": np.array([1, 1, np.inf, 1], np.float32)}, "x _ s", {}, "inf, 1.0], expected a number above 0"),
    "nothing left": ({"s": np.array([1, 1, 0.1, 1], np.float32)}, "x _ s", {}, r"sizes, got \[1, 1, 0, 4\], expected"),
    "mode": ({"s": np.full(4, 2, np.float32)}, "x _ s", {"mode": "best"}, "modes, got best, half_pixel and round_pre"),
    "roi": (
        {"s": np.full(4, 2, np.float32)},
        "x _ s",
        {"coordinate_transformation_mode": "tf_crop_and_resize"},
        r"roi, got \[\], expected starts and ends of 4 axes",
    ),
    "large": (
        {"z": np.array([1, 1, 4, 2_000_000])},
        "x _ _ z",
        {},
        "axis 3, got 4 to 2000000 elements, expected fewer",
    ),
}


@pytest.mark.parametrize(("constants", "operands", "attributes", "message"), REFUSED.values(), ids=REFUSED)
def test_refusals(constants, operands, attributes, message):
    made = helper.make_model(
        helper.make_graph(
            [node("Resize", operands, **attributes)],
            "test",
            [helper.make_tensor_value_info("x", 1, X.shape)],
            [helper.make_tensor_value_info("y", 1, list("abcd"))],
            [numpy_helper.from_array(value, name) for name, value in constants.items()],
        ),
        opset_imports=[helper.make_opsetid("", 19)],
    )
    text = refusal(made.SerializeToString())
    assert re.search(message, text), text


def test_integers_are_not_interpolated():
    x = np.zeros((1, 1, 4, 4), np.int8)
    text = refusal(resized(x, [1, 1, 8, 8], mode="linear"))
    assert "element type, got int8, expected float32 for this mode" in text
    assert expected(resized(x, [1, 1, 8, 8], mode="linear"), {"x": x})[0].shape == (1, 1, 8, 8)
