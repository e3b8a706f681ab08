"""The two forms of a convolution with one channel for each group: a convolution, and a depthwise one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aboard
from aboard.kernels.select import strategy
from aboard.kernels.select.cost_model import cost
from aboard.passes.depthwise_form import DepthwiseForm
from aboard.target import Target
from support import one_op, oracle
from support.examples import examples
from support.rewrites import check_rewrite, kinds
from support.single_layers import SingleLayer, model
from support.tflite_builder import ModelBuilder

_BIASES = {np.int8: np.int32, np.int16: np.int64, np.float32: np.float32}


@dataclass(frozen=True)
class Depthwise:
    """A model of one depthwise convolution; `grouped` as a convolution with a group for each channel."""

    size: tuple[int, int] = (9, 8)
    window: tuple[int, int] = (4, 3)
    outputs: int = 8
    channels: int = 1
    stride: int = 1
    dtype: type = np.int8
    bias: bool = True
    grouped: bool = False

    def image(self) -> np.ndarray:
        values = np.random.default_rng(1).integers(-99, 99, (1, *self.size, self.channels))
        return values.astype(self.dtype)

    def model(self) -> bytes:
        is_float, rng = self.dtype is np.float32, np.random.default_rng(2)
        zero = {} if is_float else {"zero_point": -5 if self.dtype is np.int8 else 0}
        quant = {} if is_float else {"scale": 0.05, **zero}
        rows, columns = (-(-size // self.stride) for size in self.size)
        m = ModelBuilder().tensor("x", (1, *self.size, self.channels), self.dtype, **quant)
        m.tensor("y", (1, rows, columns, self.outputs), self.dtype, **quant)
        shape, scales = (1, *self.window, self.outputs), 0.01 + 0.001 * np.arange(self.outputs)
        shape = shape[::-1] if self.grouped else shape
        per_channel = {} if is_float else {"scales": scales, "axis": 0 if self.grouped else 3}
        weights = rng.integers(-99, 100, shape)
        m.tensor("w", shape, np.float32 if is_float else np.int8, data=weights, **per_channel)
        operands = ["x", "w"]
        if self.bias:
            bias = rng.integers(-999, 999, self.outputs)
            scaled = {} if is_float else {"scales": 0.05 * scales}
            m.tensor("b", (self.outputs,), _BIASES[self.dtype], data=bias, **scaled)
            operands.append("b")
        options = {"StrideH": self.stride, "StrideW": self.stride, "Padding": "SAME"}
        options |= {} if self.grouped else {"DepthMultiplier": self.outputs // self.channels}
        kind = "CONV_2D" if self.grouped else "DEPTHWISE_CONV_2D"
        return m.op(kind, operands, ["y"], options).build(["x"], ["y"])


M55 = DepthwiseForm("cortex-m55")


@pytest.mark.parametrize(
    ("dtype", "core"), [(np.int8, "cortex-m55"), (np.int16, "cortex-m4"), (np.float32, "cortex-m55")]
)
def test_one_channel_is_a_convolution(dtype: type, core: str) -> None:
    graph = check_rewrite(Depthwise(dtype=dtype).model(), DepthwiseForm(core))
    assert kinds(graph) == ["conv2d"]
    weights = graph.nodes[0].input(1)
    assert weights.shape == (8, 4, 3, 1)
    assert weights.type.quant is None or weights.quant.axis == 0


def test_several_channels_stay() -> None:
    assert kinds(check_rewrite(Depthwise(channels=2).model(), M55)) == ["depthwise_conv2d"]


@pytest.mark.parametrize(
    ("dtype", "core", "opt"),
    [(np.int8, "cortex-m4", "speed"), (np.int8, "cortex-m55", "balanced"), (np.float32, "cortex-m4", "size")],
)
@pytest.mark.parametrize("outputs", [6, 12])
def test_a_group_for_each_channel_is_depthwise(dtype: type, core: str, opt: str, outputs: int) -> None:
    grouped = Depthwise(window=(3, 3), channels=6, outputs=outputs, dtype=dtype, grouped=True).model()
    graph = check_rewrite(grouped, DepthwiseForm(core, opt))
    assert kinds(graph) == ["depthwise_conv2d"]
    weights = graph.nodes[0].input(1)
    assert weights.shape == (1, 3, 3, outputs)
    assert weights.type.quant is None or weights.quant.axis == 3


def test_convolutions_with_one_group_stay() -> None:
    assert kinds(check_rewrite(Depthwise(window=(1, 1), grouped=True).model(), M55)) == ["conv2d"]


def test_what_costs_more_stays() -> None:
    single = Depthwise(window=(1, 1), outputs=1, dtype=np.float32).model()
    assert kinds(check_rewrite(single, M55)) == ["depthwise_conv2d"]
    assert kinds(check_rewrite(Depthwise().model(), DepthwiseForm())) == ["depthwise_conv2d"]


@pytest.mark.parametrize(("core", "opt"), [("cortex-m4", "speed"), ("cortex-m55", "speed"), ("cortex-m55", "size")])
def test_a_first_layer_of_keyword_spotting_costs_less(core: str, opt: str) -> None:
    model, target = Depthwise((49, 40), (10, 4), 8, stride=2).model(), Target(f"c -mcpu={core} -opt={opt}")
    before = check_rewrite(model, DepthwiseForm(), seeds=1).nodes[0]
    after = check_rewrite(model, DepthwiseForm(core, opt), seeds=1).nodes[0]
    assert after.op == "conv2d"
    costs = [cost(node, strategy.choose(node, target).implementation, target) for node in (before, after)]
    assert costs[1].instructions < 0.8 * costs[0].instructions


def test_one_change_may_bring_the_code_that_makes_another() -> None:
    layers = [
        SingleLayer("depthwise_conv2d", 1, 9, (20, 20), (2, 3), (2, 2)),
        SingleLayer("depthwise_conv2d", 1, 8, (49, 10), (10, 8), (2, 2)),
    ]
    alone = aboard.compile(model(layers[:1]), target="c -mcpu=cortex-m4", name="model")
    assert [node.op for node in alone.manifest.nodes] == ["depthwise_conv2d"]
    module = aboard.compile(model(layers), target="c -mcpu=cortex-m4", name="model")
    assert [node.op for node in module.manifest.nodes] == ["conv2d", "conv2d"]


def test_flash_costs_less_in_a_short_inference() -> None:
    """A kernel of fewer bytes is not worth twice the cycles where the layer is the whole model."""
    model, target = Depthwise((8, 8), (3, 3), 7, 7, grouped=True).model(), Target("c -mcpu=cortex-m4 -opt=balanced")
    before, after = (
        check_rewrite(model, each, seeds=1).nodes[0] for each in (DepthwiseForm(), DepthwiseForm("cortex-m4"))
    )
    assert after.op == "depthwise_conv2d"
    costs = [cost(node, strategy.choose(node, target).implementation, target) for node in (before, after)]
    assert costs[1].time < 0.5 * costs[0].time
    assert costs[1].flash_bytes > costs[0].flash_bytes


@settings(max_examples=examples(40), deadline=None)
@given(
    st.builds(
        Depthwise,
        size=st.tuples(st.integers(1, 9), st.integers(1, 9)),
        window=st.tuples(st.integers(1, 4), st.integers(1, 4)),
        outputs=st.integers(1, 9),
        stride=st.integers(1, 2),
        dtype=st.sampled_from([np.int8, np.int16]),
        bias=st.booleans(),
        grouped=st.booleans(),
    )
    | st.builds(
        lambda channels, multiplier, **given: Depthwise(channels=channels, outputs=channels * multiplier, **given),
        channels=st.integers(2, 5),
        multiplier=st.integers(1, 3),
        size=st.tuples(st.integers(1, 9), st.integers(1, 9)),
        stride=st.integers(1, 2),
        dtype=st.sampled_from([np.int8, np.int16]),
        grouped=st.just(True),
    )
)
def test_results_are_those_of_tflite_micro(case: Depthwise) -> None:
    for core in ("cortex-m4", "cortex-m55"):
        check_rewrite(case.model(), DepthwiseForm(core), seeds=1)
    one_op.check_equal(case.model(), case.image(), reference=oracle.tflm)
