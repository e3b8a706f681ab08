"""RNN, GRU and LSTM of ONNX beside onnxruntime, and what is refused."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import one_op
from support.examples import examples
from support.onnx_models import evaluated, model, node, refusal

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
PLACES = {"RNN": 1, "GRU": 2, "LSTM": 3}
FUNCTIONS = ["Sigmoid", "Tanh", "Relu", "HardSigmoid", "LeakyRelu", "Softsign"]

#: Version 22 of the standard is newer than the recurrent layers of onnxruntime.
OPSET = 14


def drawn(draw: st.DrawFn) -> tuple[bytes, dict[str, np.ndarray]]:
    """Returns a layer with any operands and attributes, and values of its inputs."""
    kind = draw(st.sampled_from(list(GATES)))
    steps, batch, inputs, units = (draw(st.integers(1, most)) for most in (4, 3, 5, 6))
    direction = draw(st.sampled_from(["forward", "reverse", "bidirectional"]))
    ways = 2 if direction == "bidirectional" else 1
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    rows = GATES[kind] * units

    def values(*shape: int) -> np.ndarray:
        return rng.normal(0, 0.7, shape).astype(np.float32)

    constants = {"w": values(ways, rows, inputs), "r": values(ways, rows, units)}
    feed = {"x": values(steps, batch, inputs)}
    optional = {"b": values(ways, 2 * rows), "n": rng.integers(1, steps + 1, batch).astype(np.int32)}
    states = ["h", "c"] if kind == "LSTM" else ["h"]
    optional |= {"p": values(ways, 3 * units)} if kind == "LSTM" else {}
    present = {name for name in (*optional, *states) if draw(st.booleans())}
    constants |= {name: array for name, array in optional.items() if name in present}
    feed |= {name: values(ways, batch, units) for name in states if name in present}
    order = ["x", "w", "r", "b", "n", *states, *(["p"] if kind == "LSTM" else [])]
    names = " ".join(name if name in present or name in "xwr" else "_" for name in order)
    attributes: dict[str, Any] = {"direction": direction, "hidden_size": units}
    attributes |= draw(st.sampled_from([{}, {"clip": 0.5}]))
    attributes |= draw(st.sampled_from([{}, {{"GRU": "linear_before_reset", "LSTM": "input_forget"}.get(kind): 1}]))
    attributes.pop(None, None)
    if draw(st.booleans()):
        count = PLACES[kind] * ways
        functions = draw(st.lists(st.sampled_from(FUNCTIONS), min_size=count, max_size=count))
        alphas = [name for name in functions if name in ("HardSigmoid", "LeakyRelu")]
        attributes |= {"activations": functions}
        attributes |= {"activation_alpha": [0.3] * len(alphas)} if alphas and draw(st.booleans()) else {}
    results = "y yh yc" if kind == "LSTM" else "y yh"
    return model([node(kind, names, results, **attributes)], feed, constants, opset=OPSET), feed


def reference(data: bytes, feed: dict[str, np.ndarray]) -> list[np.ndarray]:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return list(onnxruntime.InferenceSession(data, options).run(None, feed))


def same(results: list[np.ndarray], wanted: list[np.ndarray]) -> None:
    for got, want in zip(results, wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5 * max(1, np.abs(want).max()))


layers = st.composite(drawn)()


@given(layers)
@settings(max_examples=examples(400), deadline=None)
def test_any_layer_in_numpy(layer):
    data, feed = layer
    same(evaluated(data, feed), reference(data, feed))


@given(layers)
@settings(max_examples=examples(20), deadline=None)
def test_any_layer_as_c(layer):
    data, feed = layer
    same(one_op.compiled(data, *feed.values()), reference(data, feed))


def constants(kind: str, ways: int = 1, inputs: int = 3, units: int = 2) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    rows = GATES[kind] * units
    shapes = {"w": (ways, rows, inputs), "r": (ways, rows, units), "b": (ways, 2 * rows)}
    return {name: rng.normal(0, 1, shape).astype(np.float32) for name, shape in shapes.items()}


@pytest.mark.parametrize("kind", list(GATES))
def test_batches_first(kind):
    weights = constants(kind)
    x = np.random.default_rng(1).normal(0, 1, (4, 2, 3)).astype(np.float32)
    usual = model([node(kind, "x w r b", "y yh", hidden_size=2)], {"x": x}, weights)
    first = x.transpose(1, 0, 2).copy()
    other = model([node(kind, "x w r b", "y yh", hidden_size=2, layout=1)], {"x": first}, weights)
    (y, h), (batch_y, batch_h) = evaluated(usual, {"x": x}), evaluated(other, {"x": first})
    np.testing.assert_array_equal(batch_y, y.transpose(2, 0, 1, 3))
    np.testing.assert_array_equal(batch_h, h.transpose(1, 0, 2))


def test_a_stream_with_its_state_as_inputs_and_outputs():
    weights = constants("LSTM")
    x = np.random.default_rng(2).normal(0, 1, (5, 1, 3)).astype(np.float32)
    whole = model([node("LSTM", "x w r b", "y", hidden_size=2)], {"x": x}, weights)
    feed = {"x": x[:1], "h": np.zeros((1, 1, 2), np.float32), "c": np.zeros((1, 1, 2), np.float32)}
    step = model([node("LSTM", "x w r b _ h c", "y yh yc", hidden_size=2)], feed, weights)
    rows = []
    for row in x:
        y, feed["h"], feed["c"] = evaluated(step, {**feed, "x": row[None]})
        rows.append(y)
    np.testing.assert_allclose(np.concatenate(rows), evaluated(whole, {"x": x})[0], rtol=1e-6, atol=1e-7)


def changed(kind: str, ways: int = 1, lengths: list[int] | None = None, **attributes: Any) -> bytes:
    """Returns a layer whose attributes and operands need not make sense."""
    x = np.ones((4, 2, 3), np.float32)
    extra = {} if lengths is None else {"n": np.array(lengths, np.int32)}
    nodes = [node(kind, "x w r b" + (" n" if extra else ""), "y", hidden_size=2)]
    loaded = onnx.load_from_string(model(nodes, {"x": x}, {**constants(kind, ways), **extra}))
    for name, value in attributes.items():
        loaded.graph.node[0].attribute.append(onnx.helper.make_attribute(name, value))
    return loaded.SerializeToString()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (changed("LSTM", direction="sideways"), "direction, got 'sideways', expected forward, reverse or bidirec"),
        (changed("LSTM", ways=2), r"operand 1, got shape \[2, 8, 3\], expected \[1, 8, 3\]"),
        (changed("GRU", direction="bidirectional"), r"operand 1, got shape \[1, 6, 3\], expected \[2, 6, 3\]"),
        (changed("RNN", lengths=[4, 5]), r"sequence_lens, got \[4, 5\], expected numbers in \[1, 4\]"),
        (changed("RNN", lengths=[0, 4]), r"sequence_lens, got \[0, 4\], expected numbers in \[1, 4\]"),
        (changed("LSTM", activations=["Elu", "Tanh", "Tanh"]), "activations, got .*Elu.*, expected 3 of Sigmoid, Tanh"),
        (changed("LSTM", activations=["Tanh"]), r"activations, got \['Tanh'\], expected 3 of Sigmoid, Tanh"),
    ],
)
def test_layers_that_are_refused(data, message):
    assert re.search(message, refusal(data))


def test_weights_that_are_computed_are_refused():
    feed = {"x": np.ones((4, 2, 3), np.float32), **constants("GRU")}
    message = refusal(model([node("GRU", "x w r b", "y", hidden_size=2)], feed))
    assert "is computed at run time, expected a constant" in message
