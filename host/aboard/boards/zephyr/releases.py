"""Chooses the release of Zephyr for a project: a release that supports its board."""

from __future__ import annotations

from collections.abc import Sequence

from aboard.boards.board import Board
from aboard.errors import ProjectError

#: The development branch, for boards that no release supports yet.
MAIN = "main"


def choose(board: Board, releases: Sequence[str], default: str, given: str | None) -> str:
    """Returns the release for a project.

    Args:
        board: The board.
        releases: Releases that the template offers, oldest first, such as `v3.7.1`; and `main`.
        default: Preferred release, if it supports the board.
        given: Release that the user chose; None if the user chose no release.

    Raises:
        ProjectError: The chosen release or all offered releases lack the board, or the first release with the board is
            not known.
    """
    if board.zephyr_since == "none":
        raise ProjectError(
            f"{board.target}: no release of Zephyr is known that has the board, got {board.zephyr}, expected a board "
            "of Zephyr. Use another template, or state zephyr_since in the board's file"
        )
    wanted = given or default
    having = [release for release in releases if release == MAIN or _number(release) >= _number(board.zephyr_since)]
    if wanted in having:
        return wanted
    named = next((release for release in having if release != MAIN), None)
    if given is None and named is not None:
        return named
    raise ProjectError(
        f"{board.target}: Zephyr has {board.zephyr} from release {board.zephyr_since} on, got {wanted}, expected "
        f"{' or '.join(having)}. Say -O zephyr={having[0]}"
    )


def _number(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.removeprefix("v").split(".")[:2])
