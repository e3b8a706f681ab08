"""Finds and reads the files of boards, SoCs, GPUs and aliases, and says what is wrong in one of them."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, cast

from pydantic import BaseModel, Field, ValidationError

from aboard.base import resources
from aboard.boards.board import (
    Alias,
    BoardId,
    BoardRecord,
    BoardStatus,
    Boot,
    Core,
    Counter,
    Emulators,
    Flash,
    Gpu,
    Identifier,
    Memory,
    Qemu,
    Renode,
    Rpc,
    SetupStep,
    StartStep,
    Text,
    Uart,
    Unicorn,
    UsbId,
    ZephyrName,
    ZephyrRelease,
)
from aboard.boards.records import OLDEST_ZEPHYR
from aboard.errors import BoardError, did_you_mean

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

#: Environment variable with further folders of board files.
SEARCH_PATH = "ABOARD_BOARDS"

#: End of every message about a file.
MANUAL = "docs/adding_a_board.md describes the format"

#: File in a folder of boards that says what else they are called.
ALIASES = "aliases.toml"

_FileType = TypeVar("_FileType", bound=BaseModel)

#: Which record stands under a key, to name the nearest key where one is not known.
_RECORDS: Mapping[str, type[BaseModel]] = {
    "cores": Core,
    "start": StartStep,
    "setup": SetupStep,
    "status": BoardStatus,
    "boot": Boot,
    "gpus": Gpu,
    "memory": Memory,
    "uart": Uart,
    "counter": Counter,
    "rpc": Rpc,
    "emulator": Emulators,
    "qemu": Qemu,
    "unicorn": Unicorn,
    "renode": Renode,
    "flash": Flash,
}


class Soc(BoardRecord):
    """What a SoC file says.

    Attributes:
        name: Name for people.
        source: Where the figures come from.
        cores: Its cores; the first is the one meant where none is named.
        memory: Its memory regions.
        uart: Its serial ports.
        counter: What times a run; None where the SoC is known but has no port yet.
        gpus: Its GPUs, which are known and not supported.
        setup: What an image does first: clocks, memories.
        status: What emulators have to know for that.
        boot: The block that its boot ROM wants.
    """

    name: Text
    source: Text
    cores: Annotated[tuple[Core, ...], Field(min_length=1)]
    setup: tuple[SetupStep, ...] = ()
    status: tuple[BoardStatus, ...] = ()
    boot: Boot | None = None
    gpus: tuple[Gpu, ...] = ()
    memory: tuple[Memory, ...] = ()
    uart: dict[Identifier, Uart] = Field(default_factory=dict)
    counter: Counter | None = None


class BoardFile(BoardRecord):
    """What a board file says; `Board` explains the keys."""

    name: Text
    soc: BoardId
    source: Text
    aliases: tuple[Alias, ...] = ()
    zephyr: ZephyrName | dict[Identifier, ZephyrName] | None = None
    zephyr_since: ZephyrRelease | dict[Identifier, ZephyrRelease] = OLDEST_ZEPHYR
    usb: tuple[UsbId, ...] = ()
    runtime: Literal["standalone", "host"] = "standalone"
    memory: tuple[Memory, ...] = ()
    rpc: Rpc | None = None
    emulator: Emulators = Emulators()
    flash: Flash | None = None


class GpuFile(BoardRecord):
    """What the file of a GPU card says, which stands beside the board files.

    Attributes:
        name: Name for people.
        gpu: Its chip.
        source: Where that comes from.
        aliases: Other names.
    """

    name: Text
    gpu: Text
    source: Text
    aliases: tuple[Alias, ...] = ()


class AliasFile(BoardRecord):
    """What `aliases.toml` says: other names of boards, of their cores, and of other aliases."""

    aliases: dict[Alias, Text]


def folders() -> list[Path]:
    """Returns the folders of board files: those of `ABOARD_BOARDS`, then ours."""
    further = [Path(text) for text in os.environ.get(SEARCH_PATH, "").split(os.pathsep) if text]
    return [*further, resources.boards()]


def find(inside: str = "") -> dict[str, Path]:
    """Returns the files `<vendor>/<name>.toml` by id; the first folder that has one wins.

    Args:
        inside: `soc` for the files of SoCs.
    """
    found: dict[str, Path] = {}
    for folder in folders():
        for path in sorted((folder / inside).glob("*/*.toml")):
            if path.parent.name != "soc":
                found.setdefault(f"{path.parent.name}/{path.stem}", path)
    return found


def alias_files() -> list[Path]:
    """Returns the alias files of the folders that have one."""
    return [path for path in (folder / ALIASES for folder in folders()) if path.is_file()]


def is_gpu(path: Path) -> bool:
    """True for the file of a GPU, which stands among those of boards; False for a file that cannot be read."""
    try:
        return "gpu" in _table(path, path.stat().st_mtime_ns)
    except (OSError, ValueError):
        return False


def read(path: Path, model: type[_FileType]) -> _FileType:
    """Returns what a file says.

    Args:
        path: The file.
        model: BoardRecord that it is checked against.

    Raises:
        BoardError: It cannot be read, or something in it is wrong.
    """
    try:
        return cast(_FileType, _record(path, path.stat().st_mtime_ns, model))
    except OSError as error:
        raise BoardError(f"{path}: cannot be read, got {error.strerror}. {MANUAL}") from error
    except ValidationError as error:
        raise explained(path, error, model) from error
    except ValueError as error:
        raise BoardError(f"{path}: not TOML, got: {error}. {MANUAL}") from error


# Time of the last change is part of the key: a file that was changed is read again.
@functools.lru_cache(maxsize=1024)
def _table(path: Path, modified_ns: int) -> dict[str, Any]:
    del modified_ns
    table: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    return table


@functools.lru_cache(maxsize=1024)
def _record(path: Path, modified_ns: int, model: type[BaseModel]) -> BaseModel:
    return model.model_validate(_table(path, modified_ns))


def explained(path: Path, error: ValidationError, model: type[BaseModel]) -> BoardError:
    """Returns the error that names every key that is wrong, in one message."""
    # Alternatives of a union (load = true, or the names of cores) are one problem.
    problems = list(dict.fromkeys(_problems(error, model)))
    return BoardError(f"{path}: {'; '.join(problems)}. {MANUAL}")


def _problems(error: ValidationError, model: type[BaseModel]) -> Iterator[str]:
    for detail in error.errors():
        place = [str(part) for part in detail["loc"]]
        where = ".".join(place)
        if detail["type"] == "extra_forbidden":
            record = next((_RECORDS[part] for part in reversed(place[:-1]) if part in _RECORDS), model)
            yield f"{where}: unknown key, got {place[-1]}. {did_you_mean(place[-1], record.model_fields)}"
        elif detail["type"] == "missing":
            yield f"{where}: missing, got nothing, expected a value"
        elif detail["type"] == "value_error":
            message = detail["msg"].removeprefix("Value error, ")
            yield f"{where}: {message}" if where else message
        else:
            yield f"{where}: {detail['msg']}, got {detail['input']!r}"
