"""Tables of an ensemble of trees as `portable/tree_ensemble.h` reads them, in the form with the fewest bytes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from aboard.ir import Array
from aboard.kernels.view import Literal
from aboard.ops.tree_ensemble import Aggregate, Float32, Int32, Trees

_ADDED_FOR_NAN_BEHIND = 0x7F800001


@dataclass(frozen=True)
class Packed:
    """Tables in flash.

    Attributes:
        tables: By name, in the order of the kernel's arguments.
        trees: Fields of `aboard_trees_t` that describe nodes and trees.
        leaves: Fields that describe leaves.
    """

    tables: Mapping[str, Array]
    trees: Mapping[str, Literal]
    leaves: Mapping[str, Literal]


def pack(forest: Trees, aggregate: Aggregate) -> Packed:
    """Returns the tables of an ensemble whose weights become one number in some way."""
    numbered = _Numbered(forest)
    nodes = _nodes(forest, numbered)
    dense, sparse = _dense(forest, numbered), _sparse(forest, numbered, aggregate)
    leaves = sparse if dense is None else min(dense, sparse, key=lambda each: _bytes(each.tables.values()))
    begins = [[*begin, first] for begin, first in zip(numbered.begins, leaves.firsts, strict=True)]
    trees = _narrow(np.array(begins))
    return Packed(
        {**nodes.tables, "trees": trees, **leaves.tables},
        {"trees": len(begins), **nodes.fields, "tree_bytes": trees.itemsize, "has_missing": int(numbered.has_missing)},
        leaves.fields,
    )


def expected(forest: Trees) -> tuple[float, float]:
    """Returns how many nodes a sample passes and how many weights but 0 it meets, if both children are as likely."""
    reach = np.zeros(len(forest.splits))
    np.add.at(reach, forest.roots, 1.0)
    counts, weights = np.diff(np.concatenate([[0], np.cumsum(forest.weights != 0)])[forest.firsts]), 0.0
    for node, (_, *children, _) in enumerate(forest.splits.tolist()):
        for child in children:
            if child >= 0:
                reach[child] += reach[node] / 2
            else:
                weights += reach[node] / 2 * int(counts[~child])
    return float(reach.sum()), weights


@dataclass(frozen=True)
class _Part:
    """Tables, the fields of the parameters that describe them, and for leaves the first target of each tree."""

    tables: Mapping[str, Array]
    fields: Mapping[str, Literal]
    firsts: Sequence[int] = ()


class _Numbered:
    """Nodes and leaves in the order of trees, numbered within each.

    Attributes:
        nodes: Of the ensemble, by their new number.
        leaves: Of the ensemble, by their new number.
        children: [nodes, 2]: new numbers within the tree; complements of those of leaves.
        begins: First node and first leaf of each tree.
        has_missing: True if a NaN goes to the first child of a node.
    """

    def __init__(self, forest: Trees) -> None:
        self.nodes: list[int] = []
        self.leaves: list[int] = []
        self.begins: list[tuple[int, int]] = []
        self.children: list[tuple[int, int]] = []
        for root in forest.roots.tolist():
            self._add(forest.splits[:, 1:3].tolist(), root)
        self.has_missing = bool(np.any(forest.splits[self.nodes, 3]))

    def _add(self, children: Sequence[Sequence[int]], root: int) -> None:
        self.begins.append((len(self.nodes), len(self.leaves)))
        numbers, waiting = dict[int, int](), [root]
        while waiting:
            child = waiting.pop()
            if child in numbers:
                continue
            kept, begin = (self.nodes, self.begins[-1][0]) if child >= 0 else (self.leaves, self.begins[-1][1])
            number = len(kept) - begin
            numbers[child] = number if child >= 0 else ~number
            kept.append(child if child >= 0 else ~child)
            if child >= 0:
                waiting += reversed(children[child])
        for node in self.nodes[self.begins[-1][0] :]:
            first, second = children[node]
            self.children.append((numbers[first], numbers[second]))


def _nodes(forest: Trees, numbered: _Numbered) -> _Part:
    """Returns the tables of nodes and of thresholds: one for each node, or those that differ and their indices."""
    features = forest.splits[numbered.nodes, 0]
    if numbered.has_missing:
        features = 2 * features + forest.splits[numbered.nodes, 3]
    fields = np.concatenate([features[:, None], np.array(numbered.children)], axis=1)
    orders = threshold_orders(forest.thresholds[numbered.nodes])
    known, indices = np.unique(orders, return_inverse=True)
    direct = {"nodes": _fields(fields), "thresholds": orders}
    shared = {"nodes": _fields(np.concatenate([fields, indices.reshape(-1, 1)], axis=1)), "thresholds": known}
    # A table of thresholds that nodes share costs a load for each node.
    tables, width = (shared, 4) if _bytes(shared.values()) < _bytes(direct.values()) else (direct, 3)
    return _Part(tables, {"node_bytes": tables["nodes"].itemsize, "node_fields": width})


def threshold_orders(thresholds: Float32) -> Array:
    """Returns what `aboard_tree_order` makes of thresholds, as uint32; of -0 what it makes of 0, which is equal."""
    bits = (thresholds + np.float32(0)).astype(np.float32).view(np.uint32)
    flipped = np.where(bits >> 31, np.uint32(0x7FFFFFFF), np.uint32(0))
    return np.asarray((bits ^ flipped).astype(np.uint64) + _ADDED_FOR_NAN_BEHIND & 0xFFFFFFFF, np.uint32)


def _dense(forest: Trees, numbered: _Numbered) -> _Part | None:
    """Returns a table of as many weights for each leaf; None if leaves of a tree have different targets."""
    firsts, ends = forest.firsts[numbered.leaves], forest.firsts[np.array(numbered.leaves) + 1]
    width = int(ends[0] - firsts[0])
    if width == 0 or np.any(ends - firsts != width):
        return None
    chosen = firsts[:, None] + np.arange(width)
    owned, first_targets = forest.targets[chosen], list[int]()
    borders = [*(leaf for _, leaf in numbered.begins), len(numbered.leaves)]
    for begin, end in pairwise(borders):
        first = int(owned[begin, 0])
        if np.any(owned[begin:end] != np.arange(first, first + width)):
            return None
        first_targets.append(first)
    return _Part({"weights": forest.weights[chosen]}, {"width": width}, first_targets)


def _sparse(forest: Trees, numbered: _Numbered, aggregate: Aggregate) -> _Part:
    """Returns tables of pairs; equal leaves share theirs."""
    firsts, known = list[int](), dict[bytes, int]()
    targets, weights = list[Int32](), list[Float32]()
    count = 0
    for leaf in numbered.leaves:
        owned, values = _effective(forest, leaf, aggregate)
        key = owned.tobytes() + values.tobytes()
        if key not in known:
            known[key] = count
            count += len(owned)
            targets.append(2 * owned + (np.arange(len(owned)) == len(owned) - 1))
            weights.append(values)
        firsts.append(known[key])
    first, pairs, all_weights = _narrow(np.array(firsts)), _narrow(np.concatenate(targets)), np.concatenate(weights)
    values, places = np.unique(all_weights.view(np.uint32), return_inverse=True)
    direct = {"weights": all_weights}
    shared = {"indices": _narrow(places.reshape(-1)), "weights": values.astype(np.uint32).view(np.float32)}
    tables = shared if _bytes(shared.values()) < _bytes(direct.values()) else direct
    fields: dict[str, Literal] = {"first_bytes": first.itemsize, "pair_bytes": pairs.itemsize}
    if tables is shared:
        fields["index_bytes"] = shared["indices"].itemsize
    return _Part({"firsts": first, "pairs": pairs, **tables}, fields, [0] * len(numbered.begins))


def _effective(forest: Trees, leaf: int, aggregate: Aggregate) -> tuple[Int32, Float32]:
    """Returns the pairs of a leaf, at least one, without those that add nothing."""
    part = slice(forest.firsts[leaf], forest.firsts[leaf + 1])
    owned, values = forest.targets[part], forest.weights[part]
    if aggregate is Aggregate.SUM:
        owned, values = owned[values != 0], values[values != 0]
    if len(owned):
        return owned, values
    return np.zeros(1, np.int32), np.full(1, aggregate.initial, np.float32)


def _narrow(values: Array) -> Array:
    """Returns numbers that are not negative as the smallest unsigned integers."""
    return values.astype(np.min_scalar_type(int(values.max(initial=0))))


def _fields(values: Array) -> Array:
    """Returns fields of nodes: the least bytes for features and indices without sign, and children with one."""
    unsigned = np.min_scalar_type(int(max(values[:, 0].max(), values[:, 3:].max(initial=0)))).itemsize
    children = values[:, 1:3]
    reach = int(max(children.max(), -1 - children.min()))
    signed = next(size for size in (1, 2, 4) if reach < 1 << (8 * size - 1))
    size = max(unsigned, signed)
    return values.astype(f"i{size}" if size < 4 else np.int32).view(f"u{size}")


def _bytes(tables: Iterable[Array]) -> int:
    return sum(table.nbytes for table in tables)
