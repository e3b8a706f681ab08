"""Attributes of nodes with trees: arrays by node in versions 1 to 4, arrays of nodes and leaves in version 5."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from aboard.importers.onnx.ensembles import LEAF, MODES, MOST_NODES, Branch, Ensemble, weights_of_leaves
from aboard.importers.onnx.operator import Operator
from aboard.importers.onnx.scores import numbers

_MISSING = "nodes_missing_value_tracks_true"
_BY_NODE = ("nodes_nodeids", "nodes_treeids", "nodes_featureids", "nodes_truenodeids", "nodes_falsenodeids")
_BY_INDEX = ("nodes_featureids", "nodes_truenodeids", "nodes_falsenodeids", "nodes_trueleafs", "nodes_falseleafs")


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
    columns = {name: _integers(source, name) for name in _BY_NODE}
    modes = [str(mode) for mode in source.options.get("nodes_modes", ())]
    columns[_MISSING] = _integers(source, _MISSING) or [0] * len(columns["nodes_nodeids"])
    values = _either(source, "nodes_values")
    _check_lengths(source, {**columns, "nodes_modes": modes, "nodes_values": values})
    ensemble, nodes, begun = Ensemble(), dict[object, bool](), list[int]()
    for mode, value, number, tree, *rest in zip(modes, values, *columns.values(), strict=True):
        if not begun or tree != begun[-1]:
            begun.append(tree)
            ensemble.roots.append((tree, number))
        if (tree, number) in nodes:
            raise source.unsupported(f"node {number} of tree {tree} is there twice, expected it once. Export again")
        nodes[tree, number] = mode == "LEAF"
        if mode != "LEAF":
            feature, yes, no, missing = rest
            ensemble.branches[tree, number] = Branch(
                _mode(source, mode), feature, (value,), (tree, yes), (tree, no), missing == 1
            )
    _check_trees(source, begun)
    ensemble.leaves = _leaves_of_nodes(source, prefix, count, nodes)
    return ensemble


def _mode(source: Operator, mode: str) -> str:
    if mode not in MODES[:-1]:
        known = ", ".join(MODES[:-1])
        raise source.unsupported(f"nodes_modes, got {mode[:40]!r}, expected LEAF or one of {known}. Export again")
    return mode


def _check_trees(source: Operator, begun: Sequence[int]) -> None:
    if len(set(begun)) < len(begun):
        tree = next(tree for place, tree in enumerate(begun) if tree in begun[:place])
        raise source.unsupported(
            f"nodes_treeids, got tree {tree} in two places, expected the nodes of a tree one behind the other. "
            "Export the model again"
        )


def _leaves_of_nodes(source: Operator, prefix: str, count: int, nodes: dict[object, bool]) -> dict[object, Any]:
    names = [f"{prefix}_{name}" for name in ("ids", "treeids", "nodeids")]
    targets, trees, leaves = (_integers(source, name) for name in names)
    weights = _either(source, f"{prefix}_weights")
    _check_lengths(source, {**dict(zip(names, (targets, trees, leaves), strict=True)), f"{prefix}_weights": weights})
    keys: list[object] = list(zip(trees, leaves, strict=True))
    pairs = list(zip(targets, weights, strict=True))
    return weights_of_leaves(source, nodes, (names[2], names[0]), keys, pairs, count)


def by_indices(source: Operator, count: int) -> Ensemble:
    """Returns the ensemble of a TreeEnsemble with so many targets.

    Raises:
        ModelError: Arrays differ in length, or a value is out of range.
    """
    columns = {name: _integers(source, name) for name in ("nodes_modes", *_BY_INDEX)}
    modes = columns["nodes_modes"]
    columns[_MISSING] = _integers(source, _MISSING) or [0] * len(modes)
    splits = numbers(source, "nodes_splits").tolist()
    _check_lengths(source, {**columns, "nodes_splits": splits})
    members = _members(source, modes)
    ensemble = Ensemble(roots=list(_integers(source, "tree_roots")))
    rows = zip(splits, *columns.values(), strict=True)
    for number, (split, mode, feature, yes, no, yes_leaf, no_leaf, missing) in enumerate(rows):
        if not 0 <= mode < len(MODES):
            last = len(MODES) - 1
            raise source.unsupported(f"nodes_modes, got {mode}, expected a number in [0, {last}]. Export again")
        after = [(LEAF, child) if leaf else child for child, leaf in ((yes, yes_leaf), (no, no_leaf))]
        values = members.get(number, (split,))
        ensemble.branches[number] = Branch(MODES[mode], feature, values, after[0], after[1], missing == 1)
    wrong = next((root for root in ensemble.roots if root not in ensemble.branches), None)
    if wrong is not None or not ensemble.roots:
        got = "none" if wrong is None else wrong
        raise source.unsupported(f"tree_roots, got {got}, expected numbers of nodes. Export the model again")
    ensemble.leaves = _leaves_of_arrays(source, count)
    return ensemble


def _leaves_of_arrays(source: Operator, count: int) -> dict[object, Any]:
    names = ("leaf_weights", "leaf_targetids")
    targets, weights = _integers(source, names[1]), numbers(source, names[0]).tolist()
    _check_lengths(source, {names[1]: targets, names[0]: weights})
    keys: list[object] = [(LEAF, number) for number in range(len(targets))]
    pairs = list(zip(targets, weights, strict=True))
    return weights_of_leaves(source, dict.fromkeys(keys, True), names, keys, pairs, count)


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
            f"membership_values, got {sum(map(bool, parts))} sets, expected one for each of {len(wanted)} nodes. "
            "Export the model again"
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
        raise source.unsupported(f"{name}, got values and {name}_as_tensor, expected one of them. Export again")
    return [float(value) for value in (plain if plain.size else tensor)]


def _check_lengths(source: Operator, columns: dict[str, Any]) -> None:
    """Raises unless all arrays are as long as the first one."""
    first, count = next((name, len(column)) for name, column in columns.items())
    if not 1 <= count <= MOST_NODES:
        raise source.unsupported(f"{first}, got {count:,} elements, expected 1 to {MOST_NODES:,}. Export again")
    for name, column in columns.items():
        if len(column) != count:
            raise source.unsupported(f"{name}, got {len(column)} elements, expected {count}. Export the model again")


def base_values(source: Operator) -> list[float]:
    """Returns what is added to the scores of each class or target; empty for nothing."""
    return _either(source, "base_values")
