"""What `aboard report` prints with `--json`."""

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
    runner: str | None = Field(description="With `--profile`: name of the runner.")
    unit: Literal["instructions", "cycles", "ticks"] = Field(description="What `total` counts.")
    measured: bool = Field(description="False where `total` is predicted.")
    total: int = Field(description="Of one inference; what is predicted is that of the host alone.")
    ram_bytes: int = Field(description="Arenas: tensors, scratch, inputs and outputs.")
    ram_lower_bound_bytes: int = Field(description="No plan for this order of operators can need less.")
    flash_bytes: int | None = Field(description="Of the model, where an image was built.")
    stack_bytes: int | None = Field(description="High-water mark during the inference, with `--profile`.")
    known_as: str | None = Field(description="Name of a known model, found by its hash; null for others.")
    compared_with: list[str] = Field(description="Other systems in the comparison.")
