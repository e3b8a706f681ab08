"""The registry of hardware: boards and their cores by name, from `boards/<vendor>/<board>.toml` and their SoC files.

A board file and the file of its SoC (`boards/soc/<vendor>/<soc>.toml`) together describe a board. The environment
variable `ABOARD_BOARDS` names additional folders of the same layout (separated as in PATH); they take precedence over
the folder of the package. `docs/how-to/adding_a_board.md` documents the format.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from aboard.boards import cpu as cpus
from aboard.boards import files as board_files
from aboard.boards import socs
from aboard.boards.alias_files import aliases
from aboard.boards.board import (
    CORE,
    SOC,
    Board,
    Core,
    Counter,
    Emulators,
    Gpu,
    Memory,
    Qemu,
    Renode,
    Rpc,
    SetupStep,
    Uart,
    Unicorn,
)
from aboard.boards.files import MANUAL, SEARCH_PATH, BoardFile, GpuFile, Soc
from aboard.boards.records import OLDEST_ZEPHYR
from aboard.errors import BoardError, did_you_mean

#: Prefix of Zephyr's name of a board.
ZEPHYR = "zephyr:"

__all__ = [
    "SEARCH_PATH",
    "ZEPHYR",
    "Board",
    "Core",
    "Counter",
    "Emulators",
    "Gpu",
    "Memory",
    "Qemu",
    "Renode",
    "Rpc",
    "Soc",
    "Uart",
    "Unicorn",
    "aliases",
    "gpu",
    "gpus",
    "is_known",
    "load",
    "locate",
    "names",
    "of_core",
    "of_hardware",
    "path_of",
    "soc_path_of",
]


def names() -> list[str]:
    """Returns the ids of all boards, sorted."""
    return sorted(board_id for board_id, path in board_files.find().items() if not board_files.is_gpu(path))


def gpus() -> list[str]:
    """Returns the ids of the GPUs that aboard knows and does not support, sorted."""
    return sorted(board_id for board_id, path in board_files.find().items() if board_files.is_gpu(path))


def gpu(name: str) -> GpuFile:
    """Returns the file of a GPU by its id.

    Raises:
        BoardError: No GPU has that id, or its file is wrong.
    """
    if name not in gpus():
        raise BoardError(f"GPU {name}: unknown. {did_you_mean(name, gpus())}")
    return board_files.read(board_files.find()[name], GpuFile)


def of_core(mcpu: str) -> Board:
    """Returns a board of which only the core is known: no memory, no serial port, no limits.

    Args:
        mcpu: Name of the core with its modifiers, as in the target attribute `-mcpu`.

    Raises:
        TargetError: The core is not known.
    """
    core = cpus.find(mcpu)
    words = "Any core with a C99 compiler" if core.is_generic else f"Any board with {core.name}"
    return Board(
        id=f"{CORE}{core.name}",
        name=words,
        soc=f"{CORE}{core.name}",
        source="the target",
        soc_source="the target",
        cores=(Core(name="cpu", mcpu=core.name),),
    )


def is_known(name: str) -> bool:
    """True if a board, GPU or SoC has that id or alias. The name of a core after it is ignored.

    Every Zephyr name (`zephyr:BOARD`) counts as known; loading the board shows whether Zephyr has it.
    """
    return name.startswith(ZEPHYR) or _located(name) is not None or socs.located(name) is not None


def locate(name: str) -> tuple[str, str | None]:
    """Returns the id of a board, and the name of the core if one was given.

    Args:
        name: Id (`vendor/board`) or alias, alone or with a core (`vendor/board:core`, `vendor/board/core`); or
            `zephyr:BOARD`, where a board file names BOARD.

    Raises:
        BoardError: There is no such board.
    """
    found = _by_zephyr_name(name.removeprefix(ZEPHYR)) if name.startswith(ZEPHYR) else _located(name)
    if found is None:
        soc = socs.located(name)
        if soc is not None:
            raise socs.no_board(soc[0])
        raise BoardError(
            f"board {name}: unknown. {did_you_mean(name, [*names(), *aliases()])} "
            f"`aboard hardware` lists all; {SEARCH_PATH} names further folders"
        )
    return found


def _located(name: str) -> tuple[str, str | None] | None:
    files = board_files.find()
    head, _, core = name.partition(":")
    shorter, slash, last = head.rpartition("/")
    readings = [(head, core)] + ([(shorter, last)] if slash and not core else [])
    for board, its_core in readings:
        if board in files:
            return board, its_core or None
    known = aliases()
    for board, its_core in readings:
        if board in known:
            meaning, _, implied = known[board].partition(":")
            return meaning, its_core or implied or None
    return None


def _by_zephyr_name(wanted: str) -> tuple[str, str | None] | None:
    """Returns the board with that name in Zephyr. For a board with one SoC, the name of the SoC is optional."""
    head, _, rest = wanted.partition("/")
    for board_id, path in sorted(board_files.find().items()):
        for name, core in _zephyr_names(path):
            its_head, _, its_rest = name.partition("/")
            alone = head == its_head and "/" not in rest + its_rest and not (rest and its_rest)
            if name == wanted or (alone and _is_one_of_a_kind(its_head)):
                return board_id, core
    return None


def _is_one_of_a_kind(head: str) -> bool:
    names = {name for path in board_files.find().values() for name, _ in _zephyr_names(path)}
    return sum(name.partition("/")[0] == head for name in names) == 1


def _zephyr_names(path: Path) -> list[tuple[str, str | None]]:
    try:
        file = None if board_files.is_gpu(path) else board_files.read(path, BoardFile)
    except BoardError:
        return []  # loading the board reports a broken file
    if file is None or file.zephyr is None:
        return []
    return [(file.zephyr, None)] if isinstance(file.zephyr, str) else [(n, core) for core, n in file.zephyr.items()]


def path_of(name: str) -> Path:
    """Returns the file of a board, by id or alias.

    Raises:
        BoardError: There is no such board.
    """
    return board_files.find()[locate(name)[0]]


def soc_path_of(board: Board) -> Path:
    """Returns the file of a board's SoC.

    Raises:
        BoardError: No folder of board files has the file of the SoC.
    """
    socs = board_files.find("soc")
    if board.soc not in socs:
        raise BoardError(f"board {board.id}: soc: no such file, got {board.soc}. {did_you_mean(board.soc, socs)}")
    return socs[board.soc]


def load(name: str) -> Board:
    """Returns a board as one of its cores sees it.

    Args:
        name: Id (`vendor/board`) or alias, with `:core` for another core than the first; or Zephyr's name,
            `zephyr:BOARD`. If no board file has that name, Zephyr's device tree and Kconfig describe the board.

    Raises:
        BoardError: The board or core is not known, the name is a GPU, or the file of the board or SoC is wrong.
        ToolError: Only Zephyr describes the board, and there is no workspace or the workspace fails.
    """
    if name.startswith(ZEPHYR) and _by_zephyr_name(name.removeprefix(ZEPHYR)) is None:
        from aboard.boards.zephyr import probe

        return probe.board(name.removeprefix(ZEPHYR))
    board_id, core_name = locate(name)
    path = board_files.find()[board_id]
    if board_files.is_gpu(path):
        raise _refused(board_id, board_files.read(path, GpuFile))
    file = board_files.read(path, BoardFile)
    socs = board_files.find("soc")
    if file.soc not in socs:
        raise BoardError(f"{path}: soc: no such file, got {file.soc}. {did_you_mean(file.soc, socs)} {MANUAL}")
    soc = board_files.read(socs[file.soc], Soc)
    for problem in _unknown_cores(file, soc):
        raise BoardError(f"{path}: {problem}. {MANUAL}")
    try:
        views = [_view(board_id, file, soc, core) for core in soc.cores]
    except ValidationError as error:
        raise board_files.explained(path, error, Board) from error
    chosen = views[0].core(core_name)
    return next(view for view in views if view.core() == chosen)


def of_hardware(name: str) -> Board:
    """Returns a board as `load` does, or what is known of a SoC without a board.

    A SoC has its cores, memory and accelerators, and neither a serial port of the RPC nor emulators.

    Args:
        name: As for `load`; or the id of a SoC (`vendor/soc`), with `:core` for another core than the first. A board
            with the id comes first.

    Raises:
        BoardError: As for `load`; or the SoC has no such core, or its file is wrong.
    """
    found = socs.located(name.removeprefix(SOC))
    if found is None or (not name.startswith(SOC) and (name.startswith(ZEPHYR) or _located(name) is not None)):
        return load(name)
    soc_id, core_name = found
    soc = socs.read(soc_id)
    runtime: Literal["host", "standalone"] = "host" if cpus.find(soc.cores[0].mcpu).is_host_class else "standalone"
    file = BoardFile(name=soc.name, soc=soc_id, source=soc.source, runtime=runtime)
    for problem in _unknown_cores(file, soc):
        raise BoardError(f"{board_files.find('soc')[soc_id]}: {problem}. {MANUAL}")
    try:
        views = [_view(f"{SOC}{soc_id}", file, soc, core) for core in soc.cores]
    except ValidationError as error:
        raise board_files.explained(board_files.find("soc")[soc_id], error, Board) from error
    chosen = views[0].core(core_name)
    return next(view for view in views if view.core() == chosen)


def _refused(board_id: str, file: GpuFile) -> BoardError:
    return BoardError(
        f"board {board_id}: is a GPU, which is not supported, got {file.name} ({file.gpu}), expected a board or "
        f"machine with a CPU core: {', '.join(cpus.names())}. `aboard hardware` lists them"
    )


def _unknown_cores(file: BoardFile, soc: Soc) -> Iterator[str]:
    """Yields the errors of keys that name a core which the SoC does not have."""
    known = [core.name for core in soc.cores]
    for key, core in _named_cores(file, soc):
        if core not in known:
            yield f"{key}: unknown core of {file.soc}, got {core}, expected one of: {', '.join(known)}"


def _named_cores(file: BoardFile, soc: Soc) -> Iterator[tuple[str, str]]:
    for region in (*soc.memory, *file.memory):
        for key, role in (("cores", region.cores), ("load", region.load), ("data", region.data)):
            for core in () if isinstance(role, bool) else role:
                yield f"memory.{region.name}.{key}", core
    for accelerator in soc.accelerators:
        for core in accelerator.cores:
            yield f"accelerators.{accelerator.kind}.cores", core
    if soc.counter is not None and soc.counter.core is not None:
        yield "counter.core", soc.counter.core
    for core in file.rpc.cores if file.rpc is not None else ():
        yield "rpc.cores", core
    for core in file.core_flash:
        yield "core_flash", core
    for key, stated in (("zephyr", file.zephyr), ("zephyr_since", file.zephyr_since)):
        for core in stated if isinstance(stated, dict) else ():
            yield key, core


def _view(board_id: str, file: BoardFile, soc: Soc, core: Core) -> Board:
    """Joins a board file and its SoC file, as one core sees them."""
    first = soc.cores[0].name
    since = file.zephyr_since
    rpc = file.rpc if file.rpc and core.name in (file.rpc.cores or (first,)) else None
    regions = (region.seen_by(core.name) for region in (*soc.memory, *file.memory))
    return Board(
        id=board_id,
        name=file.name,
        soc=file.soc,
        source=file.source,
        soc_source=soc.source,
        aliases=file.aliases,
        zephyr=file.zephyr.get(core.name) if isinstance(file.zephyr, dict) else file.zephyr,
        zephyr_since=since.get(core.name, OLDEST_ZEPHYR) if isinstance(since, dict) else since,
        usb=file.usb,
        runtime=file.runtime,
        cores=soc.cores,
        selected=core.name if len(soc.cores) > 1 else None,
        gpus=soc.gpus,
        accelerators=tuple(a for a in soc.accelerators if core.name in (a.cores or (core.name,))),
        memory=tuple(sorted((r for r in regions if r is not None), key=lambda region: region.address)),
        uarts=soc.uart,
        counter=core.counter or (soc.counter if soc.counter and (soc.counter.core or first) == core.name else None),
        rpc=rpc,
        setup=_setup(rpc, soc) if rpc else (),
        status=soc.status,
        boot=core.boot or soc.boot,
        power_pin=file.power_pin if core.name == first else None,
        emulator=file.emulator,
        arduino=file.arduino if core.name == first else None,
        flash=file.core_flash.get(core.name, file.flash if core.name == first else None),
    )


def _setup(rpc: Rpc, soc: Soc) -> tuple[SetupStep, ...]:
    """Returns the setup steps of the core with the RPC line. `Board` reports an unknown serial port."""
    port = soc.uart.get(rpc.uart)
    return (*soc.setup, *(port.setup if port else ()), *rpc.setup)
