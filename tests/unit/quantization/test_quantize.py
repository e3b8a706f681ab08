"""aboard.quantize: files that other interpreters run to the same bytes, and what is told of them."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import aboard
from aboard.base import resources
from aboard.errors import InputError, ModelError
from aboard.exporters import tflite
from aboard.importers import load
from aboard.ir import DType, Graph, Node, State, Tensor, TensorType
from aboard.ops import interpreter
from aboard.ops.arithmetic import ArithmeticAttributes
from aboard.quantization import Limits, accuracy, prepare, ranges
from aboard.quantization.costs import of_model
from aboard.reports import quantized
from aboard.target import Target
from support import float_models, html_tables, markdown, models, oracle
from support.tflite_builder import ModelBuilder

DIGITS = resources.models() / "digits_f32.tflite"
SAMPLES = resources.models() / "digits_test.npz"


@pytest.fixture(scope="module")
def digits():
    return aboard.quantize(DIGITS, SAMPLES)


def _bytes_alike(model: bytes, images: np.ndarray) -> None:
    graph = load(model, name="quantised")
    (tensor,) = graph.inputs
    for image in images:
        value = image.reshape(tensor.shape)
        if tensor.type.quant is not None:
            steps = np.rint(value / np.float32(tensor.quant.scale)) + tensor.quant.zero_point
            value = np.clip(steps, -128, 127).astype(np.int8)
        expected = oracle.tflm(model, value)
        got = list(interpreter.run(graph, {tensor.name: value}).values())
        for right, mine in zip(expected, got, strict=True):
            np.testing.assert_allclose(mine, right, rtol=1e-4 if right.dtype.kind == "f" else 0, atol=1e-12)


def test_digits_keep_their_accuracy_and_cost_what_the_int8_model_costs(digits):
    assert digits.accuracy.samples == 100
    assert digits.accuracy.after >= digits.accuracy.before - 0.01
    assert 10 * np.log10(digits.accuracy.snr) > 25
    shipped = of_model((resources.models() / "digits.tflite").read_bytes(), Target("c -mcpu=cortex-m4"))
    assert digits.costs.ram_bytes <= shipped.ram_bytes
    assert digits.costs.flash_bytes <= shipped.flash_bytes
    # Whether a layer can round once depends on its scales: its epilogue is predicted to be longer otherwise.
    assert digits.costs.instructions <= 1.005 * shipped.instructions


def test_tflite_micro_gives_the_bytes_that_were_measured(digits):
    _bytes_alike(digits.model, np.load(SAMPLES)["x_f32"][:10])


def test_names_are_those_of_the_float_model(digits):
    before, after = load(DIGITS), load(digits.model)
    assert [t.name for t in (*after.inputs, *after.outputs)] == [t.name for t in (*before.inputs, *before.outputs)]
    assert {t.dtype for t in (*after.inputs, *after.outputs)} == {DType.INT8}


def test_each_layer_is_told_of(digits):
    assert [layer.op for layer in digits.layers] == [
        node.op for node in load(DIGITS).nodes if node.op not in ("reshape", "max_pool2d", "average_pool2d")
    ]
    assert all(layer.dtype == "int8" and layer.snr_db > 15 for layer in digits.layers)
    assert [layer.op for layer in digits.layers if layer.alone_db is None] == ["softmax"]
    weighted = [layer for layer in digits.layers if layer.op in ("conv2d", "fully_connected")]
    assert all(layer.wide_dtype == "int16" and layer.wide_instructions is not None for layer in weighted)


def test_the_same_samples_give_the_same_file(digits):
    assert aboard.quantize(DIGITS, SAMPLES).model == digits.model


def test_inputs_and_outputs_may_stay_float():
    found = aboard.quantize(DIGITS, SAMPLES, io="float")
    graph = load(found.model)
    assert {tensor.dtype for tensor in (*graph.inputs, *graph.outputs)} == {DType.FLOAT32}
    assert any(node.op == "conv2d" and node.output.dtype is DType.INT8 for node in graph.nodes)
    _bytes_alike(found.model, np.load(SAMPLES)["x_f32"][:5])


@pytest.mark.parametrize(("seed", "bias"), [(1, True), (2, False)])
def test_drawn_networks(seed: int, bias: bool):
    model, images = float_models.convolutional(seed, bias), float_models.images(40, seed)
    found = aboard.quantize(model, images)
    assert 10 * np.log10(found.accuracy.snr) > 25
    _bytes_alike(found.model, images[:5])


def test_channels_of_different_sizes_are_equalised():
    model, images = float_models.convolutional(8, spread=1.5), float_models.images(60, 8)
    found = aboard.quantize(model, images)
    assert 10 * np.log10(found.accuracy.snr) > 25
    (taps,) = (node.input(1) for node in load(found.model).nodes if node.op == "depthwise_conv2d")
    (before,) = (node.input(1) for node in load(model).nodes if node.op == "depthwise_conv2d")
    most = np.abs(before.data).reshape(-1, 8).max(axis=0)
    scales = np.array(taps.quant.scales)
    assert (most / most.min()).max() > 3 * (scales / scales.min()).max()


def test_the_scores_of_all_samples_give_their_range():
    """Of 200 samples 128 are calculated with, and the one with the largest scores may be among the others."""
    model, images = float_models.convolutional(2), float_models.images(200, 2)
    images[2] *= 4
    graph = load(model)
    (softmax,) = (node for node in graph.nodes if node.op == "softmax")
    feed = {graph.inputs[0].name: images[2].reshape(graph.inputs[0].shape)}
    extreme = interpreter.run_all(graph, feed)[softmax.input(0).name]
    (made,) = (node for node in load(aboard.quantize(model, images).model).nodes if node.op == "softmax")
    quant = made.input(0).quant
    low, high = ((edge - quant.zero_point + side) * quant.scale for edge, side in ((-128, -0.5), (127, 0.5)))
    assert low <= extreme.min() <= extreme.max() <= high


def test_few_samples_give_ranges_with_headroom():
    rng = np.random.default_rng(5)
    few, many = (rng.standard_normal((count, 16)).astype(np.float32) for count in (30, 400))
    found = aboard.quantize(float_models.perceptron(5), {"calibration": few, "x": many})
    (given,) = load(found.model).inputs
    reach = max(-128 - given.quant.zero_point, 127 - given.quant.zero_point, key=abs) * given.quant.scale
    assert abs(reach) > 1.1 * np.abs(few).max()
    assert ranges.headroom(list(few)) >= 1.1
    assert ranges.headroom(list(np.repeat(np.linspace(-1, 1, 64, dtype=np.float32)[None], 30, 0))) == 1.0
    assert ranges.headroom([few[0]]) == 1.0


def test_features_of_different_sizes_are_scaled_in_real_numbers():
    """A pressure in Pa beside an acceleration in g: int8 with one scale would only hold the pressure."""
    rng = np.random.default_rng(6)
    sizes, means = 10 ** np.linspace(-2, 3, 16), 10 ** np.linspace(0, 5, 16)
    alike = rng.standard_normal((200, 16)).astype(np.float32)
    graph = load(float_models.perceptron(6))
    (layer,) = graph.consumers(graph.inputs[0])
    old = layer.input(1)
    scaled = Tensor("scaled", old.type, (old.data / sizes).astype(np.float32))
    layer.inputs[1] = scaled
    summand = Tensor("mean", TensorType((16,), DType.FLOAT32), means.astype(np.float32))
    centred = Tensor("centred", graph.inputs[0].type)
    graph.nodes.insert(0, Node("sub", "centred", [graph.inputs[0], summand], [centred], ArithmeticAttributes()))
    layer.inputs[0] = centred
    given = (alike * sizes + means).astype(np.float32)
    found = aboard.quantize(tflite.write(graph), given)
    made = load(found.model)
    assert [node.op for node in made.nodes][:4] == ["sub", "mul", "add", "quantize"]
    assert {tensor.dtype for tensor in (*made.inputs, *made.outputs)} == {DType.FLOAT32}
    assert any(note.startswith("Inputs and outputs stay float32") for note in found.notes)
    _bytes_alike(found.model, given[:5])
    plain = aboard.quantize(float_models.perceptron(6), alike)
    assert not any("Inputs" in note for note in plain.notes)
    assert found.accuracy.snr > plain.accuracy.snr / 2


def test_further_instructions_are_those_of_the_tflite_file():
    """Layers of an ONNX file have other names once it is compiled."""
    images = float_models.images(20, 1)
    files = [aboard.quantize(float_models.convolutional(1), images, file_format=kind) for kind in ("tflite", "onnx")]
    costs = [[layer.wide_instructions for layer in found.layers if layer.alone_db is not None] for found in files]
    assert None not in costs[0]
    assert costs[0] == costs[1]


@pytest.fixture(scope="module")
def perceptron():
    samples = np.random.default_rng(3).standard_normal((300, 16)).astype(np.float32)
    model = float_models.perceptron(3)
    return model, samples, aboard.quantize(model, samples)


def test_layers_get_more_bits_until_accuracy_is_kept(perceptron):
    model, samples, narrow = perceptron
    assert narrow.accuracy.lost > 2
    wide = aboard.quantize(model, samples, limits=Limits(drop=2.0))
    assert wide.accuracy.lost <= 2
    assert [layer.dtype for layer in wide.layers].count("int16") in (1, 2, 3)
    assert wide.accuracy.snr > narrow.accuracy.snr
    _bytes_alike(wide.model, samples[:5])


def test_layers_are_left_real_where_16_bits_do_not_do(perceptron):
    model, samples, _ = perceptron
    found = aboard.quantize(model, samples, limits=Limits(drop=1.0))
    assert found.accuracy.lost <= 1
    assert "float32" in [layer.dtype for layer in found.layers]
    assert {tensor.dtype for tensor in load(found.model).inputs} == {DType.INT8}
    _bytes_alike(found.model, samples[:5])


def test_an_accuracy_that_the_budget_does_not_allow(perceptron):
    model, samples, narrow = perceptron
    limits = Limits(drop=1.0, ram_bytes=narrow.costs.ram_bytes)
    message = (
        r"quantize: [\d.]+ points of accuracy lost, expected at most 1, with \d of 3 layers at more than 8 bits\. Raise"
    )
    with pytest.raises(InputError, match=message):
        aboard.quantize(model, samples, limits=limits)


def test_a_limit_of_accuracy_needs_scores():
    samples = np.random.default_rng(0).standard_normal((40, 16)).astype(np.float32)
    builder = ModelBuilder().tensor("x", (1, 16), np.float32).tensor("y", (1, 1), np.float32)
    builder.tensor("w", (1, 16), np.float32, data=np.ones((1, 16), np.float32))
    model = builder.op("FULLY_CONNECTED", ["x", "w"], ["y"]).build(["x"], ["y"])
    assert aboard.quantize(model, samples).accuracy.agreement is None
    with pytest.raises(InputError, match=r"quantize: a limit of accuracy for a model without scores of classes"):
        aboard.quantize(model, samples, limits=Limits(drop=1.0))


def test_the_table_of_an_embedding_has_integers():
    indices = np.random.default_rng(0).integers(0, 50, (60, 4)).astype(np.int32)
    found = aboard.quantize(float_models.embedding(1), indices)
    graph = load(found.model)
    (gather,) = (node for node in graph.nodes if node.op == "gather")
    assert gather.input(0).dtype is DType.INT8
    assert [node.op for node in graph.nodes] == ["gather", "reshape", "fully_connected"]
    assert found.costs.flash_bytes < 50 * 8 * 4
    assert 10 * np.log10(found.accuracy.snr) > 30


def test_a_layer_without_integers_stays_float_and_a_note_says_so():
    builder = ModelBuilder()
    for name in ("x", "a", "y"):
        builder.tensor(name, (1, 6), np.float32)
    builder.tensor("w", (6, 6), np.float32, data=np.random.default_rng(0).standard_normal((6, 6)).astype(np.float32))
    model = builder.op("FULLY_CONNECTED", ["x", "w"], ["a"]).op("COS", ["a"], ["y"]).build(["x"], ["y"])
    images = np.random.default_rng(1).standard_normal((30, 6)).astype(np.float32)
    found = aboard.quantize(model, images)
    ops = [node.op for node in load(found.model).nodes]
    assert "cos" in ops
    assert "dequantize" in ops
    _bytes_alike(found.model, images[:5])


def test_what_cannot_be_quantised_is_named():
    with pytest.raises(ModelError, match=r"digits\.tflite: quantised already, got int8.*, expected float32\."):
        aboard.quantize(resources.models() / "digits.tflite", SAMPLES)
    x = Tensor("x", TensorType((1, 4), DType.FLOAT32))
    y, last = (Tensor(name, x.type) for name in ("y", "last"))
    graph = Graph("streaming", [x], [y], [Node("add", "y", [x, last], [y], ArithmeticAttributes())])
    graph.states = [State("last", last, y, np.zeros((1, 4), np.float32))]
    with pytest.raises(
        ModelError, match=r"^streaming: keeps state last from run to run, expected a model whose runs are"
    ):
        prepare.prepare(graph)


def classifier_with_a_label() -> bytes:
    """Returns an ONNX file that chooses the larger of two inputs: outputs `label` (int64) and `scores`."""
    sums = np.array([[1, -1, 0], [-1, 1, 0]], np.float32)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["scores"], "scores"),
        helper.make_node("ArgMax", ["scores"], ["label"], "label", axis=1, keepdims=0),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 2))
    results = [
        helper.make_tensor_value_info("label", TensorProto.INT64, (1,)),
        helper.make_tensor_value_info("scores", TensorProto.FLOAT, (1, 3)),
    ]
    graph = helper.make_graph(nodes, "classifier", [x], results, [numpy_helper.from_array(sums, "w")])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    return bytes(made.SerializeToString())


def test_a_classifier_with_a_label_beside_its_scores_has_an_accuracy():
    samples = np.random.default_rng(1).uniform(0.1, 1, (40, 2)).astype(np.float32)
    found = aboard.quantize(classifier_with_a_label(), {"x": samples, "y": np.argmax(samples, axis=1)})
    assert found.file_format == "onnx"
    assert found.accuracy.before == 1
    assert found.accuracy.after >= 0.95


def test_labels_of_int64_are_not_written_to_tflite():
    samples = np.random.default_rng(1).uniform(0.1, 1, (40, 2)).astype(np.float32)
    with pytest.raises(
        ModelError, match=r"^model \(bytes\): label.*: cast of int64, .* is not written to TFLite\. Leave"
    ):
        aboard.quantize(classifier_with_a_label(), {"x": samples}, file_format="tflite")


def test_decision_trees_are_refused():
    forest = markdown.CHECKOUT / "tests" / "data" / "frameworks" / "sklearn_forest.onnx"
    with pytest.raises(
        ModelError, match=r"^sklearn_forest\.onnx: decision trees probabilities, .*\. Compile the model as it is$"
    ):
        aboard.quantize(forest, np.zeros((4, 64), np.float32))


def test_a_recurrent_layer_of_keras_stays_float_between_integers():
    samples = np.random.default_rng(0).random((40, 28, 28)).astype(np.float32)
    found = aboard.quantize(models.read("lstm_f32"), samples)
    assert [(layer.op, layer.dtype) for layer in found.layers] == [
        ("lstm", "float32"),
        ("fully_connected", "int8"),
        ("softmax", "int8"),
    ]
    assert any("lstm" in note for note in found.notes)
    assert 10 * np.log10(found.accuracy.snr) > 30
    _bytes_alike(found.model, samples[:4])


def test_limits_that_nothing_keeps(perceptron):
    model, samples, _ = perceptron
    with pytest.raises(InputError, match=r"quantize: RAM, got [\d,]+ bytes, expected at most 10 with 8 bits"):
        aboard.quantize(model, samples, limits=Limits(ram_bytes=10))
    with pytest.raises(InputError, match=r"quantize: --ms for a target without a clock, expected a board\."):
        aboard.quantize(model, samples, limits=Limits(seconds=1.0))
    with pytest.raises(InputError, match=r"quantize: time, got [\d.]+ ms, expected at most 1e-06 ms with 8 bits"):
        aboard.quantize(model, samples, target="arm/mps2_an386", limits=Limits(seconds=1e-9))


def test_files_are_written_once_and_their_suffix_is_checked(digits, tmp_path):
    path = digits.save(tmp_path / "digits_int8.tflite")
    digits.save(path)
    assert load(path).format == "TFLite"
    with pytest.raises(InputError, match=r"digits\.bin: suffix of a quantised model, got \.bin, expected \.tflite or"):
        digits.save(tmp_path / "digits.bin")
    path.write_bytes(path.read_bytes() + b"mine")
    with pytest.raises(InputError, match=r"digits_int8\.tflite"):
        digits.save(path)
    digits.save(path, force=True)


def test_accuracy_counts_classes_and_errors():
    exact = [[np.array([[0.1, 0.9]], np.float32)], [np.array([[0.8, 0.2]], np.float32)]]
    got = [[np.array([[0.2, 0.8]], np.float32)], [np.array([[0.4, 0.6]], np.float32)]]
    found = accuracy.compare(exact, got, np.array([1, 0]))
    assert (found.samples, found.agreement, found.before, found.after, found.lost) == (2, 0.5, 1.0, 0.5, 50.0)
    power = 0.01 + 0.81 + 0.64 + 0.04
    error = 2 * 0.01 + 2 * 0.16
    assert found.snr == pytest.approx(power / error, rel=1e-5)


def test_the_page_shows_each_layer_in_picture_and_table(digits):
    page = quantized.html(digits, "digits_f32.tflite")
    (rows,) = html_tables.tables(page)
    wanted = [[layer.op, layer.dtype, f"{layer.snr_db:.1f}"] for layer in digits.layers]
    assert [row[1:4] for row in rows[1:]] == wanted
    assert page.count('class="ours"') == 2 * len(digits.layers) + 1
    assert f"{digits.costs.ram_bytes:,} bytes" in page
    assert "predicted for Cortex-M4" in page
    assert "<script" not in page
