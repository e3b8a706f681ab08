"""Moves of transposes: past nodes that can compute with axes in another order, before them, and into one another."""

from __future__ import annotations

from typing import cast

import numpy as np

from aboard import ops
from aboard.ir import Attributes, Graph, Node, Tensor
from aboard.ir.rewriting import free_name, merged_sources
from aboard.ops import transpose
from aboard.ops.axes import Order, composed, inverse
from aboard.ops.batch_matmul import BatchMatmulAttributes
from aboard.ops.reshape import ReshapeAttributes
from aboard.ops.transpose import TransposeAttributes
from aboard.passes.transpose_costs import Part, TransposeCosts, order_above, swaps_matrix
from aboard.passes.transposition import cost, is_free, moved_type, of_higher_rank, reshaped


class TransposeMoves:
    """One move in a graph, from what each costs before it."""

    def __init__(self, graph: Graph) -> None:
        """Takes the graph, which `step` and `lift` change."""
        self._graph = graph
        self._of = TransposeCosts(graph)
        self._producers, self._readers = self._of.producers, self._of.readers

    def step(self) -> bool:
        """Makes one move; returns False if none is left.

        Costs are known only where transposes that meet are one.
        """
        return self.merge() or any(self._sunk(node) for node in self._transposes())

    def merge(self) -> bool:
        """Makes two transposes one, or drops one; returns False if none of them can go."""
        moves = (self._named, self._merged, self._shared)
        return any(move(node) for move in moves for node in self._transposes())

    def _transposes(self) -> list[Node]:
        return [node for node in self._graph.nodes if node.op == "transpose"]

    def _named(self, node: Node) -> bool:
        """Gives the name that a value has in the file to the tensor before a transpose, which made it for a kernel."""
        before, after = node.input(0), node.output
        made = before.source is None and not before.is_constant and before not in self._graph.entries
        if not made or after.source is None or self._graph.is_result(after):
            return False
        order = inverse(transpose.attributes(node).order)
        _rename(self._graph, before, after, order)
        producer = self._producers.get(id(before))
        if producer is not None:
            producer.name = producer.outputs[0].name
        node.name = node.output.name
        return True

    def _merged(self, node: Node) -> bool:
        """Makes a transpose of a constant a constant, and of a transpose one; drops what changes nothing."""
        order, operand = transpose.attributes(node).order, node.input(0)
        result = self._graph.is_result(node.output)
        if operand.data is not None and not result:
            node.output.data = np.ascontiguousarray(operand.data.transpose(order))
            self._credit(node)
            self._graph.remove([node])
            return True
        before = self._producers.get(id(operand))
        if before is not None and before.op == "transpose":
            node.inputs = [before.input(0)]
            node.attrs = TransposeAttributes(composed(transpose.attributes(before).order, order))
            node.sources = merged_sources(before, node)
            if self._readers[id(operand)] == [node] and not self._graph.is_result(operand):
                self._graph.remove([before])
            return True
        if list(order) == list(range(len(order))) and not result:
            self._drop(node, operand)
            return True
        return False

    def _drop(self, node: Node, instead: Tensor) -> None:
        """Removes a transpose whose readers read another tensor instead."""
        self._credit(node)
        self._graph.remove([node])
        self._graph.replace_uses(node.output, instead)

    def _credit(self, node: Node) -> None:
        """Notes that the first reader of a transpose computes its operators of the file, before it goes."""
        readers = self._readers.get(id(node.output), [])
        if readers:
            readers[0].sources = merged_sources(readers[0], node)

    def _shared(self, node: Node) -> bool:
        """Removes a transpose that another computes already."""
        attrs = transpose.attributes(node)
        for other in self._readers[id(node.input(0))]:
            same = other.op == "transpose" and other.attrs == attrs and other.output.type == node.output.type
            if other is node:
                return False  # the first one stays
            if same and not self._graph.is_result(node.output):
                self._drop(node, other.output)
                return True
        return False

    def _sunk(self, node: Node) -> bool:
        """Moves a transpose past its readers, if that costs no more than it costs now.

        An output keeps its transpose; readers may read the tensor before it.
        """
        order, tensor = transpose.attributes(node).order, node.output
        self._of.follow(node)
        gains = [(reader, self._of.gain(reader, tensor, order)) for reader in self._readers.get(id(tensor), [])]
        able = [reader for reader, gain in gains if gain is not None]
        total = sum(gain for _, gain in gains if gain is not None)
        goes = len(able) == len(gains) and not self._graph.is_result(tensor)
        if not able or (total > cost(tensor, order) if goes else total >= 0):
            return False
        # The reader first whose other operands are transposed by now; those of the others will be then.
        self._of.forget()
        self._sink(min(able, key=lambda reader: self._of.others(reader, tensor, order)), tensor, order)
        return True

    def _sink(self, node: Node, tensor: Tensor, order: Order) -> None:
        """Moves the transpose of an operand past a node for which `_gain` returns a number."""
        graph, receiver = self._graph, node
        columns = self._of.weights_order(node, order)
        if node.op == "transpose":
            self._merged(node)
        elif swaps_matrix(node, tensor, order):
            attrs = cast(BatchMatmulAttributes, node.attrs)
            first = node.input(0) is tensor
            node.inputs[0 if first else 1] = self._producers[id(tensor)].input(0)
            node.attrs = BatchMatmulAttributes(attrs.adj_x != first, attrs.adj_y == first)
        elif columns is not None:
            weights = self._of.weights(self._readers[id(node.output)][0])
            if weights is not None and weights.data is not None:
                weights.data = np.ascontiguousarray(weights.data[:, np.argsort(columns)])
            node.inputs = [self._producers[id(tensor)].input(0)]
            # Its elements have another order than the value of the file.
            node.output.name, node.output.source = free_name(graph, f"{node.output.name}/moved"), None
            node.name = node.output.name
        else:
            found = ops.get(node.op).permuted(node, order)
            if found is None:
                parts = self._of.divided(node, order)
                if parts:
                    part = min(parts)[2]
                    self._divide(self._producers[id(tensor)], node, part)
                    order, found = part.second, ops.get(node.op).permuted(node, part.second)
            if found is not None:
                receiver = self._rewrite(node, order, *found)
        unread = [t for t in self._transposes() if not graph.consumers(t.output) and not graph.is_result(t.output)]
        receiver.sources = merged_sources(receiver, *unread)
        graph.remove(unread)

    def _divide(self, node: Node, reader: Node, part: Part) -> None:
        """Makes a reader of a transpose read the second of two transposes with the same effect."""
        graph, label = self._graph, node.output.name
        middle = Tensor(free_name(graph, f"{label}/joined"), moved_type(node.input(0).type, part.first))
        last = Tensor(free_name(graph, f"{label}/divided"), node.output.type)
        place = graph.nodes.index(node)
        graph.nodes[place + 1 : place + 1] = [
            Node("transpose", middle.name, [node.input(0)], [middle], TransposeAttributes(part.first), node.sources),
            (second := Node("transpose", last.name, [middle], [last], TransposeAttributes(part.second))),
        ]
        reader.inputs = [last if each is node.output else each for each in reader.inputs]
        self._producers[id(last)] = second

    def lift(self, number: int) -> bool:
        """Moves a transpose before the node that computes its operand, if that costs less than it costs now.

        Args:
            number: Of the transpose, counted from 0 in execution order.
        """
        node = self._transposes()[number]
        order = transpose.attributes(node).order
        return self._lifted(node.input(0), order, cost(node.output, order)) is not None

    def _lifted(self, tensor: Tensor, order: Order, most: float) -> Node | None:
        """Makes the node that computes a tensor read transposed operands, if these cost less than `most`.

        Returns:
            The transpose behind that node, whose operand is what a transpose of this order would make of the tensor;
            None if nothing was changed.
        """
        producer = self._of.above(tensor, order)
        if producer is None or self._of.lifted(tensor, order) >= most:
            return None
        above = order_above(producer, order)
        found = None if above is None else ops.get(producer.op).permuted(producer, inverse(above))
        return None if above is None or found is None else self._rewrite(producer, inverse(above), *found)

    def _rewrite(self, node: Node, order: Order, attrs: Attributes, after: Order) -> Node:
        """Makes a node read operands before their transposes, and transposes its results; returns one of these."""
        graph = self._graph
        made = dict[int, Tensor]()
        broadcasts = ops.get(node.op).elementwise
        for operand in node.operands:
            is_moved = broadcasts or len(operand.shape) == len(order)
            made.setdefault(id(operand), self._before(node, operand, order) if is_moved else operand)
        node.inputs = [None if tensor is None else made[id(tensor)] for tensor in node.inputs]
        node.attrs = attrs
        results = list(node.outputs)
        back = inverse(after)
        node.outputs = [Tensor(free_name(graph, f"{t.name}/moved"), moved_type(t.type, back)) for t in results]
        place = graph.nodes.index(node) + 1
        for new, old in zip(node.outputs, results, strict=True):
            if not graph.is_result(old):
                _rename(graph, new, old, back)
            behind = Node("transpose", old.name, [new], [old], TransposeAttributes(after))
            graph.nodes.insert(place, behind)
        node.name = node.outputs[0].name
        return graph.nodes[place]

    def _before(self, node: Node, operand: Tensor, order: Order) -> Tensor:
        """Returns an operand as it is before a transpose of this order."""
        producer = self._producers.get(id(operand))
        if producer is not None and producer.op == "transpose" and transpose.attributes(producer).order == order:
            return producer.input(0)
        if operand.type.elements == 1 and len(operand.shape) < len(order):
            return operand
        graph, back = self._graph, inverse(order)
        shape = of_higher_rank(operand, len(order))
        place = graph.nodes.index(node)
        if operand.data is not None:
            whole = Tensor(operand.name, reshaped(operand, shape), operand.data.reshape(shape))
            data = np.ascontiguousarray(operand.data.reshape(shape).transpose(back))
            return Tensor(free_name(graph, f"{operand.name}/moved"), moved_type(whole.type, back), data)
        if is_free(shape, back):
            new_shape = tuple(shape[axis] for axis in back)
            new = Tensor(free_name(graph, f"{operand.name}/moved"), reshaped(operand, new_shape))
            graph.nodes.insert(place, Node("reshape", new.name, [operand], [new], ReshapeAttributes(new_shape)))
            return new
        lifted = self._lifted(operand, back, operand.type.bytes) if shape == operand.shape else None
        if lifted is not None:
            return lifted.input(0)
        if shape != operand.shape:
            wide = Tensor(free_name(graph, f"{operand.name}/wide"), reshaped(operand, shape))
            graph.nodes.insert(place, Node("reshape", wide.name, [operand], [wide], ReshapeAttributes(shape)))
            operand, place = wide, place + 1
        new = Tensor(free_name(graph, f"{operand.name}/moved"), moved_type(operand.type, back))
        graph.nodes.insert(place, Node("transpose", new.name, [operand], [new], TransposeAttributes(back)))
        return new


def _rename(graph: Graph, new: Tensor, old: Tensor, order: Order) -> None:
    """Gives a tensor the name and number that another has in the file: its axes are that one's in another order."""
    if old.source is None:
        return
    before = old.order or tuple(range(len(order)))
    stored = composed(before, order)
    new.name, old.name = old.name, free_name(graph, f"{old.name}/transposed")
    new.source, old.source = old.source, None
    new.order, old.order = (None if list(stored) == sorted(stored) else stored), None
