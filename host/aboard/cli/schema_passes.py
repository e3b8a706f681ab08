"""The JSON of `aboard passes`, and of the search for a wrong pass."""

from __future__ import annotations

from pydantic import Field

from aboard.cli.schema_boards import Result


class PassOption(Result):
    """An option of a pass."""

    name: str
    value: int | bool | str = Field(description="For this target; of a pass that does not run, the default.")


class PassInfo(Result):
    """A step of a pipeline, or a pass that the pipeline leaves out."""

    name: str = Field(description="Name in the text of a pipeline.")
    stage: str | None = Field(
        description="`neutral` before devices claim nodes, `partition` for that step, `host` after it; null for a pass "
        "that does not run."
    )
    summary: str = Field(description="The rewrite, in a line.")
    requires: list[str] = Field(description="Passes that have to run before.")
    options: list[PassOption]


class PassesResult(Result):
    """`aboard passes`."""

    target: str = Field(description="Canonical form of the target.")
    passes: str = Field(description="The pipeline as text, for `--passes`.")
    steps: list[PassInfo] = Field(description="The steps in their order.")
    others: list[PassInfo] = Field(description="Known passes that the pipeline leaves out.")


class BisectStep(Result):
    """The graph after a step of the pipeline, evaluated on the host."""

    step: str = Field(description="Name of the step; `import` for the graph before any pass.")
    changed: bool = Field(description="True when the step changed the graph.")
    differing: int = Field(description="Elements of all outputs that differ from the reference.")


class BisectInfo(Result):
    """The search for the first pass after which the results of the graph differ from the reference."""

    passes: str = Field(description="The pipeline as text.")
    sample: int = Field(description="Index of the sample.")
    steps: list[BisectStep] = Field(description="Every step up to the first after which results differ.")
    first_wrong: str | None = Field(
        description="The first step after which results differ; `import` where the imported graph differs already; "
        "null where no step differs, so that kernels, schedule or build are at fault."
    )
    tensor: str | None = Field(
        description="The first tensor, in execution order, whose value that pass changed; null where there is none."
    )
