"""Strided slice: every n-th index of each axis within limits, with the masks of `tf.strided_slice`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Attributes, Node, TensorType
from aboard.ops import axes
from aboard.ops.registry import Op, SourceNode, register, require
from aboard.ops.sharing import Share
from aboard.ops.uniform import EVERY

#: Largest number of axes that TFLite slices.
_MAX_RANK = 5


@dataclass(frozen=True)
class AxisSlice:
    """The indices taken from one axis: `start`, `start + stride` and so on, `count` indices, all within the axis."""

    start: int
    stride: int
    count: int

    @property
    def indices(self) -> range:
        """The indices taken."""
        return range(self.start, self.start + self.count * self.stride, self.stride)


@dataclass(frozen=True)
class StridedSliceAttributes(Attributes):
    """Attributes of `strided_slice`.

    Attributes:
        slices: One for each axis of the operand.
        shape: Shape of the result: the counts, without removed axes and with new axes.
    """

    slices: tuple[AxisSlice, ...]
    shape: tuple[int, ...]


@register
class StridedSlice(Op):
    """A regular grid of the operand's elements."""

    name = "strided_slice"
    attributes = StridedSliceAttributes
    tflite = ("STRIDED_SLICE",)
    moves_data = True
    types = EVERY

    @override
    def from_tflite(self, source: SourceNode) -> Node:
        """Resolves begin, end, strides and the five masks.

        Raises:
            ModelError: Operands are computed at run time, do not fit the sliced tensor, or leave no element.
        """
        operand = source.input(0)
        if len(operand.shape) > _MAX_RANK:
            raise source.unsupported(f"operand, got {len(operand.shape)} axes, expected at most {_MAX_RANK}")
        return source.node(self.name, [operand], _resolve(source, operand.shape))

    @override
    def infer(self, node: Node) -> list[TensorType]:
        """Returns the operand's type with the shape of the slice."""
        return [TensorType(attributes(node).shape, node.input(0).dtype, node.output.type.quant)]

    @override
    def verify(self, node: Node) -> None:
        """Checks that all indices are within the operand, and that the result has as many elements.

        Raises:
            VerifyError: An index is out of range, or the number of elements differs.
        """
        attrs, shape = attributes(node), node.input(0).shape
        require(len(attrs.slices) == len(shape), node, f"slices, got {len(attrs.slices)}, expected {len(shape)}")
        for part, extent in zip(attrs.slices, shape, strict=True):
            inside = part.count >= 1 and 0 <= part.indices[0] < extent and 0 <= part.indices[-1] < extent
            require(inside, node, f"slice, got {part}, expected indices below {extent}")
        kept = tuple(part.count for part in attrs.slices if part.count != 1)
        shaped = tuple(extent for extent in attrs.shape if extent != 1)
        require(kept == shaped, node, f"shape, got {attrs.shape}, expected the counts {kept}")

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        attrs, operand = attributes(node), np.asarray(operands[0])
        taken = operand[np.ix_(*(part.indices for part in attrs.slices))] if attrs.slices else operand
        return [np.ascontiguousarray(taken).reshape(attrs.shape)]

    @override
    def shares(self, node: Node) -> list[Share]:
        """Returns that the result is a box of the operand, or a run of its elements where axes come or go."""
        attrs = attributes(node)
        if not all(part.stride == 1 or part.count == 1 for part in attrs.slices):
            return []
        if attrs.shape == tuple(part.count for part in attrs.slices):
            return [Share(0, 0, True, tuple(part.start for part in attrs.slices))]
        first = _run(attrs.slices, node.input(0).shape)
        return [] if first is None else [Share(0, 0, True, first=first)]

    @override
    def permuted(self, node: Node, order: axes.Order) -> tuple[Attributes, axes.Order] | None:
        attrs = attributes(node)
        if attrs.shape != tuple(part.count for part in attrs.slices):
            return None
        return StridedSliceAttributes(axes.before(attrs.slices, order), axes.before(attrs.shape, order)), order


def attributes(node: Node) -> StridedSliceAttributes:
    """Returns the attributes of a `strided_slice` node."""
    return cast(StridedSliceAttributes, node.attrs)


def _run(slices: Sequence[AxisSlice], shape: Sequence[int]) -> int | None:
    """Returns the first element of a box whose elements follow one another, counted flat; None for another box."""
    first, elements, whole = 0, 1, True
    for part, extent in zip(reversed(slices), reversed(shape), strict=True):
        if part.count != 1 and not whole:
            return None
        whole = whole and part.count == extent
        first += part.start * elements
        elements *= extent
    return first


@dataclass(frozen=True)
class _Spec:
    """begin, end, stride and masks of one entry of the operator."""

    begin: int | None
    end: int | None
    stride: int
    shrink: bool


def _resolve(source: SourceNode, shape: tuple[int, ...]) -> StridedSliceAttributes:
    slices: list[AxisSlice] = []
    result: list[int] = []
    for spec in _specs(source, len(shape)):
        if spec is None:
            result.append(1)
            continue
        taken = _axis_slice(source, spec, shape[len(slices)])
        slices.append(taken)
        if not spec.shrink:
            result.append(taken.count)
    return StridedSliceAttributes(tuple(slices), tuple(result))


def _specs(source: SourceNode, rank: int) -> list[_Spec | None]:
    """Returns the entries in order, None for a new axis; whole axes take the place of missing entries."""
    begin, end, strides = (source.integers(i) for i in (1, 2, 3))
    masks = {name: int(source.options[f"{name}Mask"]) for name in ("Begin", "End", "Ellipsis", "NewAxis", "ShrinkAxis")}
    ellipsis = masks["Ellipsis"]
    entries = len(begin)
    new = sum(1 for i in range(entries) if masks["NewAxis"] >> i & 1 and not ellipsis >> i & 1)
    whole = rank - (entries - new - (1 if ellipsis else 0))
    if not len(begin) == len(end) == len(strides) or whole < 0 or ellipsis & (ellipsis - 1) or ellipsis >> entries:
        raise source.unsupported(
            f"begin, end and strides, got {begin}, {end} and {strides} for {rank} axes, "
            "expected three lists of one length that fit the axes. Export the model again"
        )
    specs: list[_Spec | None] = []
    for i in range(entries):
        if ellipsis >> i & 1:
            specs += [_Spec(None, None, 1, False)] * whole
        elif masks["NewAxis"] >> i & 1:
            specs.append(None)
        else:
            first = None if masks["Begin"] >> i & 1 else begin[i]
            last = None if masks["End"] >> i & 1 else end[i]
            specs.append(_Spec(first, last, strides[i], bool(masks["ShrinkAxis"] >> i & 1)))
    return specs if ellipsis else [*specs, *[_Spec(None, None, 1, False)] * whole]


def _axis_slice(source: SourceNode, spec: _Spec, extent: int) -> AxisSlice:
    if spec.stride == 0 or (spec.shrink and spec.stride < 0):
        raise source.unsupported(
            f"stride, got {spec.stride}, expected not 0, and above 0 where the axis is dropped. Export the model again"
        )
    if spec.shrink:
        start = spec.begin or 0
        taken = range(extent)[slice(start, start + 1 or None)]
    else:
        taken = range(extent)[slice(spec.begin, spec.end, spec.stride)]
    if not taken:
        raise source.unsupported(
            f"slice {spec.begin}:{spec.end}:{spec.stride} of an axis of {extent}, got nothing, expected an index. "
            "Results without elements are not supported"
        )
    return AxisSlice(taken.start, taken.step if len(taken) > 1 else 1, len(taken))
