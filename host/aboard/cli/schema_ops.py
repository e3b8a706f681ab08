"""The JSON of `aboard ops`."""

from __future__ import annotations

from pydantic import Field

from aboard.cli.schema_result import Result


class KernelsInfo(Result):
    """The kernels for an instruction set."""

    key: str = Field(description="`portable` for every core, `arm_thumb1`, `arm_mla`, `arm_dsp` or `arm_mve`.")
    names: list[str] = Field(description="Names of the kernels, as `aboard targets why` shows them.")


class OperatorInfo(Result):
    """An operator of TFLite files that `aboard` reads."""

    name: str = Field(description="Name in TFLite's schema; `CUSTOM` and the name for a custom operator.")
    element_types: list[str] = Field(
        description="Element types in words. Each begins with the type of operand 0: `int16 with int8 weights`, `int8 "
        "to int32`."
    )
    ops: list[str] = Field(description="Ops in the IR that compute the operator; empty if nothing is computed.")
    becomes: str | None = Field(description="What an operator without ops becomes; null for others.")
    kernels: list[KernelsInfo] = Field(description="Kernels, `portable` first; with `--core` those of that core.")
    rules: list[str] = Field(
        description="What the operator must be; anything else is refused. `...` stands for a value of the model."
    )
    in_tflite_micro: bool = Field(description="True if TensorFlow Lite Micro has the operator too.")


class MissingOperator(Result):
    """An operator of TensorFlow Lite Micro that `aboard` does not read."""

    name: str
    reason: str


class OpsResult(Result):
    """`aboard ops`."""

    core: str | None = Field(description="The core of `--core`; null without it.")
    operators: list[OperatorInfo]
    missing: list[MissingOperator] = Field(
        description="Operators of TensorFlow Lite Micro that `aboard` does not read; empty if operators are named."
    )
    tflite_micro: int = Field(description="Number of operators that TensorFlow Lite Micro has.")
