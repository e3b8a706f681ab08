"""The JSON of `aboard tune`."""

from __future__ import annotations

from pydantic import Field

from aboard.cli.schema_result import Result

Point = dict[str, str | int | bool]


class TrialInfo(Result):
    """A point that was tried."""

    device: str = Field(description="Device whose regions all used this point.")
    values: Point = Field(description="Value of every knob.")
    region_instructions: int | None = Field(description="Instructions of the device's regions; null if unknown.")
    instructions: int | None = Field(description="Instructions of the whole run; null if unknown.")
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
    toolchain: str = Field(description="Name and version of the compiler.")


class BestInfo(Result):
    """The best point of a workload."""

    device: str
    nodes: list[str] = Field(description="Names of the regions.")
    workload: str = Field(description="Computation of the regions, in canonical form.")
    key: RecordKey = Field(description="Key of the record, together with the workload.")
    values: Point = Field(description="Value of every knob.")
    instructions: int = Field(description="Instructions of these regions at the best point.")
    default_instructions: int = Field(description="Instructions of these regions with the default of every knob.")


class TuneResult(Result):
    """`aboard tune`."""

    model: str = Field(description="C identifier of the model.")
    target: str = Field(description="Canonical form of the target.")
    ran_on: str = Field(description="Board and runner, or this process.")
    samples: int = Field(description="Inputs for which every point was compared with the host alone.")
    trials: list[TrialInfo]
    best: list[BestInfo] = Field(description="Best points; empty if nothing could be measured.")
    host_instructions: int | None = Field(description="Instructions of a run on the host alone; null if unknown.")
    default_instructions: int | None = Field(
        description="Instructions of a run with the default of every knob; null if unknown."
    )
    tuned_instructions: int | None = Field(description="Instructions of a run with the best points; null if unknown.")
    records: str | None = Field(description="File of records that was written; null if nothing could be measured.")
