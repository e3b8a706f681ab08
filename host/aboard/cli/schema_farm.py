"""The JSON of `aboard farm`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from aboard.cli.schema_result import Result


class FarmWorkerInfo(Result):
    """A worker of a farm: a process that owns one board, is one emulator, or builds."""

    name: str
    kind: Literal["board", "emulator", "builds"]
    boards: list[str] = Field(description="Hardware keys that it takes jobs for now.")
    device: str | None = Field(description="Serial number or port of its board; null for emulators and builds.")
    state: Literal["free", "busy", "gone", "quarantined"] = Field(
        description="`gone`: the port of the board is missing. `quarantined`: the board failed several times in a row."
    )
    holder: str | None = Field(description="Who runs a job on it, and what; null if it is free.")
    seconds: float | None = Field(description="How long that job has been running; null if it is free.")
    jobs: int = Field(description="Number of jobs that run on it or wait for it.")
    done: int = Field(description="Number of jobs that ended.")
    failures: int = Field(description="Failures of the board in a row.")
    seen_seconds: float = Field(description="How long ago the scheduler heard of it.")
    version: str = Field(description="Version of aboard.")
    log: list[str] = Field(description="Its last lines.")


class FarmStatusResult(Result):
    """`aboard farm status`."""

    address: str = Field(description="Address of the scheduler.")
    workers: list[FarmWorkerInfo]


class FarmChange(Result):
    """What changed in a row since the last run."""

    state: str = Field(description="State of the last run.")
    instructions: int | None = Field(description="Instructions now minus those of the last run; null if not counted.")
    ram_bytes: int | None = Field(description="RAM now minus that of the last run.")
    flash_bytes: int | None = Field(description="Flash now minus that of the last run.")


class FarmRow(Result):
    """A row of the table."""

    model: str = Field(description="The model, as on the command line.")
    board: str = Field(description="Hardware key.")
    opt: str = Field(description="Optimisation goal; `default` without `--opt`.")
    state: Literal["exact", "different", "refused", "failed"] = Field(
        description="`exact`: no byte differs. `refused`: the model does not compile for the board, or does not fit. "
        "`failed`: there is no result."
    )
    message: str = Field(description="Why it is not exact; empty if it is.")
    samples: int | None = Field(description="Number of compared inputs.")
    differing_bytes: int | None = Field(description="Bytes that differ, over all samples.")
    runner: str | None
    instructions: int | None = Field(description="Instructions of a run; null unless the runner counts them.")
    seconds: float | None = Field(description="Time of a run on a board; null in an emulator.")
    ram_bytes: int | None = Field(description="RAM of the model.")
    flash_bytes: int | None = Field(description="Flash of the model.")
    change: FarmChange | None = Field(description="Change against the last run in the folder of `-o`; null without.")


class FarmVerifyResult(Result):
    """`aboard farm verify`."""

    address: str = Field(description="Address of the scheduler.")
    rows: list[FarmRow]
    folder: str | None = Field(description="Folder with the rows and the reports; null without `-o`.")
