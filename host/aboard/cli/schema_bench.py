"""The JSON of `aboard bench`, which is also the file that it writes."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from aboard.cli.schema_cost import CostInfo
from aboard.cli.schema_result import Result


class LayerBench(Result):
    """A node of a model."""

    name: str
    op: str
    device: str | None = Field(description="Device that computes the node; null for the host.")
    macs: int
    cost: CostInfo


class ModelBench(Result):
    """A model that was measured."""

    model: str = Field(description="C identifier of the model.")
    model_sha256: str = Field(description="SHA-256 of the model file.")
    target: str = Field(description="Canonical form of the target.")
    macs: int
    ram_bytes: int = Field(description="RAM of the model.")
    flash_bytes: int = Field(description="Flash of the model, weighed in the image.")
    run: CostInfo = Field(description="Cost of a run without profiling.")
    layers: list[LayerBench] = Field(description="In order of execution; profiling costs some ticks each.")
    outputs: dict[str, str] = Field(description="SHA-256 of the bytes of each output, for the inputs `input`.")


class BenchResult(Result):
    """`aboard bench`."""

    format: Literal[1] = 1
    board: str
    soc: str
    core: str
    clock_hz: int | None = Field(description="Clock of the core in the board file; null if it is not known.")
    wait_states: int | None = Field(description="Wait states of the flash at this clock; null if they are not known.")
    is_real: bool = Field(description="True if a board measured, false for an emulator or a pseudo-terminal.")
    runner: str
    unit: Literal["instructions", "ticks"] = Field(description="What was counted.")
    tick_hz: int | None = Field(description="Ticks of the board's counter in a second; null for instructions.")
    repeats: int = Field(description="Runs of which ticks are the median; 1 for instructions, which do not change.")
    input: str = Field(description="The inputs, as for `--input`.")
    toolchain: str = Field(description="Name and version of the compiler.")
    version: str = Field(description="Version of aboard.")
    date: str = Field(description="Day of the measurement, as `2026-11-26`, UTC.")
    models: list[ModelBench]
