"""What helps where `-ram-max` cannot be kept: options and boards, each with what it really gives."""

from __future__ import annotations

from collections.abc import Iterator

from aboard import boards, fitting
from aboard.board import Board
from aboard.errors import AboardError, CapacityError
from aboard.ir import Graph
from aboard.target import Target
from aboard.target.kind import Value
from aboard.target.regions import FIRMWARE_BYTES

#: How many boards are named at most.
_BOARDS = 3


def advised(graph: Graph, target: Target, error: CapacityError) -> CapacityError:
    """Returns the error with what would help.

    Args:
        graph: As it was given to `fitting.fit`.
        target: Where the model was to run.
        error: What `fitting.fit` raised; with `least_bytes`.
    """
    least = error.least_bytes or 0
    tries = [f"{options} (at least {needed} bytes)" for options, needed in _helping(graph, target, least)]
    tries += [f"{board.id} ({board.ram_bytes} bytes of RAM)" for board in _larger_boards(target, least)]
    also = f", or try {', '.join(tries)}" if tries else ", or take a smaller model"
    return CapacityError(f"{error}. Say -ram-max={least}{also}", least)


def _helping(graph: Graph, target: Target, least: int) -> list[tuple[str, int]]:
    """Returns the options with which less is needed than the least without them, the best first, and how much."""
    found = []
    for attributes in _options(target):
        try:
            needed = fitting.least(graph, target.overridden(attributes))
        except AboardError:
            continue  # the model has no such input, or not enough flash is left
        if needed < least:
            found.append((" ".join(f"-{name}={value}" for name, value in attributes.items()), needed))
    return sorted(found, key=lambda each: each[1])


def _options(target: Target) -> Iterator[dict[str, Value]]:
    """Yields attributes that may lower what a model needs: three at most, for each is scheduled."""
    size: dict[str, Value] = {} if target.opt == "size" else {"opt": "size"}
    rows: dict[str, Value] = {} if target.input_mode == "rows" else {"input": "rows"}
    if target.input_mode == "kept":
        yield {"input": "consumed"}
    if rows:
        yield rows
    if size:
        yield size
    if size and rows and target.input_mode != "kept":
        yield size | rows


def _larger_boards(target: Target, least: int) -> list[Board]:
    """Returns boards with the same core that have room for the least, where the target's own has not."""
    if target.hardware is None or _room(boards.load(target.hardware)) >= least:
        return []
    found = []
    for name in boards.names():
        try:
            board = boards.load(name)
            if board.rpc is not None and _room(board) >= least and Target(board.target).cpu.name == target.cpu.name:
                found.append(board)
        except AboardError:
            continue  # a broken file of the user's is reported when its board is asked for
    return sorted(found, key=lambda board: (board.ram_bytes or 0, board.id))[:_BOARDS]


def _room(board: Board) -> int:
    """Returns the bytes that a board has for arenas, beside what its firmware takes."""
    ram = board.ram_bytes or 0
    return ram - min(FIRMWARE_BYTES, ram // 4)
