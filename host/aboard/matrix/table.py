"""Fills the table on a farm, and keeps it in a folder: the rows of this run, those of the last one, and the reports."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from aboard.errors import InputError
from aboard.farm import engine, offers
from aboard.farm.store import Store
from aboard.farm.submission import PATIENCE_S, Submission
from aboard.matrix import row as rows
from aboard.matrix.row import Row, RowSpec

#: Files of the folder: the rows of this run, and those of the run before.
ROWS, LAST = "rows.jsonl", "last.jsonl"


@dataclass(frozen=True)
class FilledRow:
    """A row of this run, and the same row of the last run.

    Attributes:
        row: The row.
        last: The last run's; None if there was none.
    """

    row: Row
    last: Row | None


def boards_of(address: str, named: Sequence[str], where: str | None, patience_s: float = PATIENCE_S) -> list[str]:
    """Returns the hardware keys for the boards of a table, in the order in which they are named.

    Args:
        address: Address of the scheduler.
        named: Hardware keys, as `boards.load` gives them.
        where: Conditions for boards (`offers.matching`); None for those that are named.
        patience_s: Longest time to wait for the first worker, in seconds.

    Raises:
        ToolError: No worker has one of them, or none builds.
        InputError: The conditions cannot be read, or a worker runs another version of aboard.
        TransportError: No scheduler answers.
    """
    with engine.connected(address) as client:
        found = offers.settled(client, named, patience_s, builds=True)
    if where is None:
        return list(dict.fromkeys(named))
    chosen = offers.matching(where, found)
    return [key for key in chosen if key in named] if named else chosen


def fill(
    address: str,
    specs: Sequence[RowSpec],
    folder: Path | None,
    on_row: Callable[[Row], None],
    note: Callable[[str], None],
    patience_s: float = PATIENCE_S,
) -> list[FilledRow]:
    """Runs the rows that have no result yet.

    If all rows have one, the table is filled anew, and compared with what it was.

    Args:
        address: Address of the scheduler.
        specs: The rows.
        folder: Folder that keeps the rows, which exists; None to keep nothing.
        on_row: Called with each row, once it is recorded.
        note: Receives lines of information.
        patience_s: How long the farm may have no worker for a row, in seconds.

    Raises:
        InputError: The files of the folder are not those of a table, or another process writes them.
        TransportError: No scheduler answers.
    """
    with Store(None if folder is None else folder / LAST) as last, Store(_file(folder)) as store:
        wanted = {spec.key: spec for spec in specs}
        if wanted.keys() <= store.rows.keys():
            last.clear()
            for key, row in store.rows.items():
                last.record(key, row)
            store.clear()

        def record(key: str, result: Any) -> None:
            row = rows.row_of(wanted[key], result)
            if store.record(key, asdict(row)):
                on_row(row)

        for key in wanted.keys() & store.rows.keys():
            on_row(_read(store.rows[key]))
        holder = offers.this_holder()
        missing = [rows.ticket(spec, holder) for key, spec in wanted.items() if key not in store.rows]
        Submission(address, record, patience_s, note).run(missing)
        before = _by_place(last.rows)
        return [FilledRow(row, before.get(_place(row))) for row in (_read(store.rows[key]) for key in wanted)]


def _file(folder: Path | None) -> Path | None:
    return None if folder is None else folder / ROWS


def _by_place(found: Mapping[str, Any]) -> dict[tuple[str, str, str], Row]:
    """Returns the rows by what people call them: a model that was changed since is the same row."""
    return {_place(row): row for row in map(_read, found.values())}


def _place(row: Row) -> tuple[str, str, str]:
    return row.model, row.board, row.opt


def _read(stored: Any) -> Row:
    try:
        return Row(**stored)
    except TypeError as error:
        raise InputError(
            f"{ROWS}: a row of another version of aboard. Name another folder with -o, or remove the file"
        ) from error
