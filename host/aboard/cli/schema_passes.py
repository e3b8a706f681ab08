"""The JSON of `aboard passes`, and of the search for a wrong pass."""

from __future__ import annotations

from pydantic import Field

from aboard.cli.schema_result import Result


class PassOption(Result):
    """An option of a pass."""

    name: str
    value: int | bool | str = Field(description="Value for this target; the default if the pass does not run.")


class PassInfo(Result):
    """A step of a pipeline, or a pass that the pipeline leaves out."""

    name: str = Field(description="Name in the text of a pipeline.")
    stage: str | None = Field(
        description="`neutral` before devices claim nodes, `partition` while they claim, `host` afterwards; null for a "
        "pass that does not run."
    )
    summary: str = Field(description="Description of the rewrite, one line.")
    requires: list[str] = Field(description="Passes that must run before this pass.")
    options: list[PassOption]


class PassesResult(Result):
    """`aboard passes`."""

    target: str = Field(description="Canonical form of the target.")
    passes: str = Field(description="The pipeline as text, for `--passes`.")
    steps: list[PassInfo] = Field(description="Steps of the pipeline, in order.")
    others: list[PassInfo] = Field(description="Known passes that the pipeline leaves out.")


class BisectStep(Result):
    """The graph after a step of the pipeline, evaluated on the host."""

    step: str = Field(description="Name of the step; `import` for the graph before any pass.")
    changed: bool = Field(description="True if the step changed the graph.")
    differing: int = Field(description="Number of output elements that differ from the reference.")


class BisectInfo(Result):
    """The search for the first pass after which the results of the graph differ from the reference."""

    passes: str = Field(description="The pipeline as text.")
    sample: int = Field(description="Index of the sample.")
    steps: list[BisectStep] = Field(description="All steps up to the first step after which results differ.")
    first_wrong: str | None = Field(
        description="First step after which results differ; `import` if the imported graph differs already; null if no "
        "step differs, so that the kernels, the schedule or the build are at fault."
    )
    tensor: str | None = Field(
        description="First tensor, in execution order, whose value the first wrong pass changed; null if there is none."
    )
