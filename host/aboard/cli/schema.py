"""The JSON that each command prints with `--json`; docs/reference/json.md is made from it.

Every key is always present; a key that does not apply is null. Values carry no units: sizes are in bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, Field

from aboard.cli.schema_boards import (
    BoardInfo,
    BoardsResult,
    DetectResult,
    HardwareResult,
    HardwareShowResult,
    Result,
)
from aboard.cli.schema_ci import CiResult
from aboard.cli.schema_explain import ExplainInfo
from aboard.cli.schema_flash import DebugResult, DevicesResult, FlashResult
from aboard.cli.schema_passes import BisectInfo, PassesResult
from aboard.cli.schema_report import ReportResult
from aboard.cli.schema_targets import (
    NewTargetResult,
    PartitionResult,
    PlacedNode,
    TargetResult,
    TargetsResult,
    WhyResult,
)
from aboard.cli.schema_tune import TuneResult
from aboard.cli.schema_verdict import EstimatedTimeInfo, Verdict


class ErrorDetail(Result):
    """The error of a command."""

    kind: str = Field(description="Name of the exception, such as `ModelError`; `UsageError` for wrong usage.")
    message: str = Field(description="The same message as on stderr.")
    exit_code: int = Field(
        description="1: the user can solve the problem; 2: wrong usage; 70: a bug of aboard; 130: interrupted."
    )
    least_bytes: int | None = Field(
        description="Least value of `-ram-max` that works with the same options; null for other errors."
    )


class ErrorResult(Result):
    """The output of any command that failed before it had a result."""

    error: ErrorDetail


class TensorInfo(Result):
    """An input or output of a model."""

    name: str = Field(description="Name of the tensor in the model file.")
    c_name: str = Field(description="The name as a C identifier.")
    dtype: str = Field(description="Element type, as numpy names it.")
    shape: list[int] = Field(description="Dimensions, outermost first.")
    scale: float | None = Field(description="Scale of the quantisation; null for floats.")
    zero_point: int | None = Field(description="Zero point of the quantisation; null for floats.")
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
        description="Cycles of the host, predicted from measurements of the kernel, without wait states; null on a "
        "device."
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


class CompileResult(Verdict):
    """`aboard compile`."""

    name: str = Field(description="C identifier of the model.")
    model: str = Field(description="File name of the model.")
    model_hash: str = Field(description="SHA-256 of the model file, hex.")
    target: str = Field(description="Canonical form of the target.")
    board: str | None = Field(description="Board of the target; null if the target names no board.")
    bundle: str = Field(description="Folder of the bundle.")
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
    prediction: PredictionInfo | None = Field(description="Errors of the estimates; null if there are no measurements.")
    buffers: list[BufferInfo]
    placed: list[PlacedNode] | None = Field(
        description="The device or host that computes each node; null without devices."
    )
    records: str | None = Field(description="File of tuning records, if a record was used; else null.")
    ir: list[IrDump] | None = Field(description="IR dumps; null without `--print-ir-before` and `--print-ir-after`.")
    explain: ExplainInfo | None = Field(description="Explanation of the result; null without `--explain`.")
    notes: list[str] = Field(description="Assumptions of the importer about the model file, as sentences.")


class ModelInfo(Result):
    """A model of a project."""

    name: str
    model_hash: str = Field(description="SHA-256 of the model file, hex.")
    target: str
    ram_bytes: int = Field(description="Size of the model's arena.")
    weights_bytes: int = Field(description="Size of the model's constants in the C code.")


class CreateResult(Result):
    """`aboard create`."""

    path: str = Field(description="Folder of the project.")
    board: str
    template: str
    options: dict[str, Any] = Field(description="Values of all options of the template.")
    models: list[ModelInfo]
    build_id: str = Field(description="Build id that the image reports over RPC.")


class ToolchainInfo(Result):
    """A C toolchain."""

    name: str
    version: str
    path: str


class ImageRegion(Result):
    """Use of a memory region by an image."""

    name: str = Field(description="Name in the linker script.")
    used_bytes: int
    size_bytes: int


class ImageModule(Result):
    """Size of a part of an image."""

    name: str = Field(description="`model NAME`, `application`, `aboard`, `zephyr FOLDER`, a module, or `other`.")
    ram_bytes: int
    flash_bytes: int


class BuildReport(Result):
    """`aboard build`."""

    path: str = Field(description="Folder of the project.")
    image: str = Field(description="Path of the ELF file.")
    toolchain: ToolchainInfo
    ram_bytes: int = Field(description="RAM of the models alone: the arena that they share.")
    flash_bytes: int = Field(description="Flash of the models alone: their code, their kernels and their constants.")
    image_ram_bytes: int = Field(description="RAM of the whole image without the stack: data and bss.")
    ram_needed_bytes: int = Field(description="RAM of the whole image: data, bss and stack (there is no heap).")
    image_flash_bytes: int = Field(description="Flash of the whole image: text, rodata and data.")
    stack_reserved_bytes: int = Field(description="Stack that the linker script sets aside.")
    regions: list[ImageRegion] = Field(
        description="Memory regions as the linker reports them; empty if it reports none."
    )
    modules: list[ImageModule] = Field(
        description="Parts of the image in Zephyr's ram_report and rom_report, largest first; empty without Zephyr."
    )


class ProfileRow(Result):
    """Time of one operator."""

    node: int = Field(description="Index of the operator in the manifest.")
    name: str
    op: str
    device: str | None = Field(
        description="Device that computed the operator: its kind, or its hardware if several devices have the same "
        "kind; null for the host."
    )
    ticks: int = Field(description="Ticks of the device's counter.")
    instructions: int | None = Field(description="Instructions on an emulated board; null on other boards.")


class RunResult(Result):
    """`aboard run`."""

    path: str = Field(description="Folder of the project.")
    board: str
    runner: str
    model: str
    image: str = Field(description="Path of the ELF file.")
    outputs: dict[str, Any] = Field(description="Outputs as nested lists, by tensor name.")
    instructions: int | None = Field(
        description="Instructions of one inference without the RPC; null without an emulator."
    )
    cycles: int | None = Field(
        description="Cycles of one inference without the RPC; null if the board's counter does not count cycles."
    )
    seconds: float | None = Field(description="Time of one inference, measured on a device; null in an emulator.")
    estimated_time: EstimatedTimeInfo | None = Field(
        description="Estimated time on the board for the instructions that an emulator counted; null on a device."
    )
    ram_bytes: int = Field(description="RAM of the model alone: arena, scratch, inputs and outputs.")
    flash_bytes: int = Field(description="Flash of the models alone: their code, their kernels and their constants.")
    image_ram_bytes: int = Field(description="RAM of the whole image without the stack: data and bss.")
    ram_needed_bytes: int = Field(description="RAM of the whole image: data, bss and stack (there is no heap).")
    image_flash_bytes: int = Field(description="Flash of the whole image: text, rodata and data.")
    stack_bytes: int | None = Field(description="Largest stack use of the inference; null if it was not measured.")
    profile: list[ProfileRow] | None = Field(description="Time of every operator; null without `--profile`.")


class DeployResult(RunResult):
    """`aboard deploy`: the keys of `aboard run`, and keys of the compilation and the build."""

    target: str
    macs: int = Field(description="Multiply-accumulates of the model file.")
    macs_run: int = Field(description="Multiply-accumulates of the compiled model.")
    ram_lower_bound_bytes: int = Field(
        description="Lower bound of `ram_bytes`: no memory plan for this order of operators can need less."
    )
    weights_bytes: int = Field(description="Size of the model's constants in the C code.")
    toolchain: ToolchainInfo


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


class VerifyResult(Result):
    """`aboard verify`."""

    board: str
    runner: str
    model: str
    image: str | None = Field(description="Path of the ELF file; null without `-o`, because the image is not kept.")
    reference: str = Field(description="Reference: `tflite-micro`, `litert` or `numpy`.")
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


class ToolInfo(Result):
    """A tool that aboard looks for on this machine."""

    name: str
    kind: str = Field(
        description="`toolchain`, `build`, `emulator`, `probe` (flashes boards), `device` (a plug-in, or a tool that a "
        "plug-in needs) or `package`."
    )
    purpose: str
    found: bool
    version: str | None = Field(description="Null if the tool is missing or prints no version.")
    path: str | None
    how_to_get: str
    problem: str | None = Field(description="Why an installed tool does not run.")
    need: str = Field(description="`needed`, `one` (one tool of this kind is needed) or `optional`.")


class DoctorResult(Result):
    """`aboard doctor`."""

    ready: bool = Field(
        description="True when a model can be compiled, built and run on an emulated board; else the exit code is 1."
    )
    missing: list[str] = Field(description="The missing tools, one phrase each.")
    system: str = Field(description="This machine's system, and whether aboard is tested there.")
    tools: list[ToolInfo]
    serial_ports: list[str] = Field(description="Serial ports with an attached device.")


#: What `COMMAND --json` prints.
RESULTS: Mapping[str, type[BaseModel]] = {
    "compile": CompileResult,
    "create": CreateResult,
    "build": BuildReport,
    "flash": FlashResult,
    "run": RunResult,
    "deploy": DeployResult,
    "verify": VerifyResult,
    "evaluate": EvaluateResult,
    "ci init": CiResult,
    "debug": DebugResult,
    "devices": DevicesResult,
    "boards": BoardsResult,
    "boards show": BoardInfo,
    "hardware": HardwareResult,
    "hardware show": HardwareShowResult,
    "hardware detect": DetectResult,
    "targets": TargetsResult,
    "targets show": TargetResult,
    "targets why": WhyResult,
    "tune": TuneResult,
    "report": ReportResult,
    "partition": PartitionResult,
    "passes": PassesResult,
    "new-target": NewTargetResult,
    "doctor": DoctorResult,
}
