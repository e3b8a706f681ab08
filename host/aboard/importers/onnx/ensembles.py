"""Ensembles of trees as files have them, checked, and as tables of `tree_ensemble`.

A file's comparison becomes one or two comparisons with "at most": x < t is x <= the float32 below t, x > t exchanges
the children of x <= t, and x == t is x <= t and not x < t.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from aboard.importers.onnx.operator import Operator
from aboard.ops.tree_ensemble import Int32, Trees

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER")

#: Nodes of an ensemble at most, of the file and of the tables: 64 MiB of flash.
MOST_NODES = 1 << 23

#: First part of the key of a leaf that is no node of the file.
LEAF = "leaf"

Weights = tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class Branch:
    """A comparison.

    Attributes:
        mode: One of `MODES`.
        feature: Index of the feature.
        values: The threshold; for BRANCH_MEMBER the members.
        yes, no: Keys of the nodes or leaves that follow.
        is_missing_yes: True if a NaN goes to `yes`.
    """

    mode: str
    feature: int
    values: tuple[float, ...]
    yes: object
    no: object
    is_missing_yes: bool


@dataclass
class Ensemble:
    """Trees of a file, whose nodes and leaves have keys.

    Attributes:
        branches: By key.
        leaves: By key: pairs of target and weight.
        roots: Keys of nodes or leaves at which the trees begin.
    """

    branches: dict[object, Branch] = field(default_factory=dict)
    leaves: dict[object, Weights] = field(default_factory=dict)
    roots: list[object] = field(default_factory=list)


def tables(source: Operator, ensemble: Ensemble, features: int) -> Trees:
    """Returns the tables of an ensemble.

    Raises:
        ModelError: A child or feature does not exist, a node follows itself, or a threshold has no order.
    """
    for key, branch in ensemble.branches.items():
        if not 0 <= branch.feature < features:
            raise source.unsupported(
                f"{_name(key)} compares feature {branch.feature}, expected a number in [0, {features - 1}]. Export the "
                "model for inputs of this width"
            )
    return _Tables(source, ensemble).trees()


def _name(key: object) -> str:
    if not isinstance(key, tuple):
        return f"node {key}"
    return f"leaf {key[1]}" if key[0] == LEAF else f"node {key[1]} of tree {key[0]}"


class _Tables:
    def __init__(self, source: Operator, ensemble: Ensemble) -> None:
        self._source, self._ensemble = source, ensemble
        self._splits: list[list[int]] = []
        self._thresholds: list[np.float32] = []
        self._leaves: dict[object, int] = {}
        self._seen: set[object] = set()

    def trees(self) -> Trees:
        roots = [self._tree(root) for root in self._ensemble.roots]
        pairs = [self._ensemble.leaves[key] for key in self._leaves]
        return Trees(
            np.array(self._splits, np.int32),
            np.array(self._thresholds, np.float32),
            np.array(roots, np.int32),
            np.cumsum([0, *map(len, pairs)], dtype=np.int32),
            np.array([target for leaf in pairs for target, _ in leaf], np.int32),
            np.array([weight for leaf in pairs for _, weight in leaf], np.float32),
        )

    def _tree(self, root: object) -> int:
        """Adds a tree, in the order of a walk that takes `yes` first; returns its root."""
        begin = len(self._splits)
        if root in self._ensemble.leaves:
            # A tree begins with a comparison, here one without effect.
            leaf = ~self._leaf(root)
            self._compare(0, np.float32(0), first=leaf, second=leaf)
            return begin
        heads = dict[object, int]()
        places: list[tuple[int, int, object]] = []
        for key in self._order(root):
            heads[key] = len(self._splits)
            branch = self._ensemble.branches[key]
            for child, found in zip((branch.yes, branch.no), self._branch(key, branch), strict=True):
                places += [(node, which, child) for node, which in found]
        for node, which, child in places:
            self._splits[node][which] = heads[child] if child in heads else ~self._leaf(child)
        return begin

    def _order(self, root: object) -> list[object]:
        """Returns the keys of the branches of a tree, each before those that follow it; several may share one."""
        branches, done = self._ensemble.branches, list[object]()
        is_open: dict[object, bool] = {}
        waiting = [(root, False)]
        while waiting:
            key, is_last = waiting.pop()
            if is_last:
                is_open[key] = False
                done.append(key)
            elif is_open.get(key):
                raise self._source.unsupported(f"{_name(key)} is its own ancestor, expected a tree. Export again")
            elif key in branches and key not in is_open:
                if key in self._seen:
                    raise self._source.unsupported(f"{_name(key)} is in two trees, expected one. Export again")
                is_open[key] = True
                waiting += [(key, True), (branches[key].yes, False), (branches[key].no, False)]
        self._seen.update(done)
        return done[::-1]

    def _leaf(self, key: object) -> int:
        if key not in self._ensemble.leaves:
            raise self._source.unsupported(f"{_name(key)} is a child and not in the file. Export the model again")
        return self._leaves.setdefault(key, len(self._leaves))

    def _compare(
        self, feature: int, threshold: np.float32, *, missing: bool = False, first: int = 0, second: int = 0
    ) -> int:
        if len(self._splits) >= MOST_NODES:
            raise self._source.unsupported(f"trees, got over {MOST_NODES:,} comparisons. Train fewer or smaller trees")
        self._splits.append([feature, first, second, int(missing)])
        self._thresholds.append(threshold)
        return len(self._splits) - 1

    def _branch(self, key: object, branch: Branch) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """Adds the comparisons of a branch; returns the places of `yes` and of `no` as pairs of node and field."""
        values = sorted(set(branch.values))
        if branch.mode in ("BRANCH_LEQ", "BRANCH_LT"):
            limit = self._at_most(key, values[0], below=branch.mode == "BRANCH_LT")
            node = self._compare(branch.feature, limit, missing=branch.is_missing_yes)
            return [(node, 1)], [(node, 2)]
        if branch.mode in ("BRANCH_GT", "BRANCH_GTE"):
            limit = self._at_most(key, values[0], below=branch.mode == "BRANCH_GTE")
            node = self._compare(branch.feature, limit, missing=not branch.is_missing_yes)
            return [(node, 2)], [(node, 1)]
        inside, outside = self._equal(key, branch, values)
        return (outside, inside) if branch.mode == "BRANCH_NEQ" else (inside, outside)

    def _equal(
        self, key: object, branch: Branch, values: Sequence[float]
    ) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """Adds comparisons with values in ascending order; returns the places of equal and of other elements.

        A NaN equals nothing; if it goes to `yes` of a BRANCH_EQ, it is as the first value.
        """
        inside, outside = list[tuple[int, int]](), list[tuple[int, int]]()
        missing = branch.is_missing_yes and branch.mode != "BRANCH_NEQ"
        behind: int | None = None
        for value in values:
            upper = self._compare(branch.feature, self._at_most(key, value), missing=missing)
            lower = self._compare(branch.feature, self._at_most(key, value, below=True))
            self._splits[upper][1] = lower
            if behind is not None:
                self._splits[behind][2] = upper
            behind, missing = upper, False
            outside.append((lower, 1))
            inside.append((lower, 2))
        if behind is not None:
            outside.append((behind, 2))
        return inside, outside

    def _at_most(self, key: object, value: float, *, below: bool = False) -> np.float32:
        """Returns the largest float32 that is at most a threshold, or below it."""
        with np.errstate(over="ignore"):
            near = np.asarray(value, np.float32)
        while float(near) > value or (below and float(near) >= value and near != -np.inf):
            near = np.nextafter(near, np.float32(-np.inf))
        if np.isnan(value) or (below and value == -np.inf):
            raise self._source.unsupported(
                f"threshold of {_name(key)}, got {value}, expected a number to compare with. Train the model again"
            )
        found: np.float32 = np.float32(near)
        return found


def coverage(trees: Trees, targets: int) -> list[bool | None]:
    """Returns for each target whether every sample gets a weight for it: always, never, or None for some samples."""
    owners = np.repeat(np.arange(len(trees.firsts) - 1), np.diff(trees.firsts))
    pairs = np.unique(np.stack([owners, trees.targets]), axis=1)
    always, ever = np.zeros(targets, bool), np.zeros(targets, bool)
    ever[trees.targets] = True
    for leaves in _leaves_of_trees(trees):
        begin, end = np.searchsorted(pairs[0], [leaves[0], leaves[-1] + 1])
        part = pairs[:, begin:end]
        owned = part[1, np.isin(part[0], leaves)]
        always |= np.bincount(owned, minlength=targets) == len(leaves)
    return [True if each else None if some else False for each, some in zip(always, ever, strict=True)]


def is_surely_positive(trees: Trees) -> bool:
    """True if every sample has a sum of weights above 0 for some target, and none below 0."""
    owners = np.repeat(np.arange(len(trees.firsts) - 1), np.diff(trees.firsts))
    positive = np.zeros(len(trees.firsts) - 1, bool)
    positive[owners[trees.weights > 0]] = True
    return not np.any(trees.weights < 0) and any(bool(positive[leaves].all()) for leaves in _leaves_of_trees(trees))


def _leaves_of_trees(trees: Trees) -> Iterator[Int32]:
    """Yields the leaves that each tree can reach, ascending; nodes of a tree follow its root."""
    for begin, end in pairwise([*trees.roots.tolist(), len(trees.splits)]):
        children = trees.splits[begin:end, 1:3]
        yield np.unique(~children[children < 0])


def weights_of_leaves(
    source: Operator,
    nodes: Mapping[object, bool],
    names: tuple[str, str],
    keys: Sequence[object],
    pairs: Sequence[tuple[int, float]],
    count: int,
) -> dict[object, Weights]:
    """Returns the weights of leaves.

    Args:
        source: The node.
        nodes: Whether each node of the file is a leaf.
        names: What messages call nodes and targets of weights.
        keys: Node of each weight.
        pairs: Target and weight of each.
        count: Number of targets.

    Raises:
        ModelError: A node is no leaf, a target does not exist, or a weight is not finite.
    """
    found: dict[object, list[tuple[int, float]]] = {key: [] for key, is_leaf in nodes.items() if is_leaf}
    for key, (target, given) in zip(keys, pairs, strict=True):
        with np.errstate(over="ignore"):
            weight = np.float32(given)
        if key not in found:
            raise source.unsupported(f"{names[0]} has a weight for {_name(key)}, expected a leaf. Export again")
        if not 0 <= target < count:
            raise source.unsupported(f"{names[1]}, got {target}, expected a number in [0, {count - 1}]. Export again")
        if not np.isfinite(weight):
            raise source.unsupported(f"weight of {_name(key)}, got {weight}, expected a finite float32. Train again")
        found[key].append((target, float(weight)))
    return {key: tuple(each) for key, each in found.items()}
