"""QuantizeLinear and DequantizeLinear with scales along axes, of blocks and computed ones, beside the standard."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard.importers import load
from support.examples import examples
from support.onnx_models import check, model, node, refusal, unchecked

INTEGERS = [np.int8, np.uint8, np.int16]


@st.composite
def granularities(draw):
    """Draws shapes of a tensor and of its scales, axis and block size."""
    shape = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=4)))
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    place, kind = axis % len(shape), draw(st.sampled_from(["one", "axis", "blocks"]))
    block = draw(st.integers(1, 4)) if kind == "blocks" else 0
    blocks = (*shape[:place], -(-shape[place] // max(block, 1)), *shape[place + 1 :])
    return shape, {"one": (), "axis": (shape[place],), "blocks": blocks}[kind], axis, block


def values(seed, scale_shape, dtype, has_zero):
    """Returns scales that are powers of two, so that many quotients are halfway between integers, and zero points."""
    rng, info = np.random.default_rng(seed), np.iinfo(dtype)
    found = {"s": 2.0 ** rng.integers(-3, 2, scale_shape)}
    if has_zero:
        found["z"] = rng.integers(max(info.min, -300), min(info.max, 300) + 1, scale_shape)
    return {name: np.asarray(array, np.float32 if name == "s" else dtype) for name, array in found.items()}


@given(granularities(), st.sampled_from(INTEGERS), st.booleans(), st.sampled_from(["", "s", "sz"]), st.integers(0, 99))
@settings(max_examples=examples(120), deadline=None)
def test_quantised_as_the_standard_does(granularity, dtype, has_zero, computed, seed):
    shape, scale_shape, axis, block = granularity
    given_ = values(seed, scale_shape, dtype, has_zero)
    if given_["s"].size == 1:
        computed += "s"  # one constant is rounded as the target's arithmetic does
    x = np.random.default_rng(seed + 1).integers(-200, 200, shape).astype(np.float32) / 8
    feed = {"x": x, **{name: given_.pop(name) for name in computed if name in given_}}
    kind = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    options = {} if has_zero else {"output_dtype": kind}
    names = "x s z" if has_zero else "x s"
    data = model([node("QuantizeLinear", names, axis=axis, block_size=block, **options)], feed, given_)
    check(data, feed)


@given(
    granularities(),
    st.sampled_from([*INTEGERS, np.int32]),
    st.booleans(),
    st.sampled_from(["x", "xs", "xsz", "s", ""]),
    st.integers(0, 99),
)
@settings(max_examples=examples(120), deadline=None)
def test_dequantised_as_the_standard_does(granularity, dtype, has_zero, computed, seed):
    shape, scale_shape, axis, block = granularity
    info = np.iinfo(dtype)
    found = values(seed, scale_shape, dtype, has_zero and dtype is not np.int32)
    found["x"] = np.random.default_rng(seed + 1).integers(info.min, info.max, shape, endpoint=True).astype(dtype)
    names = " ".join(["x", *(name for name in "sz" if name in found)])
    feed = {name: found.pop(name) for name in computed if name in found}
    nodes = [node("DequantizeLinear", names, "r", axis=axis, block_size=block), node("Add", "r a")]
    feed["a"] = np.zeros(shape, np.float32)
    check(model(nodes, feed, found), feed)


@pytest.mark.parametrize("scale", [np.float32([0.5, 0.25, 1]), np.float32([[0.5], [1]])], ids=["axis", "blocks"])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_as_c(scale, dtype):
    block = 3 if scale.ndim > 1 else 0
    feed = {"x": np.float32([[-70000, -1.25, 0.75], [0.25, 1.25, 1e30]])}
    constants = {"s": scale, "z": np.full(scale.shape, 7, dtype)}
    nodes = [node("QuantizeLinear", "x s z", "q", axis=1, block_size=block)]
    nodes += [node("DequantizeLinear", "q s z", "r", axis=1, block_size=block), node("Identity", "q", "i")]
    limits = np.iinfo(dtype)
    spread = np.repeat(scale, 3, 1) if block else scale
    stored = np.clip(np.rint(feed["x"] / spread) + 7, limits.min, limits.max).astype(dtype)
    real = (stored.astype(np.float32) - 7) * spread
    check(model(nodes, feed, constants), feed, wanted=[real, stored], compiled=True)


def test_one_constant_scale_stays_a_quantised_tensor():
    feed = {"x": np.zeros((2, 3), np.float32)}
    data = model([node("QuantizeLinear", "x s", output_dtype=onnx.TensorProto.INT16)], feed, {"s": np.float32(0.5)})
    (result,) = load(data, name="model").outputs
    assert (result.dtype.value, result.quant.scale) == ("int16", 0.5)


@pytest.mark.parametrize(
    ("nodes", "constants", "message"),
    [
        ([node("QuantizeLinear", "x s", axis=1)], {"s": np.ones(2, np.float32)}, "scales or zero points of shape [2]"),
        ([node("QuantizeLinear", "x s z")], {"s": np.ones(3, np.float32), "z": np.zeros(2, np.int8)}, "of shape [2]"),
        (
            [node("QuantizeLinear", "x s", axis=0, block_size=1)],
            {"s": np.ones((2, 2), np.float32)},
            "expected one, one for each index of axis 0, or one for each of its blocks",
        ),
        ([node("QuantizeLinear", "x s", output_dtype=4)], {"s": np.float32(1)}, "output_dtype, got uint16, expected"),
        ([node("QuantizeLinear", "x s", precision=10)], {"s": np.float32(1)}, "precision, got float16, expected float"),
        (
            [node("QuantizeLinear", "x s z")],
            {"s": np.float32(1), "z": np.int32(0)},
            "element type of the result, got int32, expected int8, uint8 or int16",
        ),
        (
            [node("DequantizeLinear", "w s z")],
            {"w": np.ones((2, 3), np.int8), "s": np.ones(3, np.float32), "z": np.zeros(2, np.int8)},
            "zero points, got 2 with 3 scales, expected one for each",
        ),
        (
            [node("DequantizeLinear", "w s")],
            {"w": np.ones((2, 3), np.int8), "s": np.ones(2, np.float32)},
            "scales or zero points of shape [2] for shape [2, 3], expected one",
        ),
    ],
)  # fmt: skip
def test_what_is_refused(nodes, constants, message):
    assert message in refusal(unchecked(nodes, {"x": np.zeros((2, 3), np.float32)}, "y", constants, opset=23))
