"""Ensembles of trees drawn at random, as attributes of nodes of ai.onnx.ml, and models of one such node."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")

Attributes = dict[str, Any]


class Drawn:
    """Draws trees whose thresholds are often equal to elements of `values`.

    Attributes:
        values: Elements that samples have, NaN and infinities aside.
    """

    values = np.array([-2.5, -1.0, -0.0, 0.0, 1e-40, 0.5, 1.0, 3.25, 1e20], np.float32)

    def __init__(self, seed: int, features: int, targets: int, modes: tuple[str, ...] = MODES) -> None:
        self.rng = np.random.default_rng(seed)
        self.features, self.targets, self.modes = features, targets, modes

    def samples(self, count: int, *, missing: bool = True) -> np.ndarray:
        """Returns samples with equal elements, and with NaN of both signs and infinities."""
        x = self.rng.choice(self.values, (count, self.features))
        if missing:
            odd = np.array([np.nan, -np.nan, np.inf, -np.inf], np.float32)
            x = np.where(self.rng.random(x.shape) < 0.2, self.rng.choice(odd, x.shape), x)
        return np.asarray(x, np.float32)

    def tree(self, depth: int) -> list[dict[str, Any]]:
        """Returns the nodes of a tree in the order of a walk: leaves have no mode."""
        nodes: list[dict[str, Any]] = [{}]
        if depth > 0 and self.rng.random() < 0.85:
            node = nodes[0]
            node.update(mode=str(self.rng.choice(self.modes)), feature=int(self.rng.integers(self.features)))
            node.update(value=float(self.rng.choice(self.values)), missing=int(self.rng.integers(2)))
            for child in ("yes", "no"):
                node[child] = len(nodes)
                moved = self.tree(depth - 1)
                for each in moved:
                    for name in ("yes", "no"):
                        if name in each:
                            each[name] += len(nodes)
                nodes += moved
        return nodes

    def attributes(
        self, prefix: str, trees: int, depth: int, *, missing: bool = True, sparse: bool = False, low: float = -1
    ) -> Attributes:
        """Returns the attributes of nodes and leaves of TreeEnsembleClassifier or TreeEnsembleRegressor.

        Args:
            prefix: `class` or `target`.
            trees: Number of trees.
            depth: Of a tree, at most.
            missing: Whether nodes say where a NaN goes.
            sparse: True for weights of one target for each leaf, False for all.
            low: Least weight; the largest is 1.
        """
        made: Attributes = {f"nodes_{name}": [] for name in ("treeids", "nodeids", "featureids", "values", "modes")}
        made |= {"nodes_truenodeids": [], "nodes_falsenodeids": []}
        made |= {f"{prefix}_{name}": [] for name in ("treeids", "nodeids", "ids", "weights")}
        if missing:
            made["nodes_missing_value_tracks_true"] = []
        for tree in range(trees):
            for number, node in enumerate(self.tree(depth)):
                row = {
                    "treeids": tree,
                    "nodeids": number,
                    "featureids": node.get("feature", 0),
                    "values": node.get("value", 0.0),
                    "modes": node.get("mode", "LEAF"),
                    "truenodeids": node.get("yes", 0),
                    "falsenodeids": node.get("no", 0),
                    "missing_value_tracks_true": node.get("missing", 0),
                }
                for name, value in row.items():
                    if f"nodes_{name}" in made:
                        made[f"nodes_{name}"].append(value)
                if "mode" not in node:
                    chosen = [int(self.rng.integers(self.targets))] if sparse else range(self.targets)
                    for target in chosen:
                        pair = (tree, number, target, float(np.float32(self.rng.uniform(low, 1))))
                        for name, part in zip(("treeids", "nodeids", "ids", "weights"), pair, strict=True):
                            made[f"{prefix}_{name}"].append(part)
        return made

    def indexed(self, trees: int, depth: int) -> Attributes:
        """Returns the attributes of TreeEnsemble, version 5.

        Elements are integers from here on: onnxruntime rounds others before it looks for them in a large set.
        """
        self.values = np.array([-2, -1, 0, 1, 2, 3, 70], np.float32)
        modes, members = [*self.modes, "BRANCH_MEMBER"], list[float]()
        columns: dict[str, list[Any]] = {name: [] for name in ("featureids", "splits", "modes", "truenodeids")}
        columns |= {name: [] for name in ("falsenodeids", "trueleafs", "falseleafs", "missing_value_tracks_true")}
        roots, targets, weights = list[int](), list[int](), list[float]()
        for _ in range(trees):
            nodes = self.tree(depth)
            nodes = nodes if len(nodes) > 1 else [{**self._stump(), "yes": 1, "no": 2}, {}, {}]
            inner = {n: len(columns["modes"]) + k for k, n in enumerate(n for n, each in enumerate(nodes) if each)}
            roots.append(len(columns["modes"]))
            for node in filter(None, nodes):
                mode = str(self.rng.choice(modes))
                if mode == "BRANCH_MEMBER":
                    members += [*self.rng.choice(self.values, int(self.rng.integers(1, 4))).tolist(), np.nan]
                columns["featureids"].append(node["feature"])
                columns["splits"].append(node["value"])
                columns["modes"].append((*MODES, "BRANCH_MEMBER").index(mode))
                columns["missing_value_tracks_true"].append(0 if mode == "BRANCH_MEMBER" else node["missing"])
                for child, flag in (("yes", "true"), ("no", "false")):
                    is_leaf = node[child] not in inner
                    columns[f"{flag}leafs"].append(int(is_leaf))
                    columns[f"{flag}nodeids"].append(len(targets) if is_leaf else inner[node[child]])
                    if is_leaf:
                        targets.append(int(self.rng.integers(self.targets)))
                        weights.append(float(np.float32(self.rng.uniform(-1, 1))))
        made = {f"nodes_{name}": values for name, values in columns.items()}
        made["nodes_splits"] = tensor(np.array(made["nodes_splits"], np.float32))
        made["nodes_modes"] = tensor(np.array(made["nodes_modes"], np.uint8))
        made |= {"tree_roots": roots, "leaf_targetids": targets, "leaf_weights": tensor(np.array(weights, np.float32))}
        if members:
            made["membership_values"] = tensor(np.array(members, np.float32))
        return made

    def _stump(self) -> dict[str, Any]:
        return {"feature": 0, "value": 0.5, "missing": 0}


def tensor(values: np.ndarray) -> TensorProto:
    """Returns an array as an attribute."""
    return numpy_helper.from_array(values, "t")


def model(
    kind: str, attributes: Attributes, shape: tuple[int, ...], outputs: str = "y", version: int = 3, **types: int
) -> bytes:
    """Returns a model of one node of ai.onnx.ml.

    Args:
        kind: The operator.
        attributes: Its attributes.
        shape: Of the input `x` of float32.
        outputs: Names of the results, separated by blanks.
        version: Of the domain.
        types: TensorProto types of the outputs; float32 for others. `x` is the input's.
    """
    made = helper.make_node(kind, ["x"], outputs.split(), domain="ai.onnx.ml", **attributes)
    inputs = [helper.make_tensor_value_info("x", types.get("x", TensorProto.FLOAT), list(shape))]
    results = [
        helper.make_tensor_value_info(name, types.get(name, TensorProto.FLOAT), None) for name in outputs.split()
    ]
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", version)]
    graph = helper.make_graph([made], "test", inputs, results)
    return helper.make_model(graph, opset_imports=imports, ir_version=10).SerializeToString()


def changed(data: bytes, **attributes: Any) -> bytes:
    """Returns a model of one node with other attributes; None removes one."""
    found = onnx.load_from_string(data)
    node = found.graph.node[0]
    kept = [each for each in node.attribute if each.name not in attributes]
    added = [helper.make_attribute(name, value) for name, value in attributes.items() if value is not None]
    del node.attribute[:]
    node.attribute.extend([*kept, *added])
    return found.SerializeToString()


def attribute(data: bytes, name: str) -> Any:
    """Returns the value of an attribute of a model of one node."""
    found = onnx.load_from_string(data).graph.node[0].attribute
    return next(helper.get_attribute_value(each) for each in found if each.name == name)
