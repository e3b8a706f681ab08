"""Gathers: results whose elements are at regular distances in the operand. `portable/gather.h` moves them.

Reshape, transpose, strided slice and split differ only in the operand's step for each axis of the result.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aboard.kernels.contract import InputArg, KernelCall, OutputArg
from aboard.kernels.view import Literal, View

#: ABOARD_GATHER_LEAD of copy.h.
MAX_LEAD = 5


@dataclass(frozen=True)
class Step:
    """The step in the operand from one index of an axis to the next: rows, and bytes within a row."""

    rows: int = 0
    bytes: int = 0

    def __mul__(self, count: int) -> Step:
        return Step(self.rows * count, self.bytes * count)

    def __add__(self, other: Step) -> Step:
        return Step(self.rows + other.rows, self.bytes + other.bytes)


def operand(inputs: Sequence[View | None], index: int = 0) -> View:
    """Returns the view of an operand that must be present.

    Raises:
        ValueError: The operand is absent.
    """
    view = inputs[index]
    if view is None:
        raise ValueError(f"operand {index} is absent")
    return view


def axis_steps(shape: Sequence[int], view: View) -> list[Step]:
    """Returns the step of each axis of a tensor in a view."""
    rank = len(shape)
    within = 1 if rank < 3 else 2
    steps = [Step(rows=math.prod(shape[axis + 1 : rank - within])) for axis in range(rank - within)]
    if rank >= 3:
        steps.append(Step(bytes=view.pixel_stride))
    return [*steps, Step(bytes=view.element_bytes)] if rank else []


def gather(shape: Sequence[int], steps: Sequence[Step], start: Step, source: View, result: View) -> dict[str, Literal]:
    """Returns the parameters of `aboard_gather`.

    Args:
        shape: Shape of the result.
        steps: For each axis of the result, its step in the operand.
        start: Position of the first element.
        source: View of the operand.
        result: View of the result.
    """
    rank = len(shape)
    within = min(rank, 1 if rank < 3 else 2)
    axes = list(zip(shape, steps, strict=True))
    lead = _merged(axes[: rank - within])
    channel = axes[-1] if rank else (1, Step())
    col = axes[-2] if rank >= 3 else (1, Step())
    return {
        "in": source.literal(),
        "out": result.literal(),
        "element_bytes": result.element_bytes,
        "row": start.rows,
        "byte": start.bytes,
        "flat": int(_is_flat(axes, source, result)),
        "lead": [_axis(*axis) for axis in [*[(1, Step())] * (MAX_LEAD - len(lead)), *lead]],
        "col": _axis(*col),
        "channel": _axis(*channel),
    }


def call(params: Mapping[str, Literal], rows: int) -> KernelCall:
    """Returns the call of a gather from operand 0 to result 0."""
    arguments = (InputArg(0, "const void *"), OutputArg(0, "void *"))
    return KernelCall("portable/gather.h", "aboard_gather", "aboard_gather_t", params, arguments, rows)


def _axis(extent: int, step: Step) -> Mapping[str, Literal]:
    return {"extent": extent, "rows": step.rows, "bytes": step.bytes}


def _merged(axes: Sequence[tuple[int, Step]]) -> list[tuple[int, Step]]:
    """Returns the axes, without axes of one index, and with neighbours joined that form one regular axis."""
    merged: list[tuple[int, Step]] = []
    for extent, step in axes:
        if extent == 1:
            continue
        if merged and merged[-1][1] == step * extent:
            merged[-1] = (merged[-1][0] * extent, step)
        else:
            merged.append((extent, step))
    return merged


def _is_flat(axes: Sequence[tuple[int, Step]], source: View, result: View) -> bool:
    """True if the elements have the same order in result and operand, and both have no gaps."""
    expected = result.element_bytes
    for extent, step in reversed(axes):
        if extent > 1 and step.rows * source.row_stride + step.bytes != expected:
            return False
        expected *= extent
    return source.contiguous and result.contiguous
