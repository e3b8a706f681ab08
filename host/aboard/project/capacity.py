"""Whether models fit a board, from their manifests: asked before anything is built."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from aboard import boards
from aboard.base.manifest import Manifest
from aboard.boards.board import Board
from aboard.errors import BoardError, CapacityError, TargetError
from aboard.project import mlperf, placement, templates
from aboard.project.placement import Placement
from aboard.project.templates import OptionValue

#: The least an image needs beside models and buffers: start-up code, drivers, server (measured: 5 to 7 KB), its state.
IMAGE_FLASH_BYTES = 4096
IMAGE_RAM_BYTES = 256
_TICK_BYTES = 8


@dataclass(frozen=True)
class MemoryUse:
    """Bytes of RAM that a project reserves.

    Attributes:
        placement: Arenas and weights by memory region.
        input_copy: Copy of the inputs; 0 for none.
        nodes: Entries of the profile, 8 bytes each; 0 for none.
        buffers: RPC message, or inputs of MLPerf Tiny, and received bytes.
        stack: Stack.
    """

    placement: Placement
    input_copy: int
    nodes: int
    buffers: int
    stack: int

    @property
    def arena(self) -> int:
        """Bytes of the arena in the data region, which models share; 0 where there is none."""
        return self.placement.shared

    @property
    def total(self) -> int:
        """All of it in the data region, with what the image needs in any case; without weights."""
        return self.arena + self.input_copy + self.nodes * _TICK_BYTES + self.buffers + self.stack + IMAGE_RAM_BYTES


def _number(options: Mapping[str, OptionValue], name: str) -> int:
    value = options.get(name, 0)
    return value if isinstance(value, int) else 0


def plan(models: Sequence[Manifest], options: Mapping[str, OptionValue], board: Board | None = None) -> MemoryUse:
    """Returns what models need together under a template's options.

    Args:
        models: The models of an image.
        options: The options of its template; those a template does not have count as off.
        board: The board that memory regions are looked for on; None to look at sizes alone.

    Raises:
        TargetError: A model names a memory region that the board does not have, or that does not suit.
    """
    workspace = max((n.workspace_bytes for m in models for n in m.nodes), default=0) if options.get("run_op") else 0
    served = mlperf.plan(models, options).buffers if mlperf.asked_for(options) else _number(options, "frame_bytes")
    consumed = [model for model in models if model.input_mode == "consumed"]
    copies = [sum(tensor.bytes for tensor in model.inputs) for model in consumed]
    return MemoryUse(
        placement=placement.place(models, board, workspace),
        input_copy=max(copies, default=0) if options.get("input_copy") else 0,
        nodes=max(len(model.nodes) for model in models) if options.get("profile") else 0,
        buffers=served + _number(options, "receive_bytes"),
        stack=_number(options, "stack_bytes"),
    )


@dataclass(frozen=True)
class Use:
    """What an image needs of a kind of memory, and what the board has.

    Attributes:
        kind: `ram` or `flash`: the regions of data and of code.
        items: Bytes by what they are for.
        available: Bytes that the board has; None where that is not limited.
    """

    kind: str
    items: Mapping[str, int]
    available: int | None

    @property
    def needed(self) -> int:
        """All of the items."""
        return sum(self.items.values())

    @property
    def fits(self) -> bool:
        """True where the board has as much."""
        return self.available is None or self.needed <= self.available


@dataclass(frozen=True)
class Fit:
    """Whether models fit a board.

    Attributes:
        ram: RAM in the region of data: arena, copied weights, buffers, stack.
        flash: Flash in the region of code: constants, code as predicted, the least that the firmware takes.
        elsewhere: What does not fit into other regions, in words.
    """

    ram: Use
    flash: Use
    elsewhere: tuple[str, ...] = ()

    @property
    def problems(self) -> tuple[str, ...]:
        """What does not fit, in words."""
        lacking = [
            f"{use.kind}: {use.needed:,} bytes needed, {use.available:,} available"
            for use in (self.ram, self.flash)
            if not use.fits
        ]
        return (*lacking, *self.elsewhere)


def fit(models: Sequence[Manifest], options: Mapping[str, OptionValue], board: Board) -> Fit:
    """Returns whether models fit a board together, with what they need, item by item.

    Raises:
        TargetError: A model names a memory region that the board does not have, or that does not suit.
    """
    memory = plan(models, options, board)
    copied = memory.placement.used(board.data_memory.name)[1] if board.data_memory else 0
    ram = {
        "arena": memory.arena,
        "copied weights": copied,
        "copy of the inputs": memory.input_copy,
        "buffers": memory.buffers,
        "profile": memory.nodes * _TICK_BYTES,
        "stack": memory.stack,
        "firmware": IMAGE_RAM_BYTES,
    }
    elsewhere = sum(weights.bytes for weights in memory.placement.weights if not weights.copied)
    code = sum(max((m.flash_predicted_bytes or 0) - m.weights_bytes, 0) for m in models)
    constants = sum(model.weights_bytes for model in models) - elsewhere
    flash = {"constants": constants, "code, predicted": code, "firmware": IMAGE_FLASH_BYTES}
    return Fit(
        Use("ram", {name: size for name, size in ram.items() if size}, board.ram_bytes),
        Use("flash", {name: size for name, size in flash.items() if size}, board.flash_bytes),
        tuple(_elsewhere(memory.placement, board)),
    )


def fit_alone(model: Manifest, board: Board) -> Fit:
    """Returns whether a model fits a board as the one model of the board's default project.

    A memory region that the model names and the board lacks is one of the problems.
    """
    template = templates.load(model.template or templates.default(board.id, is_host=board.is_host))
    options = template.parse_options({})
    try:
        return fit([model], options, board)
    except TargetError as error:
        without = model.model_copy(update={"arenas": (), "weights_region": None})
        return replace(fit([without], options, board), elsewhere=(str(error),))


def check(models: Sequence[Manifest], options: Mapping[str, OptionValue], board: Board) -> MemoryUse:
    """Returns what models need together, if it fits the board.

    Code is left to the linker, which knows its size: what is predicted of it does not refuse a model.

    Raises:
        TargetError: A model names a memory region that the board does not have, or that does not suit.
        CapacityError: It does not fit into one of the board's memory regions.
    """
    memory = plan(models, options, board)
    placed = memory.placement
    flash = sum(model.weights_bytes for model in models) + IMAGE_FLASH_BYTES
    flash -= sum(weights.bytes for weights in placed.weights if not weights.copied)
    problems = [*_of_code_and_data(memory, flash, board), *_elsewhere(placed, board)]
    if problems:
        names = " and ".join(model.name for model in models)
        verb = "does" if len(models) == 1 else "do"
        raise CapacityError(
            f"{board.id}: {names} {verb} not fit. {'; '.join(problems)}. {_advice(memory, flash, options, board)}"
        )
    return memory


def _of_code_and_data(memory: MemoryUse, flash: int, board: Board) -> Iterator[str]:
    """Yields what does not fit into the regions of code and data."""
    copied = memory.placement.used(board.data_memory.name)[1] if board.data_memory else 0
    if board.flash_bytes is not None and flash > board.flash_bytes:
        weights = flash - IMAGE_FLASH_BYTES
        yield (
            f"flash: got {board.flash_bytes} bytes, expected at least {flash} "
            f"(constants {weights}, firmware {IMAGE_FLASH_BYTES} or more, and the code of the operators)"
        )
    if board.ram_bytes is not None and memory.total + copied > board.ram_bytes:
        also = f"copied weights {copied}, " if copied else ""
        yield (
            f"ram: got {board.ram_bytes} bytes, expected at least {memory.total + copied} (arena {memory.arena}, {also}"
            f"copy of the inputs {memory.input_copy}, buffers {memory.buffers}, stack {memory.stack}, "
            f"profile {memory.nodes * _TICK_BYTES})"
        )


def _elsewhere(placed: Placement, board: Board) -> Iterator[str]:
    """Yields what does not fit into other regions."""
    for region in board.memory:
        arenas, weights = placed.used(region.name)
        if not region.load and not region.data and arenas + weights > region.size_bytes:
            yield (
                f"{region.name}: got {region.size_bytes} bytes, expected at least {arenas + weights} "
                f"(arenas {arenas}, weights {weights})"
            )


def _advice(memory: MemoryUse, flash: int, options: Mapping[str, OptionValue], board: Board) -> str:
    """What to try, most promising first."""
    tries = []
    over = memory.total - (board.ram_bytes or memory.total)
    if 0 < over <= memory.input_copy:
        tries.append("-O input_copy=off")
    if 0 < over <= memory.nodes * _TICK_BYTES and options.get("profile"):
        tries.append("-O profile=off")
    if memory.placement.further or memory.placement.weights:
        tries.append("other regions for -arena or -weights")
    tries.append("a smaller model")
    larger = [other for other in _boards() if _holds(other, memory.total, flash)]
    if larger:
        tries.append(f"a larger board ({', '.join(other.id for other in larger[:3])})")
    return f"Try {', '.join(tries)}"


def _boards() -> list[Board]:
    found = []
    for name in boards.names():
        try:
            found.append(boards.load(name))
        except BoardError:
            continue  # a broken file of the user's is reported when its board is asked for
    return sorted(found, key=lambda board: (board.ram_bytes or 0, board.id))


def _holds(board: Board, ram: int, flash: int) -> bool:
    return (board.ram_bytes or 0) >= ram and (board.flash_bytes or 0) >= flash and board.rpc is not None
