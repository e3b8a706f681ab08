"""Ensembles of decision trees in ONNX files, against onnxruntime."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto

from aboard.importers import load
from aboard.importers.onnx import ensembles, tree_files
from support import onnx_models, tree_models
from support.examples import examples
from support.onnx_models import evaluated, refusal, runtime
from support.tree_models import Drawn, changed, model, tensor

TRANSFORMS = ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"]

#: Seed, features, targets or classes, trees, depth.
SIZES = st.tuples(st.integers(0, 2**32), *[st.integers(1, 4)] * 3, st.integers(0, 4))


def check(data: bytes, x: np.ndarray, *, compiled: bool = False) -> None:
    """Fails unless labels are equal, and scores as good as equal, to those of onnxruntime."""
    feed = {"x": x}
    onnx_models.check(data, feed, wanted=runtime(data, feed), compiled=compiled, rtol=3e-6)


def classifier(drawn: Drawn, sizes: tuple[int, ...], base: int = 0, **options: Any) -> tuple[bytes, np.ndarray]:
    """Returns a classifier with `base` base values, and samples."""
    _, _, classes, trees, depth = sizes
    post = options.pop("post_transform", "NONE")
    made = drawn.attributes("class", trees, depth, **options)
    labels = [int(label) for label in drawn.rng.permutation(classes) * 3]
    made |= {"classlabels_int64s": labels, "post_transform": post}
    if base:
        made["base_values"] = drawn.rng.uniform(-1, 1, base).astype(np.float32).tolist()
    x = drawn.samples(6)
    return model("TreeEnsembleClassifier", made, x.shape, "l p", l=TensorProto.INT64), x


@settings(max_examples=examples(60), deadline=None)
@given(SIZES, st.sampled_from(TRANSFORMS), st.booleans(), st.booleans(), st.sampled_from([-1.0, 0.0]))
def test_classifiers(sizes: tuple[int, ...], post: str, has_base: bool, missing: bool, low: float) -> None:
    classes = sizes[2]
    drawn = Drawn(*sizes[:3])
    base = 0 if classes == 1 or not has_base else int(drawn.rng.integers(1, 3)) if classes == 2 else classes
    check(*classifier(drawn, sizes, base, post_transform=post, missing=missing, low=low))


@settings(max_examples=examples(40), deadline=None)
@given(
    SIZES.filter(lambda sizes: sizes[2] > 2), st.sampled_from(TRANSFORMS), st.booleans(), st.sampled_from([-1.0, 0.0])
)
def test_classes_without_a_weight_win_nothing(sizes: tuple[int, ...], post: str, has_base: bool, low: float) -> None:
    base = sizes[2] if has_base else 0
    check(*classifier(Drawn(*sizes[:3]), sizes, base, post_transform=post, sparse=True, low=low))


@pytest.mark.parametrize("base", [0, 1, 2])
@pytest.mark.parametrize("owner", [0, 1])
@pytest.mark.parametrize("low", [-1.0, 0.0])
def test_two_classes_of_which_one_has_the_weights(owner: int, base: int, low: float) -> None:
    for seed, post in enumerate(TRANSFORMS):
        sizes = (seed, 2, 2, 3, 3)
        drawn = Drawn(seed, 2, 1)
        data, x = classifier(drawn, sizes, base, post_transform=post, low=low)
        count = len(tree_models.attribute(data, "class_ids"))
        check(changed(data, class_ids=[owner] * count, classlabels_int64s=[5, 9]), x)


@settings(max_examples=examples(60), deadline=None)
@given(
    SIZES, st.sampled_from(TRANSFORMS), st.sampled_from(["SUM", "AVERAGE", "MIN", "MAX"]), st.booleans(), st.booleans()
)
def test_regressors(sizes: tuple[int, ...], post: str, aggregate: str, has_base: bool, sparse: bool) -> None:
    _, _, targets, trees, depth = sizes
    drawn = Drawn(*sizes[:3])
    made = drawn.attributes("target", trees, depth, sparse=sparse)
    made |= {"n_targets": targets, "aggregate_function": aggregate, "post_transform": post}
    if has_base:
        made["base_values"] = drawn.rng.uniform(-1, 1, targets).astype(np.float32).tolist()
    x = drawn.samples(6)
    check(model("TreeEnsembleRegressor", made, x.shape), x)


@settings(max_examples=examples(60), deadline=None)
@given(SIZES, st.integers(0, 3), st.sampled_from([0, 3]))
def test_ensembles_of_version_5(sizes: tuple[int, ...], aggregate: int, post: int) -> None:
    _, _, targets, trees, depth = sizes
    drawn = Drawn(*sizes[:3])
    made = drawn.indexed(trees, max(depth, 1))
    made |= {"n_targets": targets, "aggregate_function": aggregate, "post_transform": post}
    x = drawn.samples(6)
    check(model("TreeEnsemble", made, x.shape, version=5), x)


@pytest.mark.parametrize("seed", range(4))
def test_compiled(seed: int) -> None:
    sizes = (seed, 3, 3 if seed % 2 else 1, 4, 4)
    check(*classifier(Drawn(*sizes[:3]), sizes, sparse=seed == 3), compiled=True)


def test_integers_are_compared_as_float32() -> None:
    sizes = (0, 2, 3, 3, 3)
    drawn = Drawn(*sizes[:3])
    drawn.values = np.array([-1, 0, 1, 2**24], np.float32)
    made = drawn.attributes("class", 3, 3) | {"classlabels_int64s": [0, 1, 2]}
    x = np.array([[-1, 0], [1, 2**24 - 1], [0, 2**24 + 1]], np.int64)
    check(model("TreeEnsembleClassifier", made, x.shape, "l p", l=TensorProto.INT64, x=TensorProto.INT64), x)


STUMP: dict[str, Any] = {
    "nodes_treeids": [0, 0, 0],
    "nodes_nodeids": [0, 1, 2],
    "nodes_featureids": [0, 0, 0],
    "nodes_values": [0.5, 0.0, 0.0],
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
    "nodes_truenodeids": [1, 0, 0],
    "nodes_falsenodeids": [2, 0, 0],
    "target_treeids": [0, 0],
    "target_nodeids": [1, 2],
    "target_ids": [0, 0],
    "target_weights": [1.0, 2.0],
    "n_targets": 1,
}


def stump(**attributes: Any) -> bytes:
    """Returns a regressor of one comparison, with other attributes."""
    return changed(model("TreeEnsembleRegressor", STUMP, (1, 2)), **attributes)


def test_branches_that_others_share() -> None:
    """Exporters write a comparison with a set of categories so: equal to one, else to the next, with one result."""
    data = stump(
        nodes_treeids=[0] * 6,
        nodes_nodeids=list(range(6)),
        nodes_featureids=[0, 0, 1, 0, 0, 0],
        nodes_values=[1.0, 2.0, 0.5, 0.0, 0.0, 0.0],
        nodes_modes=["BRANCH_EQ", "BRANCH_EQ", "BRANCH_LEQ", "LEAF", "LEAF", "LEAF"],
        nodes_truenodeids=[2, 2, 3, 0, 0, 0],
        nodes_falsenodeids=[1, 5, 4, 0, 0, 0],
        target_treeids=[0] * 3,
        target_nodeids=[3, 4, 5],
        target_ids=[0] * 3,
        target_weights=[1.0, 2.0, 3.0],
    )
    for x, wanted in (([1, 0], 1), ([1, 1], 2), ([2, 0], 1), ([2, 1], 2), ([3, 0], 3), ([1.5, 0], 3)):
        samples = np.array([x], np.float32)
        assert evaluated(data, {"x": samples})[0].item() == runtime(data, {"x": samples})[0].item() == wanted
    assert len(load(data, name="m").nodes[0].input(1).data) == 5


@pytest.mark.parametrize("mode", tree_models.MODES)
@pytest.mark.parametrize("threshold", [0.1, np.nextafter(0.5, 1), 0.5, -0.0, 1e-60, -1e-60, 1e300])
def test_doubles_are_compared_as_if_samples_were_doubles(mode: str, threshold: float) -> None:
    data = stump(
        nodes_values=None,
        nodes_values_as_tensor=tensor(np.array([threshold, 0, 0])),
        nodes_modes=[mode, "LEAF", "LEAF"],
    )
    compare = dict(zip(tree_models.MODES, ("<=", "<", ">=", ">", "==", "!="), strict=True))[mode]
    near = np.float32(0.1), np.nextafter(np.float32(0.1), np.float32(0)), np.nextafter(np.float32(0.1), np.float32(1))
    for value in (*near, 0.5, np.nextafter(np.float32(0.5), np.float32(1)), 0.0, -0.0, 1e-45, -1e-45, 3e38, np.inf):
        (result,) = evaluated(data, {"x": np.array([[value, 0]], np.float32)})
        is_true = eval(f"{float(np.float32(value))!r} {compare} threshold", {"inf": np.inf, "threshold": threshold})
        assert result.item() == (1 if is_true else 2), (value, mode)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"nodes_featureids": [7, 0, 0]}, r"node 0 of tree 0 compares feature 7, expected a number in \[0, 1\]"),
        ({"nodes_featureids": [-1, 0, 0]}, "compares feature -1"),
        ({"nodes_truenodeids": [9, 0, 0]}, "node 9 of tree 0 is a child and not in the file"),
        ({"nodes_truenodeids": [0, 0, 0]}, "node 0 of tree 0 is its own ancestor"),
        ({"nodes_nodeids": [0, 1, 1]}, "node 1 of tree 0 is there twice"),
        ({"nodes_values": [0.5, 0.0]}, "nodes_values, got 2 elements, expected 3"),
        ({"nodes_modes": ["BRANCH_LEQ"]}, "nodes_modes, got 1 elements, expected 3"),
        ({"nodes_modes": ["BRANCH_LESS", "LEAF", "LEAF"]}, "nodes_modes, got 'BRANCH_LESS', expected LEAF or one of"),
        ({"nodes_values": [float("nan"), 0.0, 0.0]}, "threshold of node 0 of tree 0, got nan"),
        ({"nodes_values_as_tensor": tensor(np.zeros(3))}, "nodes_values, got values and nodes_values_as_tensor"),
        ({"nodes_missing_value_tracks_true": [1]}, "nodes_missing_value_tracks_true, got 1 elements, expected 3"),
        ({"target_nodeids": [1, 0]}, "target_nodeids has a weight for node 0 of tree 0, expected a leaf"),
        ({"target_nodeids": [1, 5]}, "target_nodeids has a weight for node 5 of tree 0, expected a leaf"),
        ({"target_ids": [0, 1]}, r"target_ids, got 1, expected a number in \[0, 0\]"),
        ({"target_weights": [1.0]}, "target_weights, got 1 elements, expected 2"),
        ({"target_weights": [1.0, float("inf")]}, "weight of node 2 of tree 0, got inf, expected a finite float32"),
        ({"n_targets": 1 << 40}, "n_targets, got 1,099,511,627,776, expected 1 to 65,535"),
        ({"n_targets": 0}, "n_targets, got 0"),
        ({"base_values": [1.0, 2.0]}, "base_values, got 2 numbers, expected none or 1"),
        (
            {"aggregate_function": "PRODUCT"},
            "aggregate_function, got 'PRODUCT', expected one of AVERAGE, SUM, MIN, MAX",
        ),
        ({"post_transform": "TANH"}, "post_transform, got 'TANH', expected one of"),
    ],
)
def test_what_is_refused(attributes: dict[str, Any], message: str) -> None:
    assert_refused(stump(**attributes), message)


def assert_refused(data: bytes, message: str) -> None:
    """Fails unless the importer refuses a model at its node with a message."""
    text = refusal(data)
    assert re.search(message, text), text
    assert text.startswith("model (bytes): node 0 TreeEnsemble"), text


def test_trees_whose_nodes_lie_apart_are_refused() -> None:
    assert_refused(stump(nodes_treeids=[0, 1, 0], nodes_nodeids=[0, 1, 2]), "nodes_treeids, got tree 0 in two places")


def test_inputs_of_three_axes_are_refused() -> None:
    assert_refused(model("TreeEnsembleRegressor", STUMP, (1, 2, 2)), r"operand, got shape \[1, 2, 2\]")


def branch(**attributes: Any) -> bytes:
    """Returns a TreeEnsemble of one comparison."""
    made: dict[str, Any] = {
        "nodes_featureids": [0],
        "nodes_splits": tensor(np.zeros(1, np.float32)),
        "nodes_modes": tensor(np.zeros(1, np.uint8)),
        "nodes_truenodeids": [0],
        "nodes_falsenodeids": [1],
        "nodes_trueleafs": [1],
        "nodes_falseleafs": [1],
        "tree_roots": [0],
        "leaf_targetids": [0, 1],
        "leaf_weights": tensor(np.ones(2, np.float32)),
        "n_targets": 2,
    }
    return model("TreeEnsemble", made | attributes, (1, 2), version=5)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"tree_roots": [3]}, "tree_roots, got 3, expected numbers of nodes"),
        ({"tree_roots": [0, 0]}, "node 0 is in two trees, expected one"),
        ({"nodes_falsenodeids": [2]}, "leaf 2 is a child and not in the file"),
        ({"nodes_falseleafs": [0]}, "node 1 is a child and not in the file"),
        ({"nodes_truenodeids": [0], "nodes_trueleafs": [0]}, "node 0 is its own ancestor"),
        ({"nodes_modes": tensor(np.array([7], np.uint8))}, r"nodes_modes, got 7, expected a number in \[0, 6\]"),
        (
            {"nodes_modes": tensor(np.array([6], np.uint8))},
            "membership_values, got 0 sets, expected one for each of 1 nodes",
        ),
        ({"aggregate_function": 4}, "aggregate_function, got 4"),
        ({"post_transform": 1}, "post_transform, got 1, which is SOFTMAX in the standard and another function"),
        ({"leaf_targetids": [0, 2]}, r"leaf_targetids, got 2, expected a number in \[0, 1\]"),
        ({"nodes_featureids": [0, 0]}, "nodes_featureids, got 2 elements, expected 1"),
    ],
)
def test_what_is_refused_of_version_5(attributes: dict[str, Any], message: str) -> None:
    assert_refused(branch(**attributes), message)


def test_classifiers_that_are_not_clear_are_refused() -> None:
    made = {name.replace("target", "class"): value for name, value in STUMP.items() if name != "n_targets"}
    made |= {"class_ids": [0, 1]}
    two = model("TreeEnsembleClassifier", made | {"classlabels_int64s": [0, 1]}, (1, 2), "l p", l=TensorProto.INT64)
    assert_refused(two, "class_ids, got a class with weights in some leaves of each tree")
    assert_refused(changed(two, class_ids=[0, 0], post_transform="PROBIT"), "post_transform, got PROBIT for one score")
    assert_refused(changed(two, classlabels_int64s=None), "classes, got 0, expected 1 to 65,535")
    assert_refused(changed(two, base_values=[1.0] * 3), "base_values, got 3 numbers")


def test_large_ensembles_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ensembles, "MOST_NODES", 1)
    data = stump(nodes_modes=["BRANCH_EQ", "LEAF", "LEAF"])
    assert_refused(data, "trees, got over 1 comparisons")
    monkeypatch.setattr(tree_files, "MOST_NODES", 2)
    assert_refused(data, "nodes_nodeids, got 3 elements, expected 1 to 2")
