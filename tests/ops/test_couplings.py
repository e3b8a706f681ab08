"""squared_distance and pairwise_coupling: their C against numpy, and operands that are refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard.errors import VerifyError
from aboard.ir import Attributes, DType, Node, Tensor, TensorType
from aboard.kernels.contract import Implementation
from aboard.kernels.portable.pairwise_coupling import PairwiseCouplingPortable
from aboard.kernels.portable.squared_distance import SquaredDistancePortable
from aboard.kernels.view import View
from aboard.ops.pairwise_coupling import CouplingAttributes
from aboard.ops.registry import get
from aboard.target import Target
from support import kernel_call
from support.examples import examples
from support.kernel_call import Placed


def node(op: str, attrs: Attributes, *operands: np.ndarray) -> Node:
    """Returns a verified node of operands with these shapes and types."""
    tensors = [Tensor("x", TensorType(each.shape, DType(each.dtype.name))) for each in operands]
    made = Node(op, "y", list(tensors), [], attrs)
    made.outputs = [Tensor("y", get(op).infer(made)[0])]
    get(op).verify(made)
    return made


def run(kernel: Implementation, made: Node, *operands: np.ndarray) -> np.ndarray:
    """Returns the result of a kernel."""
    inputs, output = [View.whole(each.shape, 4) for each in operands], View.whole(made.output.shape, 4)
    call = kernel.lower(made, inputs, [output], Target("c -mcpu=cortex-m4"))
    placed = [Placed.of(each, view) for each, view in zip(operands, inputs, strict=True)]
    result = Placed.of(np.full(made.output.shape, 7, np.float32), output)
    kernel_call.run(call, placed, [result], [(0, call.rows)])
    return result.values(made.output.shape, np.dtype(np.float32))


@settings(max_examples=examples(20), deadline=None)
@given(st.integers(0, 2**32), *[st.integers(1, 9)] * 3)
def test_squared_distance(seed: int, samples: int, features: int, points: int) -> None:
    rng = np.random.default_rng(seed)
    x, centres = (rng.normal(size=(count, features)).astype(np.float32) for count in (samples, points))
    made = node("squared_distance", Attributes(), x, centres)
    (evaluated,) = get(made.op).evaluate(made, [x, centres])
    exact = np.square(x[:, None].astype(np.float64) - centres).sum(2)
    np.testing.assert_allclose(evaluated, exact, rtol=1e-5)
    np.testing.assert_allclose(run(SquaredDistancePortable(), made, x, centres), evaluated, rtol=1e-6)


@settings(max_examples=examples(20), deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 9))
def test_pairwise_coupling(seed: int, classes: int) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0.05, 1, (3, classes))
    weights /= weights.sum(1, keepdims=True)
    first, second = np.triu_indices(classes, 1)
    pairs = np.ascontiguousarray(weights[:, first] / (weights[:, first] + weights[:, second]), np.float32)
    made = node("pairwise_coupling", CouplingAttributes(classes), pairs)
    (evaluated,) = get(made.op).evaluate(made, [pairs])
    # Pairs that agree lead back to the probabilities, as near as the iteration goes.
    np.testing.assert_allclose(evaluated, weights, atol=0.02)
    np.testing.assert_allclose(evaluated.sum(1), 1, rtol=1e-5)
    np.testing.assert_allclose(run(PairwiseCouplingPortable(), made, pairs), evaluated, atol=1e-5)


def test_what_is_refused() -> None:
    real = np.zeros((2, 3), np.float32)
    with pytest.raises(VerifyError, match="element types, got float32 and int32, expected float32"):
        node("squared_distance", Attributes(), real, real.astype(np.int32))
    with pytest.raises(VerifyError, match=r"shapes, got \(2, 3\) and \(2, 2\), expected as many features"):
        node("squared_distance", Attributes(), real, real[:, :2])
    for operand in (real[:, :2], real.astype(np.int32)):
        with pytest.raises(VerifyError, match="expected float32 with 3 pairs of 3 classes"):
            node("pairwise_coupling", CouplingAttributes(3), operand)
