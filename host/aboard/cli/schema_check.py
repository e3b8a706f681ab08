"""The JSON of the commands that compare a device with the reference and with labels."""

from __future__ import annotations

from pydantic import Field

from aboard.cli.schema_passes import BisectInfo
from aboard.cli.schema_result import Result
from aboard.cli.schema_verdict import EstimatedTimeInfo


class DifferenceInfo(Result):
    """The first element in which the device differs from the reference."""

    sample: int = Field(description="Index of the sample.")
    node: int = Field(description="Index of the operator in the manifest.")
    name: str = Field(description="Name of the operator.")
    op: str
    tensor: str
    row: int
    column: int
    channel: int = Field(description="Channel in the reference tensor.")
    device: float
    reference: float


class RegionFault(Result):
    """A region of an accelerator whose result differs from the result of its operators in numpy."""

    sample: int = Field(description="Index of the sample.")
    node: int = Field(description="Index of the region in the manifest.")
    name: str = Field(description="Name of the region.")
    device: str
    tensor: str
    differing: int = Field(description="Elements of the tensor that differ.")
    elements: int = Field(description="Elements of the tensor.")
    layers: list[str] = Field(description="The layers inside the region, in order: op and name.")


class VerifyResult(Result):
    """`aboard verify`."""

    board: str
    runner: str
    model: str
    image: str | None = Field(description="Path of the ELF file; null without `-o`, because the image is not kept.")
    reference: str = Field(description="Reference: `tflite-micro`, `litert`, `onnxruntime` or `numpy`.")
    samples: int = Field(
        description="Number of compared inputs: `--samples` random inputs, one of smallest values and one of largest "
        "values."
    )
    differing_bytes: int = Field(
        description="Bytes that differ, over all samples; of float outputs, the bytes of elements beyond the tolerance."
    )
    max_abs_diff: float = Field(description="Largest difference of an output element, in the unit of the output.")
    equal: bool = Field(
        description="True when no byte of an output or of a region differs, or all floats are within the tolerance."
    )
    region_faults: list[RegionFault] = Field(
        description="Regions of accelerators that differ, even if the outputs are equal; empty without accelerators."
    )
    first_difference: DifferenceInfo | None = Field(
        description="First element that differs, found with a trace; null if the outputs are equal."
    )
    bisect: BisectInfo | None = Field(description="Result of `--bisect`; null without it, or if the outputs are equal.")


class EvaluateResult(Result):
    """`aboard evaluate`."""

    board: str
    runner: str
    model: str
    samples: int
    accuracy: float = Field(description="Share of the samples whose largest output is their label.")
    confusion: list[list[int]] = Field(
        description="Number of samples by label (row) and prediction (column), both from 0."
    )
    instructions_per_sample: int | None = Field(description="Mean instructions of a sample; null without an emulator.")
    cycles_per_sample: int | None = Field(
        description="Mean cycles of a sample; null if the board's counter does not count cycles."
    )
    seconds_per_sample: float | None = Field(
        description="Mean time of a sample, measured on a device; null in an emulator."
    )
    estimated_time_per_sample: EstimatedTimeInfo | None = Field(
        description="Estimated time on the board for the instructions that an emulator counted; null on a device."
    )
    stack_bytes: int | None = Field(description="Largest stack use over all samples.")
