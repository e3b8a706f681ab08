"""Finds and reads the files of boards, SoCs, GPUs and aliases, and reports their errors."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal, TypeVar, cast

from pydantic import BaseModel, Field, ValidationError

from aboard.base import resources, toml
from aboard.boards.board import (
    Accelerator,
    Alias,
    Arduino,
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
    Interrupts,
    Memory,
    PowerPin,
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

#: Environment variable with additional folders of board files.
SEARCH_PATH = "ABOARD_BOARDS"

#: Last sentence of every message about a file.
MANUAL = "docs/how-to/adding_a_board.md describes the format"

#: File with aliases of boards, in a folder of board files.
ALIASES = "aliases.toml"

_FileType = TypeVar("_FileType", bound=BaseModel)

#: The record under each key. A message about an unknown key uses the record to name the nearest known key.
_RECORDS: Mapping[str, type[BaseModel]] = {
    "cores": Core,
    "start": StartStep,
    "setup": SetupStep,
    "status": BoardStatus,
    "boot": Boot,
    "gpus": Gpu,
    "accelerators": Accelerator,
    "memory": Memory,
    "uart": Uart,
    "counter": Counter,
    "interrupts": Interrupts,
    "rpc": Rpc,
    "power_pin": PowerPin,
    "high": StartStep,
    "low": StartStep,
    "emulator": Emulators,
    "qemu": Qemu,
    "unicorn": Unicorn,
    "renode": Renode,
    "arduino": Arduino,
    "flash": Flash,
    "core_flash": Flash,
}


class Soc(BoardRecord):
    """The contents of a SoC file.

    Attributes:
        name: Name for people.
        source: Source of the figures.
        cores: Cores; the first core is the default.
        memory: Memory regions.
        uart: Serial ports by name.
        counter: The counter that times a run; None if aboard has no port for the SoC yet.
        gpus: GPUs. aboard knows them and does not support them.
        accelerators: Accelerators; each core reaches at most one of each kind.
        setup: The first steps of an image: clocks, memories.
        status: Status bits that emulators must model for these steps.
        boot: The block that the boot ROM loads; None if the boot ROM needs no block.
    """

    name: Text
    source: Text
    cores: Annotated[tuple[Core, ...], Field(min_length=1)]
    setup: tuple[SetupStep, ...] = ()
    status: tuple[BoardStatus, ...] = ()
    boot: Boot | None = None
    gpus: tuple[Gpu, ...] = ()
    accelerators: tuple[Accelerator, ...] = ()
    memory: tuple[Memory, ...] = ()
    uart: dict[Identifier, Uart] = Field(default_factory=dict)
    counter: Counter | None = None


class BoardFile(BoardRecord):
    """The contents of a board file; `Board` explains the keys.

    Attributes:
        flash: How to flash an image for the first core.
        core_flash: How to flash images for other cores, by the name of the core.
    """

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
    power_pin: PowerPin | None = None
    arduino: Arduino | None = None
    emulator: Emulators = Emulators()
    flash: Flash | None = None
    core_flash: dict[Identifier, Flash] = Field(default_factory=dict)


class GpuFile(BoardRecord):
    """The contents of the file of a GPU card. These files are stored beside the board files.

    Attributes:
        name: Name for people.
        gpu: Name of the GPU chip.
        source: Source of these facts.
        aliases: Other names.
    """

    name: Text
    gpu: Text
    source: Text
    aliases: tuple[Alias, ...] = ()


class AliasFile(BoardRecord):
    """The contents of `aliases.toml`: other names of boards, of cores, and of other aliases."""

    aliases: dict[Alias, Text]


def folders() -> list[Path]:
    """Returns the folders of board files: the folders of `ABOARD_BOARDS`, then the folder of the package."""
    further = [Path(text) for text in os.environ.get(SEARCH_PATH, "").split(os.pathsep) if text]
    return [*further, resources.boards()]


def find(inside: str = "") -> dict[str, Path]:
    """Returns the files `<vendor>/<name>.toml` by id. If several folders have the id, the first folder wins.

    Args:
        inside: Sub-folder to look in: `soc` for SoC files, empty for board files.
    """
    found: dict[str, Path] = {}
    for folder in folders():
        vendors = sorted((each for each in _entries(folder / inside) if each.is_dir()), key=lambda each: each.name)
        for vendor in vendors:
            if vendor.name != "soc":
                found = {**_of_vendor(vendor.path, vendor.stat().st_mtime_ns), **found}
    return found


# The modification time is part of the cache key, so that a new file is found.
@functools.lru_cache(maxsize=256)
def _of_vendor(folder: str, modified_ns: int) -> dict[str, Path]:
    del modified_ns
    return {f"{path.parent.name}/{path.stem}": path for path in sorted(Path(folder).glob("*.toml"))}


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """Returns what is in a folder; nothing where it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def alias_files() -> list[Path]:
    """Returns the alias files in the folders of board files."""
    return [path for path in (folder / ALIASES for folder in folders()) if path.is_file()]


def is_gpu(path: Path) -> bool:
    """True if a file among the board files describes a GPU; False if the file cannot be read."""
    try:
        return "gpu" in toml.read(path)
    except (OSError, ValueError):
        return False


def read(path: Path, model: type[_FileType]) -> _FileType:
    """Returns the checked contents of a file.

    Args:
        path: The file.
        model: Record class that the contents are checked against.

    Raises:
        BoardError: The file cannot be read, or an entry is wrong.
    """
    try:
        return cast(_FileType, _record(path, path.stat().st_mtime_ns, model))
    except OSError as error:
        raise BoardError(f"{path}: cannot be read, got {error.strerror}. {MANUAL}") from error
    except ValidationError as error:
        raise explained(path, error, model) from error
    except ValueError as error:
        raise BoardError(f"{path}: not TOML, got: {error}. {MANUAL}") from error


# The modification time is part of the cache key, so that a changed file is read again.
@functools.lru_cache(maxsize=1024)
def _record(path: Path, modified_ns: int, model: type[BaseModel]) -> BaseModel:
    del modified_ns
    return model.model_validate(toml.read(path))


def explained(path: Path, error: ValidationError, model: type[BaseModel]) -> BoardError:
    """Returns one error that names every wrong key of a file."""
    # pydantic reports each alternative of a union (load = true, or core names); duplicates are merged here.
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
