"""Receptive fields: the rows of an operand on which rows of a node depend, and the progress of a node through them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from aboard.ir import Node, Tensor
from aboard.ir.fingerprint import once_for_equal_nodes
from aboard.kernels.contract import RowWise
from aboard.ops import get, rows_of
from aboard.ops.box import Box

#: Axis of rows in an image.
_ROWS = 1

#: For rows [first, last) of a node, the rows of each operand in their receptive field.
ReceptiveFields = dict[tuple[Node, int, int], list[tuple[int, int]]]


@dataclass(eq=False)
class Progress:
    """The progress of a node of a cascade, and the reads of its next stripe.

    Attributes:
        node: The node.
        rows: Total number of rows to compute.
        stripe_height: Rows of a stripe.
        accumulates: True if rows are rows of operand 0.
        keeps: True if the kernel keeps rows of operand 0, so that it reads each of them once.
        first_height: Rows of the first stripe.
        done: Rows computed so far.
        fields: Receptive fields known so far.
    """

    node: Node
    rows: int
    stripe_height: int
    accumulates: bool
    keeps: bool
    first_height: int
    done: int = 0
    fields: ReceptiveFields = field(default_factory=dict)

    @classmethod
    def of(cls, node: Node, row_wise: RowWise, fields: ReceptiveFields) -> Progress:
        """Returns a node without computed rows."""
        rows = rows_of(node.input(0).shape if row_wise.accumulates else node.output.shape)
        height = min(row_wise.rows, rows)
        return cls(node, rows, height, row_wise.accumulates, row_wise.keeps, height, fields=fields)

    @classmethod
    def of_streamed_input(cls, tensor: Tensor) -> Progress:
        """Returns the caller as a node: it computes nothing and pushes one row after another."""
        node = Node("streamed_input", tensor.name, [], [tensor])
        return cls(node, rows_of(tensor.shape), 1, accumulates=False, keeps=False, first_height=1)

    @property
    def next(self) -> int:
        """One past the last row of the next stripe."""
        return min(self.done + self.stripe_height if self.done else self.first_height, self.rows)

    def align_first_stripe(self, inner: Mapping[Tensor, Progress]) -> None:
        """Sets the height of the first stripe such that stripes end where stripes of the operands end.

        Otherwise a rolling buffer has to hold rows that no stripe reads yet.

        Args:
            inner: Writers of the tensors between the nodes.
        """
        writers = [(index, inner[t]) for index, t in enumerate(self.node.inputs) if t is not None and t in inner]
        for first in range(self.stripe_height, 0, -1):
            if all(writer.ends_stripe_at(self.reads(index, 0, first)[1]) for index, writer in writers):
                self.first_height = first
                return

    def ends_stripe_at(self, row: int) -> bool:
        """True if a stripe of the node ends before a row."""
        return row == self.rows or (row - self.first_height) % self.stripe_height == 0

    def reads(self, operand: int, first: int, last: int) -> tuple[int, int]:
        """Returns the rows [first, last) of an operand in the receptive field of some rows."""
        return (first, last) if self.accumulates else self.field_of(first, last)[operand]

    def field_of(self, first: int, last: int) -> list[tuple[int, int]]:
        """Returns the receptive field of some rows: rows of each operand, or nothing if the op does not define it."""
        key = self.node, first, last
        if key not in self.fields:
            self.fields[key] = _field(*key)
        return self.fields[key]

    def lowest_row_left(self, tensor: Tensor) -> int:
        """Returns the first row of a tensor that a later stripe reads; the number of its rows if no stripe reads it."""
        if self.done >= self.rows:
            return rows_of(tensor.shape)
        # Called for every stripe of every cascade that a search tries.
        inputs = self.node.inputs
        if self.accumulates:
            first = [self.done] * len(inputs)
        else:
            first = [rows[0] for rows in self.field_of(self.done, self.next)]
        if self.keeps and self.done:
            first[0] = max(first[0], self.reads(0, 0, self.done)[1])
        return min(row for row, operand in zip(first, inputs, strict=False) if operand is tensor)


@once_for_equal_nodes(1 << 14)
def _field(node: Node, first: int, last: int) -> list[tuple[int, int]]:
    boxes = get(node.op).operand_boxes(node, Box.whole(node.output.shape).on(_ROWS, first, last)) or []
    return [_rows_in(box) for box in boxes]


def _rows_in(box: Box | None) -> tuple[int, int]:
    """Returns the rows of an image; a cascade needs no rows of other operands."""
    return (0, 0) if box is None or len(box.start) < 4 else (box.start[_ROWS], box.stop[_ROWS])
