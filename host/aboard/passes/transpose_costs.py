"""What it costs to move a transpose past a node, or before one: bytes that transposes move more."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from aboard import ops
from aboard.ir import Array, Graph, Node, Tensor
from aboard.ops import reshape, transpose
from aboard.ops.axes import Order, composed, inverse
from aboard.ops.reshape import ReshapeAttributes
from aboard.ops.transpose import TransposeAttributes
from aboard.passes.transposition import cost, is_free, of_higher_rank


@dataclass(frozen=True, order=True)
class Part:
    """A transpose before a reshape, divided in two.

    Attributes:
        first: Order of the transpose that stays.
        second: Order of the one behind it, which moves past the reshape.
        after: Its order there.
    """

    first: Order
    second: Order
    after: Order


class TransposeCosts:
    """Costs in a graph that stays as it is; readers and producers are looked up once."""

    def __init__(self, graph: Graph) -> None:
        """Takes the graph."""
        self._graph = graph
        self.producers = {id(tensor): node for node in graph.nodes for tensor in node.outputs}
        self.readers: dict[int, list[Node]] = {}
        for node in graph.nodes:
            for tensor in {id(each): each for each in node.operands}.values():
                self.readers.setdefault(id(tensor), []).append(node)
        self._origin: Node | None = None
        self._moving: set[tuple[int, Order]] = set()
        self._costs: dict[tuple[int, Order], float] = {}

    def forget(self) -> None:
        """Forgets what `follow` noted."""
        self._moving = set()

    def follow(self, origin: Node) -> None:
        """Notes what a transpose can reach: an operand that it reaches too needs no transpose of its own."""
        self._origin = origin
        tensor, order = origin.output, transpose.attributes(origin).order
        self._costs.clear()
        self._moving, found = set(), [(tensor, order)]
        while found:
            tensor, order = found.pop()
            if (id(tensor), order) in self._moving:
                continue
            self._moving.add((id(tensor), order))
            for reader in self.readers.get(id(tensor), []):
                if reader.op == "transpose":
                    continue
                after = ops.get(reader.op).permuted(reader, order)
                orders = [after[1]] if after is not None else [part.after for part in _parts(reader, order)]
                found += [(result, each) for result in reader.outputs for each in orders]

    def gain(self, reader: Node, tensor: Tensor, order: Order) -> float | None:
        """Returns what transposes cost more if the one of an operand moves past a reader; None where it cannot."""
        if reader.op == "transpose":
            own = transpose.attributes(reader).order
            return cost(reader.output, composed(order, own)) - cost(reader.output, own)
        if swaps_matrix(reader, tensor, order) or self.weights_order(reader, order) is not None:
            return 0.0
        found = ops.get(reader.op).permuted(reader, order)
        if found is None:
            costs = self.divided(reader, order)
            return min(costs)[0] if costs else None
        return self.others(reader, tensor, order) + sum(self._below(result, found[1]) for result in reader.outputs)

    def divided(self, reader: Node, order: Order) -> list[tuple[float, int, Part]]:
        """Returns what transposes cost if the second part of one moves past a reader, for each way to divide it."""
        shape = tuple(reader.input(0).shape[axis] for axis in inverse(order))
        bytes_now = float(reader.input(0).type.bytes)
        found = []
        for number, part in enumerate(_parts(reader, order)):
            stays = 0.0 if is_free(shape, part.first) else bytes_now
            found.append((stays + self._below(reader.output, part.after), number, part))
        return found

    def _below(self, tensor: Tensor, order: Order) -> float:
        """Returns what a transpose costs behind a node: there, or further down."""
        key = id(tensor), order
        if key not in self._costs:
            self._costs[key] = here = cost(tensor, order)
            gains = [self.gain(reader, tensor, order) for reader in self.readers.get(id(tensor), [])]
            stays = here if None in gains or self._graph.is_result(tensor) else 0.0
            self._costs[key] = min(here, stays + sum(gain for gain in gains if gain is not None))
        return self._costs[key]

    def others(self, node: Node, moved: Tensor, order: Order) -> float:
        """Returns what transposes of the other operands cost more."""
        total = 0.0
        for operand in {id(each): each for each in node.operands if each is not moved}.values():
            before = self.producers.get(id(operand))
            if operand.is_constant or (id(operand), order) in self._moving:
                continue
            if before is not None and before.op == "transpose" and transpose.attributes(before).order == order:
                total -= cost(operand, order) if self.readers[id(operand)] == [node] else 0.0
            elif not is_free(of_higher_rank(operand, len(order)), inverse(order)) and not self._is_there(
                operand, order
            ):
                # More than it can save elsewhere: moves must come to an end. Less, if it can go where that costs less.
                total += min(operand.type.bytes + 1, self.lifted(operand, inverse(order)))
        return total

    def _is_there(self, tensor: Tensor, order: Order) -> bool:
        """True if the transpose of a tensor that undoes an order is computed anyway, by another than the one moved."""
        wanted = TransposeAttributes(inverse(order))
        readers = (node for node in self.readers[id(tensor)] if node is not self._origin)
        return any(node.op == "transpose" and node.attrs == wanted for node in readers)

    def weights_order(self, node: Node, order: Order) -> Array | None:
        """Returns the new order of the columns of constant weights that makes a transpose before a flattening needless.

        Args:
            node: A reshape that only a fully_connected reads.
            order: Of the transpose before it.

        Returns:
            For each column of the weights its new place; None where there is none.
        """
        readers = self.readers.get(id(node.output), []) if node.op == "reshape" else []
        if len(readers) != 1 or readers[0].op != "fully_connected" or self._graph.is_result(node.output):
            return None
        if readers[0].input(0) is not node.output or self.weights(readers[0]) is None:
            return None
        columns = readers[0].input(1).shape[1]
        before = [node.input(0).shape[axis] for axis in inverse(order)]
        places = np.arange(node.output.type.elements).reshape(before).transpose(order).reshape(-1, columns)
        within = places - columns * np.arange(len(places))[:, None]
        return within[0] if np.all(within == within[0]) and 0 <= within.min() <= within.max() < columns else None

    def weights(self, node: Node) -> Tensor | None:
        """Returns the constant that holds the weights of a node, quantised or not; None without one of its own."""
        weights = node.input(1)
        producer = self.producers.get(id(weights))
        if producer is not None and producer.op == "dequantize" and self.readers[id(weights)] == [node]:
            weights = producer.input(0)
        return weights if weights.is_constant and len(self.readers[id(weights)]) == 1 else None

    def above(self, tensor: Tensor, order: Order) -> Node | None:
        """Returns the node before which a transpose of its result can go; None if there is none."""
        node = self.producers.get(id(tensor))
        alone = len(self.readers.get(id(tensor), [])) == 1 and not self._graph.is_result(tensor)
        if node is None or not alone or len(node.outputs) != 1 or node.op == "transpose":
            return None
        return node if order_above(node, order) is not None else None

    def lifted(self, tensor: Tensor, order: Order) -> float:
        """Returns what transposes of the operands of the node that computes a tensor cost; infinite without one."""
        node = self.above(tensor, order)
        above = None if node is None else order_above(node, order)
        if node is None or above is None:
            return math.inf
        operands = {id(each): each for each in node.operands}.values()
        return sum(self._transposed(each, above) for each in operands if len(each.shape) == len(above))

    def _transposed(self, tensor: Tensor, order: Order) -> float:
        """Returns what a transpose of a tensor costs more, here or before the nodes that compute the tensor."""
        producer, readers = self.producers.get(id(tensor)), self.readers.get(id(tensor), [])
        wanted = TransposeAttributes(order)
        if tensor.is_constant or is_free(tensor.shape, order):
            return 0.0
        if any(each.op == "transpose" and each.attrs == wanted for each in readers):
            return 0.0
        if producer is not None and producer.op == "transpose":
            own = transpose.attributes(producer).order
            saved = cost(tensor, own) if len(readers) == 1 and not self._graph.is_result(tensor) else 0.0
            whole = composed(own, order)
            return (0.0 if is_free(producer.input(0).shape, whole) else float(tensor.type.bytes)) - saved
        return min(float(tensor.type.bytes), self.lifted(tensor, order))


def _parts(node: Node, order: Order) -> list[Part]:
    """Returns the ways to divide a transpose before a node so that its second part can move past the node."""
    if node.op != "reshape":
        return []
    pairs = [(pair, ops.get("reshape").permuted(node, pair[1])) for pair in reshape.divided(node, order)]
    return [Part(*pair, found[1]) for pair, found in pairs if found is not None]


def order_above(node: Node, order: Order) -> Order | None:
    """Returns the order of transposes of a node's operands that do what one of its result does; None without one."""
    above: Order | None = order
    if node.op == "reshape":
        turned = Node("reshape", "", [node.output], [node.input(0)], ReshapeAttributes(node.input(0).shape))
        back = ops.get("reshape").permuted(turned, inverse(order))
        above = None if back is None else inverse(back[1])
    if above is None or len(above) != len(node.input(0).shape):
        return None
    found = ops.get(node.op).permuted(node, inverse(above))
    return above if found is not None and found[1] == inverse(order) else None


def swaps_matrix(node: Node, tensor: Tensor, order: Order) -> bool:
    """True for a product of matrices, one of which has its last two axes swapped by a transpose of this order."""
    rank = len(order)
    swapped = (*range(rank - 2), rank - 1, rank - 2)
    return (
        node.op == "batch_matmul" and order == swapped and node.input(0) is not node.input(1) and tensor in node.inputs
    )
