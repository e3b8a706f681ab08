"""Models that scikit-learn trained and skl2onnx converted (tests/data/onnx/make_sklearn.py), against stored outputs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import aboard
from aboard.importers import load
from aboard.ir import Graph
from aboard.ops import interpreter
from support.markdown import CHECKOUT

DATA = CHECKOUT / "tests" / "data" / "onnx"
NAMES = sorted(path.stem.removeprefix("sklearn_") for path in DATA.glob("sklearn_*.onnx"))

#: Files whose generated C runs here too.
COMPILED = ("boosting_with_holes", "forest", "neighbours", "rbf_svm")


def path(name: str) -> Path:
    return DATA / f"sklearn_{name}.onnx"


def stored(name: str) -> tuple[np.ndarray, list[np.ndarray]]:
    """Returns samples [samples, features], and what onnxruntime computes from them."""
    with np.load(DATA / "sklearn.npz") as arrays:
        outputs = [arrays[each] for each in sorted(arrays) if each.startswith(f"{name}/") and not each.endswith("/x")]
        return arrays[f"{name}/x"], outputs


def check(graph: Graph, outputs: list[list[np.ndarray]], wanted: list[np.ndarray]) -> None:
    """Fails unless the outputs of all samples are the stored ones: labels are equal."""
    for place, values in enumerate(wanted):
        got = np.concatenate([each[place] for each in outputs])
        text = graph.outputs[place].text
        if values.dtype.kind == "f":
            np.testing.assert_allclose(got, values, rtol=1e-5, atol=1e-5)
        else:
            np.testing.assert_array_equal([text[index] for index in got] if text else got, values)


def test_every_model_is_there() -> None:
    assert len(NAMES) == 12
    assert set(COMPILED) <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_outputs(name: str) -> None:
    graph = load(path(name))
    x, wanted = stored(name)
    found = [interpreter.run(graph, {graph.inputs[0].name: sample[None]}) for sample in x]
    check(graph, [[values[tensor.name] for tensor in graph.outputs] for values in found], wanted)


@pytest.mark.parametrize("name", COMPILED)
def test_generated_c(name: str) -> None:
    module = aboard.compile(path(name), target="c -runtime=host")
    x, wanted = stored(name)
    found = [module.run({module.manifest.inputs[0].name: sample[None]}) for sample in x]
    names = [record.name for record in module.manifest.outputs]
    check(load(path(name)), [[values[name] for name in names] for values in found if isinstance(values, dict)], wanted)


def test_neighbours_have_one_node_of_distances() -> None:
    graph = load(path("neighbours"))
    assert [node.op for node in graph.nodes].count("squared_distance") == 1
    assert len(graph.nodes) < 40


def test_probabilities_are_not_divided_by_their_sum() -> None:
    ops = [node.op for node in load(path("logistic_regression")).nodes]
    assert set(ops) == {"arg_max", "cast", "fully_connected", "reshape", "softmax"}


def test_notes_name_the_classes() -> None:
    names = "'setosa', 'versicolor', 'virginica'"
    assert load(path("forest_of_names")).notes[1:] == [
        f"output_probability: a tensor in place of maps, with a column for each class: {names}",
        "output output_label: an index in place of text: 0 'setosa', 1 'versicolor', 2 'virginica'",
    ]
