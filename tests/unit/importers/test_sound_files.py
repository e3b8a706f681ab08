"""Sound files that public collections hold: each is compiled as the reference computes it, or told what it is."""

from collections.abc import Callable

import numpy as np
import pytest
import tflite

from aboard.errors import ModelError
from aboard.importers import load
from aboard.ir import DType
from support import models, one_op, oracle
from support.tflite_builder import ModelBuilder

QUANT = {"scale": 0.5, "zero_point": 3}
X = np.array([[1, -2, 30, -128]], np.int8)


def pair(**x: object) -> ModelBuilder:
    """Returns a builder with x and y of int8, ready for an operator between them."""
    return ModelBuilder().tensor("x", (1, 4), np.int8, **{**QUANT, **x}).tensor("y", (1, 4), np.int8, **QUANT)


def refused(model: bytes) -> str:
    with pytest.raises(ModelError) as caught:
        load(model)
    assert "corrupt" not in str(caught.value)
    return str(caught.value)


# Biases.


def connected(bias: dict[str, object], **weights: object) -> bytes:
    """Returns a FULLY_CONNECTED whose bias has the quantisation that is asked for."""
    builder = ModelBuilder().tensor("x", (1, 4), np.int8, **QUANT).tensor("y", (1, 3), np.int8, **QUANT)
    builder.tensor("w", (3, 4), np.int8, data=np.arange(12).reshape(3, 4), **{"scale": 0.01, **weights})
    builder.tensor("b", (3,), np.int32, data=[100, -2000, 7], **bias)
    return builder.op("FULLY_CONNECTED", ["x", "w", "b"], ["y"], {}).build(["x"], ["y"])


def convolution(bias: dict[str, object], scales: list[float]) -> bytes:
    builder = ModelBuilder().tensor("x", (1, 1, 1, 4), np.int8, **QUANT).tensor("y", (1, 1, 1, 3), np.int8, **QUANT)
    builder.tensor("w", (3, 1, 1, 4), np.int8, data=np.arange(12) - 6, scales=scales, axis=0)
    builder.tensor("b", (3,), np.int32, data=[100, -2000, 7], **bias)
    return builder.op("CONV_2D", ["x", "w", "b"], ["y"], {"StrideH": 1, "StrideW": 1}).build(["x"], ["y"])


@pytest.mark.parametrize(
    "bias",
    [
        {"scales": [0.005, 0.01, 0.015], "axis": 3},
        {"scales": [0.005, 0.01, 0.015], "axis": -1},
        {"scales": [0.0, 0.0, 0.0], "axis": 0},
        {"scales": [0.5, 0.5]},
        {"scales": [0.5, 0.5, 0.5], "zero_points": [1, 2]},
        {"scale": 0.0},
        {"scale": 1e30, "zero_point": 77},
        {"scale": -1.0},
        {},
    ],
)
def test_the_quantisation_of_a_bias_means_nothing(bias: dict[str, object]) -> None:
    model, x = convolution(bias, [0.01, 0.02, 0.03]), X.reshape(1, 1, 1, 4)
    assert load(model).nodes[0].input(2).type.quant is None
    np.testing.assert_array_equal(one_op.evaluate(model, x), oracle.tflm(model, x))


def test_a_bias_that_is_an_operand_elsewhere_keeps_its_quantisation() -> None:
    builder = ModelBuilder().tensor("x", (1, 4), np.int8, **QUANT).tensor("y", (1, 3), np.int8, **QUANT)
    builder.tensor("w", (3, 4), np.int8, data=np.arange(12).reshape(3, 4), scale=0.01)
    builder.tensor("b", (3,), np.int32, data=[1, 2, 3], scale=0.005).tensor("c", (3, 1), np.int32, scale=0.005)
    builder.op("FULLY_CONNECTED", ["x", "w", "b"], ["y"], {}).op("RESHAPE", ["b"], ["c"], {})
    graph = load(builder.build(["x"], ["y", "c"]))
    assert graph.nodes[0].input(2).quant.scale == np.float32(0.005)


@pytest.mark.parametrize("name", models.available(["person"]))
def test_person_detection_of_tflite_micro(name: str) -> None:
    """Its biases state scales along axis 3."""
    x = np.random.default_rng(0).integers(-128, 128, (1, 96, 96, 1)).astype(np.int8)
    one_op.check_equal(models.read(name), x)


# Scales of 0.


@pytest.mark.parametrize("scales", [[0.0, 0.02, 0.03], [0.0, 0.0, 0.0], [0.0]])
def test_weights_of_scale_0_give_the_zero_point(scales: list[float]) -> None:
    model = convolution({"scale": 0.0}, scales)
    one_op.check_equal(model, X.reshape(1, 1, 1, 4))
    assert one_op.evaluate(model, X.reshape(1, 1, 1, 4))[0][0, 0, 0, 0] == QUANT["zero_point"]


def test_weights_of_a_matrix_of_scale_0() -> None:
    one_op.check_equal(connected({}, scale=0.0), X)


def test_a_scale_that_nobody_reads_may_be_0() -> None:
    model = pair().tensor("shape", (2,), np.int32, data=[1, 4], scale=0.0)
    one_op.check_equal(model.op("RESHAPE", ["x", "shape"], ["y"], {"NewShape": [1, 4]}).build(["x"], ["y"]), X)


@pytest.mark.parametrize("kind", ["ADD", "SUB", "MUL"])
def test_a_scale_of_0_that_an_operator_needs_is_named(kind: str) -> None:
    model = pair().tensor("c", (1, 4), np.int8, data=[0, 0, 0, 0], scale=0.0)
    text = refused(model.op(kind, ["x", "c"], ["y"], {}).build(["x"], ["y"]))
    assert f": node 0 {kind}: quantisation of c, got scale 0, expected one positive scale. Quantise" in text


# Zero points.


@pytest.mark.parametrize("points", [[0], [0, 0, 0], [0, 0], [0, 0, 0, 0, 0]])
def test_zero_points_that_are_all_the_same_fit_any_number_of_scales(points: list[int]) -> None:
    builder = ModelBuilder().tensor("x", (1, 4), np.int8, **QUANT).tensor("y", (1, 3), np.int8, **QUANT)
    builder.tensor("w", (3, 4), np.int8, data=np.arange(12), scales=[0.1, 0.2, 0.3], zero_points=points, axis=0)
    graph = load(builder.op("FULLY_CONNECTED", ["x", "w"], ["y"], {}).build(["x"], ["y"]))
    assert graph.nodes[0].input(1).quant.zero_points == (0, 0, 0)


# Outputs.


def test_an_output_that_is_named_twice_is_given_twice() -> None:
    model = pair().op("LEAKY_RELU", ["x"], ["y"], {"Alpha": 0.5}).build(["x"], ["y", "y", "y"])
    assert [tensor.name for tensor in load(model).outputs] == ["y", "y_2", "y_3"]
    one_op.check_equal(model, X)


def test_an_output_that_is_an_input_or_a_constant_is_a_copy() -> None:
    model = pair().tensor("c", (2, 2), np.int8, data=[[1, 2], [3, 4]], **QUANT)
    model.op("LEAKY_RELU", ["x"], ["y"], {"Alpha": 0.5})
    data = model.build(["x"], ["c", "x", "y", "x"])
    assert [tensor.name for tensor in load(data).outputs] == ["c_2", "x_2", "y", "x_3"]
    one_op.check_equal(data, X)


def test_a_model_without_operators_copies_its_inputs() -> None:
    model = pair().build(["x", "y"], ["y", "x"])
    results = one_op.compiled(model, X, -X)
    np.testing.assert_array_equal(results, [-X, X])


def test_names_that_are_equal_once_they_are_c_identifiers() -> None:
    model = ModelBuilder()
    for name in ("a/b", "a_b", "a b", "a/b"):
        model.tensor(name, (1, 4), np.int8, **QUANT)
    model.op("LEAKY_RELU", [0], [1], {"Alpha": 0.5}).op("LEAKY_RELU", [2], [3], {"Alpha": 0.25})
    one_op.check_equal(model.build([0, 2], [1, 3]), X, X)


# What a file may leave out.


def test_scalars_and_operands_without_elements() -> None:
    model = ModelBuilder().tensor("x", (1, 1), np.int8, **QUANT).tensor("y", (), np.int8, **QUANT)
    model.tensor("shape", (0,), np.int32, data=b"").tensor("none", (0,), np.int32)
    for shape in ("shape", "none"):
        graph = load(model.op("RESHAPE", ["x", shape], ["y"], {}).build(["x"], ["y"]))
        assert graph.outputs[0].shape == ()
        model._operators.clear()


def test_an_operand_without_elements_that_is_computed_with() -> None:
    model = pair().tensor("c", (0,), np.int8, **QUANT)
    text = refused(model.op("CONCATENATION", ["c", "c"], ["y"], {}).build(["x"], ["y"]))
    assert "node 0 CONCATENATION: operand c, got shape [0], expected dimensions of at least 1" in text


def test_a_file_without_buffers() -> None:
    builder = pair()
    builder.buffers = False
    assert load(builder.op("RELU", ["x"], ["y"]).build(["x"], ["y"])).nodes[0].op == "relu"


def test_constants_of_float16_and_int64() -> None:
    model = ModelBuilder().tensor("x", (1, 4), np.float32).tensor("y", (1, 4), np.float32)
    model.tensor("h", (4,), np.float16, data=[1, 2, 3, 4]).tensor("f", (4,), np.float32)
    model.op("DEQUANTIZE", ["h"], ["f"]).op("ADD", ["x", "f"], ["y"], {})
    graph = load(model.build(["x"], ["y"]))
    assert graph.nodes[0].input(0).dtype is DType.FLOAT16
    (result,) = one_op.compiled(model.build(["x"], ["y"]), np.ones((1, 4), np.float32))
    np.testing.assert_array_equal(result, [[2, 3, 4, 5]])


# What is named for what it is.


@pytest.mark.parametrize(
    ("custom", "words"),
    [
        ("ethos-u", "was compiled by Vela, for an Arm Ethos-U (custom operator ethos-u), expected the model as it was"),
        ("edgetpu-custom-op", "was compiled by the Edge TPU compiler, for a Coral Edge TPU"),
        ("DISPATCH_OP", "was compiled by LiteRT, for the NPU of a phone"),
    ],
)
def test_files_that_another_compiler_has_compiled(custom: str, words: str) -> None:
    model = pair().tensor("scratch", (4096,), np.uint8).tensor("fast", (0,), np.uint8)
    text = refused(model.op("CUSTOM", ["x", "scratch", "fast"], ["y"], custom=custom).build(["x"], ["y"]))
    assert text.startswith(f"model (bytes): {words}")
    assert text.endswith("Give the TFLite file that was the input of that compiler")


def string(builder: ModelBuilder) -> bytes:
    builder.tensor("s", (1, 4), np.int8, type_number=tflite.TensorType.STRING)
    return builder.op("ADD", ["x", "s"], ["y"], {}).build(["x", "s"], ["y"])


def int4(builder: ModelBuilder) -> bytes:
    builder.tensor("s", (1, 4), np.int8, type_number=tflite.TensorType.INT4, data=b"\0\0", **QUANT)
    return builder.op("ADD", ["x", "s"], ["y"], {}).build(["x"], ["y"])


def block_scales(builder: ModelBuilder) -> bytes:
    builder.tensor("s", (1, 4), np.int8, details=2)
    return builder.op("ADD", ["x", "s"], ["y"], {}).build(["x"], ["y"])


def without_value(builder: ModelBuilder) -> bytes:
    builder.tensor("s", (1, 4), np.int8, **QUANT)
    return builder.op("ADD", ["x", "s"], ["y"], {}).build(["x"], ["y"])


def without_inputs(builder: ModelBuilder) -> bytes:
    builder.tensor("s", (1, 4), np.int8, data=[[1, 2, 3, 4]], **QUANT)
    return builder.op("RELU", ["s"], ["y"]).build([], ["y"])


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (string, "the model's inputs: tensor 2 (s): element type, got STRING, expected one of BOOL"),
        (int4, "node 0 ADD: tensor 2 (s): element type, got INT4, expected one of BOOL"),
        (block_scales, "node 0 ADD: tensor 2 (s): quantisation, got BlockwiseQuantization, expected scales"),
        (without_value, "node 0 ADD: reads tensor 2 (s), which is neither an input, nor a constant, nor computed."),
        (without_inputs, "the model: inputs and outputs, got 0 and 1, expected at least 1 each."),
    ],
)
def test_what_is_not_supported_is_said_in_one_line(build: Callable[[ModelBuilder], bytes], words: str) -> None:
    text = refused(build(pair()))
    assert text.startswith(f"model (bytes): {words}")
    assert "\n" not in text


def test_references_agree_that_outputs_may_repeat() -> None:
    model = pair().op("LEAKY_RELU", ["x"], ["y"], {"Alpha": 0.5}).build(["x"], ["y", "x", "y"])
    first, copy, again = oracle.tflm(model, X)
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(copy, X)
