"""Checks a kernel against the numpy semantics of its op: over any views and rows, and over rings of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from aboard.importers import load
from aboard.ir import Array, Node
from aboard.kernels.contract import Implementation, View
from aboard.ops import get
from aboard.target import Target
from support import kernel_call
from support.kernel_call import Placed
from support.weighted_models import Layer

Chooses = Callable[[Node], Implementation]


def check(layer: Layer, chooses: Chooses, target: Target, x: View, y: View, ranges: list[tuple[int, int]]) -> None:
    """Fails unless the rows, computed range by range, are those of the whole, and gaps are left as they were."""
    (node,) = load(layer.model(), name="model").nodes
    call = chooses(node).lower(node, [x, None, None], [y], target)
    result = Placed.of(np.zeros(layer.shape_out, np.int8), y)
    kernel_call.run(call, [Placed.of(layer.input(), x)], [result], ranges)
    np.testing.assert_array_equal(result.values(layer.shape_out, np.dtype(np.int8)), _wanted(node, layer))
    assert result.gaps_are_untouched()


def check_rings(kind: str, stride: int, chooses: Chooses, target: Target) -> None:
    """Fails unless results are right where rows of a 3x3 layer are written as windows need them, and read at once."""
    options = {"Padding": "SAME", "StrideH": stride, "StrideW": stride}
    height = -(-9 // stride)
    layer = Layer(kind, (1, 9, 6, 4), (4, 3, 3, 4), (1, height, -(-6 // stride), 4), 0, options, zero_point_out=-128)
    if kind != "CONV_2D":
        layer = replace(layer, shape_weights=(1, 3, 3, 4), axis=3, options={**options, "DepthMultiplier": 1})
    (node,) = load(layer.model(), name="model").nodes
    x, y = replace(View.whole(layer.shape_in, 1), buffer_rows=4), replace(View.whole(layer.shape_out, 1), buffer_rows=2)
    call = chooses(node).lower(node, [x, None, None], [y], target)
    ring, result = np.zeros(4 * x.row_stride, np.uint8), np.zeros(2 * y.row_stride, np.uint8)
    rows, got = layer.input().reshape(9, -1).view(np.uint8), []

    def produce(first: int, last: int) -> None:
        """Keeps the row computed before, and writes those that row `first` needs."""
        assert last == first + 1
        if first:
            got.append(result.reshape(2, -1)[(first - 1) % 2].copy())
        top = first * stride - 1
        for row in range(max(top, 0), min(top + 3, 9)):
            ring.reshape(4, -1)[row % 4] = rows[row]

    kernel_call.run(call, [Placed(x, ring)], [Placed(y, result)], [(r, r + 1) for r in range(height)], produce)
    got.append(result.reshape(2, -1)[(height - 1) % 2].copy())
    np.testing.assert_array_equal(np.stack(got).view(np.int8).ravel(), _wanted(node, layer).ravel())


def _wanted(node: Node, layer: Layer) -> Array:
    constants = [None if t is None else t.data for t in node.inputs[1:]]
    return get(node.op).evaluate(node, [layer.input(), *constants])[0]
