"""tree_ensemble: its C in all forms of tables against numpy, and tables that are refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard.errors import VerifyError
from aboard.ir import DType, Node, Tensor, TensorType
from aboard.kernels.contract import ConstantArg, KernelCall
from aboard.kernels.portable import tree_tables
from aboard.kernels.portable.tree_ensemble import TreeEnsemblePortable
from aboard.kernels.view import View
from aboard.ops.registry import get
from aboard.ops.tree_ensemble import Aggregate, TreeEnsembleAttributes, Trees
from aboard.target import Target
from support import kernel_call
from support.examples import examples
from support.kernel_call import Placed

ODD = np.array([np.nan, -np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-45, -1e-45], np.float32)


def forest(
    rng: np.random.Generator, count: int, depth: int, features: int, targets: int, form: str, *, missing: bool
) -> Trees:
    """Returns trees whose leaves have all targets (`dense`), one (`single`), or some with few (`some`) weights."""
    splits: list[list[int]] = []
    roots, sizes, owned = list[int](), list[int](), list[int]()

    def grow(left: int) -> int:
        if left == 0 or (left < depth and rng.random() < 0.2):
            chosen = {"dense": np.arange(targets), "single": rng.integers(targets, size=1)}.get(
                form, rng.permutation(targets)[: rng.integers(targets + 1)]
            )
            sizes.append(len(chosen))
            owned.extend(chosen.tolist())
            return ~(len(sizes) - 1)
        number = len(splits)
        splits.append([int(rng.integers(features)), 0, 0, int(missing and rng.integers(2))])
        splits[number][1], splits[number][2] = grow(left - 1), grow(left - 1)
        return number

    for _ in range(count):
        roots.append(grow(depth))
    few = np.array([0.25, -1.5, 0.0, 3.0], np.float32)
    weights = rng.choice(few, len(owned)) if form == "some" else rng.normal(size=len(owned)).astype(np.float32)
    pool = np.concatenate([rng.normal(size=int(rng.choice([3, 600]))), ODD[2:]]).astype(np.float32)
    return Trees(
        np.array(splits, np.int32),
        rng.choice(pool, len(splits)),
        np.array(roots, np.int32),
        np.cumsum([0, *sizes], dtype=np.int32),
        np.array(owned, np.int32),
        weights,
    )


def node(trees: Trees, samples: int, features: int, targets: int, aggregate: Aggregate = Aggregate.SUM) -> Node:
    """Returns a verified node."""
    x = Tensor("x", TensorType((samples, features), DType.FLOAT32))
    tables = [
        Tensor("t", TensorType(each.shape, DType.FLOAT32 if each.dtype.kind == "f" else DType.INT32), each)
        for each in trees.tables
    ]
    made = Node("tree_ensemble", "y", [x, *tables], [], TreeEnsembleAttributes(targets, aggregate))
    made.outputs = [Tensor("y", get("tree_ensemble").infer(made)[0])]
    get("tree_ensemble").verify(made)
    return made


def run(made: Node, x: np.ndarray) -> tuple[KernelCall, np.ndarray]:
    """Returns the call of the kernel, and its result for samples."""
    views = [View.whole(tensor.shape, 4) for tensor in (made.input(0), made.output)]
    call = TreeEnsemblePortable().lower(made, views[:1], views[1:], Target("c -mcpu=cortex-m4"))
    operand, result = Placed.of(x, views[0]), Placed.of(np.full(made.output.shape, 7, np.float32), views[1])
    kernel_call.run(call, [operand], [result], [(0, call.rows)])
    return call, result.values(made.output.shape, np.dtype(np.float32))


@settings(max_examples=examples(40), deadline=None)
@given(
    st.integers(0, 2**32),
    st.sampled_from(["dense", "single", "some"]),
    st.sampled_from([1, 3, 130, 70_000]),
    st.sampled_from([1, 4, 130]),
    st.booleans(),
    st.integers(1, 9),
)
def test_every_form(seed: int, form: str, features: int, targets: int, missing: bool, depth: int) -> None:
    rng = np.random.default_rng(seed)
    trees = forest(rng, int(rng.integers(1, 6)), depth, features, targets, form, missing=missing)
    made = node(trees, 3, features, targets)
    x = rng.normal(size=(3, features)).astype(np.float32)
    x = np.where(rng.random(x.shape) < 0.3, rng.choice([*ODD, *trees.thresholds[:9]], x.shape), x).astype(np.float32)
    (wanted,) = get("tree_ensemble").evaluate(made, [x])
    np.testing.assert_array_equal(run(made, x)[1], wanted)


@pytest.mark.parametrize("aggregate", list(Aggregate))
def test_every_aggregate(aggregate: Aggregate) -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(5, 4)).astype(np.float32)
    for form in ("dense", "some"):
        made = node(forest(rng, 5, 3, 4, 3, form, missing=True), 5, 4, 3, aggregate)
        (wanted,) = get("tree_ensemble").evaluate(made, [x])
        np.testing.assert_array_equal(run(made, x)[1], wanted)


def test_smallest_form_is_taken() -> None:
    rng = np.random.default_rng(0)
    functions = {}
    for form in ("dense", "single", "some"):
        made = node(forest(rng, 4, 6, 3, 5, form, missing=False), 1, 3, 5)
        call, _ = run(made, np.zeros((1, 3), np.float32))
        functions[form] = call.function
        tables = {each.constant.name: each.constant.values for each in call.arguments if isinstance(each, ConstantArg)}
        assert tables["nodes"].dtype == np.uint8
    assert functions == {form: f"aboard_tree_ensemble_{name}" for form, name in NAMES.items()}


NAMES = {"dense": "dense", "single": "sparse", "some": "indexed"}


def test_order_of_thresholds_is_that_of_floats() -> None:
    values = np.array([-np.inf, -3e38, -1.5, -1e-45, 0, 1e-45, 1, 3e38, np.inf], np.float32)
    orders = tree_tables.threshold_orders(values)
    assert np.all(np.diff(orders.astype(np.int64)) > 0)
    assert tree_tables.threshold_orders(np.array([-0.0], np.float32)) == orders[4]
    assert (orders[0], orders[-1]) == (0, 0xFF000001)


def broken() -> list[tuple[str, Trees]]:
    """Returns tables that are wrong, with what the message expects."""
    good = Trees(
        np.array([[0, 1, ~0, 0], [1, ~1, ~2, 0]], np.int32),
        np.zeros(2, np.float32),
        np.array([0], np.int32),
        np.arange(4, dtype=np.int32),
        np.zeros(3, np.int32),
        np.ones(3, np.float32),
    )

    def splits(row: int, column: int, value: int) -> Trees:
        changed = good.splits.copy()
        changed[row, column] = value
        return replace(good, splits=changed)

    return [
        ("features below 2", splits(0, 0, 2)),
        ("features below 2", splits(0, 0, -1)),
        ("children that are nodes or leaves", splits(0, 1, 2)),
        ("children that are nodes or leaves", splits(0, 1, -4)),
        ("children with larger numbers", splits(1, 1, 1)),
        ("children with larger numbers", splits(1, 1, 0)),
        ("a threshold for each node", replace(good, thresholds=np.array([0, np.nan], np.float32))),
        ("roots that are nodes", replace(good, roots=np.array([2], np.int32))),
        ("leaves that share out all pairs", replace(good, firsts=np.array([0, 2, 1, 3], np.int32))),
        ("finite weights of targets below 1", replace(good, targets=np.array([0, 1, 0], np.int32))),
        ("finite weights of targets below 1", replace(good, weights=np.array([0, np.inf, 0], np.float32))),
    ]


@pytest.mark.parametrize(("message", "trees"), broken())
def test_tables_that_would_leave_memory_are_refused(message: str, trees: Trees) -> None:
    with pytest.raises(VerifyError, match=message):
        node(trees, 1, 2, 1)
