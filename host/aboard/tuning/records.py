"""Records of the best measured points.

The key of a record is the device, the SoC, the core and `-opt` of the host, the clock if ticks were measured, the
toolchain, and the workload (`aboard.tuning.key`). A record therefore serves every model with such a layer on every
board with that SoC; other devices of the target do not matter. Where, when and how well a record was measured stands
beside it and is not read by the compiler, so that the same points give the same code on every machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, StrictBool, StrictInt, StrictStr

from aboard.base.measured_cost import MeasuredCost, Unit
from aboard.target import Target
from aboard.tuning import space
from aboard.tuning.choice import DEFAULT, RECORD, ChosenPoint, TunedRegion, mismatch
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
        count: Cost of the region at this point, for information.
        spread: Ticks between the first and the third quartile of the runs.
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
    provenance: Provenance | None = None

    @property
    def key(self) -> Key:
        """The key of the record."""
        device = DeviceKey(self.soc, self.core, self.kind, self.opt)
        at = Clock(self.clock_hz, self.wait_states) if self.unit == "ticks" else None
        return Key(device, at, self.toolchain, self.workload)

    @property
    def cost(self) -> MeasuredCost:
        """Cost of the region."""
        return MeasuredCost(self.count, self.unit, self.spread)


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

        Ticks of a board at the host's clock go before instructions. A record is not used if it belongs to another
        toolchain or clock, or if it names a knob or value that the device does not have because its package has
        another version.
        """
        defaults = space.defaults(place.device)
        device = device_key(place.target, place.device)
        mine = [r for r in self.entries.values() if r.key.device == device and r.workload == place.workload]
        here = Conditions(clock(place.target), toolchain(place.target, self.toolchain))
        reasons = [(record, here.unsuited(place.device, record)) for record in mine]
        usable = [record for record, reason in reasons if not reason]
        if usable:
            record = max(usable, key=lambda r: r.unit == "ticks")
            return ChosenPoint({**defaults, **record.values}, RECORD)
        unused = sorted({reason for _, reason in reasons})
        return ChosenPoint(defaults, f"default, as the record is {'; '.join(unused)}" if unused else DEFAULT)

    def stale(self, target: Target) -> Iterator[tuple[TuningRecord, str]]:
        """Yields the records of a target's devices that it cannot use, each with the reason."""
        here = Conditions(clock(target), toolchain(target, self.toolchain))
        for device in target.devices:
            mine = device_key(target, device)
            for record in self.entries.values():
                reason = here.unsuited(device, record) if record.key.device == mine else ""
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

    def unsuited(self, device: Target, record: TuningRecord) -> str:
        """Returns why a record of a device cannot be used, as what it is of; empty if it can."""
        if record.toolchain != self.toolchain:
            return f"of {record.toolchain}, not of {self.toolchain or 'any toolchain here'}"
        if record.key.clock not in (None, self.clock):
            return f"of ticks at {record.key.clock}, not at {self.clock}"
        problem = mismatch(device, record.values)
        return f"of another version: {problem}" if problem else ""


def by_key(found: Iterable[TuningRecord]) -> dict[Key, TuningRecord]:
    """Returns the records as a dict by key."""
    return {record.key: record for record in found}
