"""The JSON of `aboard tune`."""

from __future__ import annotations

from pydantic import Field

from aboard.cli.schema_boards import Result

Point = dict[str, str | int | bool]


class TrialInfo(Result):
    """A point that was tried."""

    device: str = Field(description="The device all of whose regions were at this point.")
    values: Point = Field(description="Value of every knob.")
    region_instructions: int | None = Field(description="Of the device's regions; null if unknown.")
    instructions: int | None = Field(description="Of the whole run; null if unknown.")
    exact: bool = Field(
        description="True when every output was that of the host alone, and every region gave what its operators mean; "
        "false where nothing ran."
    )
    refused: str | None = Field(description="Why there is no code for this point; null where there is.")


class RecordKey(Result):
    """The conditions of a measurement, without the workload."""

    soc: str = Field(description="SoC of the host; empty where the target names no hardware.")
    core: str = Field(description="Core of the host.")
    kind: str = Field(description="Kind of the device, with the attributes that make up its identity.")
    opt: str = Field(description="`-opt` of the host.")
    toolchain: str = Field(description="Name and version of the compiler.")


class BestInfo(Result):
    """The best point of a workload."""

    device: str
    nodes: list[str] = Field(description="Names of the regions.")
    workload: str = Field(description="What is computed, in canonical form.")
    key: RecordKey = Field(description="Key of the record, together with the workload.")
    values: Point = Field(description="Value of every knob.")
    instructions: int = Field(description="Of these regions.")
    default_instructions: int = Field(description="The same with the default of every knob.")


class TuneResult(Result):
    """`aboard tune`."""

    model: str = Field(description="C identifier of the model.")
    target: str = Field(description="Canonical form of the target.")
    ran_on: str = Field(description="Board and runner, or this process.")
    samples: int = Field(description="Inputs for which every point was compared with the host alone.")
    trials: list[TrialInfo]
    best: list[BestInfo] = Field(description="Empty where nothing could be measured.")
    host_instructions: int | None = Field(description="Of a run of the host alone; null where they cannot be told.")
    default_instructions: int | None = Field(description="Of a run with the default of every knob; null likewise.")
    tuned_instructions: int | None = Field(description="Of a run with the best points; null likewise.")
    records: str | None = Field(description="File that was written; null where nothing could be measured.")
