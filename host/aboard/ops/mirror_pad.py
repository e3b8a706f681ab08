"""Padding with the operand's own elements, mirrored at its ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Attributes, DType, Node, TensorType
from aboard.ops import axes
from aboard.ops.registry import Op, SourceNode, register, require

#: Number of a mode in the schema's `MirrorPadMode`; the other is `REFLECT`.
_SYMMETRIC = 1


@dataclass(frozen=True)
class MirrorPadAttributes(Attributes):
    """Attributes of `mirror_pad`.

    Attributes:
        padding: (before, after) for each axis, less than the mirror reaches.
        edge: True when the element at the end is mirrored too (`SYMMETRIC`), False when it is the mirror (`REFLECT`).
    """

    padding: tuple[tuple[int, int], ...]
    edge: bool


@register
class MirrorPad(Op):
    """The operand in the middle of a larger tensor that repeats it backwards."""

    name = "mirror_pad"
    attributes = MirrorPadAttributes
    tflite = ("MIRROR_PAD",)
    moves_data = True
    types = (DType.FLOAT32, DType.INT8)

    @override
    def from_tflite(self, source: SourceNode) -> Node:
        """Reads paddings and mode.

        Raises:
            ModelError: Paddings that are not constant, not one pair an axis, or longer than the mirror reaches.
        """
        operand = source.input(0)
        source.check_type(operand, self.types)
        values, edge = source.integers(1), int(source.options["Mode"]) == _SYMMETRIC
        pairs = tuple(zip(values[::2], values[1::2], strict=False))
        if source.constant(1).shape != (len(operand.shape), 2) or not _reaches(operand.shape, pairs, edge):
            raise source.unsupported(
                f"paddings, got {values} for shape {operand.shape}, expected a pair of numbers for each axis, from 0 "
                f"to its extent{'' if edge else ' less 1'}. Export the model again"
            )
        return source.node(self.name, [operand], MirrorPadAttributes(pairs, edge))

    @override
    def infer(self, node: Node) -> list[TensorType]:
        """Returns the operand's type, larger by the padding."""
        pairs = zip(node.input(0).shape, attributes(node).padding, strict=True)
        shape = tuple(before + extent + after for extent, (before, after) in pairs)
        return [TensorType(shape, node.input(0).dtype, node.output.type.quant)]

    @override
    def verify(self, node: Node) -> None:
        """Checks the paddings.

        Raises:
            VerifyError: Their number is not that of the axes, or one is longer than the mirror reaches.
        """
        attrs, shape = attributes(node), node.input(0).shape
        fits = len(attrs.padding) == len(shape) and _reaches(shape, attrs.padding, attrs.edge)
        require(
            fits, node, f"paddings, got {attrs.padding} for shape {shape}, expected what mirrors of each axis reach"
        )

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        """Returns the padded operand."""
        attrs = attributes(node)
        mode: Literal["symmetric", "reflect"] = "symmetric" if attrs.edge else "reflect"
        return [np.pad(np.asarray(operands[0]), attrs.padding, mode)]

    @override
    def permuted(self, node: Node, order: axes.Order) -> tuple[Attributes, axes.Order] | None:
        attrs = attributes(node)
        return MirrorPadAttributes(axes.before(attrs.padding, order), attrs.edge), order


def attributes(node: Node) -> MirrorPadAttributes:
    """Returns the attributes of a `mirror_pad` node."""
    return cast(MirrorPadAttributes, node.attrs)


def _reaches(shape: Sequence[int], padding: Sequence[tuple[int, int]], edge: bool) -> bool:
    most = [extent if edge else extent - 1 for extent in shape]
    return all(min(pair) >= 0 and max(pair) <= end for pair, end in zip(padding, most, strict=False))
