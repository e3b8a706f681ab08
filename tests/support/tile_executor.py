"""Executes a plan for tiles in numpy, as a device would: memory is bytes, and tiles know what was brought in."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from aboard import ops
from aboard.ir import Array, Tensor
from aboard.ops import interpreter
from aboard.ops.subgraph import Matched
from aboard.target import TileConstraint
from aboard.tiling import Tile, TilePlan, Transfer
from aboard.tiling.tiled_match import is_elsewhere


def reference(matched: Matched, inputs: Mapping[Tensor, Array]) -> Array:
    """Returns the result of a match, computed whole."""
    values = dict(inputs)
    for node in matched.nodes:
        operands = [None if t is None else values[t] if t.data is None else t.data for t in node.inputs]
        values[node.output] = interpreter.evaluate(node, operands)[0]
    return values[matched.nodes[-1].output]


class Machine:
    """A device with a scratchpad that holds noise at the start.

    What a tile does not bring in is noise in its operands too, so that a box that is too small shows.

    Args:
        plan: What to execute.
        matched: What it is for.
        inputs: Values of the computed operands.
        constraint: What the plan was made for, where it says how constants are packed.
        eager: With two buffers: True to move as early and as late as the plan allows, False to do all in turn.
    """

    def __init__(
        self,
        plan: TilePlan,
        matched: Matched,
        inputs: Mapping[Tensor, Array],
        *,
        eager: bool = False,
        constraint: TileConstraint | None = None,
    ) -> None:
        self.rng = np.random.default_rng(5)
        self.plan, self.matched, self.inputs = plan, matched, inputs
        self.constraint = constraint or TileConstraint(plan.region.name)
        self.eager = eager and plan.double_buffered
        self.memory = self.rng.integers(0, 256, plan.bytes).astype(np.uint8)
        result = matched.nodes[-1].output
        self.result = self.noise(result)
        self.traffic = 0

    def run(self) -> Array:
        """Returns the result."""
        tiles = self.plan.tiles
        ahead = 1 if self.eager else 0
        for tile in tiles[:ahead]:
            self.load(tile)
        for index, tile in enumerate(tiles):
            for later in tiles[index + ahead : index + ahead + 1]:
                self.load(later)
            self.compute(tile)
            if index >= ahead:
                self.store(tiles[index - ahead])
        for tile in tiles[len(tiles) - ahead :]:
            self.store(tile)
        return self.result

    def noise(self, tensor: Tensor) -> Array:
        """Returns random values for a tensor."""
        values: Array = self.rng.integers(-100, 100, tensor.shape).astype(tensor.dtype.numpy)
        return values

    def load(self, tile: Tile) -> None:
        """Brings in what a tile says."""
        for transfer in tile.loads:
            self.traffic += transfer.bytes
            if self.is_packed(transfer):
                brought = np.full(transfer.bytes, sum(transfer.box.start) % 251, np.uint8)
            else:
                values = self.inputs[transfer.tensor] if transfer.tensor.data is None else transfer.tensor.data
                brought = np.frombuffer(values[transfer.box.slices].tobytes(), np.uint8)
            self.memory[transfer.offset : transfer.offset + transfer.bytes] = brought

    def is_packed(self, transfer: Transfer) -> bool:
        """True for what only the device's code generator knows the bytes of; here it is marked by where it begins."""
        weights = transfer.tensor.is_constant and any(
            ops.get(node.op).weights_axis is not None and transfer.tensor is node.input(1)
            for node in self.matched.nodes
        )
        return transfer.parameters or (weights and self.constraint.weight_bytes is not None)

    def read(self, transfer: Transfer) -> Array:
        """Returns the part of a tensor that lies in the scratchpad."""
        found = self.memory[transfer.offset : transfer.offset + transfer.bytes]
        if self.is_packed(transfer):
            assert (found == sum(transfer.box.start) % 251).all(), "packed for other channels"
            return np.zeros(0) if transfer.parameters else np.asarray(transfer.tensor.data)[transfer.box.slices]
        values: Array = np.frombuffer(found.tobytes(), transfer.tensor.dtype.numpy).reshape(transfer.box.shape)
        return values

    def compute(self, tile: Tile) -> None:
        """Computes a tile from the scratchpad into the scratchpad."""
        values: dict[Tensor, Array] = {}
        for transfer in tile.operands:
            part = self.read(transfer)
            if not transfer.parameters:
                values[transfer.tensor] = self.noise(transfer.tensor)
                values[transfer.tensor][transfer.box.slices] = part
        for node in self.matched.nodes:
            for index, tensor in enumerate(node.inputs):
                if tensor is not None and is_elsewhere(self.constraint, node, index):
                    values[tensor] = np.asarray(tensor.data)
            operands = [None if t is None else values[t] for t in node.inputs]
            values[node.output] = interpreter.evaluate(node, operands)[0]
        result = values[self.matched.nodes[-1].output][tile.output.slices].tobytes()
        self.memory[tile.store.offset : tile.store.offset + tile.store.bytes] = np.frombuffer(result, np.uint8)

    def store(self, tile: Tile) -> None:
        """Takes the result of a tile away."""
        self.traffic += tile.store.bytes
        self.result[tile.output.slices] = self.read(tile.store)
