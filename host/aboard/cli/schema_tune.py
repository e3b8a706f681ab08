"""The JSON of `aboard tune`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from aboard.cli.schema_cost import CostInfo
from aboard.cli.schema_result import Result

Point = dict[str, str | int | bool]


class TrialInfo(Result):
    """A point that was tried."""

    device: str = Field(description="Device whose regions all used this point; `host` for a kernel of the host.")
    workload: str | None = Field(description="Computation of the host's nodes that used it; null for a device.")
    values: Point = Field(description="Value of every knob.")
    regions: CostInfo | None = Field(description="Cost of the device's regions; null if it was not measured.")
    run: CostInfo | None = Field(description="Cost of the whole run; null if it was not measured.")
    exact: bool = Field(
        description="True if all outputs equal the outputs of the host alone, and all regions are right; false if "
        "nothing ran."
    )
    refused: str | None = Field(description="Reason why there is no code for this point; null if there is code.")


class RecordKey(Result):
    """The conditions of a measurement, without the workload."""

    soc: str = Field(description="SoC of the host; empty if the target names no hardware.")
    core: str = Field(description="Core of the host.")
    kind: str = Field(description="Kind of the device, with the attributes that make up its identity.")
    opt: str = Field(description="`-opt` of the host.")
    clock_hz: int | None = Field(description="Clock of the host, for ticks; null for instructions, and if unknown.")
    wait_states: int | None = Field(description="Wait states of its flash at this clock; null likewise.")
    toolchain: str = Field(description="Name and version of the compiler.")


class StaleRecord(Result):
    """A record of a device of the target that is not used."""

    workload: str = Field(description="Computation of the region, in canonical form.")
    values: Point = Field(description="Value of every knob.")
    reason: str = Field(description="Why: what it is of, and what is here.")


class BestInfo(Result):
    """The best point of a workload."""

    device: str
    nodes: list[str] = Field(description="Names of the regions.")
    workload: str = Field(description="Computation of the regions, in canonical form.")
    key: RecordKey = Field(description="Key of the record, together with the workload.")
    values: Point = Field(description="Value of every knob.")
    points: int = Field(description="Number of points that were measured.")
    more_bytes: int = Field(description="Flash that the point takes beyond the defaults, as predicted.")
    tuned: CostInfo = Field(description="Cost of these regions at the best point.")
    default: CostInfo = Field(description="Cost of these regions with the default of every knob.")


class MemoryInfo(Result):
    """The memory that the model needs."""

    ram_bytes: int
    flash_bytes: int | None = Field(description="As predicted; null if devices compute a part of the model.")


class TuneResult(Result):
    """`aboard tune`."""

    model: str = Field(description="C identifier of the model.")
    target: str = Field(description="Canonical form of the target.")
    ran_on: str = Field(description="Board and runner, or this process.")
    samples: int = Field(description="Inputs for which every point was compared with the host alone.")
    trials: list[TrialInfo]
    best: list[BestInfo] = Field(description="Best points; empty if nothing could be measured.")
    unit: Literal["instructions", "ticks"] | None = Field(description="What was counted; null if nothing was measured.")
    host: CostInfo | None = Field(description="Cost of a run on the host alone; null if it was not measured.")
    default: CostInfo | None = Field(description="Cost of a run with the default of every knob; null likewise.")
    tuned: CostInfo | None = Field(description="Cost of a run with the best points; null likewise.")
    default_memory: MemoryInfo = Field(description="Memory with the default of every knob.")
    tuned_memory: MemoryInfo | None = Field(description="Memory with the best points; null if nothing was measured.")
    unfinished: bool = Field(description="True if the time was over before all planned points were tried.")
    records: str | None = Field(description="File of records that was written; null if nothing could be measured.")
    stale: list[StaleRecord] = Field(
        description="Records of the target's devices that are not used: of another toolchain, clock or version."
    )
