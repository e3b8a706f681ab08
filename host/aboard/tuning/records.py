"""Records of the best measured points.

The key of a record is the device, the SoC, the core and `-opt` of the host, the clock if ticks were measured, the
toolchain, and the workload (`aboard.tuning.key`). A record therefore serves every model with such a layer on every
board with that SoC; other devices of the target do not matter. Where, when and how well a record was measured stands
beside it; the compiler takes only its points and its cost, so that the same points give the same code on every machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, StrictBool, StrictInt, StrictStr

from aboard.base.measured_cost import MeasuredCost, Unit
from aboard.target import Target
from aboard.tuning import space
from aboard.tuning.choice import DEFAULT, RECORD, ChosenPoint, RecordedCost, TunedPart
from aboard.tuning.key import Clock, DeviceKey, Key, clock, device_key, toolchain


class Provenance(BaseModel):
    """Where a record comes from, for people.

    Attributes:
        board: Board and runner.
        date: Day of the measurement, as `2026-11-26`.
        version: Version of aboard.
        tick_hz: Ticks of the device's counter in a second; None for instructions.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    board: str
    date: str
    version: str
    tick_hz: int | None = None


class TuningRecord(BaseModel):
    """The best point of a workload.

    Attributes:
        soc: SoC of the host; empty if the target names no hardware.
        core: Core of the host.
        kind: Kind of the device, with its identity attributes.
        opt: `-opt` of the host.
        clock_hz: Clock of the host; None for instructions, and if it is not known.
        wait_states: Wait states of its flash; None likewise.
        toolchain: Name and version of the compiler.
        workload: The computation in canonical form.
        values: Value of every knob.
        unit: What was counted.
        count: Cost of the part at this point, on which predictions and `-partition=cost` rely.
        spread: Ticks between the first and the third quartile of the runs.
        calls: Kernel calls in which the part was computed; more than one in a cascade.
        provenance: Where the record comes from; None if it was written by a version that did not tell.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    soc: str
    core: str
    kind: str
    opt: str
    clock_hz: int | None = None
    wait_states: int | None = None
    toolchain: str
    workload: str
    values: Mapping[str, StrictBool | StrictInt | StrictStr]
    unit: Unit = "instructions"
    count: int
    spread: int = 0
    calls: int = 1
    provenance: Provenance | None = None

    @property
    def key(self) -> Key:
        """The key of the record."""
        device = DeviceKey(self.soc, self.core, self.kind, self.opt)
        at = Clock(self.clock_hz, self.wait_states) if self.unit == "ticks" else None
        return Key(device, at, self.toolchain, self.workload)

    @property
    def cost(self) -> MeasuredCost:
        """Cost of the part."""
        return MeasuredCost(self.count, self.unit, self.spread)

    @property
    def recorded_cost(self) -> RecordedCost | None:
        """Cost of the part for the compiler; None if ticks cannot be converted to cycles."""
        if self.unit == "instructions":
            return RecordedCost(self.count, None, self.calls)
        tick_hz = None if self.provenance is None else self.provenance.tick_hz
        if not tick_hz or self.clock_hz is None:
            return None
        return RecordedCost(None, round(self.count * self.clock_hz / tick_hz), self.calls)


@dataclass(frozen=True)
class Recorded:
    """Chooses points from records.

    Attributes:
        entries: The records by their keys.
        toolchain: Name of the toolchain or path of the compiler for the build; None for the default toolchain.
    """

    entries: Mapping[Key, TuningRecord]
    toolchain: str | None = None
    is_binding: ClassVar[bool] = False

    def has_points(self) -> bool:
        """False without records."""
        return bool(self.entries)

    def choose(self, part: TunedPart) -> ChosenPoint:
        """Returns the recorded point for a part, else the defaults.

        Ticks of a board at the host's clock go before instructions. A record is not used if it belongs to another
        toolchain or clock, or if it names a knob or value that the device does not have because its package has
        another version.
        """
        mine = self._of(part)
        if not mine:
            return ChosenPoint({}, DEFAULT)
        here = Conditions(clock(part.target), toolchain(part.target, self.toolchain))
        reasons = [(record, here.unsuited(record) or _problem(part.space, record)) for record in mine]
        usable = [record for record, reason in reasons if not reason]
        if usable:
            record = max(usable, key=lambda r: r.unit == "ticks")
            return ChosenPoint(part.space.completed(record.values), RECORD, record.recorded_cost)
        unused = sorted({reason for _, reason in reasons})
        return ChosenPoint({}, f"default, as the record is {'; '.join(unused)}")

    def _of(self, part: TunedPart) -> list[TuningRecord]:
        if not self.entries:
            return []
        return self._by_part.get((device_key(part.target, part.device), part.workload), [])

    @cached_property
    def _by_part(self) -> dict[tuple[DeviceKey, str], list[TuningRecord]]:
        found: dict[tuple[DeviceKey, str], list[TuningRecord]] = {}
        for record in self.entries.values():
            found.setdefault((record.key.device, record.workload), []).append(record)
        return found

    def stale(self, target: Target) -> Iterator[tuple[TuningRecord, str]]:
        """Yields the records of a target's devices that it cannot use, each with the reason."""
        here = Conditions(clock(target), toolchain(target, self.toolchain))
        # What a kernel of the host can take depends on the node, so its records are stale by their conditions alone.
        spaces = {device_key(target, device): space.of_device(device) for device in target.devices}
        mine = {device_key(target, target.host): None, **spaces}
        for record in self.entries.values():
            if record.key.device in mine:
                points = mine[record.key.device]
                reason = here.unsuited(record) or ("" if points is None else _problem(points, record))
                if reason:
                    yield record, reason


@dataclass(frozen=True)
class Conditions:
    """The conditions under which a record can be used.

    Attributes:
        clock: Clock of the host.
        toolchain: Name and version of the compiler; empty if there is none.
    """

    clock: Clock
    toolchain: str

    def unsuited(self, record: TuningRecord) -> str:
        """Returns why a record cannot be used here, as what it is of; empty if it can."""
        if record.toolchain != self.toolchain:
            return f"of {record.toolchain}, not of {self.toolchain or 'any toolchain here'}"
        if record.key.clock not in (None, self.clock):
            return f"of ticks at {record.key.clock}, not at {self.clock}"
        return ""


def _problem(points: space.Space, record: TuningRecord) -> str:
    """Returns that a record's point is not in a space, as what the record is of; empty if it is."""
    problem = points.problem(record.values)
    return f"of another version: {problem}" if problem else ""


def by_key(found: Iterable[TuningRecord]) -> dict[Key, TuningRecord]:
    """Returns the records as a dict by key."""
    return {record.key: record for record in found}
