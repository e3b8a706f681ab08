"""Places the arenas and the weights of models in the memory regions of a board."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aboard.base.manifest import Manifest
from aboard.boards.board import Board
from aboard.target import regions

_ARENA_ALIGN = 16
#: Name of the array in the board's data region, the default place of arenas.
SHARED = "arena"


@dataclass(frozen=True)
class ArenaBuffer:
    """An array that stores an arena of one or more models.

    Attributes:
        variable: Name of the array in the application.
        bytes: Size, a multiple of 16.
        region: Memory region; None if the memory of the board is not known.
        section: Linker section; None for the default section of data.
    """

    variable: str
    bytes: int
    region: str | None
    section: str | None


@dataclass(frozen=True)
class PlacedWeights:
    """Weights of a model in another memory region than the code.

    Attributes:
        model: Name of the model.
        region: Memory region that the kernels read the weights from.
        bytes: Size.
        copied: True for RAM: the start-up code copies the weights there from flash.
    """

    model: str
    region: str
    bytes: int
    copied: bool


@dataclass(frozen=True)
class Placement:
    """The arrays and the weights of an image.

    Attributes:
        buffers: The arrays; the array in the data region is first.
        variables: For each model, the arrays of its arenas, in the order of the arenas.
        weights: Weights in another memory region than the code.
        workspace: The array that serves as workspace for single nodes.
    """

    buffers: tuple[ArenaBuffer, ...]
    variables: tuple[tuple[str, ...], ...]
    weights: tuple[PlacedWeights, ...]
    workspace: str

    @property
    def shared(self) -> int:
        """Bytes of the array in the data region; 0 if there is no such array."""
        return sum(buffer.bytes for buffer in self.buffers if buffer.variable == SHARED)

    @property
    def further(self) -> tuple[ArenaBuffer, ...]:
        """The arrays in other memory regions."""
        return tuple(buffer for buffer in self.buffers if buffer.variable != SHARED)

    @property
    def own(self) -> tuple[bool, ...]:
        """For each model, True if it uses arrays other than the shared array."""
        return tuple(names != (SHARED,) for names in self.variables)

    @property
    def copies(self) -> bool:
        """True if weights are copied to RAM."""
        return any(weights.copied for weights in self.weights)

    def used(self, region: str) -> tuple[int, int]:
        """Returns the bytes of arenas and the bytes of weights in a region."""
        return (
            sum(buffer.bytes for buffer in self.buffers if buffer.region == region),
            sum(weights.bytes for weights in self.weights if weights.region == region),
        )


def place(models: Sequence[Manifest], board: Board | None, workspace_bytes: int = 0) -> Placement:
    """Returns the placement of the arenas and weights of models.

    Args:
        models: The models of an image.
        board: The board; None to compute sizes alone.
        workspace_bytes: Bytes of workspace for a single node; the largest array grows to this size.

    Raises:
        TargetError: A model names a memory region that the board does not have, or that does not suit.
    """
    known = board if board is not None and board.memory else None
    sizes: dict[str | None, int] = {}
    homes: list[list[str | None]] = []
    data = known.data_memory.name if known and known.data_memory else None
    for model in models:
        needs: list[tuple[str | None, int]] = [(data, model.ram_bytes)]
        if model.arenas:
            needs = [(_region(model, arena.region, known), arena.bytes) for arena in model.arenas]
        for region, size in needs:
            sizes[region] = max(sizes.get(region, 0), size)
        homes.append([region for region, _ in needs])
    largest = max(sizes, key=lambda region: (sizes[region], region == data))
    sizes[largest] = max(sizes[largest], workspace_bytes)
    names = {region: SHARED if region == data else f"{region}_arena" for region in sizes}
    buffers = [
        ArenaBuffer(
            variable=names[region],
            bytes=max(-(-size // _ARENA_ALIGN) * _ARENA_ALIGN, _ARENA_ALIGN),
            region=region,
            section=None if known is None or region == data else f".aboard.{region}",
        )
        for region, size in sizes.items()
    ]
    return Placement(
        buffers=tuple(sorted(buffers, key=lambda buffer: buffer.variable != SHARED)),
        variables=tuple(tuple(names[region] for region in of_model) for of_model in homes),
        weights=tuple(_weights(models, known)),
        workspace=names[largest],
    )


def _region(model: Manifest, name: str, board: Board | None) -> str:
    return name if board is None else regions.writable(board, name, model.name).name


def _weights(models: Sequence[Manifest], board: Board | None) -> list[PlacedWeights]:
    found = []
    for model in models:
        if model.weights_region is None or board is None:
            continue
        region = regions.find(board, model.weights_region, model.name, "-weights")
        if region.load:
            continue
        found.append(PlacedWeights(model.name, region.name, model.weights_bytes, copied=region.kind != "flash"))
    return found
