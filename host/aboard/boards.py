"""Finds and reads board files: `boards/<vendor>/<board>.toml`, and SoC files: `boards/soc/<vendor>/<soc>.toml`.

A board is what its own file says together with the file of its SoC. Further folders of the same layout are taken from
the environment variable `ABOARD_BOARDS` (separated as in PATH); they come before ours. `docs/adding_a_board.md` is the
manual of the format.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar, cast

from pydantic import BaseModel, ValidationError

from aboard import resources
from aboard.board import Board, BoardFile, Core, Counter, Emulators, Memory, Qemu, Rpc, Soc, Uart, Unicorn
from aboard.errors import BoardError, did_you_mean

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = [
    "SEARCH_PATH",
    "Board",
    "Core",
    "Counter",
    "Emulators",
    "Memory",
    "Qemu",
    "Rpc",
    "Soc",
    "Uart",
    "Unicorn",
    "aliases",
    "is_known",
    "load",
    "names",
    "path_of",
]

#: Environment variable with further folders of board files.
SEARCH_PATH = "ABOARD_BOARDS"

_MANUAL = "docs/adding_a_board.md describes the format"

_FileType = TypeVar("_FileType", bound=BaseModel)

#: Which record stands under a key, to name the nearest key where one is not known.
_RECORDS: Mapping[str, type[BaseModel]] = {
    "cores": Core,
    "memory": Memory,
    "uart": Uart,
    "counter": Counter,
    "rpc": Rpc,
    "emulator": Emulators,
    "qemu": Qemu,
    "unicorn": Unicorn,
}


def _files(inside: str = "") -> dict[str, Path]:
    """Returns the files `<vendor>/<name>.toml` by id; the first folder that has one wins."""
    further = [Path(text) for text in os.environ.get(SEARCH_PATH, "").split(os.pathsep) if text]
    found: dict[str, Path] = {}
    for folder in (*further, resources.boards()):
        for path in sorted((folder / inside).glob("*/*.toml")):
            if path.parent.name != "soc":
                found.setdefault(f"{path.parent.name}/{path.stem}", path)
    return found


def names() -> list[str]:
    """Returns the ids of all boards, sorted."""
    return sorted(_files())


def aliases() -> dict[str, str]:
    """Returns the board ids by alias. A file that is broken gives none; loading its board says what is wrong.

    Raises:
        BoardError: Two boards have the same alias.
    """
    found: dict[str, str] = {}
    for board_id, path in sorted(_files().items()):
        for alias in _aliases_in(path):
            other = found.setdefault(alias, board_id)
            if other != board_id:
                raise BoardError(
                    f"{path}: aliases: used by another board, got {alias} of {other}, expected a name of its own. "
                    f"Rename one of them"
                )
    return found


def _aliases_in(path: Path) -> tuple[str, ...]:
    try:
        return _read(path, BoardFile).aliases
    except BoardError:
        return ()


def is_known(name: str) -> bool:
    """True when there is a board of that id or alias."""
    return name in _files() or name in aliases()


def path_of(name: str) -> Path:
    """Returns the file of a board, by id or alias.

    Raises:
        BoardError: There is no such board.
    """
    files = _files()
    if name in files:
        return files[name]
    other_names = aliases()
    if name not in other_names:
        raise BoardError(
            f"board {name}: not known, got {name}. {did_you_mean(name, [*files, *other_names])} "
            f"`aboard boards` lists all; {SEARCH_PATH} names further folders"
        )
    return files[other_names[name]]


def load(name: str) -> Board:
    """Returns a board.

    Args:
        name: Id (`vendor/board`) or alias.

    Raises:
        BoardError: There is no such board, or its file or that of its SoC is wrong.
    """
    path = path_of(name)
    file = _read(path, BoardFile)
    socs = _files("soc")
    if file.soc not in socs:
        raise BoardError(f"{path}: soc: no such file, got {file.soc}. {did_you_mean(file.soc, socs)} {_MANUAL}")
    soc = _read(socs[file.soc], Soc)
    try:
        return Board(
            id=f"{path.parent.name}/{path.stem}",
            name=file.name,
            soc=file.soc,
            source=file.source,
            soc_source=soc.source,
            aliases=file.aliases,
            zephyr=file.zephyr,
            runtime=file.runtime,
            cores=soc.cores,
            memory=tuple(sorted((*soc.memory, *file.memory), key=lambda region: region.address)),
            uarts=soc.uart,
            counter=soc.counter,
            rpc=file.rpc,
            emulator=file.emulator,
        )
    except ValidationError as error:
        raise _explained(path, error, Board) from error


def _read(path: Path, model: type[_FileType]) -> _FileType:
    try:
        return cast(_FileType, _parsed(path, path.stat().st_mtime_ns, model))
    except OSError as error:
        raise BoardError(f"{path}: cannot be read, got {error.strerror}. {_MANUAL}") from error
    except ValidationError as error:
        raise _explained(path, error, model) from error
    except ValueError as error:
        raise BoardError(f"{path}: not TOML, got: {error}. {_MANUAL}") from error


@functools.lru_cache(maxsize=512)
def _parsed(path: Path, modified_ns: int, model: type[BaseModel]) -> BaseModel:
    del modified_ns  # part of the key: a file that was changed is read again
    return model.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))


def _explained(path: Path, error: ValidationError, model: type[BaseModel]) -> BoardError:
    """Returns the error that names every key that is wrong, in one message."""
    problems = []
    for detail in error.errors():
        place = [str(part) for part in detail["loc"]]
        where = ".".join(place)
        if detail["type"] == "extra_forbidden":
            record = next((_RECORDS[part] for part in reversed(place[:-1]) if part in _RECORDS), model)
            problems.append(f"{where}: unknown key, got {place[-1]}. {did_you_mean(place[-1], record.model_fields)}")
        elif detail["type"] == "missing":
            problems.append(f"{where}: missing, got nothing, expected a value")
        elif detail["type"] == "value_error":
            message = detail["msg"].removeprefix("Value error, ")
            problems.append(f"{where}: {message}" if where else message)
        else:
            problems.append(f"{where}: {detail['msg']}, got {detail['input']!r}")
    return BoardError(f"{path}: {'; '.join(problems)}. {_MANUAL}")
