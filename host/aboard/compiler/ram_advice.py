"""Advice for a model that exceeds `-ram-max`: options and boards, each with the RAM that results."""

from __future__ import annotations

import math
from collections.abc import Iterator

from aboard import boards
from aboard.boards.board import Board
from aboard.compiler import budgets, fitting
from aboard.errors import AboardError, CapacityError
from aboard.ir import Graph
from aboard.target import Target
from aboard.target.kind import Value
from aboard.target.regions import FIRMWARE_BYTES

#: Largest number of boards in the advice.
_BOARDS = 3


def advised(graph: Graph, target: Target, error: CapacityError) -> CapacityError:
    """Returns the error with advice.

    Args:
        graph: The graph as `fitting.fit` received it.
        target: The target as `fitting.fit` received it.
        error: The error that `fitting.fit` raised; it has `least_bytes`.
    """
    least = error.least_bytes or 0
    tries = [f"{options} ({needed} bytes)" for options, needed in _helping(graph, target, least)]
    tries += [f"{board.id} ({board.ram_bytes} bytes of RAM)" for board in _larger_boards(target, least)]
    also = f"try {', '.join(tries)}" if tries else "take a smaller model"
    return budgets.too_little_ram(graph.name, target.ram_max, least, also)


def _helping(graph: Graph, target: Target, least: int) -> list[tuple[str, int]]:
    """Returns the options that reduce the least RAM, the best first, and the RAM with each."""
    known: dict[Target, float] = {} if target.opt == "size" else {target: least}
    found: list[tuple[str, int]] = []
    for attributes in _options(target):
        needed = min(_needed(graph, source, known) for source in fitting.sources(target.overridden(attributes)))
        # Several options together are listed only if they need less RAM than each alone.
        if needed < (least if len(attributes) == 1 else min((n for _, n in found), default=least)):
            found.append((" ".join(f"-{name}={value}" for name, value in attributes.items()), int(needed)))
    return sorted(found, key=lambda each: each[1])


def _needed(graph: Graph, source: Target, known: dict[Target, float]) -> float:
    """Returns the least RAM with the kernels of a target; infinite if no schedule is possible."""
    if source not in known:
        try:
            known[source] = fitting.least(graph, source).layout.ram
        except AboardError:
            known[source] = math.inf  # the model's input has no rows, or flash is exceeded
    return known[source]


def _options(target: Target) -> Iterator[dict[str, Value]]:
    """Yields attributes that may lower the RAM of a model: at most three, because each takes a search."""
    if target.input_mode != "consumed":
        yield {"input": "consumed"}
    if target.input_mode != "rows":
        yield {"input": "rows"}
    if target.opt != "size":
        yield {"opt": "size"}
        if target.input_mode == "consumed":
            yield {"opt": "size", "input": "rows"}


def _larger_boards(target: Target, least: int) -> list[Board]:
    """Returns boards with the same core and enough RAM, if the target's own board has not enough."""
    if target.hardware is None or _room(boards.of_hardware(target.hardware)) >= least:
        return []
    found = []
    for name in boards.names():
        try:
            board = boards.load(name)
            if _room(board) >= least and Target(board.target).cpu.name == target.cpu.name:
                found.append(board)
        except AboardError:
            continue  # an error in a user's board file is reported when that board is requested
    return sorted(found, key=lambda board: (board.ram_bytes or 0, board.id))[:_BOARDS]


def _room(board: Board) -> int:
    """Returns the bytes that a board has for arenas, less the RAM of its firmware."""
    ram = board.ram_bytes or 0
    return ram - min(FIRMWARE_BYTES, ram // 4)
