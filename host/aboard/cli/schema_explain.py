"""What `aboard compile --explain` prints with `--json`."""

from __future__ import annotations

from pydantic import Field

from aboard.cli.schema_boards import Result


class LayerInfo(Result):
    """A layer, explained."""

    name: str
    op: str
    implementation: str = Field(description="Kernel that computes it.")
    weights_form: str | None = Field(description="How its weights are stored, such as `int8 pairs`; null without.")
    macs: int
    predicted_instructions: int | None = Field(description="Of the host; null on a device.")
    predicted_from: str | None = Field(description="Measurement behind the prediction: kernel and core.")
    predicted_error: float | None = Field(
        description="Median relative error of that measurement's fit; null if it is of another kernel or core."
    )
    mac_instruction: str | None = Field(
        description="Kind of instruction that bounds its multiply-accumulates from below; null without a bound."
    )
    bound_instructions: int | None = Field(description="Instructions of that kind alone that its MACs need.")
    ratio_to_bound: float | None = Field(description="Predicted instructions divided by the bound.")
    packed_bytes: int = Field(description="Constants as emitted.")
    scratch_bytes: int = Field(description="Scratch in the arena.")
    stripes: int = Field(description="Number of stripes: more than 1 in a cascade.")
    live_bytes: list[int] = Field(description="For each arena, a lower bound of the bytes live while it is computed.")


class CascadeInfo(Result):
    """Layers that are computed stripe by stripe."""

    first: int = Field(description="Index of the first layer.")
    last: int = Field(description="Index of the last one.")


class ScheduleInfo(Result):
    """A schedule that was weighed."""

    ram_bytes: int = Field(description="As planned, in one arena.")
    ram_lower_bound_bytes: int = Field(description="No plan of it can need less.")
    cascades: list[CascadeInfo]
    extra_stripes: int = Field(description="Kernel calls beyond one for each layer.")
    predicted_instructions: int = Field(description="Of the host.")
    taken: bool


class VariantInfo(Result):
    """A kernel variant that a layer could have: faster and larger, or slower and smaller."""

    layer: int = Field(description="Index of the layer.")
    op: str
    taken: str = Field(description="Kernel that computes it.")
    instead: str = Field(description="Kernel that could.")
    more_instructions: int = Field(description="Predicted; below 0 where it takes fewer.")
    more_flash_bytes: int = Field(description="Of the whole model, predicted; below 0 where it takes fewer.")


class ExplainInfo(Result):
    """Why a module is as it is."""

    layers: list[LayerInfo]
    rule: str = Field(description="Rule by which the schedule was chosen.")
    schedules: list[ScheduleInfo] = Field(description="From the one without cascades to the one that needs least.")
    variants_rule: str = Field(description="Rule by which the layers' kernel variants were chosen.")
    variants: list[VariantInfo] = Field(
        description="Other kernel variants that layers could have; those that lose in both speed and size are left out."
    )
    peak_layers: list[list[int]] = Field(description="For each arena, the layers that set its peak.")
