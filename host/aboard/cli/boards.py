"""`aboard boards`: lists the known boards."""

from __future__ import annotations

import click

from aboard.boards.registry import Board, load, names
from aboard.cli.console import Console
from aboard.cli.options import example, json_option, pass_console
from aboard.cli.schema_boards import BoardInfo, BoardsResult, CoreInfo, MemoryInfo
from aboard.reports.table import amount, facts, table
from aboard.target import Target


@click.group(
    "boards",
    invoke_without_command=True,
    epilog=example("aboard boards", "aboard boards show arm/mps2_an386"),
)
@json_option
@pass_console
@click.pass_context
def command(ctx: click.Context, console: Console) -> None:
    """List boards, or show one."""
    if ctx.invoked_subcommand is not None:
        return
    result = BoardsResult(boards=[describe(load(name)) for name in names()])
    console.emit(result, lambda: _list(result))


@command.command("show", epilog=example("aboard boards show bbc/microbit"))
@click.argument("board", metavar="B")
@json_option
@pass_console
def show(console: Console, board: str) -> None:
    """Show the board B: cores, memory, emulators."""
    info = describe(load(board))
    console.emit(info, lambda: _show(info))


def describe(board: Board) -> BoardInfo:
    """Returns the JSON record of a board."""
    return BoardInfo(
        id=board.id,
        name=board.name,
        target=str(Target(board.target)),
        cores=[CoreInfo(name=core.name, mcpu=core.mcpu, clock_hz=core.clock_hz) for core in board.cores],
        memory=[
            MemoryInfo(name=region.name, kind=region.kind, address=region.address, size_bytes=region.size_bytes)
            for region in board.memory
        ],
        flash_bytes=board.flash_bytes,
        ram_bytes=board.ram_bytes,
        emulators=list(board.emulators),
        aliases=list(board.aliases),
        zephyr=board.zephyr,
        source=board.source,
    )


def _list(result: BoardsResult) -> str:
    rows = [
        (b.id, ", ".join(core.mcpu for core in b.cores), _kib(b.flash_bytes), _kib(b.ram_bytes), b.name)
        for b in result.boards
    ]
    return table(("board", "core", "flash KiB", "RAM KiB", "name"), rows)


def _kib(count: int | None) -> int | None:
    return None if count is None else count // 1024


def _core(core: CoreInfo) -> str:
    return core.mcpu if core.clock_hz is None else f"{core.mcpu} at {core.clock_hz / 1e6:g} MHz"


def _show(board: BoardInfo) -> str:
    lines = facts(
        [
            ("board", board.id),
            ("name", board.name),
            ("target", board.target),
            ("cores", ", ".join(map(_core, board.cores))),
            ("flash", None if board.flash_bytes is None else amount(board.flash_bytes)),
            ("RAM", None if board.ram_bytes is None else amount(board.ram_bytes)),
            ("emulators", ", ".join(board.emulators) or "none"),
            ("aliases", ", ".join(board.aliases) or "none"),
            ("Zephyr", board.zephyr),
            ("source", board.source),
        ]
    )
    regions = [(m.name, m.kind, f"0x{m.address:08x}", m.size_bytes) for m in board.memory]
    return f"{lines}\n\n{table(('memory', 'kind', 'address', 'bytes'), regions)}" if regions else lines
