"""Finds the boards that a model fits, for `aboard boards --fits`."""

from __future__ import annotations

from collections.abc import Sequence

from aboard.boards.board import Board
from aboard.cli import model as models
from aboard.cli.console import Console
from aboard.cli.options import Place
from aboard.cli.schema_boards import BoardNeeds
from aboard.project import capacity
from aboard.target import Target


def needs(console: Console, text: str, boards: Sequence[Board]) -> list[BoardNeeds]:
    """Returns what a model needs on each board that it fits, as the only model of the board's default project.

    Boards whose targets differ in nothing but their names share one compilation.

    Args:
        console: For progress.
        text: MODEL; a bundle fits boards with its core only.
        boards: Boards to try.

    Raises:
        AboardError: There is no such model, or it does not compile.
    """
    alike: dict[str, list[Board]] = {}
    for board in boards:
        attributes = {name: value for name, value in Target(board.target).attrs.items() if name != "hardware"}
        alike.setdefault(str(sorted(attributes.items())), []).append(board)
    found = []
    with console.progress(f"compiling {text}", len(alike)) as advance:
        for members in alike.values():
            manifest = models.load(text, Place(None, members[0].id)).manifest
            for board in members:
                fit = capacity.fit_alone(manifest, board)
                if manifest.core == board.core().mcpu and not fit.problems:
                    ram, flash = fit.ram.needed, fit.flash.needed
                    found.append(BoardNeeds(board=board.id, ram_needed_bytes=ram, flash_needed_bytes=flash))
            advance()
    return sorted(found, key=lambda need: need.board)
