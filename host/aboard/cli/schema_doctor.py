"""The JSON of `aboard doctor`."""

from __future__ import annotations

from pydantic import Field

from aboard.cli.schema_result import Result


class ToolInfo(Result):
    """A tool that aboard looks for on this machine."""

    name: str
    kind: str = Field(
        description="`toolchain`, `build`, `emulator`, `probe` (flashes boards), `device` (a plug-in, or a tool that a "
        "plug-in needs) or `package`."
    )
    purpose: str
    found: bool
    version: str | None = Field(description="Null if the tool is missing or prints no version.")
    path: str | None
    how_to_get: str
    problem: str | None = Field(description="Why an installed tool does not run.")
    need: str = Field(description="`needed`, `one` (one tool of this kind is needed) or `optional`.")


class DoctorResult(Result):
    """`aboard doctor`."""

    ready: bool = Field(
        description="True when a model can be compiled, built and run on an emulated board; else the exit code is 1."
    )
    missing: list[str] = Field(description="The missing tools, one phrase each.")
    system: str = Field(description="This machine's system, and whether aboard is tested there.")
    tools: list[ToolInfo]
    serial_ports: list[str] = Field(description="Serial ports with an attached device.")
