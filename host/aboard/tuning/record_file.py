"""The file of tuning records, in JSON. Several tuners may write it at once: their records merge."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

import platformdirs
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from aboard import outputs
from aboard.base import file_lock
from aboard.errors import InputError
from aboard.tuning.choice import ChosenPoint, TunedPart
from aboard.tuning.key import Key
from aboard.tuning.records import Recorded, TuningRecord, by_key

#: Environment variable that names the file of records.
VARIABLE = "ABOARD_TUNING"
FILE_NAME = "tuning.json"
#: Writing takes milliseconds; whoever holds the lock for longer hangs.
_PATIENCE_S = 10.0


class _RecordsFile(BaseModel):
    model_config = ConfigDict(extra="forbid")

    format: Literal[3] = 3
    records: tuple[TuningRecord, ...]

    @model_validator(mode="before")
    @classmethod
    def _older(cls, read: Any) -> Any:
        """Takes format 2, whose records are instructions and had no other name for them."""
        if not isinstance(read, dict) or read.get("format") != 2 or not isinstance(read.get("records"), list):
            return read
        names = {"instructions": "count"}
        records = [{names.get(k, k): v for k, v in r.items()} if isinstance(r, dict) else r for r in read["records"]]
        return {"format": 3, "records": records}


class Records:
    """The records of a file. The file is read on first use.

    Attributes:
        path: The file.
        is_binding: See `Tuning`.
    """

    is_binding: ClassVar[bool] = False

    def __init__(self, path: Path, *, required: bool = False, toolchain: str | None = None) -> None:
        """Sets the file; a required file is read at once.

        Args:
            path: The file.
            required: True if the file must exist; otherwise a missing file counts as empty.
            toolchain: As for `Recorded.toolchain`.

        Raises:
            InputError: The file is required, and cannot be read or is damaged.
        """
        self.path = path
        self.toolchain = toolchain
        self._required = required
        if required:
            self.entries  # noqa: B018 - read now, so that a wrong name is reported before anything is compiled

    @cached_property
    def entries(self) -> Mapping[Key, TuningRecord]:
        """All records by their keys.

        Raises:
            InputError: The file cannot be read, or is damaged.
        """
        return _read(self.path, required=self._required)

    def has_points(self) -> bool:
        """False without records; see `entries` for errors."""
        return bool(self.entries)

    @cached_property
    def _recorded(self) -> Recorded:
        return Recorded(self.entries, self.toolchain)

    def choose(self, part: TunedPart) -> ChosenPoint:
        """Returns the recorded point for a part, else the defaults; see `Recorded.choose`."""
        return self._recorded.choose(part)


def default_path() -> Path:
    """Returns the user's file of records: the file in `ABOARD_TUNING`, or a file in the user's data folder."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named else platformdirs.user_data_path("aboard") / FILE_NAME


def store(path: Path, found: Iterable[TuningRecord], known: Mapping[Key, TuningRecord] | None = None) -> None:
    """Adds records to a file and replaces records with the same keys. The file is written in one step.

    Args:
        path: The file; created if missing.
        found: The records.
        known: The records that the file had when the search began. What another tuner has stored since is kept if it
            costs no more.

    Raises:
        InputError: The file is damaged, or cannot be written, or another process keeps it locked.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _locked(path):
            entries = dict(_read(path, required=False))
            for key, record in by_key(found).items():
                there = entries.get(key)
                since = known is not None and there is not None and there != known.get(key)
                if there is None or not since or record.count < there.count:
                    entries[key] = record
            text = _RecordsFile(records=tuple(entries[key] for key in sorted(entries, key=repr))).model_dump_json(
                indent=2, exclude_none=True
            )
            outputs.put(outputs.followed(path, InputError), f"{text}\n".encode())
    except OSError as error:
        raise InputError(
            f"{path}: records cannot be written, got {error.strerror}, expected a file that can be. Name another with "
            f"--tuning or {VARIABLE}"
        ) from error


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keeps other tuners from writing a file: the lock is on its folder, because the file itself is replaced."""
    if not hasattr(os, "O_DIRECTORY"):
        yield
        return
    fd = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        deadline = time.monotonic() + _PATIENCE_S
        while file_lock.take(fd) is False:
            if time.monotonic() > deadline:
                raise InputError(
                    f"{path}: records cannot be written, got a folder that another process has locked for "
                    f"{_PATIENCE_S:g} s, expected a moment. End that process, or name another file with --tuning"
                )
            time.sleep(0.02)
        yield
    finally:
        os.close(fd)


def _read(path: Path, *, required: bool) -> dict[Key, TuningRecord]:
    try:
        file = _RecordsFile.model_validate_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        if not required:
            return {}
        raise InputError(
            f"{path}: records cannot be read, got {error.strerror}, expected a file that `aboard tune` wrote. "
            "Run it with --tuning first"
        ) from error
    except OSError as error:
        raise InputError(
            f"{path}: records cannot be read, got {error.strerror}, expected a file that `aboard tune` wrote. Name "
            f"another with --tuning or {VARIABLE}"
        ) from error
    except (ValidationError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path}: records are damaged, got {_first(error)}, expected what `aboard tune` writes. Remove the file "
            "and tune again"
        ) from error
    return by_key(file.records)


def _first(error: ValidationError | UnicodeDecodeError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "no UTF-8"
    detail = error.errors()[0]
    return f"{detail['msg']} at {'.'.join(map(str, detail['loc'])) or 'the top'}"
