"""What every command's JSON has in common, and the JSON of an error.

Each command imports its own records only: pydantic takes some time to build one.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class Result(BaseModel):
    """The output of a command, or a part of the output: these keys and no others."""

    model_config = ConfigDict(extra="forbid")


class ErrorDetail(Result):
    """The error of a command."""

    kind: str = Field(description="Name of the exception, such as `ModelError`; `UsageError` for wrong usage.")
    message: str = Field(description="The same message as on stderr.")
    exit_code: int = Field(
        description="1: the user can solve the problem; 2: wrong usage; 70: a bug of aboard; 130: interrupted."
    )
    least_bytes: int | None = Field(
        description="Value of `-ram-max` that works with the same options, the least without a longer search; null for "
        "other errors."
    )


class ErrorResult(Result):
    """The output of any command that failed before it had a result."""

    error: ErrorDetail
