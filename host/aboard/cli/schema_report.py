"""The JSON of `aboard report`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from aboard.cli.schema_verdict import Verdict


class ReportResult(Verdict):
    """`aboard report`."""

    path: str = Field(description="The HTML file.")
    name: str = Field(description="C identifier of the model.")
    model_hash: str = Field(description="SHA-256 of the model file, hex.")
    target: str = Field(description="Canonical form of the target.")
    board: str | None = Field(description="Board of the target; null without one.")
    runner: str | None = Field(description="Name of the runner; null without `--profile`.")
    unit: Literal["instructions", "cycles", "ticks"] = Field(description="Unit of `total`.")
    measured: bool = Field(description="True if `total` was measured, false if it is predicted.")
    total: int = Field(description="Cost of one inference in `unit`; a predicted total leaves devices out.")
    ram_bytes: int = Field(description="Size of all arenas: tensors, scratch, inputs and outputs.")
    ram_lower_bound_bytes: int = Field(
        description="Lower bound of `ram_bytes`: no memory plan for this order of operators can need less."
    )
    flash_bytes: int | None = Field(description="Flash of the model; null if no image was built.")
    stack_bytes: int | None = Field(description="Largest stack use of the inference; null without `--profile`.")
    known_as: str | None = Field(description="Name of the model if its hash is known, else null.")
    compared_with: list[str] = Field(description="Other systems in the comparison.")
