"""Moves transposes towards the outputs, past nodes that can compute with axes in another order, until they cancel.

The importer of ONNX puts a transpose before and behind each node whose kernels want channels last::

    transpose -> conv2d -> transpose -> relu -> transpose -> conv2d -> transpose

A transpose moves past a node if what it costs further down is no more than what it costs now. Then two meet, and cancel
or become one; the transposes at the border of the model are left.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, cast

import numpy as np
from typing_extensions import override

from aboard import ops
from aboard.ir import Array, Attributes, Graph, Node, Tensor
from aboard.ops import transpose
from aboard.ops.axes import Order, composed, inverse
from aboard.ops.batch_matmul import BatchMatmulAttributes
from aboard.ops.reshape import ReshapeAttributes
from aboard.ops.transpose import TransposeAttributes
from aboard.passes.contract import Pass
from aboard.passes.registry import register
from aboard.passes.rewriting import free_name, merged_sources
from aboard.passes.transposition import Undo, cost, is_free, moved_bytes, moved_type, of_higher_rank, reshaped

#: Moves at most, for each node of a graph. Each makes the cost less, or brings a transpose further down, so that they
#: come to an end; costs are estimates, though.
_MOST_MOVES = 20


@register
@dataclass(frozen=True)
class MoveTransposes(Pass):
    """Moves transposes past other nodes and merges them, where the bytes that they move become no more."""

    name: ClassVar[str] = "move-transposes"
    summary: ClassVar[str] = "moves transposes past other nodes until they cancel or reach the border"

    @override
    def run(self, graph: Graph) -> None:
        before, undo = moved_bytes(graph), Undo(graph)
        for _ in range(_MOST_MOVES * len(graph.nodes)):
            if not _Mover(graph).step():
                break
        if moved_bytes(graph) > before:
            undo()

    @override
    def pending(self, graph: Graph) -> str | None:
        """Returns None: whether a move pays is known only by trying it."""
        return None


class _Mover:
    """One move in a graph; readers and producers are looked up once for each."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._producers = {id(tensor): node for node in graph.nodes for tensor in node.outputs}
        self._readers: dict[int, list[Node]] = {}
        for node in graph.nodes:
            for tensor in {id(each): each for each in node.operands}.values():
                self._readers.setdefault(id(tensor), []).append(node)
        self._origin: Node | None = None
        self._moving: set[tuple[int, Order]] = set()
        self._costs: dict[tuple[int, Order], float] = {}

    def step(self) -> bool:
        """Makes one move; returns False if none is left.

        Costs are known only where transposes that meet are one.
        """
        moves = (self._named, self._merged, self._shared, self._sunk)
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
        """Moves a transpose past its readers, if that costs no more than it costs now."""
        if self._graph.is_result(node.output):
            return False
        order, tensor = transpose.attributes(node).order, node.output
        self._origin = node
        self._follow(tensor, order)
        gains = [(reader, self._gain(reader, tensor, order)) for reader in self._readers.get(id(tensor), [])]
        able = [reader for reader, gain in gains if gain is not None]
        total = sum(gain for _, gain in gains if gain is not None)
        goes = len(able) == len(gains)
        if not able or (total > cost(tensor, order) if goes else total >= 0):
            return False
        # The reader first whose other operands are transposed by now; those of the others will be then.
        self._moving = set()
        self._sink(min(able, key=lambda reader: self._others(reader, tensor, order)), tensor, order)
        return True

    def _follow(self, tensor: Tensor, order: Order) -> None:
        """Notes what a transpose can reach: an operand that it reaches too needs no transpose of its own."""
        self._costs.clear()
        self._moving, found = set(), [(tensor, order)]
        while found:
            tensor, order = found.pop()
            if (id(tensor), order) in self._moving:
                continue
            self._moving.add((id(tensor), order))
            for reader in self._readers.get(id(tensor), []):
                after = None if reader.op == "transpose" else ops.get(reader.op).permuted(reader, order)
                found += [(result, after[1]) for result in reader.outputs] if after is not None else []

    def _gain(self, reader: Node, tensor: Tensor, order: Order) -> float | None:
        """Returns what transposes cost more if the one of an operand moves past a reader; None where it cannot."""
        if reader.op == "transpose":
            own = transpose.attributes(reader).order
            return cost(reader.output, composed(order, own)) - cost(reader.output, own)
        if _swaps_matrix(reader, tensor, order) or self._weights_order(reader, order) is not None:
            return 0.0
        found = ops.get(reader.op).permuted(reader, order)
        if found is None:
            return None
        return self._others(reader, tensor, order) + sum(self._below(result, found[1]) for result in reader.outputs)

    def _below(self, tensor: Tensor, order: Order) -> float:
        """Returns what a transpose costs behind a node: there, or further down."""
        key = id(tensor), order
        if key not in self._costs:
            self._costs[key] = here = cost(tensor, order)
            gains = [self._gain(reader, tensor, order) for reader in self._readers.get(id(tensor), [])]
            if not self._graph.is_result(tensor):
                stays = here if None in gains else 0.0
                self._costs[key] = min(here, stays + sum(gain for gain in gains if gain is not None))
        return self._costs[key]

    def _others(self, node: Node, moved: Tensor, order: Order) -> float:
        """Returns what transposes of the other operands cost more."""
        total = 0.0
        for operand in {id(each): each for each in node.operands if each is not moved}.values():
            before = self._producers.get(id(operand))
            if operand.is_constant or (id(operand), order) in self._moving:
                continue
            if before is not None and before.op == "transpose" and transpose.attributes(before).order == order:
                total -= cost(operand, order) if self._readers[id(operand)] == [node] else 0.0
            elif not is_free(of_higher_rank(operand, len(order)), inverse(order)) and not self._is_there(
                operand, order
            ):
                total += operand.type.bytes + 1  # More than it can save elsewhere: moves must come to an end.
        return total

    def _is_there(self, tensor: Tensor, order: Order) -> bool:
        """True if the transpose of a tensor that undoes an order is computed anyway, by another than the one moved."""
        wanted = TransposeAttributes(inverse(order))
        readers = (node for node in self._readers[id(tensor)] if node is not self._origin)
        return any(node.op == "transpose" and node.attrs == wanted for node in readers)

    def _weights_order(self, node: Node, order: Order) -> Array | None:
        """Returns the new order of the columns of constant weights that makes a transpose before a flattening needless.

        Args:
            node: A reshape that only a fully_connected reads.
            order: Of the transpose before it.

        Returns:
            For each column of the weights its new place; None where there is none.
        """
        readers = self._readers.get(id(node.output), []) if node.op == "reshape" else []
        if len(readers) != 1 or readers[0].op != "fully_connected" or self._graph.is_result(node.output):
            return None
        if readers[0].input(0) is not node.output or self._weights(readers[0]) is None:
            return None
        columns = readers[0].input(1).shape[1]
        before = [node.input(0).shape[axis] for axis in inverse(order)]
        places = np.arange(node.output.type.elements).reshape(before).transpose(order).reshape(-1, columns)
        within = places - columns * np.arange(len(places))[:, None]
        return within[0] if np.all(within == within[0]) and 0 <= within.min() <= within.max() < columns else None

    def _weights(self, node: Node) -> Tensor | None:
        """Returns the constant that holds the weights of a node, quantised or not; None without one of its own."""
        weights = node.input(1)
        producer = self._producers.get(id(weights))
        if producer is not None and producer.op == "dequantize" and self._readers[id(weights)] == [node]:
            weights = producer.input(0)
        return weights if weights.is_constant and len(self._readers[id(weights)]) == 1 else None

    def _sink(self, node: Node, tensor: Tensor, order: Order) -> None:
        """Moves the transpose of an operand past a node for which `_gain` returns a number."""
        graph, receiver = self._graph, node
        columns = self._weights_order(node, order)
        if node.op == "transpose":
            self._merged(node)
        elif _swaps_matrix(node, tensor, order):
            attrs = cast(BatchMatmulAttributes, node.attrs)
            first = node.input(0) is tensor
            node.inputs[0 if first else 1] = self._producers[id(tensor)].input(0)
            node.attrs = BatchMatmulAttributes(attrs.adj_x != first, attrs.adj_y == first)
        elif columns is not None:
            weights = self._weights(self._readers[id(node.output)][0])
            if weights is not None and weights.data is not None:
                weights.data = np.ascontiguousarray(weights.data[:, np.argsort(columns)])
            node.inputs = [self._producers[id(tensor)].input(0)]
            # Its elements have another order than the value of the file.
            node.output.name, node.output.source = free_name(graph, f"{node.output.name}/moved"), None
            node.name = node.output.name
        else:
            found = ops.get(node.op).permuted(node, order)
            if found is not None:
                receiver = self._rewrite(node, order, *found)
        unread = [t for t in self._transposes() if not graph.consumers(t.output) and not graph.is_result(t.output)]
        receiver.sources = merged_sources(receiver, *unread)
        graph.remove(unread)

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
        if shape != operand.shape:
            wide = Tensor(free_name(graph, f"{operand.name}/wide"), reshaped(operand, shape))
            graph.nodes.insert(place, Node("reshape", wide.name, [operand], [wide], ReshapeAttributes(shape)))
            operand, place = wide, place + 1
        new = Tensor(free_name(graph, f"{operand.name}/moved"), moved_type(operand.type, back))
        graph.nodes.insert(place, Node("transpose", new.name, [operand], [new], TransposeAttributes(back)))
        return new


def _swaps_matrix(node: Node, tensor: Tensor, order: Order) -> bool:
    """True for a product of matrices, one of which has its last two axes swapped by a transpose of this order."""
    rank = len(order)
    swapped = (*range(rank - 2), rank - 1, rank - 2)
    return (
        node.op == "batch_matmul" and order == swapped and node.input(0) is not node.input(1) and tensor in node.inputs
    )


def _rename(graph: Graph, new: Tensor, old: Tensor, order: Order) -> None:
    """Gives a tensor the name and number that another has in the file: its axes are that one's in another order."""
    if old.source is None:
        return
    before = old.order or tuple(range(len(order)))
    stored = composed(before, order)
    new.name, old.name = old.name, free_name(graph, f"{old.name}/transposed")
    new.source, old.source = old.source, None
    new.order, old.order = (None if list(stored) == sorted(stored) else stored), None
