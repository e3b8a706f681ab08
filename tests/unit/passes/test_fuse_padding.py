"""Pad fusion."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard.ops.window import Padding
from aboard.passes.fuse_padding import FusePadding
from support.rewrites import check_rewrite, kinds
from support.tflite_builder import ModelBuilder


def model(
    pads=((1, 1), (1, 1)),
    *,
    dtype=np.int8,
    depthwise=False,
    window=(3, 3),
    options=None,
    readers=1,
    value=None,
    quant=None,
):
    """Returns pad -> one or more convolutions."""
    rng = np.random.default_rng(7)
    size = (6, 5)
    padded = (1, size[0] + sum(pads[0]), size[1] + sum(pads[1]), 2)
    scaled = {} if dtype is np.float32 else {"scale": 0.1, "zero_point": 4}
    m = ModelBuilder().tensor("x", (1, *size, 2), dtype, **scaled)
    m.tensor("p", padded, dtype, **(quant or scaled)).tensor("pads", (4, 2), np.int32, data=[(0, 0), *pads, (0, 0)])
    operands = ["x", "pads"]
    if value is not None:
        m.tensor("value", (1,), dtype, data=[value], **(quant or scaled))
        operands.append("value")
    m.op("PAD" if value is None else "PADV2", operands, ["p"], {})
    shape = (1, *window, 2) if depthwise else (2, *window, 2)
    weights = rng.integers(-127, 128, shape)
    m.tensor("w", shape, dtype, data=weights, **({} if dtype is np.float32 else {"scale": 0.02}))
    options = {"StrideH": 1, "StrideW": 1, "Padding": "VALID", **(options or {})}
    outputs = []
    for index in range(readers):
        rows, cols = (_outputs(padded[1 + a], window[a], options, "HW"[a]) for a in (0, 1))
        m.tensor(
            f"y{index}", (1, rows, cols, 2), dtype, **({} if dtype is np.float32 else {"scale": 0.9, "zero_point": -1})
        )
        kind = "DEPTHWISE_CONV_2D" if depthwise else "CONV_2D"
        extra = {"DepthMultiplier": 1} if depthwise else {}
        m.op(kind, ["p", "w"], [f"y{index}"], {**options, **extra})
        outputs.append(f"y{index}")
    return m, outputs


def _outputs(size, window, options, axis):
    stride, reach = options[f"Stride{axis}"], (window - 1) * options.get(f"Dilation{axis}Factor", 1) + 1
    return -(-size // stride) if options["Padding"] == "SAME" else (size - reach) // stride + 1


def built(*arguments, **keywords):
    builder, outputs = model(*arguments, **keywords)
    return builder.build(["x"], outputs)


@pytest.mark.parametrize("dtype", [np.int8, np.float32])
@pytest.mark.parametrize("depthwise", [False, True])
def test_a_pad_before_a_convolution_goes(dtype, depthwise):
    after = check_rewrite(built(((2, 1), (0, 2)), dtype=dtype, depthwise=depthwise), FusePadding())
    assert len(after.nodes) == 1
    assert after.nodes[0].attrs.padding == Padding(top=2, left=0, bottom=1, right=2)
    assert after.nodes[0].sources == (0, 1)


def test_paddings_add_up():
    after = check_rewrite(built(options={"Padding": "SAME"}, window=(5, 5)), FusePadding())
    assert after.nodes[0].attrs.padding == Padding(3, 3, 3, 3)


def test_all_readers_take_it_over():
    after = check_rewrite(built(readers=2), FusePadding())
    assert kinds(after) == ["conv2d", "conv2d"]
    builder, outputs = model(readers=1)
    builder.tensor("z", (1, 8, 7, 2), np.int8, scale=0.1, zero_point=4).op("RELU", ["p"], ["z"])
    after = check_rewrite(builder.build(["x"], [*outputs, "z"]), FusePadding())
    assert kinds(after) == ["pad", "conv2d", "relu"]


@pytest.mark.parametrize(
    "changed",
    [
        {"value": 5},
        {"quant": {"scale": 0.1, "zero_point": 5}},
        {"pads": ((3, 0), (0, 0))},
        {"pads": ((0, 0), (0, 3))},
    ],
)
def test_what_would_not_be_exact_stays(changed):
    assert kinds(check_rewrite(built(**changed), FusePadding())) == ["pad", "conv2d"]


def test_a_value_that_stands_for_zero():
    assert kinds(check_rewrite(built(value=4), FusePadding())) == ["conv2d"]


def test_outputs_and_channels_stay():
    builder, outputs = model()
    assert kinds(check_rewrite(builder.build(["x"], [*outputs, "p"]), FusePadding())) == ["pad", "conv2d"]
    m = ModelBuilder().tensor("x", (1, 3, 3, 1), np.float32).tensor("p", (1, 3, 3, 2), np.float32)
    m.tensor("pads", (4, 2), np.int32, data=[[0, 0], [0, 0], [0, 0], [1, 0]]).op("PAD", ["x", "pads"], ["p"], {})
    m.tensor("w", (1, 1, 1, 2), np.float32, data=[[[[1, 2]]]]).tensor("y", (1, 3, 3, 1), np.float32)
    m.op("CONV_2D", ["p", "w", -1], ["y"], {"StrideH": 1, "StrideW": 1, "Padding": "VALID"})
    assert kinds(check_rewrite(m.build(["x"], ["y"]), FusePadding())) == ["pad", "conv2d"]


amounts = st.tuples(st.integers(0, 4), st.integers(0, 4))


@given(
    st.tuples(amounts, amounts),
    st.booleans(),
    st.sampled_from([np.int8, np.float32]),
    st.tuples(st.integers(1, 4), st.integers(1, 4)),
    st.integers(1, 3),
    st.integers(1, 2),
    st.sampled_from(["SAME", "VALID"]),
)
@settings(max_examples=50, deadline=None)
def test_any_convolution(pads, depthwise, dtype, window, stride, dilation, padding):
    options = {"StrideH": stride, "StrideW": stride, "Padding": padding}
    options |= {"DilationHFactor": dilation, "DilationWFactor": 1}
    if (window[0] - 1) * dilation + 1 > 6 + sum(pads[0]):
        window = (1, window[1])
    after = check_rewrite(
        built(pads, dtype=dtype, depthwise=depthwise, window=window, options=options), FusePadding(), seeds=1
    )
    assert after.nodes[-1].op in ("conv2d", "depthwise_conv2d")
