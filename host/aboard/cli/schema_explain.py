"""What `aboard compile --explain` prints with `--json`."""

from __future__ import annotations

from pydantic import Field

from aboard.cli.schema_result import Result


class LayerInfo(Result):
    """The figures of a layer."""

    name: str
    op: str
    implementation: str = Field(description="Kernel that computes the layer.")
    weights_form: str | None = Field(description="Layout of the weights, such as `int8 pairs`; null without weights.")
    macs: int
    predicted_instructions: int | None = Field(description="Predicted instructions of the host; null on a device.")
    predicted_from: str | None = Field(description="Measurement behind the prediction: kernel and core.")
    predicted_error: float | None = Field(
        description="Median relative error of the fit to these measurements; null if another kernel or core was "
        "measured."
    )
    device_cycles: int | None = Field(
        description="Cycles of the device that computes the layer, by the estimate of the device's own compiler; "
        "null without one."
    )
    mac_instruction: str | None = Field(
        description="Instruction that multiplies and accumulates on this core; null without a bound."
    )
    bound_instructions: int | None = Field(
        description="Lower bound: number of these instructions that the layer's multiply-accumulates need."
    )
    ratio_to_bound: float | None = Field(description="Predicted instructions divided by the bound.")
    packed_bytes: int = Field(description="Size of the layer's constants in the C code.")
    scratch_bytes: int = Field(description="Size of the layer's scratch in the arena.")
    stripes: int = Field(description="Number of stripes; more than 1 in a cascade.")
    live_bytes: list[int] = Field(
        description="For each arena, a lower bound of the bytes that are live while the layer is computed."
    )


class CascadeInfo(Result):
    """Layers that are computed stripe by stripe."""

    first: int = Field(description="Index of the first layer.")
    last: int = Field(description="Index of the last layer.")


class ScheduleInfo(Result):
    """A schedule that was compared."""

    ram_bytes: int = Field(description="RAM of the memory plan, in one arena.")
    ram_lower_bound_bytes: int = Field(
        description="Lower bound of the RAM: no memory plan for this schedule can need less."
    )
    cascades: list[CascadeInfo]
    extra_stripes: int = Field(description="Number of kernel calls beyond one call for each layer.")
    less_scratch: bool = Field(
        description="Its kernels have the forms with the least scratch, and the module has others."
    )
    predicted_instructions: int = Field(description="Predicted instructions of the host.")
    taken: bool


class VariantInfo(Result):
    """A kernel variant that a layer could have: faster and larger, or slower and smaller."""

    layer: int = Field(description="Index of the layer.")
    op: str
    taken: str = Field(description="Kernel that computes the layer.")
    instead: str = Field(description="Kernel that could compute the layer instead.")
    more_instructions: int = Field(
        description="Predicted additional instructions; negative if the other kernel needs fewer."
    )
    more_cycles: int | None = Field(
        description="Predicted additional cycles, which decide instead of instructions; null if those of the core are "
        "not known."
    )
    more_flash_bytes: int = Field(
        description="Predicted additional flash of the whole model; negative if the other kernel needs less."
    )


class ExplainInfo(Result):
    """The reasons for the schedule and the kernels of a compiled model."""

    layers: list[LayerInfo]
    rule: str = Field(description="Rule by which the schedule was chosen.")
    schedules: list[ScheduleInfo] = Field(
        description="Schedules, from the one without cascades to the one with the least RAM."
    )
    variants_rule: str = Field(description="Rule by which the layers' kernel variants were chosen.")
    variants: list[VariantInfo] = Field(
        description="Other kernel variants of layers, without variants that are both slower and larger."
    )
    peak_layers: list[list[int]] = Field(description="For each arena, the layers during which its use is largest.")
