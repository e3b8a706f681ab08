"""The JSON of `aboard ci`; `aboard.cli.schema` has the JSON of the other commands."""

from __future__ import annotations

from pydantic import Field

from aboard.cli.schema_result import Result


class CiResult(Result):
    """`aboard ci init`."""

    path: str = Field(description="Folder of the project.")
    root: str = Field(description="Top of the repository.")
    emulator: str | None = Field(description="Emulator, other than Renode, of a suite; null without such a suite.")
    renode: bool = Field(description="True if a suite for `renode-test` was written.")
    origin: str = Field(description="Source of the golden outputs, in words.")
    samples: int = Field(description="Number of golden pairs of inputs and outputs of each model.")
    package: str = Field(description="Source that the workflow installs aboard from: path of a wheel, or URL.")
    package_present: bool | None = Field(description="True if the wheel is in the repository; null for a URL.")
    files: list[str] = Field(description="Written files, relative to `root`.")
