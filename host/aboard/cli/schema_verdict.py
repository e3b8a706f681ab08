"""The JSON of the verdict: whether a model fits a board, and how long a run takes."""

from __future__ import annotations

from pydantic import Field

from aboard.cli.schema_result import Result
from aboard.device.timing import Basis


class EstimatedTimeInfo(Result):
    """How long a core would take for counted instructions: an estimate, not a measurement."""

    cycles: int = Field(
        description="Cycles: by the core's table over each executed instruction, or instructions times the kernels' "
        "cycles for each instruction. They include the waits for flash if `flash` is not null."
    )
    seconds: float = Field(description="Time of these cycles at the board's clock rate.")
    core: str = Field(description="Core whose cycles were estimated.")
    error: float | None = Field(
        description="Largest relative error of cycles for each instruction among models that were left out of the fit; "
        "null if another core is used in place of the board's, or if each executed instruction was counted."
    )
    basis: Basis = Field(
        description="`counted`: cycles of each executed instruction; `predicted`: cycles of the cost model."
    )
    flash: str | None = Field(
        description="Wait states and instruction cache of the board's flash, if the cycles include the waits for it; "
        "null for memory without wait states."
    )


class MemoryNeed(Result):
    """RAM or flash: the bytes that an image needs, and the bytes that the board has."""

    needed_bytes: int
    available_bytes: int | None = Field(description="Bytes that the board has; null without a limit.")
    items: dict[str, int] = Field(description="Needed bytes by purpose.")


class FitInfo(Result):
    """Memory of the board's default project with this model alone."""

    ram: MemoryNeed = Field(description="RAM for arena, buffers and stack, and the lower bound for the firmware.")
    flash: MemoryNeed = Field(
        description="Flash for constants and predicted code, and the lower bound for the firmware."
    )
    problems: list[str] = Field(
        description="Problems, one for each memory that is too small; empty if everything fits."
    )


class Verdict(Result):
    """Whether a model fits a board, and how long a run takes."""

    fits: bool | None = Field(description="True if the board's default project fits the board; null without a board.")
    ram_needed_bytes: int | None = Field(
        description="RAM of the default project: data, bss and stack (there is no heap); null without a board."
    )
    memory: FitInfo | None = Field(description="Memory of the default project item by item; null without a board.")
    estimated_time: EstimatedTimeInfo | None = Field(
        description="Predicted cycles at the board's clock; null without a board or a clock."
    )
