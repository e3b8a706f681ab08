"""The JSON of `aboard compile`."""

from __future__ import annotations

from pydantic import Field

from aboard.cli.schema_explain import ExplainInfo
from aboard.cli.schema_result import Result
from aboard.cli.schema_targets import PlacedNode
from aboard.cli.schema_verdict import Verdict


class TensorInfo(Result):
    """An input or output of a model."""

    name: str = Field(description="Name of the tensor in the model file.")
    c_name: str = Field(description="The name as a C identifier.")
    dtype: str = Field(description="Element type, as numpy names it.")
    shape: list[int] = Field(description="Dimensions, outermost first.")
    scale: float | None = Field(description="Scale of the quantisation; null for floats.")
    zero_point: int | None = Field(description="Zero point of the quantisation; null for floats.")
    rounding: str = Field(
        description="Ties between integers of a real number: `tflite`, away from the zero point, or `exact`, to even."
    )
    order: list[int] | None = Field(description="For each axis, the axis of the model file; null if all are in order.")
    arena: int = Field(description="Index of the tensor's arena; 0 if there is only one.")
    offset: int = Field(description="Bytes from the start of the arena.")
    bytes: int = Field(description="Size of the tensor.")


class OpInfo(Result):
    """An operator as compiled."""

    name: str
    op: str = Field(description="Name of the op in the IR, such as `conv2d`.")
    implementation: str = Field(description="Kernel that computes the operator.")
    sources: list[int] = Field(description="Indices of the model file's operators that this operator replaces.")
    output: list[int] = Field(description="Shape of the operator's first output.")
    macs: int = Field(description="Multiply-accumulates of the compiled operator.")
    estimated_instructions: int | None = Field(
        description="Instructions of the host, predicted from measurements of the kernel; null on a device."
    )
    estimated_cycles: int | None = Field(
        description="Cycles of the host, predicted from measurements of the kernel; null on a device."
    )
    device_cycles: int | None = Field(
        description="Cycles of the device that computes the operator, by the estimate of the device's own compiler; "
        "null without one."
    )
    weights_bytes: int = Field(description="Size of the operator's constants in the C code.")
    scratch_bytes: int = Field(description="Size of the operator's scratch in the arena.")
    tuning: dict[str, str | int | bool] = Field(
        description="Value of every knob of the device that computes the operator."
    )
    tuning_origin: str | None = Field(
        description="Source of these values: `default`, `given`, `record`, or the reason why a record was not used; "
        "null without knobs."
    )


class InnerOpInfo(Result):
    """An operator inside a branch or loop, as compiled."""

    place: str = Field(
        description="Index in `ops` of the branch or loop, role of the graph inside it (`then`, `else`, `condition`, "
        "`body`), index in that graph: `3.then.0`; more of both for branches and loops inside others."
    )
    name: str
    op: str = Field(description="Name of the op in the IR.")
    implementation: str = Field(description="Kernel that computes the operator.")
    output: list[int] = Field(description="Shape of the operator's first output.")
    macs: int = Field(description="Multiply-accumulates each time that the graph is computed.")
    estimated_instructions: int | None = Field(description="Predicted instructions of the host, likewise.")
    weights_bytes: int = Field(description="Size of the operator's constants in the C code.")


class ArenaInfo(Result):
    """An arena that is meant for a memory region."""

    region: str = Field(description="Name of the region.")
    bytes: int = Field(description="Size of the arena.")
    lower_bound_bytes: int = Field(description="Lower bound of the size: no memory plan for the buffers can need less.")


class BufferInfo(Result):
    """A buffer in an arena."""

    name: str = Field(description="Name of the tensor, or of an operator's scratch.")
    arena: int = Field(description="Index in `arenas` of the arena; 0 if there is only one.")
    offset: int = Field(description="Bytes from the start of the arena.")
    bytes: int = Field(description="Size of the buffer.")
    first: int = Field(description="Index in `ops` of the first operator during which the buffer lives.")
    last: int = Field(description="Index in `ops` of the last operator during which the buffer lives.")


class IrDump(Result):
    """The IR before or after a pass."""

    position: str = Field(description="`before` or `after`.")
    step: str = Field(description="Name of the pass; `import` and `partition` are steps too.")
    text: str


class ErrorInfo(Result):
    """Relative errors of whole models, each predicted from measurements of all other models."""

    median: float
    most: float


class PredictionInfo(Result):
    """The errors of estimated instructions and cycles."""

    core: str = Field(description="Core that was measured: the target's own core, or the most similar one.")
    models: int = Field(
        description="Number of models behind the errors; 0 if another core is used in place of the target's."
    )
    instructions: ErrorInfo | None = Field(
        description="Errors of instructions; null if another core is used in place of the target's."
    )
    cycles: ErrorInfo | None = Field(
        description="Errors of cycles; null if another core is used in place of the target's."
    )
    rate: ErrorInfo | None = Field(
        description="Errors of cycles for each instruction; null if another core is used in place of the target's."
    )
    flash: str | None = Field(
        description="Wait states and instruction cache of the board's flash, if cycles include the waits for it; null "
        "for memory without wait states."
    )


class CompileResult(Verdict):
    """`aboard compile`."""

    name: str = Field(description="C identifier of the model.")
    model: str = Field(description="File name of the model.")
    model_hash: str = Field(description="SHA-256 of the model file, hex.")
    target: str = Field(description="Canonical form of the target.")
    board: str | None = Field(description="Board of the target; null if the target names no board.")
    bundle: str = Field(description="Folder of the bundle.")
    amalgamated: bool = Field(
        description="True if the folder holds one C file and one header (`--amalgamate`) instead of a bundle."
    )
    generator: str = Field(description="Name and version of the program that wrote the bundle.")
    input_mode: str = Field(
        description="`consumed`: a run may overwrite the inputs; `kept`: a run does not; `rows`: the input is streamed "
        "row by row."
    )
    macs: int = Field(description="Multiply-accumulates of the model file.")
    macs_run: int = Field(description="Multiply-accumulates of the compiled model.")
    ram_bytes: int = Field(description="Size of all arenas: tensors, scratch, inputs and outputs.")
    ram_lower_bound_bytes: int = Field(
        description="Lower bound of `ram_bytes`: no memory plan for this order of operators can need less."
    )
    arenas: list[ArenaInfo] = Field(
        description="Arenas in the memory regions that `-arena` names, fastest first; else empty."
    )
    state_bytes: int = Field(description="Size of the state; 0 for a model without state.")
    state_region: str | None = Field(description="Memory region that `-state` names; else null.")
    weights_region: str | None = Field(description="Memory region of the constants; null for the region of the code.")
    weights_bytes: int = Field(description="Size of the model's constants in the C code.")
    flash_predicted_bytes: int | None = Field(
        description="Size of the constants and of the code, as measured for the same kernels in other models; null "
        "with devices."
    )
    inputs: list[TensorInfo]
    outputs: list[TensorInfo]
    states: list[TensorInfo] = Field(description="States: values that a run leaves for the next run.")
    ops: list[OpInfo]
    inner_ops: list[InnerOpInfo] = Field(description="Operators inside branches and loops, which `ops` include.")
    prediction: PredictionInfo | None = Field(description="Errors of the estimates; null if there are no measurements.")
    buffers: list[BufferInfo]
    placed: list[PlacedNode] | None = Field(
        description="The device or host that computes each node; null without devices."
    )
    records: str | None = Field(description="File of tuning records, if a record was used; else null.")
    ir: list[IrDump] | None = Field(description="IR dumps; null without `--print-ir-before` and `--print-ir-after`.")
    explain: ExplainInfo | None = Field(description="Explanation of the result; null without `--explain`.")
    notes: list[str] = Field(description="Assumptions of the importer about the model file, as sentences.")
