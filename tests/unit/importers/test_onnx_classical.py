"""Linear models, support vector machines and features of ai.onnx.ml in ONNX files, against onnxruntime."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from aboard.importers import load
from aboard.ops import interpreter
from support import onnx_models
from support.examples import examples
from support.onnx_models import Feed, node, refusal, runtime
from support.tree_models import changed, model, tensor

TRANSFORMS = ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", "PROBIT"]
LABEL = {"l": TensorProto.INT64}


def check(data: bytes, x: np.ndarray, *, compiled: bool = False, rtol: float = 1e-5) -> None:
    """Fails unless labels are equal, and scores as good as equal, to those of onnxruntime."""
    onnx_models.check(data, {"x": x}, wanted=runtime(data, {"x": x}), compiled=compiled, rtol=rtol)


def reals(rng: np.random.Generator, *shape: int, low: float = -1) -> list[float]:
    """Returns numbers as an attribute has them."""
    return [float(value) for value in rng.uniform(low, 1, shape).astype(np.float32).reshape(-1)]


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(2, 4), st.booleans(), st.sampled_from(TRANSFORMS[:4]))
def test_linear_classifiers(seed: int, features: int, classes: int, single: bool, post: str) -> None:
    rng = np.random.default_rng(seed)
    rows = 1 if single and classes == 2 else classes
    made = {"coefficients": reals(rng, rows, features), "intercepts": reals(rng, rows), "post_transform": post}
    made["classlabels_ints"] = [int(label) for label in rng.permutation(9)[:classes]]
    x = rng.normal(size=(5, features)).astype(np.float32)
    check(model("LinearClassifier", made, x.shape, "l p", 1, **LABEL), x)


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 3), st.sampled_from(TRANSFORMS))
def test_linear_regressors(seed: int, features: int, targets: int, post: str) -> None:
    rng = np.random.default_rng(seed)
    made: dict[str, Any] = {"coefficients": reals(rng, targets, features, low=0), "targets": targets}
    made |= {"intercepts": reals(rng, targets, low=0), "post_transform": post}
    # Within (0, 1), where PROBIT is defined.
    x = rng.uniform(0.02, 0.9 / (features + 1), (4, features)).astype(np.float32)
    made["coefficients"], made["intercepts"] = (
        [0.5 * value for value in made[name]] for name in ("coefficients", "intercepts")
    )
    check(model("LinearRegressor", made, x.shape, version=1), x, rtol=2e-5)


KERNELS = ["LINEAR", "POLY", "RBF", "SIGMOID"]


def machine(
    rng: np.random.Generator, features: int, counts: list[int], kernel: str, *, has_probabilities: bool
) -> dict[str, Any]:
    """Returns the attributes of an SVMClassifier with so many vectors of each class."""
    classes, total = len(counts), sum(counts)
    pairs = classes * (classes - 1) // 2
    made: dict[str, Any] = {
        "classlabels_ints": [int(label) for label in rng.permutation(9)[:classes]],
        "coefficients": reals(rng, classes - 1, total),
        "support_vectors": reals(rng, total, features),
        "vectors_per_class": counts,
        "rho": reals(rng, pairs),
        "kernel_type": kernel,
        "kernel_params": [0.7, 0.3, float(rng.choice([1, 2, 3]))],
    }
    if has_probabilities:
        made |= {"prob_a": reals(rng, pairs), "prob_b": reals(rng, pairs)}
    return made


@settings(max_examples=examples(80), deadline=None)
@given(
    st.integers(0, 2**32),
    st.integers(1, 4),
    st.lists(st.integers(1, 4), min_size=2, max_size=5),
    st.sampled_from(KERNELS),
    st.booleans(),
    st.sampled_from(TRANSFORMS[:4]),
)
def test_support_vector_classifiers(
    seed: int, features: int, counts: list[int], kernel: str, has_probabilities: bool, post: str
) -> None:
    rng = np.random.default_rng(seed)
    made = machine(rng, features, counts, kernel, has_probabilities=has_probabilities) | {"post_transform": post}
    x = rng.normal(size=(3, features)).astype(np.float32)
    check(model("SVMClassifier", made, x.shape, "l p", 1, **LABEL), x)


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 4), st.sampled_from(TRANSFORMS[:4]))
def test_support_vector_classifiers_without_vectors(seed: int, features: int, classes: int, post: str) -> None:
    rng = np.random.default_rng(seed)
    made = {"coefficients": reals(rng, classes, features), "rho": reals(rng, 1), "kernel_params": [0.1, 0.0, 3.0]}
    made |= {"classlabels_ints": list(range(3, 3 + classes)), "post_transform": post}
    x = rng.normal(size=(4, features)).astype(np.float32)
    check(model("SVMClassifier", made, x.shape, "l p", 1, **LABEL), x)


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(0, 5), st.sampled_from(KERNELS), st.booleans())
def test_support_vector_regressors(seed: int, features: int, count: int, kernel: str, one_class: bool) -> None:
    rng = np.random.default_rng(seed)
    made: dict[str, Any] = {"coefficients": reals(rng, count or features), "rho": reals(rng, 1), "n_supports": count}
    made |= {"kernel_type": kernel, "kernel_params": [0.7, 0.3, 2.0], "one_class": int(one_class)}
    if count:
        made["support_vectors"] = reals(rng, count, features)
    x = rng.normal(size=(4, features)).astype(np.float32)
    check(model("SVMRegressor", made, x.shape, version=1), x)


def test_compiled_machines() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, 3)).astype(np.float32)
    for counts in ([2, 3], [2, 1, 3, 2]):
        made = machine(rng, 3, counts, "RBF", has_probabilities=True)
        check(model("SVMClassifier", made, x.shape, "l p", 1, **LABEL), x, compiled=True)


def test_scaler_and_normalizer() -> None:
    x = np.array([[1, -2, 3], [0, 0, 0], [-4, -5, -6]], np.float32)
    check(model("Scaler", {"offset": [1.0, 0.5, -2.0], "scale": [2.0, 0.1, 3.0]}, x.shape, version=1), x)
    check(model("Scaler", {"offset": [1.0], "scale": [2.0]}, x.shape, version=1), x)
    for norm in ("MAX", "L1", "L2"):
        check(model("Normalizer", {"norm": norm}, x.shape, version=1), x)


@pytest.mark.parametrize("replaced", [float("nan"), -1.0])
def test_imputer(replaced: float) -> None:
    x = np.array([[np.nan, -1, 3], [2, np.nan, -1]], np.float32)
    for values in ([0.5], [1.0, 2.0, 3.0]):
        made = {"imputed_value_floats": values, "replaced_value_float": replaced}
        check(model("Imputer", made, x.shape, version=1), x)
    whole = np.array([[-1, 2, 3]], np.int64)
    made = {"imputed_value_int64s": [7, 8, 9], "replaced_value_int64": -1}
    check(model("Imputer", made, whole.shape, "l", 1, x=TensorProto.INT64, **LABEL), whole)


def test_one_hot_encoder() -> None:
    x = np.array([[3, 1], [2, 5], [2**32 + 1, -3]], np.int64)
    data = model("OneHotEncoder", {"cats_int64s": [1, 3, 5]}, x.shape, version=1, x=TensorProto.INT64)
    check(data, x, compiled=True)
    reals = np.array([[3.7, 1.0], [-0.5, 5.5]], np.float32)
    check(model("OneHotEncoder", {"cats_int64s": [1, 3, 5]}, reals.shape, version=1), reals)


@pytest.mark.parametrize(
    ("version", "attributes", "kinds"),
    [
        (2, {"keys_int64s": [4, -2, 4], "values_floats": [0.5, 1.5, 9.0], "default_float": -3.0}, "if"),
        (2, {"keys_int64s": [4, -2], "values_int64s": [2**40, 7], "default_int64": -1}, "ii"),
        (2, {"keys_floats": [0.5, float("nan")], "values_floats": [1.0, 2.0], "default_float": 3.0}, "ff"),
        (4, {"keys_floats": [0.5, float("nan")], "values_floats": [1.0, 2.0], "default_float": 3.0}, "ff"),
        (
            4,
            {
                "keys_tensor": tensor(np.array([4, 0])),
                "values_tensor": tensor(np.array([1, 2])),
                "default_tensor": tensor(np.array([5])),
            },
            "ii",
        ),
    ],
)
def test_label_encoder(version: int, attributes: dict[str, Any], kinds: str) -> None:
    types = {"i": TensorProto.INT64, "f": TensorProto.FLOAT}
    x = np.array([[4, -2, 0], [1, 4, 4]], np.int64)
    if kinds[0] == "f":
        x = np.array([[0.5, np.nan, 1], [0, -0.5, np.inf]], np.float32)
    data = model("LabelEncoder", attributes, x.shape, "y", version, x=types[kinds[0]], y=types[kinds[1]])
    check(data, x, compiled=True)


def several(nodes: list[Any], feed: Feed, outputs: dict[str, int], constants: Feed | None = None) -> bytes:
    """Returns a model of nodes of both domains, whose outputs have the types given."""
    types = {name: helper.np_dtype_to_tensor_dtype(array.dtype) for name, array in feed.items()}
    graph = helper.make_graph(
        nodes,
        "test",
        [helper.make_tensor_value_info(name, types[name], array.shape) for name, array in feed.items()],
        [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs.items()],
        [onnx_models.numpy_helper.from_array(array, name) for name, array in (constants or {}).items()],
    )
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=10).SerializeToString()


def test_columns() -> None:
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    indices = np.array([3, 0, 0])
    taken = [node("ArrayFeatureExtractor", "x i", domain="ai.onnx.ml")]
    for feed in ({"x": x}, {"x": x[0]}, {"x": x, "i": indices}):
        constants = {} if "i" in feed else {"i": indices}
        data = several(taken, feed, {"y": TensorProto.FLOAT}, constants)
        onnx_models.check(data, feed, wanted=runtime(data, feed))
    joined = [node("FeatureVectorizer", "x z", domain="ai.onnx.ml", inputdimensions=[3, 2])]
    feed = {"x": x, "z": np.array([[5], [6]], np.float32)}
    data = several(joined, feed, {"y": TensorProto.FLOAT})
    np.testing.assert_array_equal(onnx_models.evaluated(data, feed)[0], [[0, 1, 2, 5, 0], [4, 5, 6, 6, 0]])


LINEAR: dict[str, Any] = {
    "coefficients": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6],
    "intercepts": [0.0, 0.0, 0.0],
    "classlabels_strings": ["ham", "eggs", "spam"],
}


def named(nodes: list[Any] | None = None, output: str = "l", kind: int = TensorProto.STRING) -> bytes:
    """Returns a classifier whose labels are text, and nodes behind it."""
    first = node("LinearClassifier", "x", "l p", domain="ai.onnx.ml", **LINEAR)
    feed = {"x": np.zeros((1, 2), np.float32)}
    return several([first, *(nodes or [])], feed, {output: kind})


def test_text_is_given_as_index() -> None:
    graph = load(named([node("Identity", "l", "y")], "y"), name="m")
    assert graph.outputs[0].text == ("ham", "eggs", "spam")
    assert graph.notes == ["output y: an index in place of text: 0 'ham', 1 'eggs', 2 'spam'"]
    for x, wanted in (([[1, 1]], 2), ([[-1, -1]], 0)):
        (label,) = interpreter.run(graph, {"x": np.array(x, np.float32)}).values()
        assert (label.tolist(), label.dtype) == ([wanted], np.int64)


def test_text_that_is_taken_from_a_table() -> None:
    classes = np.array(["ham", "spam"], object)
    nodes = [
        node("ArgMax", "x", "i", axis=1, keepdims=0),
        node("ArrayFeatureExtractor", "c i", "y", domain="ai.onnx.ml"),
    ]
    feed = {"x": np.array([[1, 2]], np.float32)}
    graph = load(several(nodes, feed, {"y": TensorProto.STRING}, {"c": classes}), name="m")
    assert graph.outputs[0].text == ("ham", "spam")


def test_computing_with_text_is_refused() -> None:
    assert "operand, got text, expected numbers" in refusal(named([node("Equal", "l l", "y")], "y", TensorProto.BOOL))
    as_number = node("Cast", "l", "y", to=TensorProto.INT64)
    assert "operand, got text, expected numbers" in refusal(named([as_number], "y", TensorProto.INT64))


def test_maps_are_left_out() -> None:
    data = named(
        [node("ZipMap", "p", "maps", domain="ai.onnx.ml", classlabels_strings=["ham", "eggs", "spam"])], "p", 1
    )
    found = onnx.load_from_string(data)
    entry = helper.make_map_type_proto(TensorProto.STRING, helper.make_tensor_type_proto(TensorProto.FLOAT, None))
    found.graph.output.append(helper.make_value_info("maps", helper.make_sequence_type_proto(entry)))
    graph = load(found.SerializeToString(), name="m")
    assert [tensor.shape for tensor in graph.outputs] == [(1, 3), (1, 3)]
    assert graph.notes == ["maps: a tensor in place of maps, with a column for each class: 'ham', 'eggs', 'spam'"]


TEXT = tensor(np.array(["a", "b"], object))


def encoder(**attributes: Any) -> bytes:
    """Returns a LabelEncoder of two keys with other attributes."""
    pair = tensor(np.array([1.0, 2.0], np.float32))
    made = {"keys_tensor": pair, "values_tensor": pair, "default_tensor": tensor(np.zeros(1, np.float32))}
    return model("LabelEncoder", made | attributes, (1, 2), "y", 4)


def machine_of(**attributes: Any) -> bytes:
    """Returns a machine of three classes with other attributes."""
    made = machine(np.random.default_rng(0), 2, [1, 2, 1], "RBF", has_probabilities=True)
    return changed(model("SVMClassifier", made, (1, 2), "l p", 1, **LABEL), **attributes)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (machine_of(support_vectors=[1.0]), "support_vectors, got 1 numbers, expected 8"),
        (machine_of(coefficients=[1.0] * 9), "coefficients, got 9 numbers, expected 8"),
        (machine_of(rho=[1.0]), "rho, got 1 numbers, expected 3"),
        (machine_of(prob_b=[1.0]), "prob_b, got 1 numbers, expected 3"),
        (machine_of(kernel_type="COSINE"), "kernel_type, got 'COSINE', expected one of LINEAR, POLY, RBF, SIGMOID"),
        (machine_of(kernel_params=[1.0]), "kernel_params, got 1 numbers, expected gamma, coef0 and degree"),
        (machine_of(vectors_per_class=[-1, 3, 2]), "vectors_per_class, got .* for 3 classes"),
        (machine_of(vectors_per_class=[1 << 40, 1, 1]), "numbers, expected"),
        (machine_of(classlabels_ints=None), "classes, got 0, expected 1 to 65,535"),
        (
            model(
                "SVMRegressor",
                {"coefficients": [1.0], "rho": [0.0], "n_supports": 3, "support_vectors": [1.0]},
                (1, 2),
                version=1,
            ),
            "coefficients, got 1 numbers, expected 3",
        ),
        (
            model("LinearRegressor", {"coefficients": [1.0], "targets": 1}, (1, 2), version=1),
            "coefficients, got 1 numbers, expected 2",
        ),
        (
            model("LinearRegressor", {"coefficients": [1.0, float("nan")], "targets": 1}, (1, 2), version=1),
            "coefficients, got a number that is not finite",
        ),
        (
            model("LinearRegressor", {"coefficients": [1.0], "targets": 1 << 33}, (1, 2), version=1),
            "targets, got 8,589,934,592, expected 1 to 65,535",
        ),
        (
            model(
                "LinearClassifier",
                {"coefficients": [1.0] * 4, "intercepts": [0.0] * 2, "classlabels_ints": [1, 2, 3]},
                (1, 2),
                "l p",
                1,
                **LABEL,
            ),
            "intercepts, got 2 numbers, expected 3",
        ),
        (
            model("Scaler", {"offset": [1.0] * 3, "scale": [1.0]}, (1, 2), version=1),
            "offset, got 3 numbers, expected 1 or 2",
        ),
        (model("Normalizer", {"norm": "L3"}, (1, 2), version=1), "norm, got 'L3', expected one of MAX, L1, L2"),
        (model("Normalizer", {}, (1, 2, 2), version=1), r"operand, got shape \[1, 2, 2\]"),
        (
            model("Imputer", {"imputed_value_floats": [1.0] * 3}, (1, 2), version=1),
            "imputed_value_floats, got 3 numbers, expected 1 or 2",
        ),
        (
            model("OneHotEncoder", {"cats_strings": ["a"]}, (1, 2), version=1),
            "categories, got text, expected cats_int64s",
        ),
        (model("OneHotEncoder", {"cats_int64s": [1], "zeros": 0}, (1, 2), version=1), "zeros, got 0"),
        (model("OneHotEncoder", {"cats_int64s": [1 << 40]}, (1, 2), version=1), "categories, got 1099511627776 to"),
        (
            model("LabelEncoder", {"keys_strings": ["a"], "values_int64s": [1]}, (1, 2), "y", 2, y=TensorProto.INT64),
            "keys and values, got 0 and 1",
        ),
        (
            model("LabelEncoder", {"keys_floats": [1.0] * 2, "values_floats": [1.0]}, (1, 2), "y", 2),
            "keys and values, got 2 and 1",
        ),
        (model("FeatureVectorizer", {"inputdimensions": [0]}, (1, 2), version=1), r"inputdimensions, got \[0\]"),
        (
            model("FeatureVectorizer", {"inputdimensions": [1 << 60]}, (1, 2), version=1),
            r"inputdimensions, got \[1152921504606846976\], expected a number in \[1, 65535\]",
        ),
        (encoder(keys_tensor=TEXT), "keys_tensor, got text, expected numbers"),
        (encoder(default_tensor=TEXT), "default_tensor, got text, expected numbers"),
        (encoder(default_tensor=tensor(np.zeros(0))), "default_tensor, got 0 numbers, expected 1"),
        (
            model("SVMRegressor", {"coefficients": [1.0], "rho": [0.0], "n_supports": -5}, (1, 2), version=1),
            "n_supports, got -5, expected at least 0",
        ),
        (
            several(
                [node("ArrayFeatureExtractor", "x i", domain="ai.onnx.ml")],
                {"x": np.zeros((1, 2), np.float32)},
                {"y": 1},
                {"i": np.array([2])},
            ),
            r"indices, got \[2\], expected numbers in \[0, 1\]",
        ),
    ],
)
def test_what_is_refused(data: bytes, message: str) -> None:
    text = refusal(data)
    assert re.search(message, text), text
