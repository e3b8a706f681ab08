"""SoCs as hardware: a SoC without a board around it, by the id of its file (`nordic/nrf52840`)."""

from __future__ import annotations

from aboard.boards import files as board_files
from aboard.boards.files import BoardFile, Soc
from aboard.errors import BoardError


def names() -> list[str]:
    """Returns the ids of all SoCs, sorted."""
    return sorted(board_files.find("soc"))


def located(name: str) -> tuple[str, str | None] | None:
    """Returns the id of a SoC, and the name of the core if one was given; None if no SoC has that id.

    Args:
        name: `vendor/soc`, `vendor/soc:core` or `vendor/soc/core`.
    """
    known = board_files.find("soc")
    head, _, core = name.partition(":")
    shorter, slash, last = head.rpartition("/")
    if head in known:
        return head, core or None
    return (shorter, last) if slash and not core and shorter in known else None


def read(soc: str) -> Soc:
    """Returns the file of a SoC by its id.

    Raises:
        BoardError: The file is wrong.
    """
    return board_files.read(board_files.find("soc")[soc], Soc)


def boards_with(soc: str) -> list[str]:
    """Returns the ids of the boards with a SoC, sorted; without those whose file is broken."""
    found = []
    for board_id, path in sorted(board_files.find().items()):
        try:
            if not board_files.is_gpu(path) and board_files.read(path, BoardFile).soc == soc:
                found.append(board_id)
        except BoardError:
            continue
    return found


def no_board(soc: str) -> BoardError:
    """Returns the error for a SoC in the place of a board."""
    known = boards_with(soc)
    expected = f"a board with it: {', '.join(known)}" if known else "a board, and no file describes one with it"
    return BoardError(
        f"board {soc}: is a SoC, got it without pins, serial port and flash tool, expected {expected}. "
        f'Name a board, or use --target "{soc}" to compile for the SoC alone'
    )
