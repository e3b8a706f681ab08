"""Records of what was measured to be best, in one JSON file.

A record belongs to a device on a SoC, the core and `-opt` of its host, the toolchain, and the workload
(`aboard.tuning.key`). So it serves every model with such a layer, on every board with that SoC, whatever other devices
the target has. It holds no names, no dates and no paths: the same records give the same code anywhere.
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
        soc: SoC of the host; empty where the target names no hardware.
        core: Core of the host.
        kind: Kind of the device, with the attributes that make up its identity.
        opt: `-opt` of the host.
        toolchain: Name and version of the compiler.
        workload: What is computed, in canonical form.
        values: Value of every knob.
        instructions: What the region took at this point, for people.
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
        """What it is found by."""
        return Key(DeviceKey(self.soc, self.core, self.kind, self.opt), self.toolchain, self.workload)


class _RecordsFile(BaseModel):
    model_config = ConfigDict(extra="forbid")

    format: Literal[2] = 2
    records: tuple[TuningRecord, ...]


@dataclass(frozen=True)
class Recorded:
    """Chooses among records.

    Attributes:
        entries: The records by their keys.
        toolchain: Name of the toolchain, or path of the compiler, that will build; None for the one chosen by rule.
    """

    entries: Mapping[Key, TuningRecord]
    toolchain: str | None = None

    def choose(self, place: TunedRegion) -> ChosenPoint:
        """Returns the recorded point of a region, else the defaults.

        A record of another toolchain is left aside, and so is one that names a knob or value which the device no longer
        has (its package is another version).
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
    """The records of a file, read when the first is asked for.

    Attributes:
        path: The file.
    """

    def __init__(self, path: Path, *, required: bool = False, toolchain: str | None = None) -> None:
        """Names the file.

        Args:
            path: The file.
            required: True when it must be there; else none is as good as an empty one.
            toolchain: As `Recorded.toolchain`.

        Raises:
            InputError: It is required, and cannot be read or is damaged.
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
        """Returns the recorded point of a region, else the defaults; see `Recorded.choose`."""
        return Recorded(self.entries, self.toolchain).choose(place)


def default_path() -> Path:
    """Returns the user's file of records: what `ABOARD_TUNING` names, or one in the folder for data of programs."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named else platformdirs.user_data_path("aboard") / FILE_NAME


def by_key(found: Iterable[TuningRecord]) -> dict[Key, TuningRecord]:
    """Returns records by their keys."""
    return {record.key: record for record in found}


def store(path: Path, found: Iterable[TuningRecord]) -> None:
    """Adds records to a file; each takes the place of the one with its key. The file changes at once, or not at all.

    Args:
        path: The file; made where there is none.
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
