"""Cascades: neighbouring nodes that are computed together, stripe by stripe.

A *stripe* is a block of rows of one node, computed in one kernel call. The tensors between the nodes of a cascade never
exist whole: each is stored in a *rolling buffer*, which holds only the rows that are live at once. No row is computed
twice. Two convolutions of 3x3 pixels, each stripe one row high::

    input, whole      rolling buffer of A, 3 rows high      result of B, whole

    row 3                                                   row 2
    row 4  ---+       [0]  row 3  ---+                      row 3
    row 5     +-A-->  [1]  row 4     +-B----------------->  row 4
    row 6  ---+       [2]  row 5  ---+                      row 5
    row 7                                                   row 6

    A has just written row 5, B writes row 4. The next stripe of A writes row 6 over row 3, which no stripe reads any
    more: row r is stored in row (r + start row) % height of its rolling buffer.

The stripes are found from the end (`aboard.schedule.stripes`): before a stripe of the last node, each node before it
computes the rows in the receptive field of that stripe. The terms are from Arm's compiler Vela for Ethos-U.

With `-input=rows` the input of the model is stored in a rolling buffer too: the input is streamed, and the cascade
waits for the next row of the caller whenever a stripe of the input is due.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from aboard.ir import Node, Tensor


class Stripe(NamedTuple):
    """A block of rows [first, last) of a node, computed in one call.

    Attributes:
        position: Index of the node in the cascade; the number of nodes for a row of the streamed input.
        first: First row: of the result, or of operand 0 if the node accumulates.
        last: One past the last row.
    """

    position: int
    first: int
    last: int


@dataclass(frozen=True)
class Cascade:
    """Nodes that are computed stripe by stripe.

    Attributes:
        nodes: In the order of the schedule.
        stripes: In the order of execution.
        buffer_rows: Height of the rolling buffer of each tensor between the nodes, in rows.
        start_rows: For each of these tensors, the row of its rolling buffer that stores row 0. It makes the rows of the
            second stripe of the first reader contiguous, and with them every later stripe that the height divides. If
            the reader takes one row at a time, the rows of the writer are contiguous instead.
        transient: The tensors whose rows are live only from the stripe that writes them until their last reader has
            run, with no stripe of another node in between.
        min_offsets: Minimum in-place offset of each operand from outside: the operand must start at least this many
            bytes
            after the result of the last node if the two share memory.
        consumed_bytes: For each node, bytes at the start of each operand from outside that no stripe reads any more
            when the first stripe of the node runs.
        lead_rows: For pairs of an operand and a result with equally many rows, both between the nodes: rows of memory
            that suffice for both if row r of one is stored at row r of the other.
        produced_bytes: For each node, bytes of the result of the last node that are written when the last stripe of the
            node has run. A buffer that is dead from then on may share memory with the rest of the result.
        streamed_input: The input of the model if the caller pushes its rows; it has an entry in `buffer_rows`.
        minimise_ram: True if stripes are one row high and overwrite their operands wherever possible. This needs the
            least RAM and more instructions.
        rows: Rows of a stripe, if they were given; None for those that the kernels prefer.
    """

    nodes: tuple[Node, ...]
    stripes: tuple[Stripe, ...]
    buffer_rows: dict[Tensor, int]
    start_rows: dict[Tensor, int]
    transient: frozenset[Tensor]
    min_offsets: dict[Tensor, int]
    consumed_bytes: dict[Node, dict[Tensor, int]]
    lead_rows: dict[tuple[Tensor, Tensor], int]
    produced_bytes: dict[Node, int]
    streamed_input: Tensor | None = None
    minimise_ram: bool = False
    rows: int | None = None

    @cached_property
    def _heights(self) -> dict[int, list[int]]:
        """For each position of a stripe, the rows of all its stripes."""
        found: dict[int, list[int]] = {}
        for stripe in self.stripes:
            found.setdefault(stripe.position, []).append(stripe.last - stripe.first)
        return found

    @property
    def input_stripes(self) -> int:
        """Number of stripes that wait for a row of the streamed input."""
        return len(self._heights.get(len(self.nodes), ()))

    def stripe_height(self, node: Node) -> int:
        """Returns the rows of a stripe of a node; its first and last may have fewer."""
        return max(self._heights[self.nodes.index(node)])

    def stripes_of(self, node: Node) -> int:
        """Returns the number of stripes of a node."""
        return len(self._heights[self.nodes.index(node)])

    def rows_of_stripes(self, node: Node) -> list[tuple[int, int]]:
        """Returns the rows [first, last) of each stripe of a node."""
        position = self.nodes.index(node)
        return [(stripe.first, stripe.last) for stripe in self.stripes if stripe.position == position]
