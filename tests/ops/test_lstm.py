"""UNIDIRECTIONAL_SEQUENCE_LSTM against tflite-micro over sequences of runs, and its messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard.errors import ModelError
from aboard.importers import load
from support import models, oracle, recurrent, streams
from support.tflite_builder import ModelBuilder

#: Names of the operands; None for those of variants that tflite-micro refuses.
NAMES = ("x", *(f"w{i}" for i in range(4)), *(f"r{i}" for i in range(4)), *[None] * 3, *(f"b{i}" for i in range(4)))
OPERANDS = (*NAMES, None, None, "h", "c", *[None] * 4)


@dataclass(frozen=True)
class Layer:
    """A model of one layer; every field has a value with which it works.

    Attributes:
        dtype: Element type of input and result.
        zero_points: Of input and hidden state; int8 only.
        cell_scale: Of the cell state, as a power of two.
        gain: Factor on the scales of weights: well above 1 gates saturate.
        wrong: Properties of tensors that replace the right ones.
        present: Further operands by their index, of shape [units].
        options: Options that replace the right ones.
    """

    dtype: type = np.int8
    batch: int = 1
    steps: int = 3
    inputs: int = 5
    units: int = 4
    time_major: bool = False
    clip: float = 0.0
    zero_points: tuple[int, int] = (3, -9)
    cell_scale: int = -11
    gain: float = 1.0
    seed: int = 0
    wrong: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    present: tuple[int, ...] = ()
    absent: tuple[int, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_float(self) -> bool:
        return self.dtype is np.float32

    def sequence(self, last: int) -> tuple[int, int, int]:
        return (self.steps, self.batch, last) if self.time_major else (self.batch, self.steps, last)

    def tensors(self) -> dict[str, dict[str, Any]]:
        rng, state = np.random.default_rng(self.seed), (self.batch, self.units)
        found: dict[str, dict[str, Any]] = {"x": {"shape": self.sequence(self.inputs), "dtype": self.dtype}}
        bias = {np.int8: np.int32, np.int16: np.int64, np.float32: np.float32}[self.dtype]
        weights = np.float32 if self.is_float else np.int8
        for gate in range(4):
            for kind, shape in (("w", (self.units, self.inputs)), ("r", (self.units, self.units))):
                found[f"{kind}{gate}"] = {"shape": shape, "dtype": weights, "data": rng.integers(-127, 128, shape)}
            values = rng.integers(-2000, 2000, self.units) * (256 if self.dtype is np.int16 else 1)
            found[f"b{gate}"] = {"shape": (self.units,), "dtype": bias, "data": values}
        found["h"] = {"shape": state, "dtype": self.dtype, "variable": True}
        cell = np.float32 if self.is_float else np.int16
        found["c"] = {"shape": state, "dtype": cell, "variable": True}
        found["y"] = {"shape": self.sequence(self.units), "dtype": self.dtype}
        self._quantise(found, rng)
        return found

    def _quantise(self, tensors: dict[str, dict[str, Any]], rng: np.random.Generator) -> None:
        if self.is_float:
            for name, each in tensors.items():
                if "data" in each:
                    each["data"] = each["data"] / (2000 if name[0] == "b" else 127 / self.gain)
            return
        fine = 256 if self.dtype is np.int16 else 1
        for name, each in tensors.items():
            each["scale"] = {"x": 0.03 / fine, "h": 1 / 128 / fine, "y": 1 / 128 / fine}.get(name, 0.01)
            if name[0] in "wr":
                each["scale"] = float(self.gain * rng.uniform(0.002, 0.01))
        tensors["c"]["scale"] = 2.0**self.cell_scale
        if self.dtype is np.int8:
            for name, zero_point in zip(("x", "h", "y"), (*self.zero_points, self.zero_points[1]), strict=True):
                tensors[name]["zero_point"] = zero_point

    def model(self) -> bytes:
        return self.builder().build(["x"], ["y"])

    def builder(self) -> ModelBuilder:
        build, tensors = ModelBuilder(border=(["x"], ["y"])), self.tensors()
        operands: list[str | int] = [-1 if name is None else name for name in OPERANDS]
        for index in self.present:
            tensors[f"p{index}"] = {**tensors["b0"]}
            operands[index] = f"p{index}"
        for index in self.absent:
            operands[index] = -1
        for name, properties in self.wrong.items():
            tensors[name] |= properties
        for name, properties in tensors.items():
            build.tensor(name, properties.pop("shape"), properties.pop("dtype"), **properties)
        options = {"FusedActivationFunction": "TANH", "TimeMajor": self.time_major, "CellClip": self.clip}
        return build.op("UNIDIRECTIONAL_SEQUENCE_LSTM", operands, ["y"], {**options, **self.options})

    def runs(self) -> list[list[np.ndarray]]:
        return recurrent.draws(self.sequence(self.inputs), self.dtype, self.seed)


TYPES = [np.int8, np.int16, np.float32]


def layers(dtype: type) -> st.SearchStrategy[Layer]:
    small, point = st.integers(1, 6), st.integers(-128, 127)
    return st.builds(
        Layer,
        dtype=st.just(dtype),
        batch=st.integers(1, 3),
        steps=small,
        inputs=st.integers(1, 11),
        units=small,
        time_major=st.booleans(),
        clip=st.sampled_from([0.0, 0.25, 100.0]),
        zero_points=st.tuples(point, point),
        cell_scale=st.integers(-14, -8),
        gain=st.sampled_from([0.5, 1.0, 5.0]),
        seed=st.integers(0, 1000),
    )


@pytest.mark.parametrize("dtype", TYPES)
@settings(max_examples=6, deadline=None)
@given(st.data())
def test_sequences_of_runs(dtype: type, data: st.DataObject) -> None:
    layer = data.draw(layers(dtype))
    recurrent.check(layer.model(), layer.runs())


@pytest.mark.parametrize("dtype", TYPES)
def test_outputs_vary_and_the_c_is_clean(dtype: type) -> None:
    layer = Layer(dtype=dtype, batch=2, inputs=600 if dtype is np.int16 else 9, clip=0.5, gain=0.2)
    outputs = recurrent.check(layer.model(), layer.runs(), sanitize=True)
    assert len({y.tobytes() for (y,) in outputs}) == len(outputs)


@pytest.mark.parametrize(
    ("scales", "bias"),
    [
        ((1.6369616787414998e-05, 1.2697867532551754e-05), 6460013),
        ((1.813270318962168e-05, 1.91275557881454e-05), 6687158),
        ((1.5436249668709934e-05, 1.9350723960087635e-05), 6130025),
    ],
)
def test_ratios_of_scales_are_formed_in_doubles(scales: tuple[float, float], bias: int) -> None:
    # The products with the input lie near a tie, where the last bits of the multiplier count.
    wrong: dict[str, dict[str, Any]] = {name: {"scale": 2.0**-14} for name in "hy"}
    wrong |= {"x": {"scale": scales[0]}, "w2": {"scale": scales[1]}, "b2": {"data": [bias]}}
    wrong |= {f"w{gate}": {"scale": 1.0} for gate in (0, 3)} | {f"b{gate}": {"data": [2000000000]} for gate in (0, 3)}
    layer = Layer(units=1, inputs=1, steps=1, zero_points=(0, 0), cell_scale=-15, wrong=wrong)
    steps = [[np.zeros((1, 1, 1), np.int8)]]
    expected = oracle.tflm_steps(layer.model(), steps)
    np.testing.assert_array_equal(streams.evaluated(layer.model(), steps)[0][0], expected[0][0])


def test_states_begin_at_zero() -> None:
    hidden, cell = load(Layer().model()).states
    assert (hidden.read.name, hidden.initial.tolist()) == ("h", [[-9] * 4])
    assert (cell.read.name, cell.initial.tolist()) == ("c", [[0] * 4])
    assert hidden.changes
    assert cell.changes


def test_gates_need_no_memory_and_the_result_lies_over_the_input() -> None:
    manifest = recurrent.module(Layer(inputs=8, steps=2).model(), "").manifest
    assert manifest.state is not None
    assert (manifest.ram_bytes, manifest.state.bytes) == (4 + 2 * 8, 4 + 2 * 4)


@pytest.mark.parametrize(
    ("layer", "words"),
    [
        (Layer(present=(10,)), "has peephole connections, which tflite-micro refuses. Use a plain LSTM layer"),
        (Layer(present=(16,)), "has a projection, which tflite-micro refuses."),
        (Layer(present=(21,)), "has layer normalisation, which tflite-micro refuses."),
        (Layer(absent=(1, 5, 12)), "couples input and forget gate, which tflite-micro refuses."),
        (Layer(options={"FusedActivationFunction": "RELU"}), "activation, got number 1, expected 4 (TANH)."),
        (Layer(wrong={"x": {"shape": (3, 5)}}), "input, got shape (3, 5), expected 3 dimensions."),
        (Layer(wrong={"h": {"shape": (4,)}}), "hidden state, got shape (4,), expected 2 dimensions."),
        (Layer(wrong={"c": {"shape": (5,)}}), "cell state, got shape (5,), expected 4 elements."),
        (
            Layer(wrong={"w1": {"shape": (5, 4)}}),
            "input weights of the forget gate, got shape (5, 4), expected (4, 5).",
        ),
        (Layer(wrong={"b3": {"shape": (2, 2)}}), "bias of the output gate, got shape (2, 2), expected (4,)."),
        (Layer(wrong={"c": {"dtype": np.int8}}), "element types of input, weights, bias, hidden state, cell state"),
        (Layer(wrong={"r2": {"scale": None, "scales": [0.01] * 4}}), "quantisation of r2, got int8[4x4]"),
        (Layer(wrong={"r2": {"zero_point": 1}}), "zero point of r2, got 1, expected 0."),
        (Layer(cell_scale=4), "scale of the cell state, got 16, expected one from 2^-43 to 2^2."),
        (Layer(wrong={"w0": {"scale": 1e8}}), "scales of input, hidden state and weights, got products of 2^18"),
        (Layer(cell_scale=-33), "scales of hidden and cell state, got less than 2^-30, expected more."),
        (
            Layer(np.int16, wrong={"b0": {"data": [1 << 50] * 4}}),
            "biases of up to 1125899906842624, expected sums of less than 2^47.",
        ),
    ],
)
def test_what_is_refused(layer: Layer, words: str) -> None:
    with pytest.raises(ModelError) as caught:
        load(layer.model())
    assert str(caught.value).startswith(f"model (bytes): node 0 UNIDIRECTIONAL_SEQUENCE_LSTM: {words}")


def test_operands_are_24() -> None:
    build = ModelBuilder()
    for name, properties in Layer().tensors().items():
        build.tensor(name, properties.pop("shape"), properties.pop("dtype"), **properties)
    operands = [-1 if name is None else name for name in OPERANDS[:20]]
    model = build.op("UNIDIRECTIONAL_SEQUENCE_LSTM", operands, ["y"], {}).build(["x"], ["y"])
    with pytest.raises(ModelError, match="operands and results, got 20 and 1, expected 24 and 1"):
        load(model)


def test_weights_that_are_computed_have_no_kernel() -> None:
    build, tensors = ModelBuilder(), Layer(np.float32).tensors()
    tensors["w0"].pop("data")
    for name, properties in tensors.items():
        build.tensor(name, properties.pop("shape"), properties.pop("dtype"), **properties)
    operands = [-1 if name is None else name for name in OPERANDS]
    build.op("UNIDIRECTIONAL_SEQUENCE_LSTM", operands, ["y"], {"FusedActivationFunction": "TANH"})
    with pytest.raises(ModelError, match="w0 is computed at run time, weights and bias must be constants"):
        recurrent.module(build.build(["x", "w0"], ["y"]))


@pytest.mark.parametrize("name", models.available(["lstm", "lstm_f32"]))
def test_real_models(name: str) -> None:
    dtype = np.float32 if name == "lstm_f32" else np.int8
    recurrent.check(models.read(name), recurrent.draws((1, 28, 28), dtype))
