"""The JSON of commands on whether a model fits a board, and how long a run takes."""

from __future__ import annotations

from pydantic import Field

from aboard.cli.schema_boards import Result


class EstimatedTimeInfo(Result):
    """How long a core would take for counted instructions: an estimate, not a measurement."""

    cycles: int = Field(
        description="Instructions times the cycles that the kernels take for each, without wait states."
    )
    seconds: float = Field(description="The cycles at the board's clock.")
    core: str = Field(description="Core that the cycles were estimated for.")
    error: float | None = Field(
        description="Largest relative error of cycles for each instruction among models that were left out of the fit; "
        "null where another core than the board's had to stand in."
    )


class MemoryNeed(Result):
    """RAM or flash that an image needs, and that the board has."""

    needed_bytes: int
    available_bytes: int | None = Field(description="Null where the board does not limit it.")
    items: dict[str, int] = Field(description="Bytes by what they are for.")


class FitInfo(Result):
    """Memory of the board's default project with this model alone."""

    ram: MemoryNeed = Field(description="Arena, buffers, stack and the least that the firmware takes.")
    flash: MemoryNeed = Field(description="Constants, code as predicted, and the least that the firmware takes.")
    problems: list[str] = Field(
        description="Problems, one for each memory that is too small; empty if everything fits."
    )


class Verdict(Result):
    """Whether a model fits a board, and how long a run takes."""

    fits: bool | None = Field(description="Whether the board holds the board's default project; null without a board.")
    ram_needed_bytes: int | None = Field(
        description="RAM of that project: data, bss and stack (there is no heap); null without a board."
    )
    memory: FitInfo | None = Field(description="The same item by item; null without a board.")
    estimated_time: EstimatedTimeInfo | None = Field(
        description="Predicted cycles at the board's clock; null without a board or a clock."
    )
