"""A tile plan: the part of each tensor in the scratchpad, its address there, and the tile that transfers it.

A device computes the tiles in order. For each tile it transfers `loads` into the scratchpad, computes the box `output`
and transfers `store` out. The parts in `resident` are still in place from an earlier tile.
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
        box: The part of the tensor, in the tensor's axes.
        offset: Bytes from the start of the memory region; a multiple of its `align`.
        bytes: Its size. Elements are in the order of the tensor's axes without gaps, even if the box is only a part of
            a row.
        parameters: True for the packed parameters of output channels (`TileConstraint.parameter_bytes`): bias,
            multipliers, and other data of the device. `tensor` is then their weights, and `box` has one axis: the
            output channels.
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
        output: The part of the match's last result that the tile computes.
        loads: Parts to transfer in: operands, weights, parameters; in the order of nodes and operands.
        resident: Parts that it reads and that an earlier tile transferred, in the same order.
        store: Its result until it is transferred out; `tensor` is the match's last result, `box` is `output`.
        padding: Pixels of padding around the operand's box (top, bottom, left, right) of the match's first node that
            has a window; 0 where the tile is inside the image. The window slides over box and padding together.
        macs: Multiply-accumulates; elements of the result if the match has none.
    """

    output: Box
    loads: tuple[Transfer, ...]
    resident: tuple[Transfer, ...]
    store: Transfer
    padding: tuple[int, int, int, int]
    macs: int

    @property
    def operands(self) -> tuple[Transfer, ...]:
        """All parts that the tile reads: `loads` and `resident`."""
        return (*self.loads, *self.resident)

    def place(self, tensor: Tensor, *, parameters: bool = False) -> Transfer:
        """Returns the transfer of a tensor that the tile reads or writes.

        Args:
            tensor: An operand, a constant, or the result.
            parameters: True for the packed parameters of a weight tensor instead of the weights.

        Raises:
            KeyError: The tile does not use the tensor.
        """
        for transfer in (*self.operands, self.store):
            if transfer.tensor is tensor and transfer.parameters == parameters:
                return transfer
        raise KeyError(tensor.name)


@dataclass(frozen=True)
class TilePlan:
    """The tiles of a match, in order.

    Each element of the result is computed exactly once. When `double_buffered`, the loads of tile i + 1 and the store
    of tile i - 1 may run while tile i is computed: they touch no memory that tile i reads or writes. The store of
    tile i must end before tile i + 2 is computed, and the loads of tile i + 1 must not begin before tile i - 1 is
    computed. Otherwise load, compute and store follow each other, tile by tile.

    Attributes:
        region: Name of the memory region.
        tiles: The tiles in order.
        bytes: Bytes used, from the start of the region.
        double_buffered: True if transfers overlap with computing.
        traffic_bytes: Total bytes of all transfers.
        cycles: Estimated cycles of the device, including transfers and set-up.
    """

    region: MemoryRegion
    tiles: tuple[Tile, ...]
    bytes: int
    double_buffered: bool
    traffic_bytes: int
    cycles: float
