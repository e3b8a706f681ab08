"""References for builds whose rounding, inputs and outputs are other than those of the model file."""

from __future__ import annotations

import numpy as np
import pytest

import aboard
from aboard.check import border
from aboard.check.reference import Reference
from support import models
from support.examples import either
from support.onnx_models import model, node

SCALE = 0.05


def chain(layers: int, gain: float = 3.0) -> tuple[bytes, dict[str, np.ndarray]]:
    """Returns a chain of quantised products of which each makes the rounding of those before it larger."""
    x = np.random.default_rng(0).normal(0, 2, (1, 8)).astype(np.float32)
    rng, constants = np.random.default_rng(1), {"s": np.float32(SCALE), "z": np.int8(3)}
    nodes = [node("QuantizeLinear", "x s z", "q0"), node("DequantizeLinear", "q0 s z", "d0")]
    for layer in range(layers):
        constants[f"w{layer}"] = rng.integers(-127, 128, (8, 8)).astype(np.int8)
        constants |= {"ws": np.float32(gain / 8 / 73), "wz": np.int8(0)}
        result = f"d{layer + 1}" if layer + 1 < layers else "y"
        nodes += [
            node("DequantizeLinear", f"w{layer} ws wz", f"v{layer}"),
            node("MatMul", f"d{layer} v{layer}", f"m{layer}"),
            node("QuantizeLinear", f"m{layer} s z", f"q{layer + 1}"),
            node("DequantizeLinear", f"q{layer + 1} s z", result),
        ]
    return model(nodes, {"x": x}, constants), {"x": x}


def test_rounding_that_adds_up_is_explained() -> None:
    data, _ = chain(12)
    module = aboard.compile(data, target="c -runtime=host", name="net")
    plain, fitted = Reference.open(data), border.fitted(Reference.open(data), module.manifest)
    assert (plain.name, fitted.name) == ("onnxruntime", "onnxruntime")
    largest, explained = 0.0, 0.0
    for seed in range(20):
        x = {"x": np.random.default_rng(seed).normal(0, 2, (1, 8)).astype(np.float32)}
        got = np.asarray(module.run(x))
        largest = max(largest, float(np.abs(got - plain.run(x)["y"]).max()))
        explained = max(explained, float(np.abs(got - fitted.run(x)["y"]).max()))
    assert largest > 2 * SCALE * 1.01
    assert explained <= 2 * SCALE * 1.01
    assert "adds up to" in fitted.note
    assert "-arithmetic=exact is within one step" in fitted.note


def test_what_rounding_does_not_explain_is_a_difference() -> None:
    data, feed = chain(2)
    module = aboard.compile(data, target="c -runtime=host", name="net")
    other, _ = chain(2, gain=2.0)
    wrong = border.fitted(Reference.open(other), module.manifest).run(feed)["y"]
    assert np.abs(np.asarray(module.run(feed)) - wrong).max() > 2 * SCALE


@pytest.mark.parametrize("name", models.available(either(["mcunet_vww"], [])))
def test_a_build_of_integers_has_the_outputs_of_the_file(name: str) -> None:
    module = aboard.compile(models.read(name), target="c -runtime=host -io=int8", name="net")
    reference = border.fitted(Reference.open(models.read(name)), module.manifest)
    (record,) = module.manifest.inputs
    x = np.random.default_rng(0).integers(-128, 128, record.shape).astype(np.int8)
    (wanted,) = reference.run({record.name: x}).values()
    np.testing.assert_array_equal(np.asarray(module.run(x)), wanted)
