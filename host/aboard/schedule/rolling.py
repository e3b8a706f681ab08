"""Rolling windows: states that are windows over time, kept in a rolling buffer from run to run.

A streaming model reads the k rows that earlier runs have left, joins n new rows to them, and leaves the last k of these
k + n rows for the next run. Without rolling, the end of the run moves k rows. In a rolling buffer of k + n rows nothing
moves: the n new rows overwrite the n oldest, and the next run begins to read n rows later. Three old rows, one new::

    run 0   position 0     run 1   position 1     run 2   position 2

    [0]  row 0  oldest     [0]  row 4  new        [0]  row 4
    [1]  row 1             [1]  row 1  oldest     [1]  row 5  new
    [2]  row 2             [2]  row 2             [2]  row 2  oldest
    [3]  row 3  new        [3]  row 3             [3]  row 3

Kernels need nothing for it: they see one tall image, of which each run computes the next rows, as a stripe of a cascade
does. Row r of it is stored in row r % (k + n). Once every `positions` runs the oldest row is in row 0 again, and the
position begins anew. The state block contains the position of the run before; windows with equally many positions share
it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from aboard.ir import Node, State, Tensor
from aboard.kernels.view import View


@dataclass(frozen=True)
class RollingCall:
    """The call of a step that reads or extends a rolling window: rows of a tall image.

    Attributes:
        node: The step's node over the tall image.
        inputs: Views of its operands.
        outputs: Views of its results.
        operands: For each of its operands, the index of the operand of the step's node.
        advance: Rows from the first row of a run to the first row of the next.
        start: First row at position 0.
        rows: Rows that a run computes.
        extends: True for the concatenation that copies the new rows into the window.
    """

    node: Node
    inputs: tuple[View | None, ...]
    outputs: tuple[View, ...]
    operands: tuple[int, ...]
    advance: int
    start: int
    rows: int
    extends: bool = False


@dataclass(frozen=True)
class RollingWindow:
    """A state in a rolling buffer. The tensors in that buffer keep the views that they have at position 0.

    Attributes:
        state: The state.
        height: Rows of the buffer: those of the state, and the new rows of a run.
        fresh_rows: New rows of a run.
        row_bytes: Bytes of a row.
        fresh: Tensors in the new rows, which nodes write and read where these rows are in this run.
        calls: The steps that read or extend the window.
    """

    state: State
    height: int
    fresh_rows: int
    row_bytes: int
    fresh: frozenset[Tensor]
    calls: Mapping[Node, RollingCall]

    @property
    def positions(self) -> int:
        """Runs until the oldest row is in row 0 again."""
        return math.lcm(self.height, self.fresh_rows) // self.fresh_rows
