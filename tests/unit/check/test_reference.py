"""The reference: what computes it, and that both of them agree."""

import sys

import numpy as np
import pytest

from aboard.check.reference import Reference
from aboard.errors import InputError, ModelError, ToolError
from support import models, streams, zoo
from support.oracle import tflm, tflm_steps
from support.tflite_builder import ModelBuilder


def image(seed=0):
    return np.random.default_rng(seed).integers(-128, 128, (1, 8, 8, 4)).astype(np.int8)


def hybrid() -> bytes:
    model = ModelBuilder().tensor("x", (1, 4), np.float32).tensor("y", (1, 2), np.float32)
    model.tensor("w", (2, 4), np.int8, scale=0.25, data=np.arange(8).reshape(2, 4))
    return model.op("FULLY_CONNECTED", ["x", "w", -1], ["y"], {}).build(["x"], ["y"])


def test_auto_takes_tflite_micro():
    reference = Reference.open(zoo.many_ops())
    assert (reference.name, reference.note) == ("tflite-micro", "")
    x = image()
    for got, expected in zip(reference.run({"t0": x}).values(), tflm(zoo.many_ops(), x), strict=True):
        np.testing.assert_array_equal(got, expected)


def test_a_reference_runs_again_and_again():
    reference = Reference.open(zoo.many_ops())
    first = reference.run({"t0": image(0)})
    other = reference.run({"t0": image(1)})
    again = reference.run({"t0": image(0)})
    for name, value in first.items():
        np.testing.assert_array_equal(again[name], value)
    assert any((other[name] != value).any() for name, value in first.items())


def test_both_give_every_computed_tensor():
    micro, own = Reference.open(zoo.many_ops(), "tflm"), Reference.open(zoo.many_ops(), "numpy")
    expected, got = micro.tensors({"t0": image()}), own.tensors({"t0": image()})
    assert len(got) == 28
    assert got.keys() == expected.keys()
    for index, value in expected.items():
        np.testing.assert_array_equal(got[index], value, err_msg=f"tensor {index}")


@pytest.mark.parametrize("name", models.available([models.SHIPPED, "kws"]))
def test_a_file_by_path(name):
    reference = Reference.open(models.path(name))
    x = reference.graph.inputs[0]
    result = reference.run({x.name: np.zeros(x.shape, x.dtype.numpy)})
    assert [value.shape for value in result.values()] == [t.shape for t in reference.graph.outputs]


def test_hybrid_models_are_computed_in_numpy():
    reference = Reference.open(hybrid())
    assert reference.name == "numpy"
    assert "float32 activations and int8 weights, which tflite-micro refuses" in reference.note
    x = np.ones((1, 4), np.float32)
    np.testing.assert_allclose(reference.run({"x": x})["y"], [[1.5, 5.5]], rtol=1e-6)
    with pytest.raises(ModelError, match="which tflite-micro refuses"):
        Reference.open(hybrid(), "tflm")


def test_a_model_at_which_tflite_micro_crashes_is_computed_in_numpy():
    model = ModelBuilder().tensor("x", (1, 2, 2, 1), np.float32).tensor("y", (1, 1, 1, 1), np.float32)
    model.tensor("w", (1, 2, 2, 1), np.float32, data=np.ones((1, 2, 2, 1)))
    options = {"StrideH": 1, "StrideW": 1, "Padding": "VALID", "DepthMultiplier": 1}
    reference = Reference.open(model.op("DEPTHWISE_CONV_2D", ["x", "w", -1], ["y"], options).build(["x"], ["y"]))
    assert (reference.name, reference.note) == (
        "numpy",
        "model (bytes): depthwise_conv2d y has an absent bias, at which tflite-micro crashes",
    )
    assert reference.run({"x": np.full((1, 2, 2, 1), 2, np.float32)})["y"].item() == 8.0


def test_without_tflite_micro(monkeypatch):
    monkeypatch.setitem(sys.modules, "tflite_micro", None)
    reference = Reference.open(zoo.many_ops())
    assert reference.name == "numpy"
    assert "pip install --pre tflite-micro" in reference.note
    with pytest.raises(ToolError, match="tflite-micro: not installed"):
        Reference.open(zoo.many_ops(), "tflm")


def test_unknown_kind():
    with pytest.raises(ToolError, match="kind, got 'tvm', expected one of auto, tflm, litert, onnxruntime, numpy"):
        Reference.open(zoo.many_ops(), "tvm")


def test_inputs_are_checked():
    reference = Reference.open(zoo.many_ops())
    with pytest.raises(InputError, match=r"input t1: unknown\. .*t0"):
        reference.run({"t1": image()})
    with pytest.raises(InputError, match=r"input t0: not given, expected int8\[1x8x8x4\]"):
        reference.run({})
    with pytest.raises(InputError, match=r"input t0: got int8\[8x8x4\], expected int8\[1x8x8x4\]"):
        reference.run({"t0": image()[0]})


def test_a_scalar_model():
    model = ModelBuilder().tensor("x", (), np.float32).tensor("y", (), np.float32)
    reference = Reference.open(model.op("RELU", ["x"], ["y"]).build(["x"], ["y"]), "tflm")
    np.testing.assert_array_equal(reference.run({"x": np.array(2.5, np.float32)})["y"], np.array(2.5, np.float32))


@pytest.mark.parametrize("kind", ["tflm", "numpy"])
def test_a_reference_keeps_state_until_it_is_reset(kind):
    ramp = np.array([[1, 2, 3, 4]], np.int8)
    model = streams.accumulator(ramp)
    reference = Reference.open(model, kind)
    steps = streams.draws([(1, 4)], 3)
    expected = [y for (y,) in tflm_steps(model, steps)]
    for _ in range(2):
        reference.reset()
        assert [reference.run({"x": x})["y"].tolist() for (x,) in steps] == [y.tolist() for y in expected]
    reference.reset()
    assert reference.tensors({"x": steps[0][0]})[2].tolist() == expected[0].tolist()
