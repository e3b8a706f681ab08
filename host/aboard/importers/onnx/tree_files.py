"""Reads the attributes of nodes with trees: arrays by node in versions 1 to 4, arrays of nodes and leaves in version 5."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from aboard.importers.onnx.ensembles import LEAF, MODES, MOST_NODES, Branch, Ensemble, weights_of_leaves
from aboard.importers.onnx.operator import Operator
from aboard.importers.onnx.scores import numbers


def by_nodes(source: Operator, prefix: str, count: int) -> Ensemble:
    """Returns the ensemble of a TreeEnsembleClassifier or TreeEnsembleRegressor.

    A tree begins at its first node in the file.

    Args:
        source: The node.
        prefix: `class` or `target`, with which names of attributes of leaves begin.
        count: Number of classes or targets.

    Raises:
        ModelError: Arrays differ in length, a node is there twice, or a value is out of range.
    """
    columns = {name: _integers(source, f"nodes_{name}") for name in ("treeids", "nodeids", "featureids", "truenodeids", "falsenodeids")}
    modes = [str(mode) for mode in source.options.get("nodes_modes", ())]
    values = _either(source, "nodes_values")
    missing = _integers(source, "nodes_missing_value_tracks_true") or [0] * len(modes)
    _check_lengths(source, len(columns["nodeids"]), {**{f"nodes_{name}": each for name, each in columns.items()}, "nodes_modes": modes, "nodes_values": values, "nodes_missing_value_tracks_true": missing})
    ensemble, nodes = Ensemble(), dict[object, bool]()
    for tree, number, feature, yes, no, mode, value, nan in zip(*columns.values(), modes, values, missing, strict=True):
        key = (tree, number)
        if key in nodes:
            raise source.unsupported(f"node {number} of tree {tree} is there twice, expected it once. Export the model again")
        if not nodes or tree != previous:
            _begin(source, ensemble, tree, key)
        previous = tree
        nodes[key] = mode == "LEAF"
        if mode != "LEAF":
            if mode not in MODES[:-1]:
                raise source.unsupported(f"nodes_modes, got {mode[:40]!r}, expected LEAF or one of {', '.join(MODES[:-1])}. Export the model again")
            ensemble.branches[key] = Branch(mode, feature, (value,), (tree, yes), (tree, no), nan == 1)
    trees, leaves, targets = (_integers(source, f"{prefix}_{name}") for name in ("treeids", "nodeids", "ids"))
    weights = _either(source, f"{prefix}_weights")
    _check_lengths(source, len(targets), {f"{prefix}_treeids": trees, f"{prefix}_nodeids": leaves, f"{prefix}_weights": weights})
    keys: list[object] = list(zip(trees, leaves, strict=True))
    ensemble.leaves = weights_of_leaves(source, nodes, (f"{prefix}_nodeids", f"{prefix}_ids"), keys, targets, weights, count)
    return ensemble


def _begin(source: Operator, ensemble: Ensemble, tree: int, key: object) -> None:
    if any(isinstance(root, tuple) and root[0] == tree for root in ensemble.roots):
        raise source.unsupported(f"nodes_treeids, got tree {tree} in two places, expected the nodes of a tree one behind the other. Export the model again")
    ensemble.roots.append(key)


def by_indices(source: Operator, count: int) -> Ensemble:
    """Returns the ensemble of a TreeEnsemble with so many targets.

    Raises:
        ModelError: Arrays differ in length, or a value is out of range.
    """
    columns = {name: _integers(source, f"nodes_{name}") for name in ("featureids", "truenodeids", "falsenodeids", "trueleafs", "falseleafs")}
    modes, splits = _integers(source, "nodes_modes"), numbers(source, "nodes_splits").tolist()
    missing = _integers(source, "nodes_missing_value_tracks_true") or [0] * len(modes)
    _check_lengths(source, len(modes), {**{f"nodes_{name}": each for name, each in columns.items()}, "nodes_splits": splits, "nodes_missing_value_tracks_true": missing})
    members = _members(source, modes)
    ensemble = Ensemble(roots=list(_integers(source, "tree_roots")))
    for number, (feature, yes, no, yes_leaf, no_leaf, mode, split, nan) in enumerate(zip(*columns.values(), modes, splits, missing, strict=True)):
        if not 0 <= mode < len(MODES):
            raise source.unsupported(f"nodes_modes, got {mode}, expected a number in [0, {len(MODES) - 1}]. Export the model again")
        values = members[number] if number in members else (split,)
        children = [(LEAF, child) if leaf else child for child, leaf in ((yes, yes_leaf), (no, no_leaf))]
        ensemble.branches[number] = Branch(MODES[mode], feature, values, *children, nan == 1)
    targets, weights = _integers(source, "leaf_targetids"), numbers(source, "leaf_weights").tolist()
    _check_lengths(source, len(targets), {"leaf_weights": weights})
    leaves: list[object] = [(LEAF, number) for number in range(len(targets))]
    ensemble.leaves = weights_of_leaves(source, dict.fromkeys(leaves, True), ("leaf_weights", "leaf_targetids"), leaves, targets, weights, count)
    wrong = next((root for root in ensemble.roots if root not in ensemble.branches), None)
    if wrong is not None or not ensemble.roots:
        raise source.unsupported(f"tree_roots, got {'none' if wrong is None else wrong}, expected numbers of nodes. Export the model again")
    return ensemble


def _members(source: Operator, modes: Sequence[int]) -> dict[int, tuple[float, ...]]:
    """Returns the members of each BRANCH_MEMBER: parts of one array that NaNs separate."""
    wanted = [number for number, mode in enumerate(modes) if mode == MODES.index("BRANCH_MEMBER")]
    parts: list[list[float]] = [[]]
    for value in numbers(source, "membership_values").tolist():
        if np.isnan(value):
            parts.append([])
        else:
            parts[-1].append(value)
    kept = parts[: len(wanted)]
    if len(kept) != len(wanted) or any(map(len, parts[len(wanted) :])) or not all(kept):
        raise source.unsupported(
            f"membership_values, got {sum(map(bool, parts))} sets, expected one for each of {len(wanted)} nodes. Export the model again"
        )
    return {number: tuple(part) for number, part in zip(wanted, kept, strict=True)}


def _integers(source: Operator, name: str) -> list[int]:
    return [int(value) for value in numbers(source, name)]


def _either(source: Operator, name: str) -> list[float]:
    """Returns an attribute of reals or that of the same name with a tensor.

    Raises:
        ModelError: The node has both.
    """
    plain, tensor = numbers(source, name), numbers(source, f"{name}_as_tensor")
    if plain.size and tensor.size:
        raise source.unsupported(f"{name}, got values and {name}_as_tensor, expected one of them. Export the model again")
    return [float(value) for value in (plain if plain.size else tensor)]


def _check_lengths(source: Operator, count: int, columns: dict[str, Any]) -> None:
    if not 1 <= count <= MOST_NODES:
        raise source.unsupported(f"{next(iter(columns))}, got {count:,} elements, expected 1 to {MOST_NODES:,}. Export the model again")
    for name, column in columns.items():
        if len(column) != count:
            raise source.unsupported(f"{name}, got {len(column)} elements, expected {count}. Export the model again")


def base_values(source: Operator) -> list[float]:
    """Returns what is added to the scores of each class or target; empty for nothing."""
    return _either(source, "base_values")
