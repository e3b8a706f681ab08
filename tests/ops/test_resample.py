"""resample: its sums, axes in another order, and operands that do not fit. `test_onnx_resize.py` runs its C."""

from __future__ import annotations

import numpy as np
import pytest

from aboard.errors import VerifyError
from aboard.ir import DType, Node, Tensor, TensorType
from aboard.ops import get
from aboard.ops.resample import ResampleAttributes

STARTS, WEIGHTS = np.array([0, 2, 1], np.int32), np.array([[1, 0], [0.5, 0.5], [2, -1]], np.float32)


def resampled(shape=(2, 4, 3), axis=1, starts=STARTS, weights=WEIGHTS, kind=DType.FLOAT32) -> Node:
    inputs = [
        Tensor("x", TensorType(shape, kind)),
        Tensor("starts", TensorType(starts.shape, DType.INT32), starts),
        Tensor("weights", TensorType(weights.shape, DType.FLOAT32), weights),
    ]
    node = Node("resample", "y", inputs, [Tensor("y", TensorType((), DType.FLOAT32))], ResampleAttributes(axis))
    node.output.type = get("resample").infer(node)[0]
    return node


def evaluated(node: Node, x: np.ndarray) -> np.ndarray:
    return np.asarray(get("resample").evaluate(node, [x, STARTS, WEIGHTS])[0])


def test_sums_of_neighbours():
    x = np.arange(24, dtype=np.float32).reshape(2, 4, 3)
    node = resampled()
    get("resample").verify(node)
    wanted = np.stack([x[:, 0], (x[:, 2] + x[:, 3]) / 2, 2 * x[:, 1] - x[:, 2]], axis=1)
    np.testing.assert_array_equal(evaluated(node, x), wanted)
    assert get("resample").macs(node) == 2 * 3 * 3 * 2


def test_axes_in_another_order():
    x = np.random.default_rng(0).normal(size=(4, 3, 2)).astype(np.float32)
    order = (2, 0, 1)
    found = get("resample").permuted(resampled(), order)
    assert found is not None
    attrs, after = found
    moved = resampled(x.shape, attrs.axis)
    np.testing.assert_array_equal(evaluated(moved, x).transpose(after), evaluated(resampled(), x.transpose(order)))
    assert get("resample").permuted(resampled((4, 3), 0), (1, 0)) is None


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"kind": DType.INT8}, "element types, got int8, int32, float32, expected float32, int32, float32"),
        ({"weights": WEIGHTS[:2]}, r"starts and weights, got \(3,\) and \(2, 2\), expected \[size\] and"),
        ({"starts": STARTS + 1}, r"starts, got \[1, 3, 2\], expected constants in \[0, 2\]"),
        ({"starts": STARTS - 1}, r"starts, got \[-1, 1, 0\], expected constants in \[0, 2\]"),
    ],
)
def test_operands_that_do_not_fit(changed, message):
    with pytest.raises(VerifyError, match=message):
        get("resample").verify(resampled(**changed))


def test_an_axis_that_does_not_exist():
    node = resampled()
    node.attrs = ResampleAttributes(3)
    with pytest.raises(VerifyError, match="axis, got 3, expected less than 3"):
        get("resample").verify(node)
