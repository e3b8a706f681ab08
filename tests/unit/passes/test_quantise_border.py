"""Inputs and outputs of integers: `-io=int8|uint8`."""

from __future__ import annotations

import re

import numpy as np
import pytest

import aboard
from aboard.emit import sample
from aboard.errors import ModelError, PassError
from aboard.importers import load
from aboard.ir import DType
from aboard.ops.interpreter import run, run_all
from aboard.partition import pipeline as pipelines
from aboard.passes import neutral, run_passes
from aboard.passes.quantise_border import QuantiseBorder
from aboard.target import Target
from support import control_models, models, one_op
from support.examples import either
from support.onnx_models import model, node
from support.tflite_builder import ModelBuilder

SCALE, POINT = 0.05, -7


def relu(inputs: int = 1, extra: str = "") -> bytes:
    """Returns a model of float32 borders around an addition or relu of int8; `extra` is another reader of the input."""
    build, operands = ModelBuilder(), []
    for index in range(inputs):
        build.tensor(f"x{index}", (1, 256), np.float32)
        build.tensor(f"q{index}", (1, 256), np.int8, scale=SCALE, zero_point=POINT)
        build.op("QUANTIZE", [f"x{index}"], [f"q{index}"])
        operands.append(f"q{index}")
    build.tensor("r", (1, 256), np.int8, scale=0.07, zero_point=-100)
    build.op("ADD" if inputs == 2 else "RELU", operands, ["r"])
    build.tensor("y", (1, 256), np.float32).op("DEQUANTIZE", ["r"], ["y"])
    if extra:
        build.tensor("z", (1, 256), np.float32).op(extra, ["x0"], ["z"])
    return build.build([f"x{index}" for index in range(inputs)], ["y", "z"] if extra else ["y"])


def passed(data: bytes, border: str):
    graph = load(data, name="model")
    run_passes(graph, neutral("tflite", border))
    return graph


@pytest.mark.parametrize("inputs", [1, 2])
@pytest.mark.parametrize("border", ["int8", "uint8"])
def test_conversions_are_left_out(inputs: int, border: str) -> None:
    data = relu(inputs)
    graph = passed(data, border)
    assert [t.dtype.value for t in (*graph.inputs, *graph.outputs)] == [border] * (inputs + 1)
    assert [t.name for t in (*graph.inputs, *graph.outputs)] == [*(f"x{index}" for index in range(inputs)), "y"]
    assert all(DType.FLOAT32 not in (t.dtype for t in each.operands) for each in graph.nodes)
    offset = 128 if border == "uint8" else 0
    stored = np.arange(-128, 128).reshape(1, 256)
    feed = {f"x{index}": np.roll(stored, index) for index in range(inputs)}
    real = {name: np.float32(SCALE) * (values - POINT).astype(np.float32) for name, values in feed.items()}
    (wanted,) = run(load(data, name="model"), real).values()
    (got,) = run(graph, {name: (values + offset).astype(border) for name, values in feed.items()}).values()
    quant = graph.outputs[0].quant
    np.testing.assert_array_equal(np.float32(quant.scale) * (got.astype(np.float32) - quant.zero_point), wanted)


def test_the_generated_c_takes_and_gives_integers() -> None:
    data, x = relu(), np.arange(-128, 128, dtype=np.int8).reshape(1, 256)
    real = np.float32(SCALE) * (x.astype(np.float32) - POINT)
    (wanted,) = one_op.compiled(data, real)
    (got,) = one_op.compiled(data, x, attributes="-io=int8")
    np.testing.assert_array_equal(np.float32(0.07) * (got.astype(np.float32) + 100), wanted)
    (unsigned,) = one_op.compiled(data, (x.astype(np.int16) + 128).astype(np.uint8), attributes="-io=uint8")
    np.testing.assert_array_equal(unsigned.astype(np.int16) - 128, got)


def test_integers_of_the_file_stay_or_get_another_sign() -> None:
    build = ModelBuilder().tensor("x", (1, 4), np.int8, scale=SCALE, zero_point=POINT)
    data = build.tensor("y", (1, 4), np.int8, scale=0.07, zero_point=3).op("RELU", ["x"], ["y"]).build(["x"], ["y"])
    assert [each.op for each in passed(data, "int8").nodes] == ["relu"]
    graph = passed(data, "uint8")
    assert [each.op for each in graph.nodes] == ["quantize", "relu", "quantize"]
    assert (graph.inputs[0].quant.zero_point, graph.outputs[0].quant.zero_point) == (POINT + 128, 131)


def test_integers_of_16_bits_stay() -> None:
    build = ModelBuilder().tensor("x", (1, 4), np.float32).tensor("q", (1, 4), np.int16, scale=0.1, zero_point=0)
    build.tensor("r", (1, 4), np.int16, scale=0.1, zero_point=0).tensor("y", (1, 4), np.float32)
    build.op("QUANTIZE", ["x"], ["q"]).op("RELU", ["q"], ["r"]).op("DEQUANTIZE", ["r"], ["y"])
    graph = passed(build.build(["x"], ["y"]), "int8")
    assert [each.op for each in graph.nodes] == ["relu"]
    assert [t.dtype for t in (*graph.inputs, *graph.outputs)] == [DType.INT16, DType.INT16]


@pytest.mark.parametrize("border", ["int8", "uint8"])
def test_data_may_move_between_the_border_and_the_conversion(border: str) -> None:
    build = ModelBuilder().tensor("x", (1, 2, 3, 4), np.float32).tensor("m", (1, 24), np.float32)
    build.tensor("s", (2,), np.int32, data=[1, 24]).op("RESHAPE", ["x", "s"], ["m"])
    build.tensor("q", (1, 24), np.int8, scale=SCALE, zero_point=POINT).op("QUANTIZE", ["m"], ["q"])
    build.tensor("r", (1, 24), np.int8, scale=0.07, zero_point=-100).op("RELU", ["q"], ["r"])
    build.tensor("d", (1, 24), np.float32).op("DEQUANTIZE", ["r"], ["d"])
    build.tensor("t", (2,), np.int32, data=[4, 6]).tensor("y", (4, 6), np.float32).op("RESHAPE", ["d", "t"], ["y"])
    graph = passed(build.build(["x"], ["y"]), border)
    assert [t.dtype.value for t in (*graph.inputs, *graph.outputs)] == [border, border]
    assert all(t.dtype is not DType.FLOAT32 for each in graph.nodes for t in each.operands)


def test_a_quantised_onnx_file() -> None:
    x = np.random.default_rng(0).normal(0, 2, (1, 3, 6, 6)).astype(np.float32)
    rng = np.random.default_rng(1)
    constants = {
        "s": np.float32(0.05),
        "z": np.int8(-10),
        "t": np.float32(0.04),
        "u": np.int8(5),
        "w": rng.integers(-127, 128, (4, 3, 3, 3)).astype(np.int8),
        "ws": np.float32(0.005),
        "wz": np.int8(0),
    }
    nodes = [
        node("QuantizeLinear", "x s z", "q"),
        node("DequantizeLinear", "q s z", "d"),
        node("DequantizeLinear", "w ws wz", "v"),
        node("Conv", "d v", "f"),
        node("QuantizeLinear", "f t u", "r"),
        node("DequantizeLinear", "r t u"),
    ]
    graph = passed(model(nodes, {"x": x}, constants), "int8")
    assert [each.op for each in graph.nodes] == ["transpose", "conv2d", "transpose"]
    assert (graph.inputs[0].shape, graph.inputs[0].dtype, graph.inputs[0].name) == ((1, 3, 6, 6), DType.INT8, "x")


def test_an_input_that_real_numbers_are_computed_from_is_refused() -> None:
    with pytest.raises(
        ModelError, match=re.escape("readers of input x0, got abs z, expected one conversion to integers")
    ):
        passed(relu(extra="ABS"), "int8")


def test_an_input_with_two_quantisations_is_refused() -> None:
    build = ModelBuilder().tensor("x", (1, 4), np.float32)
    for index, scale in enumerate((0.1, 0.2)):
        build.tensor(f"q{index}", (1, 4), np.int8, scale=scale, zero_point=0).op("QUANTIZE", ["x"], [f"q{index}"])
    build.tensor("y", (1, 4), np.int8, scale=0.3, zero_point=0).op("ADD", ["q0", "q1"], ["y"])
    with pytest.raises(ModelError, match="readers of input x, got 2 conversions to integers"):
        passed(build.build(["x"], ["y"]), "int8")


def test_a_float_model_is_refused() -> None:
    build = ModelBuilder().tensor("x", (1, 4), np.float32).tensor("y", (1, 4), np.float32)
    with pytest.raises(ModelError, match="readers of input x, got abs y"):
        passed(build.op("ABS", ["x"], ["y"]).build(["x"], ["y"]), "uint8")


#: Bytes of RAM at most, and bytes of the input.
IMAGES = {"mcunet_vww": (24_576, 19_200), "mcunet_detection": (73_728, 61_440)}


@pytest.mark.parametrize("name", models.available(IMAGES))
@pytest.mark.parametrize("border", either(["int8", "uint8"], ["int8"]))
def test_images_of_integers_need_a_fraction_of_the_memory(name: str, border: str) -> None:
    manifest = aboard.compile(models.read(name), target=f"c -mcpu=cortex-m4 -io={border}", name="model").manifest
    most, input_bytes = IMAGES[name]
    assert manifest.ram_bytes <= most
    assert manifest.inputs[0].bytes == input_bytes


@pytest.mark.parametrize("name", models.available(["mcunet_detection"]))
def test_a_streamed_image_keeps_to_a_limit_that_takes_a_longer_search(name: str) -> None:
    target = "c -mcpu=cortex-m4 -io=int8 -input=rows -ram-max=24576"
    assert aboard.compile(models.read(name), target=target, name="model").manifest.ram_bytes <= 24_576


@pytest.mark.parametrize("model", [control_models.chosen(1), control_models.looped(1), control_models.nested(1)])
def test_graphs_inside_nodes_keep_their_borders(model: bytes) -> None:
    before, after = load(model), load(model)
    run_passes(after, [QuantiseBorder("uint8")])
    drawn = {tensor.name: sample.values(tensor.dtype, tensor.shape, 3, 0) for tensor in before.inputs}
    feed = {name: value % 9 if value.dtype == np.int32 else value for name, value in drawn.items()}
    expected = run_all(before, feed)
    changed = {tensor.name for tensor in after.inputs if tensor.dtype is DType.UINT8}
    got = run_all(
        after, {k: (v.astype(np.int16) + 128).astype(np.uint8) if k in changed else v for k, v in feed.items()}
    )
    assert changed
    for tensor in after.outputs:
        signed = got[tensor.name].astype(np.int16) - (128 if tensor.dtype is DType.UINT8 else 0)
        np.testing.assert_array_equal(signed, expected[tensor.name])


@pytest.mark.parametrize(
    ("option", "needed"),
    [
        ("-io=uint8", "quantise-border{dtype=uint8}"),
        ("-io=int8", "quantise-border"),
        ("-arithmetic=exact", "round-exactly,fuse-quantisation{arithmetic=exact}"),
        ("-input-layout=nhwc", "input-layout"),
    ],
)
def test_passes_given_by_hand_must_name_those_of_an_attribute(option: str, needed: str) -> None:
    name = option.split("=")[0]
    message = f"passes: {option} needs {needed}, got remove-dead-code. Add what it needs, or leave {name} out"
    with pytest.raises(PassError, match=f"^{re.escape(message)}$"):
        pipelines.pipeline_of(Target(f"c -mcpu=cortex-m4 {option}"), "remove-dead-code")


def test_passes_given_by_hand_may_name_the_pass_of_an_attribute() -> None:
    target = Target("c -mcpu=cortex-m4 -io=uint8")
    given = pipelines.pipeline_of(target, "quantise-border{dtype=uint8},divide-wide-nodes")
    assert QuantiseBorder("uint8") in (*given.before, *given.after)
