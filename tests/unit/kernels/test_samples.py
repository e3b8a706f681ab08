"""Samples of the cost model: the file of layer shapes, the models that are measured, and what a new fit prints."""

from __future__ import annotations

import json
import re
from math import prod
from pathlib import Path

import pytest

from aboard.importers import load
from bench import code_sizes, core_data, costs, sample_models
from support import layer_shapes
from support.layer_shapes import LayerShape, SampleError


@pytest.mark.parametrize("name", sorted(layer_shapes.read()))
def test_every_sample_of_the_file_is_measured(name: str) -> None:
    layers = layer_shapes.read()[name]
    measured = [layer for layer in json.loads(costs.SAMPLES.read_text(encoding="utf-8")) if layer["model"] == name]
    assert {layer["op"] for layer in measured} >= {layer.op for layer in layers}
    # Passes remove channels of later layers: the first one is measured as the file has it.
    first = layers[0]
    assert first.input is not None
    written = prod(-(-size // first.stride) for size in first.input[:-1]) * (first.channels or first.input[-1])
    if first.column:
        written = written // first.input[0] * (first.input[0] - first.window + 1)
    assert written in {layer["element"] for layer in measured if layer["op"] == first.op}


def test_a_layer_with_an_input_begins_a_chain() -> None:
    chains = [
        LayerShape("conv2d", (8, 6, 4), channels=12, window=3, stride=2),
        LayerShape("max_pool2d", window=2),
        LayerShape("fully_connected", channels=5),
        LayerShape("average_pool2d", (4, 4, 8), window=2, stride=2),
        LayerShape("relu6", (10,)),
    ]
    graph = load(layer_shapes.model(chains), name="model")
    assert [tensor.shape for tensor in graph.inputs] == [(1, 8, 6, 4), (1, 4, 4, 8), (1, 10)]
    assert [tensor.shape for tensor in graph.outputs] == [(1, 5), (1, 2, 2, 8), (1, 10)]
    ops = ["conv2d", "max_pool2d", "reshape", "fully_connected", "average_pool2d", "relu6"]
    assert [node.op for node in graph.nodes] == ops
    assert graph.nodes[0].output.shape == (1, 4, 3, 12)


MODEL = '[[model]]\nname = "m"\nlayers = [{op = "relu", input = [4]}, %s]\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (MODEL % '{op = "conv"}', "model m, layer 1: op, got conv, expected one of conv2d, depthwise_conv2d, "),
        (MODEL % "{window = 3}", "model m, layer 1: op, got nothing, expected one of"),
        (MODEL % '{op = "conv2d", window = 3}', "model m, layer 1: conv2d needs channels. Add it"),
        (MODEL % '{op = "relu", window = 3}', "model m, layer 1: relu takes no window. Remove it"),
        (MODEL.replace(", input = [4]", "") % "", "model m, layer 0: needs input, as no layer is before it. Add"),
        (MODEL % "" + MODEL % "", "model m: is there twice. Choose another name"),
    ],
)
def test_wrong_entries_are_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "samples.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SampleError, match=re.escape(f"samples.toml: {message}")):
        layer_shapes.read(path)


def test_names_of_models_are_checked_before_samples_are_dropped(capsys: pytest.CaptureFixture[str]) -> None:
    for program in (costs, code_sizes):
        with pytest.raises(SystemExit):
            program.main(["--models", "digits", "no_such"])
        assert "error: model no_such: not known, expected some of " in capsys.readouterr().err


def test_models_are_there_as_long_as_they_are_needed() -> None:
    with sample_models.files(["deep_shapes", "digits"]) as files:
        assert [path.stem for path in files] == ["digits", "deep_shapes"]
        assert files[1].read_bytes() == layer_shapes.sample("deep_shapes")
    assert not files[1].exists()
    names = ("deep_shapes", "drawn_3", "many_ops_float32", "kws_hybrid", "ad")
    assert [sample_models.shows_all_kernels(name) for name in names] == [True, True, True, False, False]


def test_changes_name_the_kernels_that_were_fitted_anew() -> None:
    same = {"op": "add", "implementation": "portable_s8", "function": "f", "layers": 3, "error": 0.1}
    old = {"op": "relu", "implementation": "clamp", "function": "g", "layers": 2, "error": 0.25}
    new = {**old, "layers": 5, "error": 0.125, "cycles_error": 0.5}
    before = {"core": "cortex-m4", "errors": {}, "kernels": [same, old]}
    errors = {"instructions": {"median": 0.04}, "cycles": {"median": 0.05}}
    after = {"core": "cortex-m4", "errors": errors, "kernels": [same, new]}
    assert core_data.changes(before, after) == [
        "cortex-m4: whole models, error of instructions none -> 4.0 %, cycles none -> 5.0 %",
        "cortex-m4: relu clamp g, 2 -> 5 layers, error of instructions 25.0 % -> 12.5 %, cycles none -> 50.0 %",
    ]
