"""Checks a kernel against the numpy semantics of its op: over any views and rows, and over rings of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from aboard.importers import load
from aboard.ir import Array, Node
from aboard.kernels.contract import Implementation, RowWise
from aboard.kernels.view import View
from aboard.ops import get
from aboard.schedule.receptive_field import Progress
from aboard.target import Target
from support import kernel_call
from support.kernel_call import Placed
from support.weighted_models import Layer

Chooses = Callable[[Node], Implementation]


def check(layer: Layer, chooses: Chooses, target: Target, x: View, y: View, ranges: list[tuple[int, int]]) -> None:
    """Fails unless the rows, computed range by range, are those of the whole, and gaps are left as they were.

    A kernel that computes all rows at once does so whatever the ranges are.
    """
    (node,) = load(layer.model(), name="model").nodes
    call = chooses(node).lower(node, [x, None, None], [y], target)
    ranges = [(0, call.rows)] if call.step_rows == call.rows else ranges
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
    x, y = replace(View.whole(layer.shape_in, 1), buffer_rows=4), replace(View.whole(layer.shape_out, 1), buffer_rows=2)
    check_stripes(layer, chooses, target, x, y, [(row, row + 1) for row in range(height)])


def check_first_stripes(layer: Layer, chooses: Chooses, target: Target, height: int) -> None:
    """Fails unless stripes of one image are right in rolling buffers that cut them in two.

    The first stripe is one row high, the others `height` rows.
    """
    rows = layer.shape_out[1]
    starts = [0, *range(1, rows, height)]
    stripes = [(first, min(last, rows)) for first, last in zip(starts, [*starts[1:], rows], strict=True)]
    read = most_rows_read(layer, stripes)
    x, y = (
        replace(View.whole(shape, 1), buffer_rows=min(needed + 1, shape[1]), start_row=start)
        for shape, needed, start in ((layer.shape_in, read, 2), (layer.shape_out, height, 1))
    )
    check_stripes(layer, chooses, target, x, replace(y, stripe_height=height), stripes)


def check_stripes(
    layer: Layer, chooses: Chooses, target: Target, x: View, y: View, stripes: Sequence[tuple[int, int]]
) -> None:
    """Fails unless each stripe of one image is right, with the rows that it reads written just before.

    Args:
        layer: A layer of windows.
        chooses: Returns its kernel.
        target: The target.
        x: View of the operand, whose buffer has the rows that any stripe reads.
        y: View of the result, whose buffer has the rows of any stripe.
        stripes: Rows [first, last) of each stripe, in order.
    """
    (node,) = load(layer.model(), name="model").nodes
    call = chooses(node).lower(node, [x, None, None], [y], target)
    operand, result = (np.zeros(v.buffer_rows * v.row_stride, np.uint8) for v in (x, y))
    rows, got = layer.input().reshape(x.rows, -1).view(np.uint8), []

    def place(view: View, row: int) -> int:
        return row if view.buffer_rows == view.rows else (row + view.start_row) % view.buffer_rows

    def keep(first: int, last: int) -> None:
        got.extend(result.reshape(y.buffer_rows, -1)[place(y, row)].copy() for row in range(first, last))

    def produce(first: int, last: int) -> None:
        """Keeps the rows of the stripe before, and writes those that this one needs."""
        if first:
            keep(len(got), first)
        for row in range(*_rows_read(node, first, last)):
            operand.reshape(x.buffer_rows, -1)[place(x, row)] = rows[row]

    kernel_call.run(call, [Placed(x, operand)], [Placed(y, result)], list(stripes), produce)
    keep(len(got), y.rows)
    np.testing.assert_array_equal(np.stack(got).view(np.int8).ravel(), _wanted(node, layer).ravel())


def most_rows_read(layer: Layer, stripes: Sequence[tuple[int, int]]) -> int:
    """Returns the rows of the operand that a stripe reads, at most."""
    (node,) = load(layer.model(), name="model").nodes
    return max(end - start for start, end in (_rows_read(node, *stripe) for stripe in stripes))


def _rows_read(node: Node, first: int, last: int) -> tuple[int, int]:
    """Returns the rows [start, end) of the operand that rows [first, last) of the result depend on."""
    return Progress.of(node, RowWise(), {}).reads(0, first, last)


def _wanted(node: Node, layer: Layer) -> Array:
    constants = [None if t is None else t.data for t in node.inputs[1:]]
    return get(node.op).evaluate(node, [layer.input(), *constants])[0]
