"""Checks from the manifests whether models fit a board, before anything is built."""

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

#: Lower bound on the flash of an image besides models and buffers: start-up code, drivers, server and its state
#: (measured: 5 to 7 KB).
IMAGE_FLASH_BYTES = 4096
IMAGE_RAM_BYTES = 256
_TICK_BYTES = 8


@dataclass(frozen=True)
class MemoryUse:
    """Bytes of RAM that a project reserves.

    Attributes:
        placement: Arenas and weights by memory region.
        input_copy: Bytes for a copy of the inputs; 0 for no copy.
        nodes: Entries of the profile, 8 bytes each; 0 for no profile.
        buffers: Bytes for the RPC message or the inputs of MLPerf Tiny, and for received bytes.
        stack: Bytes of the stack.
    """

    placement: Placement
    input_copy: int
    nodes: int
    buffers: int
    stack: int

    @property
    def arena(self) -> int:
        """Bytes of the arena in the data region, which models share; 0 if there is no such arena."""
        return self.placement.shared

    @property
    def total(self) -> int:
        """All bytes in the data region, including the fixed needs of the image, without weights."""
        return (
            self.arena
            + self.placement.state
            + self.placement.workspace_bytes
            + self.input_copy
            + self.nodes * _TICK_BYTES
            + self.buffers
            + self.stack
            + IMAGE_RAM_BYTES
        )


def _number(options: Mapping[str, OptionValue], name: str) -> int:
    value = options.get(name, 0)
    return value if isinstance(value, int) else 0


def plan(models: Sequence[Manifest], options: Mapping[str, OptionValue], board: Board | None = None) -> MemoryUse:
    """Returns the memory that models need together under a template's options.

    Args:
        models: The models of an image.
        options: The options of the template; an option that a template lacks counts as off.
        board: The board with the memory regions; None to compute sizes alone.

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
    """The bytes of one kind of memory that an image needs and that the board has.

    Attributes:
        kind: `ram` (the region of data) or `flash` (the region of code).
        items: Bytes by purpose.
        available: Bytes that the board has; None for no limit.
    """

    kind: str
    items: Mapping[str, int]
    available: int | None

    @property
    def needed(self) -> int:
        """Sum of the items, in bytes."""
        return sum(self.items.values())

    @property
    def fits(self) -> bool:
        """True if the board has enough memory."""
        return self.available is None or self.needed <= self.available


@dataclass(frozen=True)
class Fit:
    """The memory use of models on a board, and whether they fit.

    Attributes:
        ram: RAM in the region of data: arena, copied weights and code, buffers, stack.
        flash: Flash in the region of code: constants, predicted code, the lower bound for the firmware.
        elsewhere: Problems in other memory regions, in words.
    """

    ram: Use
    flash: Use
    elsewhere: tuple[str, ...] = ()

    @property
    def problems(self) -> tuple[str, ...]:
        """All problems, in words; empty if the models fit."""
        lacking = [
            f"{use.kind}: {use.needed:,} bytes needed, {use.available:,} available"
            for use in (self.ram, self.flash)
            if not use.fits
        ]
        return (*lacking, *self.elsewhere)


def fit(models: Sequence[Manifest], options: Mapping[str, OptionValue], board: Board) -> Fit:
    """Returns the memory use of models on a board, item by item, and whether they fit together.

    Raises:
        TargetError: A model names a memory region that the board does not have, or that does not suit.
    """
    memory = plan(models, options, board)
    copied = _copied(memory, models, board)
    ram = {
        "arena": memory.arena,
        "state": memory.placement.state,
        "workspace": memory.placement.workspace_bytes,
        "copied weights and code": copied,
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
    """Returns whether a model fits a board as the only model of the board's default project.

    If the model names a memory region that the board lacks, the result lists a problem; no error is raised.
    """
    template = templates.load(model.template or templates.default(board.id, is_host=board.is_host))
    options = template.parse_options({})
    try:
        return fit([model], options, board)
    except TargetError as error:
        without = model.model_copy(update={"arenas": (), "weights_region": None})
        return replace(fit([without], options, board), elsewhere=(str(error),))


def check(models: Sequence[Manifest], options: Mapping[str, OptionValue], board: Board) -> MemoryUse:
    """Returns the memory that models need together, and checks that it fits the board.

    The check leaves out the predicted size of the code: the linker checks the real size.

    Raises:
        TargetError: A model names a memory region that the board does not have, or that does not suit.
        CapacityError: One of the board's memory regions is too small.
    """
    memory = plan(models, options, board)
    placed = memory.placement
    flash = sum(model.weights_bytes for model in models) + IMAGE_FLASH_BYTES
    flash -= sum(weights.bytes for weights in placed.weights if not weights.copied)
    copied = _copied(memory, models, board)
    problems = [*_of_code_and_data(memory, flash, copied, board), *_elsewhere(placed, board)]
    if problems:
        names = " and ".join(model.name for model in models)
        verb = "does" if len(models) == 1 else "do"
        raise CapacityError(
            f"{board.id}: {names} {verb} not fit. {'; '.join(problems)}. Try {_advice(memory, flash, options, board)}"
        )
    return memory


def _copied(memory: MemoryUse, models: Sequence[Manifest], board: Board) -> int:
    """Returns the bytes of weights and code that the start-up code copies to the region of data."""
    weights = memory.placement.used(board.data_memory.name)[1] if board.data_memory else 0
    return weights + sum(model.copied_bytes for model in models)


def _of_code_and_data(memory: MemoryUse, flash: int, copied: int, board: Board) -> Iterator[str]:
    """Yields the problems in the regions of code and data."""
    if board.flash_bytes is not None and flash > board.flash_bytes:
        weights = flash - IMAGE_FLASH_BYTES
        yield (
            f"flash: got {board.flash_bytes} bytes, expected at least {flash} "
            f"(constants {weights}, firmware {IMAGE_FLASH_BYTES} or more, and the code of the operators)"
        )
    if board.ram_bytes is not None and memory.total + copied > board.ram_bytes:
        also = f"state {memory.placement.state}, " if memory.placement.state else ""
        also += f"workspace {memory.placement.workspace_bytes}, " if memory.placement.workspace_bytes else ""
        also += f"copied weights and code {copied}, " if copied else ""
        yield (
            f"ram: got {board.ram_bytes} bytes, expected at least {memory.total + copied} (arena {memory.arena}, {also}"
            f"copy of the inputs {memory.input_copy}, buffers {memory.buffers}, stack {memory.stack}, "
            f"profile {memory.nodes * _TICK_BYTES})"
        )


def _elsewhere(placed: Placement, board: Board) -> Iterator[str]:
    """Yields the problems in other memory regions."""
    for region in board.memory:
        arenas, weights = placed.used(region.name)
        if not region.load and not region.data and arenas + weights > region.size_bytes:
            yield (
                f"{region.name}: got {region.size_bytes} bytes, expected at least {arenas + weights} "
                f"(arenas {arenas}, weights {weights})"
            )


def _advice(memory: MemoryUse, flash: int, options: Mapping[str, OptionValue], board: Board) -> str:
    """Returns suggestions for the user, most promising first."""
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
    return ", ".join(tries)


def _boards() -> list[Board]:
    found = []
    for name in boards.names():
        try:
            found.append(boards.load(name))
        except BoardError:
            continue  # loading the board reports a broken file
    return sorted(found, key=lambda board: (board.ram_bytes or 0, board.id))


def _holds(board: Board, ram: int, flash: int) -> bool:
    return (board.ram_bytes or 0) >= ram and (board.flash_bytes or 0) >= flash and board.rpc is not None
