"""The JSON of `aboard ci`; `aboard.cli.schema` has that of the others."""

from __future__ import annotations

from pydantic import Field

from aboard.cli.schema_boards import Result


class CiResult(Result):
    """`aboard ci init`."""

    path: str = Field(description="Folder of the project.")
    root: str = Field(description="Top of the repository.")
    emulator: str | None = Field(description="Runner of the suite beside Renode's; null where there is none.")
    renode: bool = Field(description="Whether there is a suite for `renode-test`.")
    origin: str = Field(description="Where the golden outputs are from, in words.")
    samples: int = Field(description="Golden pairs of inputs and outputs of each model.")
    package: str = Field(description="Source that the workflow installs aboard from: path of a wheel, or URL.")
    package_present: bool | None = Field(description="Whether the wheel is in the repository; null for a URL.")
    files: list[str] = Field(description="Files that were written, relative to the root.")
