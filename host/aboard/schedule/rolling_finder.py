"""Finds the states that rolling buffers may contain (`aboard.schedule.rolling`), and the steps that read them.

A window needs one row per step of time, in a buffer where the next value of the state begins some rows after the old
one. Convolutions and poolings without padding in time may read it. Each other reader needs the rows in order, so that
the end of the run moves them instead. The new rows come from the step that computes them, where they never wrap around,
or else from the concatenation, which then copies only them.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence

from aboard.ir import Graph, Node, State, Tensor
from aboard.kernels.contract import Implementation
from aboard.kernels.view import View
from aboard.ops.concatenation import ConcatenationAttributes, attributes
from aboard.ops.conv2d import ConvAttributes
from aboard.ops.pool2d import PoolAttributes
from aboard.schedule.buffers import TensorLocation
from aboard.schedule.cascade import Cascade
from aboard.schedule.rolling import RollingCall, RollingWindow

#: Instructions that `memmove` takes for each byte, and for a call (Cortex-M4: `wake_jarvis`, 2,840 bytes in six calls).
_MOVE_BYTE, _MOVE_CALL = 0.7, 20

#: Instructions that the position of a window takes in each run.
_POSITION = 12

#: Largest number of positions: the state block stores 16 bits.
_MOST_POSITIONS = 1 << 16

#: Largest number of bytes between the first and the last row of the tall image: kernels compute with 32 bits.
_MOST_BYTES = 1 << 30


def joins(graph: Graph) -> dict[Node, State]:
    """Returns the concatenations that join new rows to a state that nothing else reads."""
    found = {}
    readers: dict[Tensor, list[Node]] = {}
    for node in graph.nodes:
        for tensor in node.operands:
            readers.setdefault(tensor, []).append(node)
    for state in graph.states:
        users = readers.get(state.read, [])
        if state.changes and len(users) == 1 and _joins(users[0], state) and not graph.is_result(users[0].output):
            found[users[0]] = state
    return found


def _joins(node: Node, state: State) -> bool:
    if node.op != "concatenation" or len(node.operands) != 2 or node.input(0) is not state.read:
        return False
    axis = attributes(node).axis
    return math.prod(node.output.shape[:axis]) == 1 and not node.input(1).is_constant


def wraps(node: Node) -> bool:
    """True if the new rows of a concatenation of `joins` wrap around the end of the rolling buffer in some runs."""
    axis = attributes(node).axis
    return node.output.shape[axis] % node.input(1).shape[axis] != 0


class RollingFinder:
    """Finds the rolling windows of an assignment whose tensors have their linear places.

    Attributes:
        graph: The graph.
        implementations: The implementation of every node.
        locations: Of each tensor.
        steps: Nodes that need code.
    """

    def __init__(
        self,
        graph: Graph,
        implementations: Mapping[Node, Implementation],
        locations: Mapping[Tensor, TensorLocation],
        steps: Sequence[Node],
        cascades: Iterable[Cascade],
    ) -> None:
        self.graph = graph
        self.implementations = implementations
        self.locations = locations
        self.steps = steps
        self._cascaded = {node for cascade in cascades for node in cascade.nodes}

    def find(self, join: Node, state: State) -> RollingWindow | None:
        """Returns the rolling window of a state, or None if it cannot be one or moving its rows costs less.

        Args:
            join: The concatenation that joins the new rows. If it is a step, it copies only these.
            state: The state.
        """
        axis, result = attributes(join).axis, join.output
        height, rows = result.shape[axis], join.input(1).shape[axis]
        window = RollingWindow(state, height, rows, result.type.bytes // height, frozenset(), {})
        if not self._is_shifted(window, result) or not self._fits(window):
            return None
        calls: dict[Node, RollingCall] = {}
        fresh, written = self._fresh(window), set[Tensor]()
        for node in self.steps:
            touched = self._inside([*node.operands, *node.outputs], window)
            if not touched:
                continue
            if node in self._cascaded:
                return None
            if fresh.issuperset(touched):
                written |= set(touched)
                if rows * window.row_bytes % self.implementations[node].align:
                    return None
                continue
            call = self._extension(node, window) if node is join else self._reader(node, touched, window)
            if call is None:
                return None
            calls[node] = call
        found = dataclasses.replace(window, fresh=frozenset(written), calls=calls)
        return found if self._saves(found, join) else None

    def _is_shifted(self, window: RollingWindow, result: Tensor) -> bool:
        """True if the buffer consists of the joined rows, and the next value is some rows after the old one."""
        read, write = self.locations[window.state.read], self.locations[window.state.write]
        joined = self.locations[result]
        whole = joined.view.offset == 0 and joined.view.contiguous and joined.view.span == read.buffer.bytes
        together = read.buffer is write.buffer is joined.buffer and whole
        shift = window.fresh_rows * window.row_bytes
        return together and read.view.offset == 0 and write.view.offset == shift and write.view.contiguous

    def _fits(self, window: RollingWindow) -> bool:
        rows = (window.positions - 1) * window.fresh_rows + window.height
        return window.positions <= _MOST_POSITIONS and rows * window.row_bytes <= _MOST_BYTES

    def _inside(self, tensors: Iterable[Tensor], window: RollingWindow) -> list[Tensor]:
        buffer = self.locations[window.state.read].buffer
        return [t for t in tensors if t in self.locations and self.locations[t].buffer is buffer]

    def _fresh(self, window: RollingWindow) -> set[Tensor]:
        """Returns the tensors in the new rows; none if these rows wrap around."""
        if window.height % window.fresh_rows:
            return set()
        begin = (window.height - window.fresh_rows) * window.row_bytes
        buffer = self.locations[window.state.read].buffer
        return {tensor for tensor in buffer.tensors if self.locations[tensor].view.offset >= begin}

    def _extension(self, node: Node, window: RollingWindow) -> RollingCall | None:
        """Returns the call of a concatenation that copies only the new rows."""
        rows, fresh = window.fresh_rows, node.input(1)
        view = self.locations[fresh].view
        if not view.contiguous or self.locations[node.output].view.rows != window.height:
            return None
        channels = window.row_bytes // view.element_bytes
        total = window.positions * rows
        first = window.height - rows
        tall = View.whole((first + total, channels), view.element_bytes)
        source = dataclasses.replace(tall, buffer_rows=rows, start_row=-first % rows)
        result = dataclasses.replace(tall, buffer_rows=window.height)
        inner, outer = (_tensor(tensor, (first + total, channels)) for tensor in (fresh, node.output))
        virtual = Node(node.op, node.name, [inner], [outer], ConcatenationAttributes(0), node.sources)
        return RollingCall(virtual, (source,), (result,), (1,), rows, first, rows, extends=True)

    def _reader(self, node: Node, touched: Sequence[Tensor], window: RollingWindow) -> RollingCall | None:
        """Returns the call of a node that slides a window over rows of the rolling buffer; None if it cannot."""
        attrs = node.attrs
        if not isinstance(attrs, ConvAttributes | PoolAttributes) or attrs.padding.top or attrs.padding.bottom:
            return None
        image, result = node.input(0), node.output
        if list(touched) != [image] or image.shape[0] != 1:
            return None
        stride, made = attrs.strides[0], result.shape[1]
        view, out = self.locations[image].view, self.locations[result].view
        steps = window.fresh_rows // stride
        in_rows = view.rows == 1 or view.row_stride == window.row_bytes
        if window.fresh_rows % stride or steps % made or not in_rows or view.buffer_rows < view.rows:
            return None
        before = window.positions - 1
        first_row, offset = divmod(view.offset, window.row_bytes)
        # Taller than the buffer, or the view would not be one of a rolling buffer.
        tall = max(before * window.fresh_rows + view.rows, window.height + 1)
        source = dataclasses.replace(
            view,
            rows=tall,
            row_stride=window.row_bytes,
            buffer_rows=window.height,
            start_row=first_row,
            offset=offset,
        )
        total = before * steps + made
        target = dataclasses.replace(out, rows=total, buffer_rows=made, stripe_height=made)
        inputs = [_tensor(image, (1, tall, *image.shape[2:])), *node.inputs[1:]]
        outputs = [_tensor(result, (1, total, *result.shape[2:]))]
        virtual = Node(node.op, node.name, inputs, outputs, attrs, node.sources)
        way = self.implementations[node].row_wise(virtual)
        if way is None or way.accumulates or way.keeps:
            return None
        others = (None if t is None else View.whole(t.shape, t.dtype.bytes) for t in node.inputs[1:])
        numbers = tuple(range(len(node.inputs)))
        return RollingCall(virtual, (source, *others), (target,), numbers, steps, 0, made)

    def _saves(self, window: RollingWindow, join: Node) -> bool:
        """True if rolling takes fewer instructions than moving the rows that a run keeps."""
        moved = _MOVE_CALL + _MOVE_BYTE * (window.height - window.fresh_rows) * window.row_bytes
        copied = _MOVE_CALL + _MOVE_BYTE * window.fresh_rows * window.row_bytes
        costs = _POSITION + sum(
            self.implementations[node].rolling_cost(node) for node in window.calls if node is not join
        )
        if join not in window.calls:
            return moved > costs
        inputs = set(self.graph.inputs)
        if inputs.isdisjoint(self.locations[join.input(1)].buffer.tensors):
            # Without rolling, the new rows are computed where they are joined.
            return moved > costs + copied
        # Without rolling, all rows are joined beside the state, and those that the next run needs are copied back.
        return 2 * moved > costs


def _tensor(like: Tensor, shape: tuple[int, ...]) -> Tensor:
    return Tensor(like.name, dataclasses.replace(like.type, shape=shape))
