"""SVDF against tflite-micro over sequences of steps, and its messages."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard.errors import ModelError
from aboard.importers import load
from aboard.kernels import of
from aboard.kernels.contract import Implementation, KernelCall
from aboard.kernels.view import View
from aboard.ops import get
from aboard.target import Target
from support import kernel_call, oracle, recurrent, streams
from support.examples import examples
from support.kernel_call import Placed
from support.tflite_builder import ModelBuilder


@dataclass(frozen=True)
class Filter:
    """A model of one SVDF; every field has a value with which it works.

    Attributes:
        state: Element type of state and time weights; float32 for all tensors.
        zero_points: Of input, state and result.
        gain: Factor on the scale of the features: well below 1 they saturate.
        spread: Likewise of results.
        bias: Whether there is one.
        wrong: Properties of tensors that replace the right ones.
    """

    state: type = np.int8
    batch: int = 1
    inputs: int = 7
    units: int = 5
    rank: int = 2
    memory: int = 4
    zero_points: tuple[int, int, int] = (3, -9, 5)
    gain: float = 1.0
    spread: float = 1.0
    bias: bool = True
    activation: str | int = "NONE"
    seed: int = 0
    wrong: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def is_float(self) -> bool:
        return self.state is np.float32

    def tensors(self) -> dict[str, dict[str, Any]]:
        filters = self.units * self.rank
        shapes = {
            "x": (self.batch, self.inputs),
            "w": (filters, self.inputs),
            "t": (filters, self.memory),
            "b": (self.units,),
            "s": (self.batch, filters * self.memory),
            "y": (self.batch, self.units),
        }
        found: dict[str, dict[str, Any]] = {name: {"shape": shape} for name, shape in shapes.items()}
        rng, scales = np.random.default_rng(self.seed), self.scales()
        types = [np.int8, np.int8, self.state, np.int32, self.state, np.int8]
        for (name, each), dtype in zip(found.items(), types, strict=True):
            each["dtype"] = np.float32 if self.is_float else dtype
            if not self.is_float:
                each["scale"] = scales[name]
            if name in "wtb":
                info = np.iinfo(dtype if not self.is_float else np.int8)
                most = min(int(info.max), 3000)
                values = rng.integers(-most, most, shapes[name], endpoint=True)
                each["data"] = values / 100 if self.is_float else values
        found["s"]["variable"] = True
        if not self.is_float:
            for name, zero_point in zip("xsy", self.zero_points, strict=True):
                each = found[name]
                each["zero_point"] = 0 if each["dtype"] is np.int16 else zero_point
        return found

    def scales(self) -> dict[str, float]:
        wide = self.state is np.int16
        feature = self.gain * 0.05 * 0.01 * 60 * self.inputs**0.5 * (1 / 256 if wide else 1)
        time = 1e-4 if wide else 0.02
        sums = np.float32(feature) * np.float32(time)
        result = self.spread * float(sums) * 60 * (self.memory * self.rank) ** 0.5 * (10000 if wide else 1)
        return {"x": 0.05, "w": 0.01, "t": time, "b": float(sums), "s": feature, "y": result}

    def model(self) -> bytes:
        return self.builder().build(["x"], ["y"])

    def builder(self) -> ModelBuilder:
        build, tensors = ModelBuilder(border=(["x"], ["y"])), self.tensors()
        for name, properties in self.wrong.items():
            tensors[name] |= properties
        for name, properties in tensors.items():
            build.tensor(name, properties.pop("shape"), properties.pop("dtype"), **properties)
        operands = ["x", "w", "t", "b" if self.bias else -1, "s"]
        options = {"Rank": self.rank, "FusedActivationFunction": self.activation}
        return build.op("SVDF", operands, ["y"], options)

    def steps(self) -> list[list[np.ndarray]]:
        dtype = np.float32 if self.is_float else np.int8
        return recurrent.draws((self.batch, self.inputs), dtype, self.seed, self.memory + 3)


def filters(state: type) -> st.SearchStrategy[Filter]:
    small, point = st.integers(1, 6), st.integers(-128, 127)
    return st.builds(
        Filter,
        state=st.just(state),
        batch=st.integers(1, 3),
        inputs=st.integers(1, 11),
        units=small,
        rank=st.integers(1, 3),
        memory=st.integers(1, 9),
        zero_points=st.tuples(point, point, point),
        gain=st.sampled_from([0.2, 1.0, 3.0]),
        spread=st.sampled_from([0.2, 1.0, 3.0]),
        activation=st.sampled_from(["NONE", "RELU", "RELU6"]),
        seed=st.integers(0, 1000),
    )


@pytest.mark.parametrize("state", [np.int8, np.int16, np.float32])
@settings(max_examples=6, deadline=None)
@given(st.data())
def test_sequences_of_steps(state: type, data: st.DataObject) -> None:
    layer = data.draw(filters(state))
    recurrent.check(layer.model(), layer.steps())


@pytest.mark.parametrize("state", [np.int8, np.int16, np.float32])
def test_outputs_vary_and_the_c_is_clean(state: type) -> None:
    layer = Filter(state=state, batch=2)
    outputs = recurrent.check(layer.model(), layer.steps(), sanitize=True)
    assert len({y.tobytes() for (y,) in outputs}) == len(outputs)


@pytest.mark.parametrize("activation", ["RELU_N1_TO_1", "TANH", "SIGN_BIT"])
@pytest.mark.parametrize("state", [np.int8, np.float32])
def test_activations(activation: str, state: type) -> None:
    layer = Filter(state=state, batch=2, activation=activation)
    outputs = recurrent.check(layer.model(), layer.steps())
    assert len({y.tobytes() for (y,) in outputs}) > 1


def test_a_float_bias_may_be_absent() -> None:
    # The reference ends the process there, so that zeros stand in.
    without, zeros = Filter(state=np.float32, bias=False), Filter(state=np.float32, wrong={"b": {"data": np.zeros(5)}})
    expected = oracle.tflm_steps(zeros.model(), zeros.steps())
    for results in (
        streams.evaluated(without.model(), without.steps()),
        recurrent.compiled(without.model(), without.steps()),
    ):
        np.testing.assert_allclose(np.array(results), np.array(expected), rtol=1e-5, atol=1e-5)


def test_an_int8_state_wraps_where_its_zero_point_is_added() -> None:
    layer = Filter(gain=0.1, zero_points=(0, 100, 0))
    recurrent.check(layer.model(), layer.steps())


@pytest.mark.parametrize("bias", [6549999, 8949999, 3649999, 5549999, 7349999])
@pytest.mark.parametrize("seed", range(4))
def test_ratios_of_scales_are_formed_in_doubles(bias: int, seed: int) -> None:
    # Near ties the last bits of a multiplier count, which float32 would not have.
    state, time = (float(np.float32(v)) for v in np.random.default_rng(seed).uniform(0.001, 0.02, 2))
    wrong: dict[str, dict[str, Any]] = {
        "s": {"scale": state},
        "t": {"scale": time},
        "y": {"scale": float(np.float32(state * time * 1e5))},
        "b": {"scale": state * time, "data": [bias]},
    }
    layer = Filter(units=1, rank=1, memory=1, inputs=1, zero_points=(0, 0, 0), wrong=wrong)
    steps = [[np.zeros((1, 1), np.int8)]]
    expected = oracle.tflm_steps(layer.model(), steps)
    np.testing.assert_array_equal(streams.evaluated(layer.model(), steps)[0][0], expected[0][0])


def test_the_state_is_that_of_the_reference() -> None:
    layer = Filter()
    graph = load(layer.model())
    (state,) = graph.states
    assert state.initial.tolist() == [[-9] * 40]
    assert (state.read.name, state.changes) == ("s", True)


@pytest.mark.parametrize(
    ("layer", "words"),
    [
        (Filter(rank=3, wrong={"w": {"shape": (10, 7), "data": np.zeros((10, 7))}}), "feature weights, got shape"),
        (Filter(wrong={"x": {"shape": (1, 7, 1)}}), "input, got shape (1, 7, 1), expected two dimensions."),
        (Filter(wrong={"s": {"shape": (1, 41)}}), "state, got shape (1, 41), expected (1, 40)."),
        (Filter(wrong={"b": {"shape": (6,), "data": np.zeros(6)}}), "bias, got shape (6,), expected (5,)."),
        (Filter(bias=False), "bias, got none, expected one in a quantised operator."),
        (Filter(wrong={"s": {"dtype": np.int16, "zero_point": 0}}), "element types of operands and result, got int8"),
        (Filter(wrong={"w": {"zero_point": 1}}), "zero point of w, got 1, expected 0."),
        (Filter(wrong={"b": {"scale": 0.5}}), "scale of the bias, got 0.5, expected "),
        (Filter(wrong={"w": {"scale": None, "scales": [0.01] * 10}}), "quantisation of w, got int8[10x7]"),
        (Filter(wrong={"y": {"scale": 1e-30}}), "scales of state and result, got ratios of sums of more than 2^30"),
        (Filter(state=np.float32, activation=6), "fused activation, got 6, expected one of NONE"),
    ],
)
def test_what_is_refused(layer: Filter, words: str) -> None:
    with pytest.raises(ModelError) as caught:
        load(layer.model())
    assert str(caught.value).startswith(f"model (bytes): node 0 SVDF: {words}")


def test_a_rank_that_does_not_divide_the_filters_is_refused() -> None:
    build = ModelBuilder()
    for name, properties in dataclasses.replace(Filter(), state=np.float32).tensors().items():
        build.tensor(name, properties.pop("shape"), properties.pop("dtype"), **properties)
    model = build.op("SVDF", ["x", "w", "t", "b", "s"], ["y"], {"Rank": 3}).build(["x"], ["y"])
    with pytest.raises(ModelError, match="rank, got 3 for 10 filters, expected a divisor of the filters"):
        load(model)


def test_operands_are_five() -> None:
    build = ModelBuilder()
    for name, properties in Filter(state=np.float32).tensors().items():
        build.tensor(name, properties.pop("shape"), properties.pop("dtype"), **properties)
    model = build.op("SVDF", ["x", "w", "t", "b", "s", -1], ["y"], {"Rank": 2}).build(["x"], ["y"])
    with pytest.raises(ModelError, match="operands and results, got 6 and 1, expected 5 and 1"):
        load(model)


def test_weights_that_are_computed_have_no_kernel() -> None:
    layer = Filter(state=np.float32, wrong={"w": {"data": None}})
    build, tensors = ModelBuilder(), layer.tensors()
    tensors["w"].pop("data")
    for name, properties in tensors.items():
        build.tensor(name, properties.pop("shape"), properties.pop("dtype"), **properties)
    model = build.op("SVDF", ["x", "w", "t", "b", "s"], ["y"], {"Rank": 2}).build(["x", "w"], ["y"])
    with pytest.raises(ModelError, match="w is computed at run time, weights and bias must be constants"):
        recurrent.module(model)


# The kernels for the DSP extension and for Helium; the C beside their assembly runs here.

M4 = Target("c -mcpu=cortex-m4 -runtime=standalone")


def kernel(name: str) -> Implementation:
    return next(kernel for kernel in of("svdf") if kernel.name == name)


@pytest.mark.parametrize("name", ["dsp_s8", "arm_mve_s8", "arm_mve_s8_s16"])
@settings(max_examples=examples(12), deadline=None)
@given(st.data())
def test_a_kernel_for_an_instruction_set_computes_the_same(name: str, data: st.DataObject) -> None:
    tested = kernel(name)
    layer = data.draw(filters(np.int16 if name.endswith("_s16") else np.int8))
    if name.startswith("arm_mve"):
        # Units of one block, and of several; 69 are no multiple of a block.
        units = st.one_of(st.integers(1, 13), st.sampled_from([64, 69, 72, 96, 120]))
        shapes = st.tuples(st.sampled_from([1, 15, 16, 33, 250]), units, st.sampled_from([1, 9, 17, 40]))
        inputs, count, memory = data.draw(shapes)
        layer = dataclasses.replace(layer, inputs=inputs, units=count, memory=memory)
    (node,) = load(layer.model()).nodes
    assert tested.refuses(node, M4) is None
    info = np.iinfo(node.input(4).dtype.numpy)
    state = np.random.default_rng(1).integers(info.min, info.max, node.input(4).shape, info.dtype, endpoint=True)
    x = layer.steps()[0][0]
    expected = get("svdf").evaluate(node, [x, *(t.data for t in node.inputs[1:4] if t is not None), state])
    views = [View.whole(tensor.shape, tensor.dtype.bytes) for tensor in [*node.operands, *node.outputs]]
    places = [Placed.of(values, view) for values, view in ((x, views[0]), (state, views[4]))]
    result = Placed.of(np.zeros(node.output.shape, np.int8), views[5])
    call = tested.lower(node, views[:5], views[5:], M4)
    assert isinstance(call, KernelCall)
    kernel_call.run(call, [places[0]] * 4 + [places[1]], [result, places[1]], [(n, n + 1) for n in range(layer.batch)])
    for got, wanted in zip((result, places[1]), expected, strict=True):
        np.testing.assert_array_equal(got.values(wanted.shape, wanted.dtype), wanted)


def test_what_the_dsp_kernel_leaves_to_the_portable_one() -> None:
    (node,) = load(Filter().model()).nodes
    assert kernel("dsp_s8").refuses(node, M4) is None
    (wide,) = load(Filter(state=np.int16).model()).nodes
    assert kernel("dsp_s8").refuses(wide, M4) == "is for a state of int8"
    (coarse,) = load(Filter(gain=1e-9).model()).nodes
    assert kernel("dsp_s8").refuses(coarse, M4) == "sums of features may exceed 31 bits"
    (fine,) = load(Filter(wrong={"b": {"data": [2**31 - 1] * 5}}).model()).nodes
    assert kernel("dsp_s8").refuses(fine, M4) == "sums over time may exceed 31 bits"
