"""Networks as PyTorch exports them, float and quantised: results beside onnxruntime, layouts, and integers inside."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

import aboard
from support import onnx_zoo as zoo
from support.onnx_models import runtime

#: Networks, versions of the standard, and how many transposes are left inside: those that the network itself makes.
NETWORKS = [
    (zoo.inverted_residuals, 13, 0),
    (zoo.inverted_residuals, 17, 0),
    (zoo.gru_classifier, 17, 0),
    (zoo.channel_shuffle, 11, 2),
    (zoo.channel_shuffle, 18, 2),
    (zoo.detection_head, 13, 2),
    (zoo.streaming_lstm, 17, 0),
    (zoo.transformer, 13, 4),
    (zoo.transformer, 21, 4),
    (zoo.unet, 11, 1),
    (zoo.causal_convolutions, 17, 0),
    (zoo.style_transfer, 17, 0),
    (zoo.group_normalisation, 17, None),
    (zoo.pixel_shuffle, 13, 2),
    (zoo.volumes, 17, None),
    (zoo.attention_of_channels, 13, 0),
    (zoo.flattened, 7, 0),
    (zoo.flattened, 21, 0),
]

#: Layers that have no integers: of networks that keep some.
REAL = {zoo.transformer: {"layer_normalization"}, zoo.detection_head: {"reshape"}}


def _inputs(data):
    """Returns random values for the inputs of a model, with a batch of 1."""
    graph, rng = onnx.load_from_string(data).graph, np.random.default_rng(3)
    weights = {each.name for each in graph.initializer}
    shapes = {
        each.name: [size.dim_value or 1 for size in each.type.tensor_type.shape.dim]
        for each in graph.input
        if each.name not in weights
    }
    return lambda: {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


def _run(module, feed):
    got = module.run(feed if len(feed) > 1 else next(iter(feed.values())))
    return got if isinstance(got, dict) else {module.manifest.outputs[0].name: got}


def _inside(graph):
    """Returns the transposes that are not at the border of a graph."""
    nodes = [each for each in graph.nodes if each.op == "transpose"]
    return [each for each in nodes if each.input(0) not in graph.inputs and each.output not in graph.outputs]


@pytest.mark.parametrize(("network", "opset", "moves"), NETWORKS, ids=lambda value: getattr(value, "__name__", value))
def test_as_onnxruntime(network, opset, moves):
    data = network(opset)
    module, draw = aboard.compile(data, target="c -runtime=host", name="model"), _inputs(data)
    names = [each.name for each in onnx.load_from_string(data).graph.output]
    for _ in range(2):
        feed = draw()
        results = _run(module, feed)
        for name, wanted in zip(names, runtime(data, feed), strict=True):
            assert (results[name].shape, results[name].dtype) == (wanted.shape, wanted.dtype)
            np.testing.assert_allclose(results[name], wanted, rtol=0, atol=2e-5 * np.abs(wanted).max() + 1e-6)
    assert moves is None or len(_inside(module.graph)) == moves


class _Samples(CalibrationDataReader):
    def __init__(self, draw, count):
        self._samples = iter([draw() for _ in range(count)])

    def get_next(self):
        return next(self._samples, None)


def _quantised(data, folder: Path, **options):
    """Returns a model as onnxruntime's static quantisation writes it."""
    plain, prepared, result = (folder / f"{name}.onnx" for name in ("plain", "prepared", "quantised"))
    plain.write_bytes(data)
    quant_pre_process(plain, prepared, skip_symbolic_shape=True)
    draw = _inputs(prepared.read_bytes())
    quantize_static(prepared, result, _Samples(draw, 4), **{"weight_type": QuantType.QInt8, **options})
    return result.read_bytes()


def _steps(data):
    """Returns the step of each output by name: the scale of the dequantize that computes it."""
    graph = onnx.load_from_string(data).graph
    values = {each.name: onnx.numpy_helper.to_array(each) for each in graph.initializer}
    made = {name: each for each in graph.node for name in each.output}
    last = {each.name: made[each.name] for each in graph.output}
    return {name: float(values[node.input[1]]) for name, node in last.items() if node.op_type == "DequantizeLinear"}


UNSIGNED = {"activation_type": QuantType.QUInt8, "per_channel": True}
SYMMETRIC = {
    "activation_type": QuantType.QInt8,
    "reduce_range": True,
    "extra_options": {"ActivationSymmetric": True, "WeightSymmetric": True},
}
OPERATORS = {"activation_type": QuantType.QUInt8, "quant_format": QuantFormat.QOperator}


@pytest.mark.parametrize(
    ("network", "options", "arithmetic"),
    [
        (zoo.inverted_residuals, UNSIGNED, "tflite"),
        (zoo.inverted_residuals, SYMMETRIC, "exact"),
        (zoo.inverted_residuals, OPERATORS, "tflite"),
        (zoo.channel_shuffle, UNSIGNED, "exact"),
        (zoo.channel_shuffle, OPERATORS, "tflite"),
        (zoo.detection_head, UNSIGNED, "exact"),
        (zoo.causal_convolutions, UNSIGNED, "tflite"),
        (zoo.transformer, SYMMETRIC, "tflite"),
        (zoo.pixel_shuffle, SYMMETRIC, "tflite"),
        (zoo.volumes, UNSIGNED, "exact"),
        (zoo.flattened, OPERATORS, "tflite"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_quantised_networks(network, options, arithmetic, tmp_path):
    data = _quantised(network(17), tmp_path, **options)
    module = aboard.compile(data, target=f"c -runtime=host -arithmetic={arithmetic}", name="model")
    steps, draw = _steps(data), _inputs(data)
    names = [each.name for each in onnx.load_from_string(data).graph.output]
    assert steps
    for _ in range(2):
        feed = draw()
        results = _run(module, feed)
        for name, wanted in zip(names, runtime(data, feed), strict=True):
            assert results[name].shape == wanted.shape
            if name in steps:
                most = 1 if arithmetic == "exact" else 2
                assert np.abs(results[name] - wanted).max() <= most * steps[name] * 1.001
    inside = [each for each in module.graph.nodes if each.op not in ("quantize", "dequantize")]
    assert {each.op for each in inside if each.output.dtype.is_float} <= REAL.get(network, set())
