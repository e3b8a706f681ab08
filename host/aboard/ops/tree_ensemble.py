"""tree_ensemble: sums, least or largest weights of the leaves that samples reach in decision trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import cast

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from aboard.ir import Array, Attributes, DType, Node, TensorType
from aboard.ops.registry import Op, register, require

Int32 = npt.NDArray[np.int32]
Float32 = npt.NDArray[np.float32]

#: Operands: the samples, and the tables of `Trees`.
SAMPLES, SPLITS, THRESHOLDS, ROOTS, FIRSTS, TARGETS, WEIGHTS = range(7)

_LARGEST = float(np.finfo(np.float32).max)


class Aggregate(Enum):
    """What becomes of the weights that several trees have for one target."""

    SUM = "sum"
    MINIMUM = "minimum"
    MAXIMUM = "maximum"

    @property
    def initial(self) -> float:
        """The value before the first tree, which no finite weight fails to replace."""
        return {Aggregate.SUM: 0.0, Aggregate.MINIMUM: _LARGEST, Aggregate.MAXIMUM: -_LARGEST}[self]


@dataclass(frozen=True)
class TreeEnsembleAttributes(Attributes):
    """Attributes of `tree_ensemble`.

    Attributes:
        targets: Elements of the result for each sample; at least 1.
        aggregate: How the weights of all trees become one number.
    """

    targets: int = 1
    aggregate: Aggregate = Aggregate.SUM


def attributes(node: Node) -> TreeEnsembleAttributes:
    """Returns the attributes of a `tree_ensemble` node."""
    return cast(TreeEnsembleAttributes, node.attrs)


@dataclass(frozen=True)
class Trees:
    """The tables of an ensemble. A child is the number of a node if it is not negative, else `~leaf`.

    Attributes:
        splits: [nodes, 4] int32: feature, child where the feature is at most the threshold, child where it is above,
            and 1 where a NaN goes to the first child, else 0. Children that are nodes have larger numbers
            than the node.
        thresholds: [nodes] float32; no NaN.
        roots: [trees] int32: node at which each tree begins.
        firsts: [leaves + 1] int32, ascending from 0: leaf i has the pairs from `firsts[i]` to before `firsts[i + 1]`.
        targets: [pairs] int32: which element of the result a pair changes.
        weights: [pairs] float32, finite.
    """

    splits: Int32
    thresholds: Float32
    roots: Int32
    firsts: Int32
    targets: Int32
    weights: Float32

    @property
    def tables(self) -> tuple[Array, ...]:
        """The tables in the order of the operands."""
        return (self.splits, self.thresholds, self.roots, self.firsts, self.targets, self.weights)

    def problem(self, features: int, targets: int) -> str | None:
        """Returns what is wrong with the tables; None if every walk from a root ends at a leaf of known targets."""
        nodes, leaves = len(self.splits), len(self.firsts) - 1
        children = self.splits[:, 1:3]
        counts = np.diff(self.firsts)
        checks = (
            (bool(np.all((self.splits[:, 0] >= 0) & (self.splits[:, 0] < features))), f"features below {features}"),
            (bool(np.all(children >= -leaves) and np.all(children < nodes)), "children that are nodes or leaves"),
            (
                bool(np.all((children < 0) | (children > np.arange(nodes)[:, None]))),
                "children with larger numbers than their node",
            ),
            (not np.isnan(self.thresholds).any() and len(self.thresholds) == nodes, "a threshold for each node"),
            (len(self.roots) > 0 and self.roots.min() >= 0 and self.roots.max() < nodes, "roots that are nodes"),
            (
                leaves > 0
                and self.firsts[0] == 0
                and bool(np.all(counts >= 0))
                and self.firsts[-1] == len(self.weights),
                "leaves that share out all pairs",
            ),
            (
                len(self.targets) == len(self.weights)
                and bool(np.all((self.targets >= 0) & (self.targets < targets)))
                and bool(np.isfinite(self.weights).all()),
                f"finite weights of targets below {targets}",
            ),
        )
        wanted = next((text for fits, text in checks if not fits), None)
        return None if wanted is None else f"tables of trees, expected {wanted}"


def trees(node: Node) -> Trees:
    """Returns the tables of a `tree_ensemble` node, which are constants.

    Raises:
        ValueError: A table is computed at run time.
    """
    tables = [node.input(index).data for index in range(SPLITS, WEIGHTS + 1)]
    constant = [table for table in tables if table is not None]
    if len(constant) < len(tables):
        raise ValueError(f"{node.name}: a table of trees is not constant")
    splits, thresholds, roots, firsts, targets, weights = constant
    return Trees(
        splits=np.asarray(splits, np.int32),
        thresholds=np.asarray(thresholds, np.float32),
        roots=np.asarray(roots, np.int32),
        firsts=np.asarray(firsts, np.int32),
        targets=np.asarray(targets, np.int32),
        weights=np.asarray(weights, np.float32),
    )


@register
class TreeEnsemble(Op):
    """From samples [..., features] of float32 to [..., targets].

    Weights are combined in the order of the trees, in float32.
    """

    name = "tree_ensemble"
    attributes = TreeEnsembleAttributes
    types = (DType.FLOAT32,)

    @override
    def infer(self, node: Node) -> list[TensorType]:
        return [TensorType((*node.input(0).shape[:-1], attributes(node).targets), DType.FLOAT32)]

    @override
    def verify(self, node: Node) -> None:
        """Checks types and tables.

        Raises:
            VerifyError: A table is not constant or has another type, or a walk through a tree would not end.
        """
        samples = node.input(SAMPLES)
        require(len(node.inputs) == WEIGHTS + 1, node, f"operands, got {len(node.inputs)}, expected {WEIGHTS + 1}")
        is_real = samples.dtype is DType.FLOAT32 and bool(samples.shape)
        require(is_real, node, f"samples, got {samples.type}, expected float32 with features on the last axis")
        for index in range(SPLITS, WEIGHTS + 1):
            table, wanted = node.input(index), DType.FLOAT32 if index in (THRESHOLDS, WEIGHTS) else DType.INT32
            fits = table.is_constant and table.dtype is wanted and len(table.shape) == (2 if index == SPLITS else 1)
            require(fits, node, f"table {index}, got {table.type}, expected a constant of {wanted.value}")
        wrong = trees(node).problem(samples.shape[-1], attributes(node).targets)
        require(wrong is None, node, wrong or "")

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        given = np.asarray(operands[SAMPLES], np.float32)
        x, attrs, forest = given.reshape(-1, given.shape[-1]), attributes(node), trees(node)
        totals = np.full((len(x), attrs.targets), attrs.aggregate.initial, np.float32)
        for root in forest.roots:
            leaves = reached(forest, int(root), x)
            for leaf in np.unique(leaves):
                _add(totals, leaves == leaf, forest, int(leaf), attrs.aggregate)
        return [totals.reshape(*given.shape[:-1], attrs.targets)]


def reached(forest: Trees, root: int, x: Float32) -> Int32:
    """Returns the leaf that each sample [samples, features] reaches in the tree of a root."""
    at = np.full(len(x), root, np.int32)
    while (inner := np.flatnonzero(at >= 0)).size:
        splits, values = forest.splits[at[inner]], x[inner, forest.splits[at[inner], 0]]
        first = np.where(np.isnan(values), splits[:, 3] != 0, values <= forest.thresholds[at[inner]])
        at[inner] = np.where(first, splits[:, 1], splits[:, 2])
    return np.asarray(~at, np.int32)


def _add(totals: Float32, rows: npt.NDArray[np.bool_], forest: Trees, leaf: int, aggregate: Aggregate) -> None:
    combine = {Aggregate.SUM: np.add, Aggregate.MINIMUM: np.minimum, Aggregate.MAXIMUM: np.maximum}[aggregate]
    with np.errstate(over="ignore", invalid="ignore"):
        for pair in range(forest.firsts[leaf], forest.firsts[leaf + 1]):
            target = forest.targets[pair]
            totals[rows, target] = combine(totals[rows, target], forest.weights[pair])
