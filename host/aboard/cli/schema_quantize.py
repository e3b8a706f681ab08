"""The JSON of `aboard quantize`."""

from __future__ import annotations

from pydantic import Field

from aboard.cli.schema_result import Result


class QuantizedLayer(Result):
    """A layer of a quantised model. Signal-to-noise ratios are in dB; null stands for no error at all."""

    name: str = Field(description="Name of the layer's result.")
    op: str
    dtype: str = Field(description="What the layer computes with: `int8`, `int16` or `float32`.")
    snr_db: float | None = Field(description="Signal-to-noise ratio of its result, with all layers quantised.")
    alone_db: float | None = Field(
        description="That of the model's scores with this layer alone quantised; null, too, if it is not int8."
    )
    wide_db: float | None = Field(
        description="That of the model's scores with more bits for this layer; null, too, if it is not int8."
    )
    wide_dtype: str | None = Field(
        description="These bits: `int16`, or `float32` for a layer without a form of 16 bits; null if it has them."
    )
    wide_instructions: int | None = Field(
        description="Further instructions that they take, predicted, without conversions; null if not known."
    )


class QuantizeResult(Result):
    """`aboard quantize`."""

    model: str = Field(description="The model of real numbers.")
    file: str = Field(description="Path of the quantised model.")
    file_bytes: int
    report: str | None = Field(description="Path of the page; null without --report.")
    target: str = Field(description="Target of the predicted figures.")
    samples: int = Field(description="Number of test samples.")
    output_snr_db: float | None = Field(description="Signal-to-noise ratio of the outputs; null without any error.")
    accuracy_before: float | None = Field(description="Share of right classes in real numbers; null without labels.")
    accuracy_after: float | None = Field(description="Share of right classes when quantised; null without labels.")
    agreement: float | None = Field(
        description="Share of samples whose largest output is that in real numbers; null for a model without classes."
    )
    ram_bytes: int | None = Field(description="Bytes of the arenas on the target; null if it cannot compile the model.")
    weights_bytes: int | None = Field(description="Bytes of the constants; null likewise.")
    predicted_instructions: int | None = Field(description="Predicted instructions of a run; null likewise.")
    estimated_seconds: float | None = Field(description="Estimated time of a run; null without a clock.")
    layers: list[QuantizedLayer]
    notes: list[str]
