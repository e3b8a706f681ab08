"""The fields of a manifest: one class for each record in it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt

from aboard.base.fields import Count, Dimension, FileName, Flag, Hash, Identifier, Line, RelativePath, Size, Word

FORMAT: Literal[1] = 1

#: numpy's names of the element types (`aboard.ir.DType`).
_DType = Literal["int8", "uint8", "int16", "int32", "int64", "bool", "float16", "float32"]
_Shape = Annotated[tuple[Dimension, ...], Field(max_length=6)]
_Scale = Annotated[float, Field(gt=0, allow_inf_nan=False)]
_ZeroPoint = Annotated[int, Field(ge=-(1 << 31), lt=1 << 31, strict=True)]


class _ManifestRecord(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TensorRecord(_ManifestRecord):
    """An input or output of the model.

    Attributes:
        name: Name in the model file.
        c_name: The same as a C identifier, unique among inputs and outputs.
        dtype: numpy's name of the element type.
        shape: Outermost dimension first.
        scale: Quantisation; None for float.
        zero_point: Likewise.
        arena: Number of the arena it lies in; 0 where there is one.
        offset: Bytes from the start of the arena.
        bytes: Size.
    """

    name: Line
    c_name: Identifier
    dtype: _DType
    shape: _Shape
    scale: _Scale | None = None
    zero_point: _ZeroPoint | None = None
    arena: Size = 0
    offset: Size
    bytes: Size


class OperandRecord(_ManifestRecord):
    """Where an operand or result of a node lies when the node runs alone (`aboard_model_t.run_op`).

    Attributes:
        tensor: Name of the tensor.
        source: Index of the tensor in the model file; None where a pass made it.
        dtype: numpy's name of the element type.
        shape: Outermost dimension first, as compiled.
        offset: Bytes from the start of the workspace to element 0.
        row_stride: Bytes between rows.
        pixel_stride: Bytes between pixels.
        channel_map: For each channel that was compiled, its index in the reference tensor; None when all are there.
        reference_channels: Channels of the reference tensor where `channel_map` is given, else None.
    """

    tensor: Line
    source: Size | None
    dtype: _DType
    shape: _Shape
    offset: Size
    row_stride: Size
    pixel_stride: Size
    channel_map: tuple[Size, ...] | None = None
    reference_channels: Dimension | None = None


class NodeRecord(_ManifestRecord):
    """A node as compiled.

    Attributes:
        name: Name of the node.
        op: Name of the op.
        implementation: Which implementation computes it.
        device: What tables call the device that computes it; None for the host's own kernels.
        sources: Numbers of the operators in the model file it stands for.
        macs: Multiply-accumulates as compiled.
        rows: Rows of its first output.
        weights_bytes: Bytes of its constants as emitted.
        scratch_bytes: Bytes of scratch.
        workspace_bytes: Bytes that `run_op` needs for it.
        inputs: Operands that are computed (not constants).
        outputs: Results.
        tuning: Value of every knob of the device.
        tuning_origin: Where these values are from: `default`, `given`, `record`, or why a record was left aside; empty
            where there are none.
        estimated_instructions: Instructions of the host, predicted from measurements of its kernel; None where a device
            computes it.
        estimated_cycles: The same in cycles of memory without wait states.
        cascade: Number of the cascade that computes it stripe by stripe with its neighbours, so that no tensor between
            them ever exists whole; None if one call computes it.
    """

    name: Line
    op: Line
    implementation: Line
    sources: tuple[Size, ...]
    macs: Count
    rows: Size
    weights_bytes: Size
    scratch_bytes: Size
    workspace_bytes: Size
    inputs: tuple[OperandRecord, ...]
    outputs: tuple[OperandRecord, ...]
    device: Line | None = None
    tuning: dict[Line, StrictBool | StrictInt | Line] = {}
    tuning_origin: Line = ""
    estimated_instructions: Count | None = None
    estimated_cycles: Count | None = None
    cascade: Size | None = None


class ErrorRecord(_ManifestRecord):
    """Relative errors of predictions of whole models, each predicted from measurements of all other models.

    Attributes:
        median: The median error, as a share.
        most: The largest one.
    """

    median: Annotated[float, Field(ge=0)]
    most: Annotated[float, Field(ge=0)]


class PredictionRecord(_ManifestRecord):
    """How well the estimates of a model's nodes are known.

    Attributes:
        core: The core that was measured: that of the model, or the measured one that is nearest to it.
        models: How many models were predicted to find the errors; 0 where another core had to stand in.
        instructions: Errors of instructions; None where another core had to stand in.
        cycles: The same of cycles.
        rate: The same of cycles for each instruction.
    """

    core: Word
    models: Count = 0
    instructions: ErrorRecord | None = None
    cycles: ErrorRecord | None = None
    rate: ErrorRecord | None = None


class ArenaRecord(_ManifestRecord):
    """An arena that is meant for a memory region (`-arena=`).

    Attributes:
        region: Name of the region.
        bytes: Size.
        lower_bound_bytes: No plan for what lies in it can need less.
    """

    region: Identifier
    bytes: Size
    lower_bound_bytes: Size


class SourceFlags(_ManifestRecord):
    """Flags for sources that another core than the model's executes; they come behind all others.

    Attributes:
        sources: C files, relative to the bundle.
        gcc: Flags for gcc.
        clang: Flags for clang, and for zig.
    """

    sources: tuple[RelativePath, ...]
    gcc: tuple[Flag, ...]
    clang: tuple[Flag, ...]

    @property
    def selects_core(self) -> bool:
        """True where another core than the model's executes the sources."""
        return any(flag.startswith(("-mcpu=", "-march=")) for flag in self.gcc)


class BufferRecord(_ManifestRecord):
    """A piece of an arena, for memory maps.

    Attributes:
        name: Tensor or scratch.
        arena: Number of the arena it lies in; 0 where there is one.
        offset: Bytes from the start of the arena.
        bytes: Size.
        first: Index of the first node during which it lives.
        last: Index of the last one.
    """

    name: Line
    arena: Size = 0
    offset: Size
    bytes: Size
    first: Size
    last: Size


class ManifestFields(_ManifestRecord):
    """What the device path has to know of a compiled model.

    Attributes:
        format: Version of this format.
        generator: Name and version of the generator.
        name: C identifier of the model.
        model_file: File name of the model, without folders.
        model_hash: SHA-256 of the model file, hex.
        target: The target's string form.
        core: The core it was compiled for, such as `cortex-m4`.
        input_mode: `consumed`, `kept` or `rows`.
        hooks: True if the C source can profile, trace, and run one node by itself (`aboard compile --hooks`).
        macs: Multiply-accumulates of the model as given.
        macs_run: As compiled.
        ram_bytes: Arenas: tensors, scratch, inputs and outputs.
        ram_lower_bound_bytes: No plan for this order of nodes can need less; with several arenas, for this division.
        arenas: The arenas, fastest first, where memory regions are named for them; else there is one.
        weights_region: Memory region of the constants; None for that of the code.
        weights_bytes: Constants as emitted.
        flash_predicted_bytes: Constants, and code as measured of the same kernels in other models; None where devices
            compute a part.
        cflags: Flags the generated sources want (optimisation level).
        sources: C files, relative to the bundle.
        source_flags: Which of them want further flags; `CMakeLists.txt` of the bundle sets them.
        headers: Header files, relative to the bundle.
        tests: Files of the program that proves a build, relative to the bundle; no part of the model.
        include_folders: Folders the sources need beside `include`, relative to the bundle.
        template: Project template that the target's runtime brings; None where the board's own will do.
        prediction: How well the estimates of the nodes are known; None where nothing is known of them.
    """

    format: Literal[1] = FORMAT
    generator: Line
    name: Identifier
    model_file: FileName
    model_hash: Hash
    target: Line
    core: Word
    input_mode: Literal["consumed", "kept", "rows"]
    hooks: StrictBool = True
    macs: Count
    macs_run: Count
    ram_bytes: Size
    ram_lower_bound_bytes: Size
    arenas: tuple[ArenaRecord, ...] = ()
    weights_region: Identifier | None = None
    weights_bytes: Size
    flash_predicted_bytes: Size | None = None
    cflags: tuple[Flag, ...]
    sources: tuple[RelativePath, ...]
    source_flags: tuple[SourceFlags, ...] = ()
    headers: tuple[RelativePath, ...]
    tests: tuple[RelativePath, ...] = ()
    include_folders: tuple[RelativePath, ...] = ()
    template: Word | None = None
    prediction: PredictionRecord | None = None
    inputs: Annotated[tuple[TensorRecord, ...], Field(min_length=1)]
    outputs: Annotated[tuple[TensorRecord, ...], Field(min_length=1)]
    nodes: tuple[NodeRecord, ...]
    buffers: tuple[BufferRecord, ...]
