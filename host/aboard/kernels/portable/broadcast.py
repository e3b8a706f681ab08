"""Geometry of kernels whose operands are broadcast together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aboard.ir import Node, Tensor
from aboard.kernels.portable.elementwise import is_run, join, present
from aboard.kernels.portable.gather import Step, axis_steps
from aboard.kernels.view import Literal, View

#: ABOARD_BROADCAST_LEAD of broadcast.h.
MAX_LEAD = 4

#: A leading axis of the result: its extent, and rows per step in each operand.
_Axis = tuple[int, tuple[int, ...]]


def rank_problem(node: Node) -> str | None:
    """Returns why a result has more axes than the kernels have counters for, or None."""
    rank = len(node.output.shape)
    return None if rank <= MAX_LEAD + 2 else f"{rank} axes, at most {MAX_LEAD + 2} are supported"


def over(node: Node, inputs: Sequence[View | None], result: View) -> dict[str, Literal]:
    """Returns the fields of `aboard_broadcast_t`, or of its like for more operands: how each finds a row."""
    views = present(inputs)
    shape = node.output.shape
    steps = [_steps(node.input(index), view, shape) for index, view in enumerate(views)]
    within = 2 if len(shape) >= 3 else min(len(shape), 1)
    lead = len(shape) - within
    axes = _merged([(shape[axis], tuple(step[axis].rows for step in steps)) for axis in range(lead)], len(views))
    inner = [_inner(step[lead:], view, result.channels) for step, view in zip(steps, views, strict=True)]
    if is_run(result) and all(_runs_on(*inner[i], result, view) for i, view in enumerate(views)):
        result = join(result)
    operands = {
        name: _operand(view, [rows[index] for _, rows in axes], *inner[index])
        for index, (name, view) in enumerate(zip("abc", views, strict=False))
    }
    return {**operands, "out": result.literal(), "extent": [extent for extent, _ in axes]}


def _steps(operand: Tensor, view: View, shape: Sequence[int]) -> list[Step]:
    """Returns what a step along each axis of the result means in an operand; nothing where it is broadcast."""
    missing = len(shape) - len(operand.shape)
    own = axis_steps(operand.shape, view)
    return [
        Step() if axis < missing or operand.shape[axis - missing] == 1 else own[axis - missing]
        for axis in range(len(shape))
    ]


def _inner(steps: Sequence[Step], view: View, channels: int) -> tuple[int, int]:
    """Returns bytes per pixel and elements per channel of an operand.

    A matrix that is broadcast over images has its rows where they have pixels.
    """
    if not steps:
        return 0, 0
    channel = steps[-1].bytes // view.element_bytes
    pixel = steps[0] if len(steps) == 2 else Step()
    if pixel.rows and view.buffer_rows < view.rows:
        raise ValueError("an operand that is broadcast over images is stored in a rolling buffer")
    pixel_bytes = pixel.rows * view.row_stride + pixel.bytes
    if channels == 1:
        # Pixels of one channel are gone through as if they were channels.
        return pixel_bytes, pixel_bytes // view.element_bytes
    return pixel_bytes, channel


def _runs_on(pixel: int, channel: int, result: View, view: View) -> bool:
    """True when an operand goes on from the last channel of a pixel to the first of the next as within a pixel."""
    return result.cols == 1 or pixel == channel * result.channels * view.element_bytes


def _merged(axes: Sequence[_Axis], operands: int) -> list[_Axis]:
    """Returns leading axes with neighbours joined where all operands allow, filled up at the inner end."""
    merged: list[_Axis] = []
    for extent, rows in axes:
        if extent == 1:
            continue
        if merged and merged[-1][1] == tuple(step * extent for step in rows):
            merged[-1] = (merged[-1][0] * extent, rows)
        else:
            merged.append((extent, rows))
    return [*merged, *[(1, (0,) * operands)] * (MAX_LEAD - len(merged))]


def _operand(view: View, rows: Sequence[int], pixel: int, channel: int) -> Mapping[str, Literal]:
    return {"view": view.literal(), "rows": rows, "pixel": pixel, "channel": channel}
