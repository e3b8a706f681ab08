"""Whether models fit a board, from their manifests: asked before anything is built."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aboard import boards
from aboard.board import Board
from aboard.errors import BoardError, CapacityError
from aboard.manifest import Manifest
from aboard.templates import OptionValue

#: The least an image needs beside models and buffers: start-up code, drivers, server (measured: 5 to 7 KB), its state.
IMAGE_FLASH_BYTES = 4096
IMAGE_RAM_BYTES = 256
_TICK_BYTES = 8
_ARENA_ALIGN = 16


@dataclass(frozen=True)
class Memory:
    """Bytes of RAM that a project reserves.

    Attributes:
        arena: Shared by the models.
        input_copy: Copy of the inputs; 0 for none.
        nodes: Entries of the profile, 8 bytes each; 0 for none.
        buffers: RPC message and received bytes.
        stack: Stack.
    """

    arena: int
    input_copy: int
    nodes: int
    buffers: int
    stack: int

    @property
    def total(self) -> int:
        """All of it, with what the image needs in any case."""
        return self.arena + self.input_copy + self.nodes * _TICK_BYTES + self.buffers + self.stack + IMAGE_RAM_BYTES


def _number(options: Mapping[str, OptionValue], name: str) -> int:
    value = options.get(name, 0)
    return value if isinstance(value, int) else 0


def plan(models: Sequence[Manifest], options: Mapping[str, OptionValue]) -> Memory:
    """Returns what models need together under a template's options.

    Args:
        models: The models of an image.
        options: The options of its template; those a template does not have count as off.
    """
    arena = max(model.ram_bytes for model in models)
    if options.get("run_op"):
        arena = max(arena, *(node.workspace_bytes for model in models for node in model.nodes))
    consumed = [model for model in models if model.input_mode == "consumed"]
    copies = [sum(tensor.bytes for tensor in model.inputs) for model in consumed]
    return Memory(
        arena=max(-(-arena // _ARENA_ALIGN) * _ARENA_ALIGN, _ARENA_ALIGN),
        input_copy=max(copies, default=0) if options.get("input_copy") else 0,
        nodes=max(len(model.nodes) for model in models) if options.get("profile") else 0,
        buffers=_number(options, "frame_bytes") + _number(options, "receive_bytes"),
        stack=_number(options, "stack_bytes"),
    )


def check(models: Sequence[Manifest], options: Mapping[str, OptionValue], board: Board) -> Memory:
    """Returns what models need together, if it fits the board.

    Raises:
        CapacityError: It does not fit into the board's flash or RAM.
    """
    memory = plan(models, options)
    flash = sum(model.weights_bytes for model in models) + IMAGE_FLASH_BYTES
    problems = []
    if board.flash_bytes is not None and flash > board.flash_bytes:
        weights = flash - IMAGE_FLASH_BYTES
        problems.append(
            f"flash: got {board.flash_bytes} bytes, expected at least {flash} "
            f"(constants {weights}, firmware {IMAGE_FLASH_BYTES} or more, and the code of the operators)"
        )
    if board.ram_bytes is not None and memory.total > board.ram_bytes:
        problems.append(
            f"ram: got {board.ram_bytes} bytes, expected at least {memory.total} (arena {memory.arena}, "
            f"copy of the inputs {memory.input_copy}, buffers {memory.buffers}, stack {memory.stack}, "
            f"profile {memory.nodes * _TICK_BYTES})"
        )
    if problems:
        names = " and ".join(model.name for model in models)
        verb = "does" if len(models) == 1 else "do"
        raise CapacityError(
            f"{board.id}: {names} {verb} not fit. {'; '.join(problems)}. {_advice(memory, flash, options, board)}"
        )
    return memory


def _advice(memory: Memory, flash: int, options: Mapping[str, OptionValue], board: Board) -> str:
    """What to try, most promising first."""
    tries = []
    over = memory.total - (board.ram_bytes or memory.total)
    if 0 < over <= memory.input_copy:
        tries.append("-O input_copy=off")
    if 0 < over <= memory.nodes * _TICK_BYTES and options.get("profile"):
        tries.append("-O profile=off")
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
