"""`aboard farm verify`: a table of models by boards by options, filled on a farm."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from aboard import boards
from aboard.base.table import table
from aboard.cli import model as models
from aboard.cli.console import Console
from aboard.cli.farm_options import address_option, patience_option, where_option
from aboard.cli.options import OPT_LEVELS, example, force_option, models_argument, pass_console, toolchain_option
from aboard.cli.output_options import output_options
from aboard.cli.schema_farm import FarmChange, FarmRow, FarmVerifyResult
from aboard.errors import ModelError

if TYPE_CHECKING:
    from aboard.matrix.row import Row, RowSpec
    from aboard.matrix.table import FilledRow

_NOT_EXACT = 1


def _list(ctx: click.Context, parameter: click.Parameter, value: str | None) -> list[str]:
    """Splits a list at its commas."""
    del ctx, parameter
    return list(dict.fromkeys(word.strip() for word in (value or "").split(",") if word.strip()))


def _opts(ctx: click.Context, parameter: click.Parameter, value: str | None) -> list[str]:
    found = _list(ctx, parameter, value)
    for word in found:
        if word not in OPT_LEVELS:
            raise click.BadParameter(f"got {word!r}, expected some of {', '.join(OPT_LEVELS)}", ctx, parameter)
    return found


@click.command(
    "verify",
    epilog=example(
        "aboard farm verify digits kws.tflite --boards arm/mps2_an385,arm/mps2_an386 --opt size,balanced "
        "--farm tcp://127.0.0.1:8786 -o build/table",
        'aboard farm verify digits --where "core=cortex-m4 and ram>=128K" --farm tcp://127.0.0.1:8786 --json',
    ),
)
@models_argument
@click.option("--boards", "named", metavar="B,B,...", callback=_list, help="Boards of the table.")
@where_option
@click.option("--opt", "opts", metavar="O,O,...", callback=_opts, help="Optimisation goals: size, balanced, speed.")
@click.option(
    "--samples",
    type=click.IntRange(min=0),
    metavar="N",
    default=20,
    show_default=True,
    help="Number of random inputs of each row, in addition to an input of smallest and one of largest values.",
)
@toolchain_option
@address_option
@patience_option
@click.option(
    "-o",
    "--output-dir",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder that keeps the rows, table.html and junit.xml. The same command continues there what was interrupted; "
    "a complete table is filled anew, and compared with the last one.",
)
@force_option
@output_options
@pass_console
def command(
    console: Console,
    models: tuple[str, ...],
    named: list[str],
    where: str | None,
    opts: list[str],
    samples: int,
    toolchain: str | None,
    farm: str,
    patience: float,
    output_dir: Path | None,
    force: bool,
) -> int:
    """Compare the results of MODELs on boards of a farm with the reference interpreter, byte for byte.

    The table has a row for each model, board and optimisation goal. Models are built on workers that build, and run on
    workers that have the board. A row is repeated if its worker ends or its board fails. Exits with 1 unless all rows
    are exact.
    """
    if not named and where is None:
        raise click.UsageError("Missing option '--boards' or '--where'.")
    from aboard.matrix import files
    from aboard.matrix import table as tables

    keys = [boards.load(name).id for name in named]
    specs = _files(models)
    folder = None if output_dir is None else files.prepared(output_dir, force=force)
    chosen = tables.boards_of(farm, keys, where, patience)
    wanted = _specs(specs, chosen, opts, samples, toolchain)
    with console.progress("verifying", len(wanted)) as advance:
        found = tables.fill(farm, wanted, folder, _advancing(advance, console), console.note, patience)
    if folder is not None:
        files.write(folder, found, force=force)
    result = FarmVerifyResult(
        address=farm, rows=[_row(one) for one in found], folder=None if folder is None else str(folder)
    )
    console.emit(result, lambda: _report(result))
    return 0 if all(row.state == "exact" for row in result.rows) else _NOT_EXACT


def _advancing(advance: Callable[[], None], console: Console) -> Callable[[Row], None]:
    def on_row(row: Row) -> None:
        advance()
        console.detail(f"{row.model} on {row.board} ({row.opt}): {row.state}")

    return on_row


def _files(named: Sequence[str]) -> list[tuple[str, Path]]:
    """Returns the models with their files.

    Raises:
        ModelError: There is no such file, or it is a folder, which is not sent to workers.
    """
    found = [(name, models.model_file(name)) for name in dict.fromkeys(named)]
    for name, path in found:
        if path.is_dir():
            raise ModelError(f"{name}: a folder, expected a file that can be sent to workers. Convert it to .tflite")
    return found


def _specs(
    files: Sequence[tuple[str, Path]], keys: Sequence[str], opts: Sequence[str], samples: int, toolchain: str | None
) -> list[RowSpec]:
    from aboard.matrix.row import RowSpec

    goals: Sequence[str | None] = opts or [None]
    contents = {name: path.read_bytes() for name, path in files}
    return [
        RowSpec(name, path.name, contents[name], key, goal, samples, toolchain)
        for (name, path), key, goal in itertools.product(files, keys, goals)
    ]


def _row(found: FilledRow) -> FarmRow:
    row, last = found.row, found.last
    change = None
    if last is not None:
        change = FarmChange(
            state=last.state,
            instructions=_difference(row.instructions, last.instructions),
            ram_bytes=_difference(row.ram_bytes, last.ram_bytes),
            flash_bytes=_difference(row.flash_bytes, last.flash_bytes),
        )
    return FarmRow(**vars(row), change=change)


def _difference(now: int | None, before: int | None) -> int | None:
    return None if now is None or before is None else now - before


def _report(result: FarmVerifyResult) -> str:
    lines = [(r.model, r.board, r.opt, r.state, r.instructions, r.ram_bytes, r.flash_bytes) for r in result.rows]
    text = table(("model", "board", "opt", "state", "instructions", "RAM", "flash"), lines)
    wrong = [f"{r.model} on {r.board} ({r.opt}): {r.message}" for r in result.rows if r.message]
    return "\n\n".join([text, *wrong, *([f"Reports: {result.folder}"] if result.folder else [])])
