"""The JSON of `aboard compare`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from aboard.cli.schema_result import Result

StateName = Literal["equal", "rounding", "limits", "defect"]


class ComparedLayer(Result):
    """A result that both models have. Signal-to-noise ratios are in dB; null stands for no difference at all."""

    a: str = Field(description="Name of the tensor in A.")
    b: str = Field(description="Name of the tensor in B.")
    op: str
    operator_a: int | None = Field(description="Index of the operator in A's file; null for an input.")
    operator_b: int | None = Field(description="Index in B's file; null if B has no operator that does the same.")
    state: StateName = Field(
        description="How B's layer differs from A's on the same operands: `equal`; `rounding`, by what integers cannot "
        "hold; `limits`, by what is beyond their range; `defect`, by more."
    )
    own_db: float | None = Field(description="Signal-to-noise ratio of B's layer against A's on the same operands.")
    total_db: float | None = Field(description="That of B's result against A's, with what all layers in front add.")
    steps: float | None = Field(
        description="Largest difference on the same operands, in steps of B's integers; null for float32."
    )


class ComparedOutput(Result):
    """An output of both models."""

    a: str = Field(description="Name in A.")
    b: str = Field(description="Name in B.")
    max_abs_diff: float = Field(description="Largest difference of the real numbers.")
    steps: float | None = Field(description="The same in steps of B's integers; null for float32.")
    snr_db: float | None = Field(description="Signal-to-noise ratio of B's output against A's; null for no difference.")
    agreement: float | None = Field(
        description="Share of samples whose largest element is at the same place; null for outputs of one element."
    )


class DefectInfo(Result):
    """The first layer that is wrong."""

    layer: ComparedLayer
    cause: str = Field(
        description="The likely cause: `scale`, `zero point`, `padding`, `transposition`, `activation`, `overflow`, "
        "`weights`, `attributes`, `operator`, `shape`, `unknown`."
    )
    detail: str = Field(description="What was seen, in words.")
    channels: list[int] = Field(description="Indices on the last axis that differ by more than rounding.")
    channels_of: int = Field(description="Number of channels.")


class CompareResult(Result):
    """`aboard compare`."""

    a: str = Field(description="A's model, and what ran it.")
    b: str = Field(description="B's.")
    samples: int = Field(description="Number of samples that count.")
    state: StateName = Field(description="How the models differ; as for a layer.")
    outputs: list[ComparedOutput]
    defect: DefectInfo | None = Field(description="Null if no layer is wrong.")
    layers: list[ComparedLayer] = Field(description="The results that both models have, in B's order of execution.")
    unpaired_a: list[str] = Field(description="Results of A that B does not have, or does not show.")
    unpaired_b: list[str] = Field(description="Results of B that A does not have, or does not show.")
