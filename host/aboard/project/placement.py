"""Places the arenas, the state and the weights of models in the memory regions of a board."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aboard.base.manifest import Manifest
from aboard.boards.board import Board
from aboard.errors import TargetError
from aboard.target import regions

_ARENA_ALIGN = 16
#: Name of the array in the board's data region, the default place of arenas.
SHARED = "arena"
#: Name of an array for single nodes alone: where the arena holds state, which running a node must not overwrite.
WORKSPACE = "workspace"


@dataclass(frozen=True)
class ArenaBuffer:
    """An array that stores an arena of one or more models, or the state of one.

    Attributes:
        variable: Name of the array in the application.
        bytes: Size, a multiple of 16.
        region: Memory region; None if the memory of the board is not known.
        section: Linker section; None for the default section of data.
        is_state: True for the state of a model, which models do not share.
    """

    variable: str
    bytes: int
    region: str | None
    section: str | None
    is_state: bool = False


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
        variables: For each model, the arrays of its arenas, in the order of the arenas, then that of its state block.
        weights: Weights in another memory region than the code.
        workspace: The array that serves as workspace for single nodes: an arena without state, else one of its own.
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
    def state(self) -> int:
        """Bytes of state in the data region."""
        return sum(buffer.bytes for buffer in self.buffers if buffer.is_state and buffer.section is None)

    @property
    def workspace_bytes(self) -> int:
        """Bytes of the array for single nodes alone; 0 if they use an arena."""
        return sum(buffer.bytes for buffer in self.buffers if buffer.variable == WORKSPACE)

    @property
    def further(self) -> tuple[ArenaBuffer, ...]:
        """All other arrays."""
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
        workspace_bytes: Bytes of workspace for a single node; the largest array without state grows to this size.

    Raises:
        TargetError: A model names a memory region that the board does not have, or that does not suit; or a model has
            its state in an arena that others would share.
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
    _check_states(models)
    keeping = {_home_of_state(model, home) for model, home in zip(models, homes, strict=True) if _keeps_inside(model)}
    free = [region for region in sizes if region not in keeping]
    largest = max(free, key=lambda region: (sizes[region], region == data), default=None)
    if free:
        sizes[largest] = max(sizes[largest], workspace_bytes)
    names = {region: SHARED if region == data else f"{region}_arena" for region in sizes}
    buffers = [
        ArenaBuffer(
            variable=names[region],
            bytes=_aligned(size),
            region=region,
            section=None if known is None or region == data else f".aboard.{region}",
        )
        for region, size in sizes.items()
    ]
    states = [_state(model, known, data) for model in models]
    if not free and workspace_bytes:
        buffers.append(ArenaBuffer(WORKSPACE, _aligned(workspace_bytes), data, None))
    return Placement(
        buffers=(*sorted(buffers, key=lambda buffer: buffer.variable != SHARED), *filter(None, states)),
        variables=tuple(
            (*(names[region] for region in of_model), *([] if state is None else [state.variable]))
            for of_model, state in zip(homes, states, strict=True)
        ),
        weights=tuple(_weights(models, known)),
        workspace=names[largest] if free else WORKSPACE,
    )


def _aligned(size: int) -> int:
    return max(-(-size // _ARENA_ALIGN) * _ARENA_ALIGN, _ARENA_ALIGN)


def _keeps_inside(model: Manifest) -> bool:
    """True for a model whose state is at the end of an arena."""
    return model.state is not None and not model.has_state_block


def _home_of_state(model: Manifest, regions_of_arenas: Sequence[str | None]) -> str | None:
    """Returns the region of the arena that contains the state of a model."""
    return regions_of_arenas[model.state.memory if model.state is not None else 0]


def _state(model: Manifest, board: Board | None, data: str | None) -> ArenaBuffer | None:
    """Returns the array of a model's state block; None without one."""
    block = model.state
    if block is None or not model.has_state_block:
        return None
    region = data
    if block.region is not None:
        region = block.region
        if board is not None:
            region = regions.writable(board, block.region, model.name, "-state").name
    return ArenaBuffer(
        variable=f"{model.name}_state",
        bytes=_aligned(block.bytes),
        region=region,
        section=None if board is None or region == data else f".aboard.{region}",
        is_state=True,
    )


def _check_states(models: Sequence[Manifest]) -> None:
    """Raises for a model whose state is at the end of an arena that other models of the image would overwrite."""
    inside = next(filter(_keeps_inside, models), None)
    if inside is not None and len(models) > 1:
        raise TargetError(
            f"{inside.name}: -state=arena does not suit an image of {len(models)} models, which share their arenas, "
            "expected state in memory of its own. Compile the model without -state=arena"
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
