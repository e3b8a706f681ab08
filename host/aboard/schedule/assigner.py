"""The locations of tensors while buffers are assigned: which tensors one buffer may store."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from aboard import ops
from aboard.ir import Graph, Node, State, Tensor
from aboard.kernels.contract import Implementation
from aboard.kernels.view import View
from aboard.ops.sharing import Share, box_offsets
from aboard.schedule.buffers import Buffer, TensorLocation
from aboard.schedule.cascade import Cascade


class Assigner:
    """Locations of tensors, which its methods change.

    Attributes:
        graph: The graph.
        implementations: The implementation of every node.
        keep_inputs: True if the run must not overwrite the graph's inputs.
        steps: Nodes that need code; empty at first.
        locations: Of graph inputs, of states and of all results; at first each in a buffer of its own.
        order: Index of each node.
        consumers: The nodes that read each tensor.
        producers: The node that writes each tensor.
    """

    def __init__(self, graph: Graph, implementations: Mapping[Node, Implementation], keep_inputs: bool) -> None:
        self.graph = graph
        self.implementations = implementations
        self.keep_inputs = keep_inputs
        self.steps: list[Node] = []
        self.locations: dict[Tensor, TensorLocation] = {}
        self.order = {node: i for i, node in enumerate(graph.nodes)}
        self.consumers: dict[Tensor, list[Node]] = {}
        self.producers: dict[Tensor, Node] = {}
        for node in graph.nodes:
            for tensor in node.operands:
                self.consumers.setdefault(tensor, []).append(node)
            for tensor in node.outputs:
                self.producers[tensor] = node
        for tensor in [*graph.entries, *(t for node in graph.nodes for t in node.outputs)]:
            view = View.whole(tensor.shape, tensor.dtype.bytes)
            buffer = Buffer(tensor.name, tensor.type.bytes, [tensor])
            self.locations[tensor] = TensorLocation(buffer, view)

    # -- aliasing ------------------------------------------------------------------------------------------------------

    def alias(self, node: Node) -> bool:
        """Makes results and operands of a node aliases of each other; False if the node needs code instead."""
        moves: list[tuple[Tensor, Tensor, View]] = []
        for share in ops.get(node.op).shares(node):
            operand, result = node.input(share.operand), node.outputs[share.result]
            inner, outer = (result, operand) if share.inner_is_result else (operand, result)
            view = self._inner_view(inner, outer, share) if operand in self.locations else None
            if view is None or not self._may_move(inner, view, node):
                return False
            moves.append((inner, outer, view))
        if not moves or not self._brings_own_buffers(moves) or not self._is_complete(node, moves):
            return False
        for inner, outer, view in moves:
            self._move(inner, self.locations[outer].buffer, view)
        return True

    def open_window(self, node: Node) -> bool:
        """Puts the state that a concatenation extends where the result begins, although the node stays a step."""
        state, window = node.input(0), node.output
        share = ops.get(node.op).shares(node)[0]
        view = self._inner_view(state, window, share)
        moves = [] if view is None else [(state, window, view)]
        if view is None or not self._may_move(state, view, node) or not self._brings_own_buffers(moves):
            return False
        self._move(state, self.locations[window].buffer, view)
        return True

    def _brings_own_buffers(self, moves: list[tuple[Tensor, Tensor, View]]) -> bool:
        """True if each moving tensor fills a buffer of its own, and no two of them share one."""
        moving = {self.locations[inner].buffer for inner, _, _ in moves}
        staying = {self.locations[outer].buffer for _, outer, _ in moves}
        whole = all(self.locations[inner].view.span == self.locations[inner].buffer.bytes for inner, _, _ in moves)
        together = [tensor for buffer in moving | staying for tensor in buffer.tensors]
        return whole and len(moving) == len(moves) and not moving & staying and self._may_join(together)

    def _may_join(self, tensors: Sequence[Tensor]) -> bool:
        """True if one buffer may store some tensors as far as states go: one state at most, and nothing of others."""
        inside = set(tensors)
        kept = [state for state in self.graph.states if state.read in inside]
        if not kept:
            return True
        foreign = any(t in inside for t in [*self.graph.inputs, *self.graph.outputs])
        return not foreign and all(
            state is kept[0] for state in self.graph.states if {state.read, state.write} & inside
        )

    def _is_complete(self, node: Node, moves: list[tuple[Tensor, Tensor, View]]) -> bool:
        mentioned = {t for inner, outer, _ in moves for t in (inner, outer)}
        return all(t in mentioned for t in [*node.outputs, *node.operands] if t in self.locations)

    def _inner_view(self, inner: Tensor, outer: Tensor, share: Share) -> View | None:
        location = self.locations[outer]
        own = View.whole(inner.shape, inner.dtype.bytes)
        if share.starts is None:
            first = location.view.offset + share.first * own.element_bytes
            return dataclasses.replace(own, offset=first) if location.view.contiguous else None
        begin = box_offsets(outer.shape, inner.shape, share.starts)
        if begin is None:
            return None
        row, pixel, channel = begin
        outer_view = location.view
        offset = row * outer_view.row_stride + pixel * outer_view.pixel_stride + channel * outer_view.element_bytes
        view = dataclasses.replace(
            own,
            row_stride=outer_view.row_stride,
            pixel_stride=outer_view.pixel_stride,
            offset=outer_view.offset + offset,
        )
        # The stride of a single row or pixel has no effect: the plain view is the same, and more kernels take it.
        plain = dataclasses.replace(own, offset=view.offset)
        return plain if _same_bytes(view, plain) else view

    def _may_move(self, inner: Tensor, view: View, node: Node) -> bool:
        """True if every node that reads or writes `inner` can do so through the new view."""
        location = self.locations[inner]
        shift = view.offset - location.view.offset
        if any((self.locations[t].view.offset + shift) % self._alignment(t, node) for t in location.buffer.tensors):
            return False
        if len(location.buffer.tensors) > 1 and not (view.contiguous and location.view.contiguous):
            return False
        # The caller and the next run see inputs, outputs and states as plain arrays.
        at_boundary = any(t is inner for t in self.graph.entries) or self.graph.is_result(inner)
        if at_boundary and (not view.contiguous or self._is_boundary_buffer(node)):
            return False
        if view.contiguous:
            return True
        return all(self.implementations[n].strided for n in self._touching(inner, node))

    def _touching(self, tensor: Tensor, node: Node) -> list[Node]:
        """Returns the nodes beside `node` that read or write a tensor."""
        touching = [n for n in self.consumers.get(tensor, []) if n is not node]
        if tensor in self.producers and self.producers[tensor] is not node:
            touching.append(self.producers[tensor])
        return touching

    def _alignment(self, tensor: Tensor, node: Node) -> int:
        return max((self.implementations[n].alignment(n) for n in self._touching(tensor, node)), default=1)

    def _is_boundary_buffer(self, node: Node) -> bool:
        boundary = [*self.graph.inputs, *self.graph.outputs]
        touched = [t for t in [*node.operands, *node.outputs] if t in self.locations]
        inside = {t for tensor in touched for t in self.locations[tensor].buffer.tensors}
        return sum(any(t is b for t in inside) for b in boundary) > 1 and self.keep_inputs

    def _move(self, inner: Tensor, buffer: Buffer, view: View) -> None:
        old = self.locations[inner].buffer
        shift = view.offset - self.locations[inner].view.offset
        for tensor in old.tensors:
            moved = dataclasses.replace(self.locations[tensor].view, offset=self.locations[tensor].view.offset + shift)
            self.locations[tensor] = TensorLocation(buffer, view if tensor is inner else moved)
            buffer.tensors.append(tensor)

    # -- in-place execution --------------------------------------------------------------------------------------------

    def run_in_place(self, node: Node) -> None:
        """Puts the first result that can overwrite an operand into the buffer of that operand."""
        for result_index, operand_index in self.implementations[node].runs_in_place(node):
            operand = node.optional_input(operand_index)
            result = node.outputs[result_index]
            if operand is None or operand not in self.locations or self.locations[result].buffer.tensors != [result]:
                continue
            if (
                self._dies_at(operand, node)
                and self._may_join([*self.locations[operand].buffer.tensors, result])
                and _same_geometry(self.locations[operand].view, self.locations[result].view)
            ):
                # The same bytes, but rows and pixels of the result: broadcasting divides the operand differently.
                view = dataclasses.replace(self.locations[result].view, offset=self.locations[operand].view.offset)
                self._move(result, self.locations[operand].buffer, view)
                return

    def run_stripes_in_place(self, node: Node, cascade: Cascade) -> None:
        """Lets the stripes of a node overwrite the rows that they read, if these rows are transient.

        If the rows read are shorter than the rows written, they are stored at the end of them. With `minimise_ram` the
        rows written need not be transient: then a stripe may be split by the end of the rolling buffer, which is
        slower.
        """
        operand, result = node.input(0), node.output
        takes_over = result in cascade.buffer_rows and (cascade.minimise_ram or result in cascade.transient)
        if operand not in cascade.transient or not takes_over or self.consumers[operand][-1] is not node:
            return
        row_wise, location = self.implementations[node].row_wise(node), self.locations[result]
        rows = cascade.lead_rows.get((operand, result))
        # A kernel that keeps rows reads other rows than it writes.
        if row_wise is None or row_wise.keeps or rows is None or rows > location.view.buffer_rows:
            return
        shift = self._row_shift(node, location.view)
        if shift is None or location.buffer.tensors != [result]:
            return
        if result in cascade.transient:
            # Contiguous rows matter more for the stripe that reads than for the one that writes.
            start_row = self.locations[operand].view.start_row
            location = TensorLocation(location.buffer, dataclasses.replace(location.view, start_row=start_row))
            self.locations[result] = location
        view = dataclasses.replace(
            View.whole(operand.shape, operand.dtype.bytes),
            row_stride=location.view.row_stride,
            buffer_rows=location.view.buffer_rows,
            start_row=location.view.start_row,
            offset=location.view.offset + shift,
        )
        location.buffer.tensors.append(operand)
        self.locations[operand] = TensorLocation(location.buffer, view)

    def _row_shift(self, node: Node, result: View) -> int | None:
        """Returns the offset of the operand's rows in rows of the result so that both end together; None if unsafe."""
        operand = node.input(0)
        own = View.whole(operand.shape, operand.dtype.bytes)
        whole = dataclasses.replace(result, buffer_rows=result.rows)
        shift = result.row_stride - own.row_stride
        spread = dataclasses.replace(own, row_stride=result.row_stride)
        inputs = (spread, *[None] * (len(node.inputs) - 1))
        plain = whole.contiguous and (shift == 0 or self.implementations[node].strided)
        if not plain or shift < 0 or shift % self._alignment(operand, node):
            return None
        outputs = (dataclasses.replace(whole, offset=0, start_row=0),)
        min_offset = self.implementations[node].overlap(node, inputs, outputs)
        return shift if min_offset is not None and min_offset <= shift else None

    def write_in_place(self, state: State, cascades: Sequence[Cascade]) -> None:
        """Lets a node write the next value of a state over the old one, if nothing else reads or writes that memory."""
        write, home = state.write, self.locations[state.read]
        if not state.changes or self.locations[write].buffer.tensors != [write]:
            return
        if not self._may_join([*home.buffer.tensors, write]):
            return
        node = self.producers[write]
        first = next((cascade.nodes[0] for cascade in cascades if node in cascade.nodes), node)
        for tensor in home.buffer.tensors:
            for user in [*self.consumers.get(tensor, []), *filter(None, [self.producers.get(tensor)])]:
                before = user not in self.steps or self.order[user] < self.order[first]
                if not before and not (user is node is first and self._overwrites(node, write, home)):
                    return
        if home.view.offset % max(self._alignment(write, node), self.implementations[node].alignment(node)):
            return
        view = View.whole(write.shape, write.dtype.bytes)
        self._move(write, home.buffer, dataclasses.replace(view, offset=home.view.offset))

    def _overwrites(self, node: Node, write: Tensor, home: TensorLocation) -> bool:
        """True if a node may write a result where the one operand begins that it reads of a state's buffer."""
        read = [i for i, t in enumerate(node.inputs) if t in self.locations and self.locations[t].buffer is home.buffer]
        view = self.locations[node.input(read[0])].view if len(read) == 1 else None
        if view is None or view.offset != home.view.offset:
            return False
        pairs = self.implementations[node].runs_in_place(node)
        same = _same_geometry(view, View.whole(write.shape, write.dtype.bytes))
        return same and (node.outputs.index(write), read[0]) in pairs

    def _dies_at(self, operand: Tensor, node: Node) -> bool:
        """True if the operand fills its buffer, no later node reads that buffer, and `node` reads it once."""
        buffer = self.locations[operand].buffer
        if sum(t is operand for t in node.inputs) > 1:
            return False
        for tensor in buffer.tensors:
            if self.graph.is_result(tensor) or (self.keep_inputs and any(t is tensor for t in self.graph.inputs)):
                return False
            if any(self.order[user] > self.order[node] for user in self.consumers.get(tensor, [])):
                return False
            if tensor in self.producers and self.order[self.producers[tensor]] > self.order[node]:
                return False
            if tensor is not operand and any(t is tensor for t in node.inputs):
                return False
        return buffer.bytes == self.locations[operand].view.span


def _same_geometry(a: View, b: View) -> bool:
    return a.contiguous and b.contiguous and a.span == b.span and a.element_bytes == b.element_bytes


def _same_bytes(a: View, b: View) -> bool:
    rows_equal = a.rows == 1 or a.row_stride == b.row_stride
    cols_equal = a.cols == 1 or a.pixel_stride == b.pixel_stride
    return rows_equal and cols_equal
