"""The receptive field of a part of a match's result: boxes of operands and constants."""

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

#: Identifies a piece of a tile: a tensor, and whether it is its packed parameters.
Key = tuple[Tensor, bool]


@dataclass(frozen=True)
class TilePiece:
    """The part of one tensor that a tile needs: a `Transfer` without an offset.

    Attributes:
        tensor: The tensor.
        box: The part of the tensor.
        bytes: Bytes of the part.
        parameters: True for the packed parameters of output channels.
    """

    tensor: Tensor
    box: Box
    bytes: int
    parameters: bool = False

    @property
    def key(self) -> Key:
        """Identifies the tensor and its role."""
        return self.tensor, self.parameters


@dataclass(frozen=True)
class TileFootprint:
    """The data that a part of the result needs.

    Attributes:
        output: The part of the result.
        pieces: The parts of operands and constants that it reads, in the order of nodes and operands.
        padding: As in `Tile`.
        macs: As in `Tile`.
    """

    output: Box
    pieces: tuple[TilePiece, ...]
    padding: tuple[int, int, int, int]
    macs: int


@dataclass(frozen=True)
class TiledMatch:
    """A match that is cut into tiles.

    Tensors between the nodes of the match are not counted: the accelerator computes a match at once.

    Attributes:
        matched: The match; nodes outside read only the result of its last node.
        constraint: The accelerator's limits for it.
        where: The accelerator, for error messages.
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
        """Op and name of the first node, for error messages."""
        first = self.matched.nodes[0]
        return f"{first.op} {first.name}"

    def whole(self) -> TileFootprint:
        """Returns the footprint of the whole result.

        Raises:
            TargetError: A node of the match cannot be cut.
        """
        found = self.footprint(Box.whole(self.result.shape))
        if found is not None:
            return found
        names = ", ".join(dict.fromkeys(node.op for node in self.matched.nodes))
        raise TargetError(
            f"{self.where}: tiles for {self.name}, got a match of {names}, expected ops that define what a part of "
            "their result depends on (Op.operand_boxes). Leave the others out of the pattern, or ask for no tiles"
        )

    def footprint(self, output: Box) -> TileFootprint | None:
        """Returns the footprint of a part of the result, or None if the part cannot be computed by itself."""
        boxes = {self.result: output}
        padding: tuple[int, int, int, int] = (0, 0, 0, 0)
        for node in reversed(self.matched.nodes):
            found = _operands(node, boxes)
            if found is None:
                return None
            for tensor, box in found:
                boxes[tensor] = boxes[tensor].hull(box) if tensor in boxes else box
            padding = ops.get(node.op).box_padding(node, boxes[node.output]) or padding
        return TileFootprint(output, tuple(self._pieces(boxes)), padding, self._macs(boxes))

    def _pieces(self, boxes: dict[Tensor, Box]) -> Iterator[TilePiece]:
        seen = {node.output for node in self.matched.nodes}
        for node in self.matched.nodes:
            for index, tensor in enumerate(node.inputs):
                if tensor is None or tensor in seen or is_elsewhere(self.constraint, node, index):
                    continue
                seen.add(tensor)
                yield from self._piece(node, index, tensor, boxes[tensor])

    def _piece(self, node: Node, index: int, tensor: Tensor, box: Box) -> Iterator[TilePiece]:
        axis, constraint = ops.get(node.op).weights_axis, self.constraint
        size = box.elements * tensor.dtype.bytes
        if axis is None or index != WEIGHTS:
            yield TilePiece(tensor, box, size)
            return
        channels = Box(box.start[axis : axis + 1], box.stop[axis : axis + 1])
        packed = constraint.weight_bytes
        yield TilePiece(tensor, box, size if packed is None else channels.elements * packed)
        if constraint.parameter_bytes:
            yield TilePiece(tensor, channels, channels.elements * constraint.parameter_bytes, parameters=True)

    def _macs(self, boxes: dict[Tensor, Box]) -> int:
        total = 0
        for node in self.matched.nodes:
            total += ops.get(node.op).macs(node) * boxes[node.output].elements // node.output.type.elements
        return total or boxes[self.result].elements


def is_elsewhere(constraint: TileConstraint, node: Node, index: int) -> bool:
    """True for an operand without a piece of its own: a bias in packed parameters, or a constant that is not moved."""
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
