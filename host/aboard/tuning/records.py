"""Records of the best measured points, in one JSON file.

The key of a record is the device, the SoC, the core and `-opt` of the host, the toolchain, and the workload
(`aboard.tuning.key`). A record therefore serves every model with such a layer on every board with that SoC; other
devices of the target do not matter. A record holds no names, dates or paths, so that the same records give the same
code on every machine.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import platformdirs
from pydantic import BaseModel, ConfigDict, StrictBool, StrictInt, StrictStr, ValidationError

from aboard import outputs
from aboard.errors import InputError
from aboard.tuning import space
from aboard.tuning.choice import DEFAULT, RECORD, ChosenPoint, TunedRegion, mismatch
from aboard.tuning.key import DeviceKey, Key, device_key, toolchain

#: Environment variable that names the file of records.
VARIABLE = "ABOARD_TUNING"
FILE_NAME = "tuning.json"


class TuningRecord(BaseModel):
    """The best point of a workload.

    Attributes:
        soc: SoC of the host; empty if the target names no hardware.
        core: Core of the host.
        kind: Kind of the device, with its identity attributes.
        opt: `-opt` of the host.
        toolchain: Name and version of the compiler.
        workload: The computation in canonical form.
        values: Value of every knob.
        instructions: Instructions of the region at this point, for information.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    soc: str
    core: str
    kind: str
    opt: str
    toolchain: str
    workload: str
    values: Mapping[str, StrictBool | StrictInt | StrictStr]
    instructions: int

    @property
    def key(self) -> Key:
        """The key of the record."""
        return Key(DeviceKey(self.soc, self.core, self.kind, self.opt), self.toolchain, self.workload)


class _RecordsFile(BaseModel):
    model_config = ConfigDict(extra="forbid")

    format: Literal[2] = 2
    records: tuple[TuningRecord, ...]


@dataclass(frozen=True)
class Recorded:
    """Chooses points from records.

    Attributes:
        entries: The records by their keys.
        toolchain: Name of the toolchain or path of the compiler for the build; None for the default toolchain.
    """

    entries: Mapping[Key, TuningRecord]
    toolchain: str | None = None

    def choose(self, place: TunedRegion) -> ChosenPoint:
        """Returns the recorded point for a region, else the defaults.

        A record is not used if it belongs to another toolchain, or if it names a knob or value that the device does not
        have because its package has another version.
        """
        device = device_key(place.target, place.device)
        known = {
            key.toolchain: r
            for key, r in self.entries.items()
            if (key.device, key.workload) == (device, place.workload)
        }
        defaults = space.defaults(place.device)
        if not known:
            return ChosenPoint(defaults, DEFAULT)
        builds = toolchain(place.target, self.toolchain)
        record = known.get(builds)
        if record is None:
            others = " and ".join(sorted(known))
            return ChosenPoint(
                defaults, f"default, as the record is of {others}, not of {builds or 'any toolchain here'}"
            )
        problem = mismatch(place.device, record.values)
        if problem:
            return ChosenPoint(defaults, f"default, as the record is of another version: {problem}")
        return ChosenPoint({**defaults, **record.values}, RECORD)


class Records:
    """The records of a file. The file is read on first use.

    Attributes:
        path: The file.
    """

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

    def choose(self, place: TunedRegion) -> ChosenPoint:
        """Returns the recorded point for a region, else the defaults; see `Recorded.choose`."""
        return Recorded(self.entries, self.toolchain).choose(place)


def default_path() -> Path:
    """Returns the user's file of records: the file in `ABOARD_TUNING`, or a file in the user's data folder."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named else platformdirs.user_data_path("aboard") / FILE_NAME


def by_key(found: Iterable[TuningRecord]) -> dict[Key, TuningRecord]:
    """Returns the records as a dict by key."""
    return {record.key: record for record in found}


def store(path: Path, found: Iterable[TuningRecord]) -> None:
    """Adds records to a file and replaces records with the same keys. The file is written in one step.

    Args:
        path: The file; created if missing.
        found: The records.

    Raises:
        InputError: The file is damaged, or cannot be written.
    """
    entries = {**_read(path, required=False), **by_key(found)}
    text = _RecordsFile(records=tuple(entries[key] for key in sorted(entries))).model_dump_json(indent=2) + "\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        outputs.put(outputs.followed(path, InputError), text.encode())
    except OSError as error:
        raise InputError(
            f"{path}: records cannot be written, got {error.strerror}, expected a file that can be. Name another with "
            f"--tuning or {VARIABLE}"
        ) from error


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
