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
    """What went wrong."""

    kind: str = Field(description="Name of the exception, such as `ModelError`; `UsageError` for wrong usage.")
    message: str = Field(description="The same message as on stderr.")
    exit_code: int = Field(description="1 the user can act on it, 2 usage, 70 our bug, 130 interrupted.")
    least_bytes: int | None = Field(
        description="Least value of `-ram-max` that works with the same options; null for other errors."
    )


class ErrorResult(Result):
    """Any command that failed before it had a result."""

    error: ErrorDetail


class TensorInfo(Result):
    """An input or output of a model."""

    name: str = Field(description="Name in the model file.")
    c_name: str = Field(description="The same as a C identifier.")
    dtype: str = Field(description="numpy's name of the element type.")
    shape: list[int] = Field(description="Outermost dimension first.")
    scale: float | None = Field(description="Quantisation; null for float.")
    zero_point: int | None = Field(description="Likewise.")
    arena: int = Field(description="Index of its arena; 0 if there is only one.")
    offset: int = Field(description="Bytes from the start of the arena.")
    bytes: int = Field(description="Size.")


class OpInfo(Result):
    """An operator as compiled."""

    name: str
    op: str = Field(description="Name of the op in the IR, such as `conv2d`.")
    implementation: str = Field(description="Kernel that computes it.")
    sources: list[int] = Field(description="Indices of the operators in the model file that it replaces.")
    output: list[int] = Field(description="Shape of its first output.")
    macs: int = Field(description="Multiply-accumulates as compiled.")
    estimated_instructions: int | None = Field(
        description="Instructions of the host, predicted from measurements of the kernel; null on a device."
    )
    estimated_cycles: int | None = Field(
        description="Cycles of the host, predicted from measurements of the kernel, without wait states; null on a "
        "device."
    )
    weights_bytes: int = Field(description="Constants as emitted.")
    scratch_bytes: int = Field(description="Scratch in the arena.")
    tuning: dict[str, str | int | bool] = Field(description="Value of every knob of the device that computes it.")
    tuning_origin: str | None = Field(
        description="Source of the values: `default`, `given`, `record`, or why a record was not used; null without "
        "knobs."
    )


class ArenaInfo(Result):
    """An arena that is meant for a memory region."""

    region: str = Field(description="Name of the region.")
    bytes: int = Field(description="Size.")
    lower_bound_bytes: int = Field(description="Lower bound: no plan for its buffers can need less.")


class BufferInfo(Result):
    """A piece of an arena."""

    name: str = Field(description="Name of the tensor, or of an operator's scratch.")
    arena: int = Field(description="Index of its arena in `arenas`; 0 if there is only one.")
    offset: int = Field(description="Bytes from the start of the arena.")
    bytes: int = Field(description="Size.")
    first: int = Field(description="Index in `ops` of the first operator during which it lives.")
    last: int = Field(description="Index of the last one.")


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
    """How well estimated instructions and cycles are known."""

    core: str = Field(description="Core that was measured: the target's own, or the nearest.")
    models: int = Field(
        description="Number of models behind the errors; 0 if another core is used in place of the target's."
    )
    instructions: ErrorInfo | None = Field(description="Null where another core stands in.")
    cycles: ErrorInfo | None = Field(description="Likewise.")
    rate: ErrorInfo | None = Field(
        description="Cycles an instruction; null if another core is used in place of the target's."
    )


class CompileResult(Verdict):
    """`aboard compile`."""

    name: str = Field(description="C identifier of the model.")
    model: str = Field(description="File name of the model.")
    model_hash: str = Field(description="SHA-256 of the model file, hex.")
    target: str = Field(description="Canonical form of the target.")
    board: str | None = Field(description="Board, where the target names one.")
    bundle: str = Field(description="Folder of the bundle.")
    generator: str = Field(description="Name and version of the generator.")
    input_mode: str = Field(
        description="`consumed`: a run may overwrite the inputs; `kept`: a run does not; `rows`: the input is streamed "
        "row by row."
    )
    macs: int = Field(description="Multiply-accumulates of the model as given.")
    macs_run: int = Field(description="Multiply-accumulates as compiled.")
    ram_bytes: int = Field(description="Arenas: tensors, scratch, inputs and outputs.")
    ram_lower_bound_bytes: int = Field(description="No plan for this order of operators can need less.")
    arenas: list[ArenaInfo] = Field(description="Arenas, fastest first, where `-arena` names memory regions.")
    weights_region: str | None = Field(description="Memory region of the constants; null for that of the code.")
    weights_bytes: int = Field(description="Constants as emitted.")
    flash_predicted_bytes: int | None = Field(
        description="Constants, and code size as measured for the same kernels in other models; null with devices."
    )
    inputs: list[TensorInfo]
    outputs: list[TensorInfo]
    ops: list[OpInfo]
    prediction: PredictionInfo | None = Field(description="Null where nothing is known of the estimates.")
    buffers: list[BufferInfo]
    placed: list[PlacedNode] | None = Field(
        description="The device or host that computes each node; null without devices."
    )
    records: str | None = Field(description="File of tuning records, if a record was used; else null.")
    ir: list[IrDump] | None = Field(description="With `--print-ir-before` or `--print-ir-after`.")
    explain: ExplainInfo | None = Field(description="With `--explain`.")


class ModelInfo(Result):
    """A model of a project."""

    name: str
    model_hash: str = Field(description="SHA-256 of the model file, hex.")
    target: str
    ram_bytes: int = Field(description="Arena of the model.")
    weights_bytes: int = Field(description="Constants as emitted.")


class CreateResult(Result):
    """`aboard create`."""

    path: str = Field(description="Folder of the project.")
    board: str
    template: str
    options: dict[str, Any] = Field(description="Options of the template, defaults included.")
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
    ram_bytes: int = Field(description="Of the models alone: the arena that they share.")
    flash_bytes: int = Field(description="Of the models alone: their code, their kernels and their constants.")
    image_ram_bytes: int = Field(description="Of the whole image: data and bss, without the stack.")
    ram_needed_bytes: int = Field(description="RAM of the whole image: data, bss and stack (there is no heap).")
    image_flash_bytes: int = Field(description="Of the whole image: text, rodata and data.")
    stack_reserved_bytes: int = Field(description="Stack that the linker script sets aside.")
    regions: list[ImageRegion] = Field(
        description="Memory regions as the linker reports them; empty if it reports none."
    )
    modules: list[ImageModule] = Field(
        description="What Zephyr's ram_report and rom_report say of each part, the largest first; empty without it."
    )


class ProfileRow(Result):
    """Time of one operator."""

    node: int = Field(description="Index of the operator in the manifest.")
    name: str
    op: str
    device: str | None = Field(
        description="The device that computed it: its kind, or its hardware where kinds do not tell; null for the host."
    )
    ticks: int = Field(description="Ticks of the device's counter.")
    instructions: int | None = Field(description="Emulated boards; null elsewhere.")


class RunResult(Result):
    """`aboard run`."""

    path: str = Field(description="Folder of the project.")
    board: str
    runner: str
    model: str
    image: str = Field(description="Path of the ELF file.")
    outputs: dict[str, Any] = Field(description="Nested lists by tensor name.")
    instructions: int | None = Field(description="Of one inference without the RPC; null where not emulated.")
    cycles: int | None = Field(description="Of one inference without the RPC; null where the counter counts no cycles.")
    seconds: float | None = Field(description="Of one inference, measured on a device; null in an emulator.")
    estimated_time: EstimatedTimeInfo | None = Field(
        description="Estimated time on the board for the instructions that an emulator counted; null on a device."
    )
    ram_bytes: int = Field(description="Of the model alone: arena, scratch, inputs and outputs.")
    flash_bytes: int = Field(description="Of the models alone: code, the kernels they use, their constants.")
    image_ram_bytes: int = Field(description="Of the whole image: data and bss, without the stack.")
    ram_needed_bytes: int = Field(description="RAM of the whole image: data, bss and stack (there is no heap).")
    image_flash_bytes: int = Field(description="Of the whole image: text, rodata and data.")
    stack_bytes: int | None = Field(description="High-water mark of the inference; null where not measured.")
    profile: list[ProfileRow] | None = Field(description="With `--profile`.")


class DeployResult(RunResult):
    """`aboard deploy`: what `aboard run` prints, and what came before."""

    target: str
    macs: int = Field(description="Multiply-accumulates of the model as given.")
    macs_run: int = Field(description="Multiply-accumulates as compiled.")
    ram_lower_bound_bytes: int = Field(description="No plan for this order of operators can need less.")
    weights_bytes: int = Field(description="Constants as emitted.")
    toolchain: ToolchainInfo


class DifferenceInfo(Result):
    """The first element in which device and reference differ."""

    sample: int = Field(description="Index of the sample.")
    node: int = Field(description="Index of the operator in the manifest.")
    name: str = Field(description="Its name.")
    op: str
    tensor: str
    row: int
    column: int
    channel: int = Field(description="Channel in the reference tensor.")
    device: float
    reference: float


class RegionFault(Result):
    """A region of an accelerator whose result differs from its operators' in numpy."""

    sample: int = Field(description="Index of the sample.")
    node: int = Field(description="Index of the region in the manifest.")
    name: str = Field(description="Its name.")
    device: str
    tensor: str
    differing: int = Field(description="Elements of the tensor that differ.")
    elements: int = Field(description="Elements of the tensor.")


class VerifyResult(Result):
    """`aboard verify`."""

    board: str
    runner: str
    model: str
    image: str | None = Field(description="Path of the ELF file; null without `-o`, when nothing is kept.")
    reference: str = Field(description="Reference: `tflite-micro` or `numpy`.")
    samples: int = Field(description="Inputs compared: `--samples` random ones, all smallest and all largest.")
    differing_bytes: int = Field(description="Over all samples; of float outputs, those beyond the tolerance.")
    max_abs_diff: float = Field(description="Largest difference of an output element, in its own unit.")
    equal: bool = Field(
        description="True when no byte of an output or of a region differs, or all floats are within the tolerance."
    )
    region_faults: list[RegionFault] = Field(
        description="Regions of accelerators that differ, even if the outputs are equal; empty without accelerators."
    )
    first_difference: DifferenceInfo | None = Field(description="Found with a trace; null where outputs are equal.")
    bisect: BisectInfo | None = Field(description="With `--bisect`; null where outputs are equal.")


class EvaluateResult(Result):
    """`aboard evaluate`."""

    board: str
    runner: str
    model: str
    samples: int
    accuracy: float = Field(description="Share of the samples whose largest output is their label.")
    confusion: list[list[int]] = Field(description="Row: label. Column: prediction. Both from 0.")
    instructions_per_sample: int | None = Field(description="Mean; null where not emulated.")
    cycles_per_sample: int | None = Field(description="Mean; null where the counter counts no cycles.")
    seconds_per_sample: float | None = Field(description="Mean, measured on a device; null in an emulator.")
    estimated_time_per_sample: EstimatedTimeInfo | None = Field(
        description="Estimated time on the board for the instructions that an emulator counted; null on a device."
    )
    stack_bytes: int | None = Field(description="High-water mark over all samples.")


class ToolInfo(Result):
    """A tool that aboard looks for on this machine."""

    name: str
    kind: str = Field(
        description="`toolchain`, `build`, `emulator`, `probe` (flashes boards), `device` (a plug-in, or what one "
        "needs) or `package`."
    )
    purpose: str
    found: bool
    version: str | None = Field(description="Null if the tool is missing or prints no version.")
    path: str | None
    how_to_get: str
    problem: str | None = Field(description="Why an installed tool does not run.")
    need: str = Field(description="`needed`, `one` (one of those of its kind is) or `optional`.")


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
