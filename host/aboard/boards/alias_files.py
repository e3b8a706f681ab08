"""Aliases of boards, which board files and `aliases.toml` define."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from aboard.boards import files as board_files
from aboard.boards.files import AliasFile, BoardFile, GpuFile
from aboard.errors import BoardError, did_you_mean


def aliases() -> dict[str, str]:
    """Returns the meaning of each alias: `vendor/board`, or `vendor/board:core`.

    Board files and `aliases.toml` define the aliases. A broken file is skipped; loading its board reports the error.

    Raises:
        BoardError: Two boards have the same alias, or an alias leads to no board or back to itself.
    """
    files = board_files.find()
    said = _said_aliases(files)
    return {alias: _meaning(alias, said, files) for alias in said}


def _said_aliases(files: Mapping[str, Path]) -> dict[str, tuple[str, Path]]:
    """Returns the direct meaning of each alias, and the file that defines the alias."""
    found: dict[str, tuple[str, Path]] = {}
    for alias, meaning, path in _every_alias(files):
        if alias in files:
            raise BoardError(
                f"{path}: aliases: is the id of a board, got {alias}, expected a name of its own. Rename the alias"
            )
        other = found.setdefault(alias, (meaning, path))
        if other[0] != meaning:
            raise BoardError(
                f"{path}: aliases: used by another board, got {alias} of {other[0]}, expected a name of its own. "
                f"Rename one of them"
            )
    return found


def _every_alias(files: Mapping[str, Path]) -> Iterator[tuple[str, str, Path]]:
    for board_id, path in sorted(files.items()):
        for alias in _aliases_in(path):
            yield alias, board_id, path
    for path in board_files.alias_files():
        for alias, meaning in board_files.read(path, AliasFile).aliases.items():
            yield alias, meaning, path


def _aliases_in(path: Path) -> tuple[str, ...]:
    try:
        if board_files.is_gpu(path):
            return board_files.read(path, GpuFile).aliases
        return board_files.read(path, BoardFile).aliases
    except BoardError:
        return ()


def _meaning(alias: str, said: Mapping[str, tuple[str, Path]], files: Mapping[str, Path]) -> str:
    """Returns the board of an alias, resolving aliases of aliases."""
    way, core = [alias], ""
    while way[-1] in said:
        meaning, path = said[way[-1]]
        head, _, its_core = meaning.partition(":")
        if head in way:
            raise BoardError(
                f"{path}: aliases: cyclic alias, got {' -> '.join([*way, head])}, expected one that ends at a board. "
                f"Name a board in one of them"
            )
        if head not in said and head not in files:
            raise BoardError(
                f"{path}: aliases: {way[-1]} is neither of a board nor of an alias, got {head}. "
                f"{did_you_mean(head, [*files, *said])}"
            )
        if core and its_core:
            raise BoardError(
                f"{path}: aliases: a core is named twice, got {core} of {meaning}, expected one core. Remove one"
            )
        way.append(head)
        core = core or its_core
    return f"{way[-1]}:{core}" if core else way[-1]
