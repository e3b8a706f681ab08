"""Storage: in which buffer each tensor lies, and how it looks there.

Every computed tensor starts in a buffer of its own. Two things bring tensors together, and both are exact because a
buffer lives as long as any tensor in it:

* nodes that only move data share memory where views can express it (`Op.shares`) and then need no code;
* nodes that can write over an operand that nobody reads again do so (`Implementation.runs_in_place`).

A tensor between the nodes of a cascade lies in a ring of rows.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from aboard import ops
from aboard.ir import Graph, Node, Tensor
from aboard.kernels.contract import Implementation, View
from aboard.ops.sharing import Share, box_offsets
from aboard.schedule.cascade import Cascade

#: The life of a graph output goes on after the last node.
AFTER_LAST = 1


@dataclass(eq=False)
class Buffer:
    """A piece of memory that holds one or more tensors.

    Attributes:
        name: Of the tensor it was made for.
        bytes: Size.
        tensors: Who lies in it.
    """

    name: str
    bytes: int
    tensors: list[Tensor] = field(default_factory=list)


@dataclass(frozen=True)
class Place:
    """Where a tensor lies."""

    buffer: Buffer
    view: View


@dataclass
class Storage:
    """The result: a place for every computed tensor, and the nodes that still need code.

    Attributes:
        places: Of graph inputs and of all results.
        steps: Nodes to execute, in order.
        cascades: Those of them that are computed together.
        alone: Tensors that no data movement has brought into memory with others.
        fed: The input whose rows the caller brings one by one (`-input=rows`): a ring where a cascade is fed with it,
            else whole.
    """

    places: dict[Tensor, Place]
    steps: list[Node]
    cascades: tuple[Cascade, ...] = ()
    alone: frozenset[Tensor] = frozenset()
    fed: Tensor | None = None

    def turns_of(self, node: Node) -> int:
        """Returns in how many calls a node is computed."""
        return next((cascade.turns_of(node) for cascade in self.cascades if node in cascade.nodes), 1)

    def rows_of_turn(self, node: Node) -> int | None:
        """Returns how many rows of a node one call computes; None where that is all of them."""
        return next((cascade.step_of(node) for cascade in self.cascades if node in cascade.nodes), None)

    @property
    def buffers(self) -> list[Buffer]:
        """All buffers, in the order of their first tensor."""
        return list(dict.fromkeys(place.buffer for place in self.places.values()))


def assign(
    graph: Graph,
    implementations: Mapping[Node, Implementation],
    *,
    keep_inputs: bool,
    cascades: Sequence[Cascade] = (),
    fed: Tensor | None = None,
) -> Storage:
    """Decides which tensors share memory.

    Args:
        graph: Verified; in execution order.
        implementations: For every node.
        keep_inputs: True when the run must leave the graph's inputs as they were.
        cascades: Of steps that `assign` returned without any; what lies between their nodes is `Storage.alone`.
        fed: The input whose rows the caller brings one by one.

    Returns:
        The storage. Buffers have no address yet.
    """
    assigner = _Assigner(graph, implementations, keep_inputs)
    for node in graph.nodes:
        if not assigner.share(node):
            assigner.steps.append(node)
    alone = frozenset(tensor for tensor, place in assigner.places.items() if place.buffer.tensors == [tensor])
    cascaded = {node for cascade in cascades for node in cascade.nodes}
    for node in assigner.steps:
        if node not in cascaded:
            assigner.run_in_place(node)
    for cascade in cascades:
        assigner.places |= {tensor: _ring(tensor, cascade) for tensor in cascade.depths}
        for node in reversed(cascade.nodes):
            assigner.turn_in_place(node, cascade)
    return Storage(assigner.places, assigner.steps, tuple(cascades), alone, fed)


def _ring(tensor: Tensor, cascade: Cascade) -> Place:
    depth, phase = cascade.depths[tensor], cascade.phases[tensor]
    whole = View.whole(tensor.shape, tensor.dtype.bytes)
    view = whole if depth >= whole.rows else dataclasses.replace(whole, depth=depth, phase=phase)
    return Place(Buffer(tensor.name, depth * view.row_stride, [tensor]), view)


class _Assigner:
    def __init__(self, graph: Graph, implementations: Mapping[Node, Implementation], keep_inputs: bool) -> None:
        self.graph = graph
        self.implementations = implementations
        self.keep_inputs = keep_inputs
        self.steps: list[Node] = []
        self.places: dict[Tensor, Place] = {}
        self.order = {node: i for i, node in enumerate(graph.nodes)}
        self.consumers: dict[Tensor, list[Node]] = {}
        self.producers: dict[Tensor, Node] = {}
        for node in graph.nodes:
            for tensor in node.operands:
                self.consumers.setdefault(tensor, []).append(node)
            for tensor in node.outputs:
                self.producers[tensor] = node
        for tensor in [*graph.inputs, *(t for node in graph.nodes for t in node.outputs)]:
            view = View.whole(tensor.shape, tensor.dtype.bytes)
            buffer = Buffer(tensor.name, tensor.type.bytes, [tensor])
            self.places[tensor] = Place(buffer, view)

    # -- shared memory ---------------------------------------------------------------------------------------------

    def share(self, node: Node) -> bool:
        """Lets results and operands of a node share memory; False where they cannot and the node needs code."""
        moves: list[tuple[Tensor, Tensor, View]] = []
        for share in ops.get(node.op).shares(node):
            operand, result = node.input(share.operand), node.outputs[share.result]
            inner, outer = (result, operand) if share.inner_is_result else (operand, result)
            view = self._inner_view(inner, outer, share) if operand in self.places else None
            if view is None or not self._may_move(inner, view, node):
                return False
            moves.append((inner, outer, view))
        if not moves or not self._move_apart(moves) or not self._all_results_shared(node, moves):
            return False
        for inner, outer, view in moves:
            self._move(inner, self.places[outer].buffer, view)
        return True

    def _move_apart(self, moves: list[tuple[Tensor, Tensor, View]]) -> bool:
        """True when each moving tensor brings its own buffer along, which holds nothing beside it."""
        moving = {self.places[inner].buffer for inner, _, _ in moves}
        staying = {self.places[outer].buffer for _, outer, _ in moves}
        whole = all(self.places[inner].view.span == self.places[inner].buffer.bytes for inner, _, _ in moves)
        return whole and len(moving) == len(moves) and not moving & staying

    def _all_results_shared(self, node: Node, moves: list[tuple[Tensor, Tensor, View]]) -> bool:
        mentioned = {t for inner, outer, _ in moves for t in (inner, outer)}
        return all(t in mentioned for t in [*node.outputs, *node.operands] if t in self.places)

    def _inner_view(self, inner: Tensor, outer: Tensor, share: Share) -> View | None:
        place = self.places[outer]
        own = View.whole(inner.shape, inner.dtype.bytes)
        if share.starts is None:
            return dataclasses.replace(own, offset=place.view.offset) if place.view.contiguous else None
        begin = box_offsets(outer.shape, inner.shape, share.starts)
        if begin is None:
            return None
        row, pixel, channel = begin
        outer_view = place.view
        offset = row * outer_view.row_stride + pixel * outer_view.pixel_stride + channel * outer_view.element_bytes
        view = dataclasses.replace(
            own,
            row_stride=outer_view.row_stride,
            pixel_stride=outer_view.pixel_stride,
            offset=outer_view.offset + offset,
        )
        # The stride of a single row or pixel means nothing: the plain view is the same and pleases more kernels.
        plain = dataclasses.replace(own, offset=view.offset)
        return plain if _same_bytes(view, plain) else view

    def _may_move(self, inner: Tensor, view: View, node: Node) -> bool:
        """True when everyone who touches `inner` can do so through the new view."""
        place = self.places[inner]
        shift = view.offset - place.view.offset
        if any((self.places[t].view.offset + shift) % self._alignment(t, node) for t in place.buffer.tensors):
            return False
        if len(place.buffer.tensors) > 1 and not (view.contiguous and place.view.contiguous):
            return False
        # The caller sees inputs and outputs as plain arrays.
        at_boundary = any(t is inner for t in self.graph.inputs) or self.graph.is_output(inner)
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
        return max((self.implementations[n].align for n in self._touching(tensor, node)), default=1)

    def _is_boundary_buffer(self, node: Node) -> bool:
        boundary = [*self.graph.inputs, *self.graph.outputs]
        touched = [t for t in [*node.operands, *node.outputs] if t in self.places]
        inside = {t for tensor in touched for t in self.places[tensor].buffer.tensors}
        return sum(any(t is b for t in inside) for b in boundary) > 1 and self.keep_inputs

    def _move(self, inner: Tensor, buffer: Buffer, view: View) -> None:
        old = self.places[inner].buffer
        shift = view.offset - self.places[inner].view.offset
        for tensor in old.tensors:
            moved = dataclasses.replace(self.places[tensor].view, offset=self.places[tensor].view.offset + shift)
            self.places[tensor] = Place(buffer, view if tensor is inner else moved)
            buffer.tensors.append(tensor)

    # -- in place --------------------------------------------------------------------------------------------------

    def run_in_place(self, node: Node) -> None:
        """Lets the first result that can be written over an operand take that operand's buffer."""
        for result_index, operand_index in self.implementations[node].runs_in_place(node):
            operand = node.optional_input(operand_index)
            result = node.outputs[result_index]
            if operand is None or operand not in self.places or self.places[result].buffer.tensors != [result]:
                continue
            if self._dies_at(operand, node) and _same_geometry(self.places[operand].view, self.places[result].view):
                # The same bytes, but rows and pixels as the result counts them: broadcasting divides them otherwise.
                view = dataclasses.replace(self.places[result].view, offset=self.places[operand].view.offset)
                self._move(result, self.places[operand].buffer, view)
                return

    def turn_in_place(self, node: Node, cascade: Cascade) -> None:
        """Lets a node of a cascade write its rows over those that it reads, where these are needed for a turn only.

        Where the rows that it reads are shorter, they lie at the end of those that it writes. What it writes may be
        needed for longer, in a cascade that spares memory: rows in a ring of another's may lie apart, which is slower.
        """
        operand, result = node.input(0), node.output
        lasting = result in cascade.depths and (cascade.sparing or result in cascade.fleeting)
        if operand not in cascade.fleeting or not lasting or self.consumers[operand][-1] is not node:
            return
        way, place = self.implementations[node].row_wise(node), self.places[result]
        rows = cascade.ahead.get((operand, result))
        # What keeps rows reads others than those that it writes.
        if way is None or way.keeps or rows is None or rows > place.view.depth or place.buffer.tensors != [result]:
            return
        shift = self._row_shift(node, place.view)
        if shift is None:
            return
        if result in cascade.fleeting and place.buffer.tensors == [result]:
            # Rows that are read in one turn are to lie together before those that are written in one.
            place = Place(place.buffer, dataclasses.replace(place.view, phase=self.places[operand].view.phase))
            self.places[result] = place
        ring = {name: getattr(place.view, name) for name in ("row_stride", "depth", "phase")}
        view = View.whole(operand.shape, operand.dtype.bytes)
        place.buffer.tensors.append(operand)
        self.places[operand] = Place(place.buffer, dataclasses.replace(view, **ring, offset=place.view.offset + shift))

    def _row_shift(self, node: Node, result: View) -> int | None:
        """Returns where in a row of the result a row of the operand may begin that ends with it; None for nowhere."""
        operand = node.input(0)
        own, whole = View.whole(operand.shape, operand.dtype.bytes), dataclasses.replace(result, depth=result.rows)
        shift = result.row_stride - own.row_stride
        spread = dataclasses.replace(own, row_stride=result.row_stride)
        inputs = (spread, *[None] * (len(node.inputs) - 1))
        plain = whole.contiguous and (shift == 0 or self.implementations[node].strided)
        if not plain or shift < 0 or shift % self._alignment(operand, node):
            return None
        distance = self.implementations[node].overlap(node, inputs, (dataclasses.replace(whole, offset=0, phase=0),))
        return shift if distance is not None and distance <= shift else None

    def _dies_at(self, operand: Tensor, node: Node) -> bool:
        """True when nothing in the operand's buffer is read after `node`, nor twice by it."""
        buffer = self.places[operand].buffer
        if sum(t is operand for t in node.inputs) > 1:
            return False
        for tensor in buffer.tensors:
            if self.graph.is_output(tensor) or (self.keep_inputs and any(t is tensor for t in self.graph.inputs)):
                return False
            if any(self.order[user] > self.order[node] for user in self.consumers.get(tensor, [])):
                return False
            if tensor in self.producers and self.order[self.producers[tensor]] > self.order[node]:
                return False
            if tensor is not operand and any(t is tensor for t in node.inputs):
                return False
        return buffer.bytes == self.places[operand].view.span


def _same_geometry(a: View, b: View) -> bool:
    return a.contiguous and b.contiguous and a.span == b.span and a.element_bytes == b.element_bytes


def _same_bytes(a: View, b: View) -> bool:
    rows_equal = a.rows == 1 or a.row_stride == b.row_stride
    cols_equal = a.cols == 1 or a.pixel_stride == b.pixel_stride
    return rows_equal and cols_equal
