"""Real models through importer, passes and numpy: bit for bit what TensorFlow Lite for Microcontrollers gives."""

import numpy as np
import pytest

from aboard.importers import load
from aboard.ir import DType, Graph, Node, Tensor, TensorType
from aboard.ops.interpreter import run
from aboard.passes import run_pipeline
from support import models
from support.oracle import litert_ref, tflm


def samples(tensor: Tensor) -> list[np.ndarray]:
    """Returns two random inputs and the extremes: all values at the lower and at the upper end."""
    rng = np.random.default_rng(20)
    if tensor.dtype is DType.FLOAT32:
        drawn = [rng.standard_normal(tensor.shape), rng.uniform(-1, 1, tensor.shape)]
        extremes = [np.full(tensor.shape, -1.0), np.full(tensor.shape, 1.0)]
    else:
        drawn = [rng.integers(-128, 128, tensor.shape) for _ in range(2)]
        extremes = [np.full(tensor.shape, -128), np.full(tensor.shape, 127)]
    return [value.astype(tensor.dtype.numpy) for value in drawn + extremes]


def computed(graph: Graph, x: np.ndarray) -> list[np.ndarray]:
    return list(run(graph, {graph.inputs[0].name: x}).values())


def loaded(name: str) -> tuple[Graph, bytes]:
    graph = load(models.path(name))
    run_pipeline(graph)
    return graph, models.read(name)


@pytest.mark.parametrize("name", models.available([models.SHIPPED, *models.INT8]))
def test_int8_models_are_exact(name):
    graph, data = loaded(name)
    for x in samples(graph.inputs[0]):
        for got, expected in zip(computed(graph, x), tflm(data, x), strict=True):
            np.testing.assert_array_equal(got, expected, strict=True)


@pytest.mark.parametrize("name", models.available([models.SHIPPED_FLOAT, *models.FLOAT]))
def test_float_models_are_close(name):
    graph, data = loaded(name)
    for x in samples(graph.inputs[0]):
        for got, expected in zip(computed(graph, x), tflm(data, x), strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-6, strict=True)


@pytest.mark.parametrize("name", models.available(models.HYBRID))
def test_hybrid_models_are_the_float_model_with_dequantised_weights(name):
    graph, data = loaded(name)
    in_float = load(models.path(name))
    quantised = dequantise_weights(in_float)
    assert quantised >= 5
    for x in samples(graph.inputs[0]):
        got = computed(graph, x)[0]
        np.testing.assert_allclose(got, computed(in_float, x)[0], rtol=1e-4, atol=1e-6)
        assert got.argmax() == litert_ref(data, x)[0].argmax()


def dequantise_weights(graph: Graph) -> int:
    """Replaces every int8 constant by its real values in float32; returns how many there were."""
    known: dict[int, Tensor] = {}
    for node in graph.nodes:
        node.inputs = [_real(known, node, tensor) for tensor in node.inputs]
    return len(known)


def _real(known: dict[int, Tensor], node: Node, tensor: Tensor | None) -> Tensor | None:
    if tensor is None or tensor.data is None or tensor.dtype is not DType.INT8:
        return tensor
    if id(tensor) not in known:
        quant = tensor.quant
        shape = [1] * len(tensor.shape)
        shape[quant.axis or 0] = len(quant.scales)
        scales = np.array(quant.scales, np.float32).reshape(shape)
        known[id(tensor)] = Tensor(
            tensor.name,
            TensorType(tensor.shape, DType.FLOAT32),
            (tensor.data.astype(np.float32) * scales).astype(np.float32),
        )
    return known[id(tensor)]
