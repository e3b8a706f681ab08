"""What a part of a match's result needs: boxes of operands and constants, found from the last node to the first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from aboard import ops
from aboard.errors import TargetError
from aboard.ir import Node, Tensor
from aboard.ops.box import Box
from aboard.ops.subgraph import Matched
from aboard.ops.weighted import BIAS, WEIGHTS
from aboard.target.device import TileConstraint

#: Tells the pieces of a tile apart: a tensor, and whether it is its packed parameters.
Key = tuple[Tensor, bool]


@dataclass(frozen=True)
class Piece:
    """What a tile needs of one tensor: as `Transfer`, without a place.

    Attributes:
        tensor: The tensor.
        box: The part of it.
        bytes: Bytes of the part.
        parameters: True for the packed parameters of output channels.
    """

    tensor: Tensor
    box: Box
    bytes: int
    parameters: bool = False

    @property
    def key(self) -> Key:
        """What this is a piece of."""
        return self.tensor, self.parameters


@dataclass(frozen=True)
class Needs:
    """What computing a part of the result takes.

    Attributes:
        output: The part.
        pieces: What is read, in the order of the nodes and their operands.
        padding: As in `Tile`.
        macs: As in `Tile`.
    """

    output: Box
    pieces: tuple[Piece, ...]
    padding: tuple[int, int, int, int]
    macs: int


@dataclass(frozen=True)
class Layer:
    """A match that is to be cut.

    What the nodes of a match hand on to each other is not counted: the device computes a match at once.

    Attributes:
        matched: The match; only its last node is read outside.
        constraint: What the device says of it.
        where: The device, for messages.
    """

    matched: Matched
    constraint: TileConstraint
    where: str

    @property
    def result(self) -> Tensor:
        """The result that is cut."""
        return self.matched.nodes[-1].output

    @property
    def name(self) -> str:
        """Op and name of the first node, for messages."""
        first = self.matched.nodes[0]
        return f"{first.op} {first.name}"

    def whole(self) -> Needs:
        """Returns what the whole result needs.

        Raises:
            TargetError: A node of the match cannot be cut.
        """
        found = self.needs(Box.whole(self.result.shape))
        if found is not None:
            return found
        names = ", ".join(dict.fromkeys(node.op for node in self.matched.nodes))
        raise TargetError(
            f"{self.where}: tiles for {self.name}, got a match of {names}, expected ops that say what a part of their "
            "result depends on (Op.operand_boxes). Leave the others out of the pattern, or ask for no tiles"
        )

    def needs(self, output: Box) -> Needs | None:
        """Returns what a part of the result needs, or None where it cannot be computed by itself."""
        boxes = {self.result: output}
        padding: tuple[int, int, int, int] = (0, 0, 0, 0)
        for node in reversed(self.matched.nodes):
            found = _operands(node, boxes)
            if found is None:
                return None
            for tensor, box in found:
                boxes[tensor] = boxes[tensor].hull(box) if tensor in boxes else box
            padding = ops.get(node.op).box_padding(node, boxes[node.output]) or padding
        return Needs(output, tuple(self._pieces(boxes)), padding, self._macs(boxes))

    def _pieces(self, boxes: dict[Tensor, Box]) -> Iterator[Piece]:
        seen = {node.output for node in self.matched.nodes}
        for node in self.matched.nodes:
            for index, tensor in enumerate(node.inputs):
                if tensor is None or tensor in seen or is_elsewhere(self.constraint, node, index):
                    continue
                seen.add(tensor)
                yield from self._piece(node, index, tensor, boxes[tensor])

    def _piece(self, node: Node, index: int, tensor: Tensor, box: Box) -> Iterator[Piece]:
        axis, constraint = ops.get(node.op).weights_axis, self.constraint
        size = box.elements * tensor.dtype.bytes
        if axis is None or index != WEIGHTS:
            yield Piece(tensor, box, size)
            return
        channels = Box(box.start[axis : axis + 1], box.stop[axis : axis + 1])
        packed = constraint.weight_bytes
        yield Piece(tensor, box, size if packed is None else channels.elements * packed)
        if constraint.parameter_bytes:
            yield Piece(tensor, channels, channels.elements * constraint.parameter_bytes, parameters=True)

    def _macs(self, boxes: dict[Tensor, Box]) -> int:
        total = 0
        for node in self.matched.nodes:
            total += ops.get(node.op).macs(node) * boxes[node.output].elements // node.output.type.elements
        return total or boxes[self.result].elements


def is_elsewhere(constraint: TileConstraint, node: Node, index: int) -> bool:
    """True for an operand that is no piece of its own: a bias among packed parameters, a constant read in its place."""
    if not node.input(index).is_constant:
        return False
    packed = constraint.parameter_bytes is not None and ops.get(node.op).weights_axis is not None
    return not constraint.constants or (packed and index == BIAS)


def _operands(node: Node, boxes: dict[Tensor, Box]) -> list[tuple[Tensor, Box]] | None:
    if len(node.outputs) != 1 or node.output not in boxes:
        return None
    found = ops.get(node.op).operand_boxes(node, boxes[node.output])
    if found is None:
        return None
    return [(t, box) for t, box in zip(node.inputs, found, strict=True) if t is not None and box is not None]
