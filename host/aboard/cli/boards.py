"""`aboard boards`: lists the known boards, and what works on each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import click

from aboard import flashers, runners
from aboard.base.table import Names, amount, facts, short_amount, table
from aboard.base.wrapping import paragraph
from aboard.boards.registry import Board, load
from aboard.cli import board_fit, boards_add, completion
from aboard.cli.console import Console
from aboard.cli.options import example, pass_console
from aboard.cli.output_options import output_options
from aboard.cli.readable_boards import readable
from aboard.cli.schema_boards import BoardInfo, BoardsResult, CoreInfo, MemoryInfo
from aboard.project import suitability
from aboard.target import Target

#: Choices of `--can`: key of the JSON record that says whether a board can.
_CAN: Mapping[str, str] = MappingProxyType(
    {
        "bare-metal": "bare_metal",
        "zephyr": "zephyr_since",
        "arduino": "arduino",
        "emulate": "emulators",
        "flash": "flashers",
    }
)


@click.group(
    "boards",
    invoke_without_command=True,
    epilog=example("aboard boards", "aboard boards --can emulate --fits digits", "aboard boards show arm/mps2_an386"),
)
@click.option(
    "--can",
    "wanted",
    multiple=True,
    type=click.Choice(list(_CAN)),
    help="Only boards with bare-metal projects, Zephyr, an Arduino core, an emulator, or a tool that flashes them; can "
    "be repeated.",
)
@click.option(
    "--fits",
    metavar="MODEL",
    help="Only boards that MODEL fits, as the only model of the default project. Compiles MODEL for each kind of core.",
)
@click.option("--machines", is_flag=True, help="List also machines of host class: this one, single-board computers.")
@output_options
@pass_console
@click.pass_context
def command(ctx: click.Context, console: Console, wanted: Sequence[str], fits: str | None, machines: bool) -> None:
    """List boards and what works on each, show one, or add one."""
    if ctx.invoked_subcommand is not None:
        return
    found = [board for board in readable(console) if machines or not board.is_host]
    listed = [info for info in map(describe, found) if all(getattr(info, _CAN[each]) for each in wanted)]
    needs = None
    if fits is not None:
        ids = {info.id for info in listed}
        needs = board_fit.needs(console, fits, [board for board in found if board.id in ids])
        fitting = {need.board for need in needs}
        listed = [info for info in listed if info.id in fitting]
    result = BoardsResult(boards=listed, needs=needs)
    console.emit(result, lambda: _list(result, fits))


@command.command("show", epilog=example("aboard boards show bbc/microbit"))
@click.argument("board", metavar="B", shell_complete=completion.board)
@output_options
@pass_console
def show(console: Console, board: str) -> None:
    """Show the board B: cores, memory, and what works on it."""
    info = describe(load(board))
    console.emit(info, lambda: _show(info))


command.add_command(boards_add.command)


def describe(board: Board) -> BoardInfo:
    """Returns the JSON record of a board."""
    templates = [template.name for template in suitability.fitting(board)]
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
        templates=templates,
        bare_metal="baremetal" in templates,
        zephyr=board.zephyr,
        zephyr_since=board.zephyr_since if "zephyr" in templates else None,
        arduino=board.arduino.fqbn if board.arduino is not None else None,
        emulators=runners.emulators(board),
        flashers=[flasher.name for flasher in flashers.possible(board)] if runners.is_real(board) else [],
        aliases=list(board.aliases),
        source=board.source,
    )


def _list(result: BoardsResult, model: str | None) -> str:
    rows = [
        (
            board.id,
            ", ".join(core.mcpu for core in board.cores),
            "yes" if board.bare_metal else None,
            board.zephyr_since,
            "yes" if board.arduino else None,
            Names(board.emulators),
            Names(board.flashers),
            short_amount(board.ram_bytes),
            short_amount(board.flash_bytes),
            board.name,
        )
        for board in result.boards
    ]
    head = ("board", "core", "bare metal", "Zephyr", "Arduino", "emulators", "flashers", "RAM", "flash", "name")
    count = f"{len(rows)} boards" if len(rows) != 1 else "1 board"
    if model is not None:
        count += f" that {model} fits"
    if not rows:
        return f"{count}. `aboard boards` without options lists all"
    text = table(head, rows, keep=("board",), optional=("core", "name"))
    legend = f"{count}. Zephyr: first release with the board, of those that aboard supports. RAM and flash in bytes."
    if " +" in text:
        legend += " +n: further ones, which a wider terminal or `aboard boards show B` lists."
    return f"{text}\n\n{paragraph(legend)}"


def _core(core: CoreInfo) -> str:
    return core.mcpu if core.clock_hz is None else f"{core.mcpu} at {core.clock_hz / 1e6:g} MHz"


def _show(board: BoardInfo) -> str:
    zephyr = board.zephyr if board.zephyr_since is None else f"{board.zephyr}, from release {board.zephyr_since} on"
    lines = facts(
        [
            ("board", board.id),
            ("name", board.name),
            ("target", board.target),
            ("cores", ", ".join(map(_core, board.cores))),
            ("flash", None if board.flash_bytes is None else amount(board.flash_bytes)),
            ("RAM", None if board.ram_bytes is None else amount(board.ram_bytes)),
            ("templates", ", ".join(board.templates)),
            ("bare metal", board.bare_metal),
            ("Zephyr", zephyr or "no"),
            ("Arduino", board.arduino or "no"),
            ("emulators", ", ".join(board.emulators) or "none"),
            ("flashers", ", ".join(board.flashers) or "none"),
            ("aliases", ", ".join(board.aliases) or "none"),
            ("source", board.source),
        ]
    )
    regions = [(m.name, m.kind, f"0x{m.address:08x}", m.size_bytes) for m in board.memory]
    return f"{lines}\n\n{table(('memory', 'kind', 'address', 'bytes'), regions)}" if regions else lines
