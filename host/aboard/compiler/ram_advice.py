"""What helps where `-ram-max` cannot be kept: options and boards, each with what it really gives."""

from __future__ import annotations

import math
from collections.abc import Iterator

from aboard import boards
from aboard.boards.board import Board
from aboard.compiler import fitting
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
    tries = [f"{options} ({needed} bytes)" for options, needed in _helping(graph, target, least)]
    tries += [f"{board.id} ({board.ram_bytes} bytes of RAM)" for board in _larger_boards(target, least)]
    also = f"try {', '.join(tries)}" if tries else "take a smaller model"
    return fitting.too_little_ram(graph.name, target.ram_max, least, also)


def _helping(graph: Graph, target: Target, least: int) -> list[tuple[str, int]]:
    """Returns the options with which less is needed than the least without them, the best first, and how much."""
    known: dict[Target, float] = {} if target.opt == "size" else {target: least}
    found: list[tuple[str, int]] = []
    for attributes in _options(target):
        needed = min(_needed(graph, source, known) for source in fitting.sources(target.overridden(attributes)))
        # Several options together are worth a word where they give less than any of them.
        if needed < (least if len(attributes) == 1 else min((n for _, n in found), default=least)):
            found.append((" ".join(f"-{name}={value}" for name, value in attributes.items()), int(needed)))
    return sorted(found, key=lambda each: each[1])


def _needed(graph: Graph, source: Target, known: dict[Target, float]) -> float:
    """Returns the least with the kernels of a target; infinite where it cannot be computed so."""
    if source not in known:
        try:
            known[source] = fitting.least(graph, source).layout.peak
        except AboardError:
            known[source] = math.inf  # the model's input has no rows, or not enough flash is left
    return known[source]


def _options(target: Target) -> Iterator[dict[str, Value]]:
    """Yields attributes that may lower what a model needs: three at most, for each takes a search."""
    if target.input_mode != "consumed":
        yield {"input": "consumed"}
    if target.input_mode != "rows":
        yield {"input": "rows"}
    if target.opt != "size":
        yield {"opt": "size"}
        if target.input_mode == "consumed":
            yield {"opt": "size", "input": "rows"}


def _larger_boards(target: Target, least: int) -> list[Board]:
    """Returns boards with the same core that have room for the least, where the target's own has not."""
    if target.hardware is None or _room(boards.load(target.hardware)) >= least:
        return []
    found = []
    for name in boards.names():
        try:
            board = boards.load(name)
            if _room(board) >= least and Target(board.target).cpu.name == target.cpu.name:
                found.append(board)
        except AboardError:
            continue  # a broken file of the user's is reported when its board is asked for
    return sorted(found, key=lambda board: (board.ram_bytes or 0, board.id))[:_BOARDS]


def _room(board: Board) -> int:
    """Returns the bytes that a board has for arenas, beside what its firmware takes."""
    ram = board.ram_bytes or 0
    return ram - min(FIRMWARE_BYTES, ram // 4)
