"""A plan for tiles: the part of each tensor in the scratchpad, its address there, and when it is moved.

A device works off the tiles in order. For each, it brings in what `loads` names, computes the box `output` and takes
the result away as in `store`. The parts in `resident` are still in place from an earlier tile.
"""

from __future__ import annotations

from dataclasses import dataclass

from aboard.ir import Tensor
from aboard.ops.box import Box
from aboard.target.device import MemoryRegion


@dataclass(frozen=True)
class Transfer:
    """A part of a tensor in the scratchpad.

    Attributes:
        tensor: The tensor. One with `data` is a constant, which the code generator packs; any other is an operand or
            result of the match.
        box: The part of it, in its own axes.
        offset: Bytes from the start of the memory region; a multiple of its `align`.
        bytes: Bytes it occupies. Elements are in the order of the tensor's axes without gaps: no padding, even if
            the box is only a part of a row.
        parameters: True for the packed parameters of output channels (`TileConstraint.parameter_bytes`): bias,
            multipliers, whatever the device wants of them. `tensor` is then the weights they belong to, and `box` has
            one axis: the output channels.
    """

    tensor: Tensor
    box: Box
    offset: int
    bytes: int
    parameters: bool = False


@dataclass(frozen=True)
class Tile:
    """One piece of a layer.

    Attributes:
        output: Which part of the match's last result it computes.
        loads: What is brought in for it: operands, weights, parameters; in the order of the nodes and their operands.
        resident: What it needs and is there from an earlier tile, likewise.
        store: Its result until it is taken away; `tensor` is the match's last result, `box` is `output`.
        padding: Pixels of padding around the operand's box (top, bottom, left, right) of the match's first node that
            has a window; 0 where the tile is inside the image. The window slides over box and padding together.
        macs: Multiply-accumulates; where the match has none, elements of the result.
    """

    output: Box
    loads: tuple[Transfer, ...]
    resident: tuple[Transfer, ...]
    store: Transfer
    padding: tuple[int, int, int, int]
    macs: int

    @property
    def operands(self) -> tuple[Transfer, ...]:
        """All that it reads: `loads` and `resident`."""
        return (*self.loads, *self.resident)

    def place(self, tensor: Tensor, *, parameters: bool = False) -> Transfer:
        """Returns the transfer of a tensor that it reads or writes.

        Args:
            tensor: An operand, a constant, or the result.
            parameters: For weights: their packed parameters instead.

        Raises:
            KeyError: It is not among them.
        """
        for transfer in (*self.operands, self.store):
            if transfer.tensor is tensor and transfer.parameters == parameters:
                return transfer
        raise KeyError(tensor.name)


@dataclass(frozen=True)
class TilePlan:
    """How a match is computed tile by tile.

    Each element of the result is computed exactly once. When `double_buffered`, the loads of tile i + 1 and the store
    of tile i - 1 may run while tile i is computed: they touch nothing that tile i reads or writes. The store of tile i
    must then be done before tile i + 2 is computed, the loads of tile i + 1 must not begin before tile i - 1 is
    computed. Otherwise load, compute and store follow each other, tile by tile.

    Attributes:
        region: The memory of the tiles.
        tiles: The tiles in order.
        bytes: Bytes of the region that are used, from its start.
        double_buffered: True when transfers overlap computing.
        traffic_bytes: Bytes that are moved in all.
        cycles: Estimated cycles of the device, transfers and set-up included.
    """

    region: MemoryRegion
    tiles: tuple[Tile, ...]
    bytes: int
    double_buffered: bool
    traffic_bytes: int
    cycles: float
