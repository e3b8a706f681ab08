"""The fields of a manifest: one class for each kind of record."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt

from aboard.base.fields import Count, Dimension, FileName, Flag, Hash, Identifier, Line, RelativePath, Size, Word

FORMAT: Literal[1] = 1

#: Axes of an input, output or state.
MOST_AXES = 6

#: The numpy names of the element types (`aboard.ir.DType`).
_DType = Literal["int8", "uint8", "int16", "int32", "int64", "uint32", "uint64", "bool", "float16", "float32"]
_Shape = Annotated[tuple[Dimension, ...], Field(max_length=MOST_AXES)]
#: Of any tensor; numpy has no more axes.
_InnerShape = Annotated[tuple[Dimension, ...], Field(max_length=64)]
_Scale = Annotated[float, Field(gt=0, allow_inf_nan=False)]
_ZeroPoint = Annotated[int, Field(ge=-(1 << 31), lt=1 << 31, strict=True)]


class _ManifestRecord(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TensorRecord(_ManifestRecord):
    """An input, output or state of the model.

    Attributes:
        name: Name in the model file.
        c_name: Name as a C identifier, unique among inputs, outputs and states.
        dtype: numpy's name of the element type.
        shape: Outermost dimension first.
        scale: Quantisation scale; None for float.
        zero_point: Quantisation zero point; None for float.
        rounding: How a real number becomes an integer: `tflite`, ties away from the zero point; `exact`, ties to even.
        order: For each axis, the axis that it is in the model file; None if all are in the file's order.
        arena: Number of the arena that stores the tensor; 0 if there is only one. The number of arenas for a state in
            memory of its own.
        offset: Bytes from the start of the arena.
        bytes: Size.
    """

    name: Line
    c_name: Identifier
    dtype: _DType
    shape: _Shape
    scale: _Scale | None = None
    zero_point: _ZeroPoint | None = None
    rounding: Literal["tflite", "exact"] = "tflite"
    order: tuple[Size, ...] | None = None
    arena: Size = 0
    offset: Size
    bytes: Size


class OperandRecord(_ManifestRecord):
    """Position of an operand or result in the workspace when a node runs alone (`aboard_model_t.run_op`).

    Attributes:
        tensor: Name of the tensor.
        source: Index of the tensor in the model file; None if a pass made the tensor.
        dtype: numpy's name of the element type.
        shape: Outermost dimension first, as compiled.
        offset: Bytes from the start of the workspace to element 0.
        row_stride: Bytes between rows.
        pixel_stride: Bytes between pixels.
        channel_map: Index in the reference tensor of each compiled channel; None if all channels were compiled.
        reference_channels: Number of channels of the reference tensor; None if `channel_map` is None.
        order: For each axis as compiled, the axis of the reference tensor; None if all are in the reference's order.
    """

    tensor: Line
    source: Size | None
    dtype: _DType
    shape: _InnerShape
    offset: Size
    row_stride: Size
    pixel_stride: Size
    channel_map: tuple[Size, ...] | None = None
    reference_channels: Dimension | None = None
    order: tuple[Size, ...] | None = None


class NodeRecord(_ManifestRecord):
    """A node as compiled.

    Attributes:
        name: Name of the node.
        op: Name of the op.
        implementation: Name of the implementation that computes the node.
        device: Label of the device that computes the node; None for the host's own kernels.
        sources: Indices of the operators in the model file that the node computes.
        macs: Multiply-accumulates as compiled. Of a branch those of the way with more, of a loop those of one
            iteration; estimates likewise.
        rows: Rows of its first output.
        weights_bytes: Bytes of the node's constants as emitted, with those of the graphs inside it.
        scratch_bytes: Bytes of scratch.
        workspace_bytes: Bytes of workspace that `run_op` needs for the node.
        inputs: Operands that the model computes (constants are left out).
        outputs: Results.
        tuning: Value of every knob of the device, or of a tuned kernel of the host.
        tuning_origin: Origin of these values: `default`, `given`, `record`, or the reason why a record was not used.
            Empty if the device has no knobs.
        estimated_instructions: Instructions on the host, predicted from measurements of the kernel; None if a device
            computes the node.
        estimated_cycles: Cycles on the host with memory that has no wait states, predicted in the same way.
        device_cycles: Cycles of the device that computes the node, by the estimate of the device's own compiler; None
            without one.
        cascade: Number of the cascade that computes the node in stripes, so that memory never holds the whole tensors
            inside the cascade; None if the node is computed at once.
        bodies: The graphs inside a branch or loop.
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
    device_cycles: Count | None = None
    cascade: Size | None = None
    bodies: tuple[BodyRecord, ...] = ()


class BodyRecord(_ManifestRecord):
    """A graph inside a branch or loop.

    Attributes:
        role: `then` or `else` of a branch; `condition` or `body` of a loop.
        name: Name of the C function.
        ram_bytes: Bytes of its arena, which is a part of the node's scratch.
        nodes: Its nodes as compiled; `sources` are indices in its own subgraph of the model file.
    """

    role: Word
    name: Identifier
    ram_bytes: Size
    nodes: tuple[NodeRecord, ...]


NodeRecord.model_rebuild()


class ErrorRecord(_ManifestRecord):
    """Relative prediction errors of whole models. Each model was predicted from measurements of all others.

    Attributes:
        median: The median error, as a fraction.
        most: The largest error, as a fraction.
    """

    median: Annotated[float, Field(ge=0)]
    most: Annotated[float, Field(ge=0)]


class PredictionRecord(_ManifestRecord):
    """The accuracy of the estimates of a model's nodes.

    Attributes:
        core: The measured core: the core of the model, or the nearest core that was measured.
        models: Number of models that were predicted to find the errors; 0 if `core` is not the core of the model.
        instructions: Errors of the instruction counts; None if `core` is not the core of the model.
        cycles: Errors of the cycle counts; None in the same case.
        rate: Errors of the cycles per instruction; None in the same case.
        flash: Wait states and cache of the board's flash, in words, if the cycles include the waits for it.
    """

    core: Word
    models: Count = 0
    instructions: ErrorRecord | None = None
    cycles: ErrorRecord | None = None
    rate: ErrorRecord | None = None
    flash: Line | None = None


class ArenaRecord(_ManifestRecord):
    """An arena for a memory region that the target names (`-arena=`).

    Attributes:
        region: Name of the region.
        bytes: Size.
        lower_bound_bytes: Lower bound on the size of any memory plan for the buffers of the arena.
    """

    region: Identifier
    bytes: Size
    lower_bound_bytes: Size


class StateRecord(_ManifestRecord):
    """The state block: the values that a run leaves for the next one.

    Attributes:
        bytes: Size.
        memory: Number of the memory that contains the block: that of an arena, or the number of arenas for memory of
            its own.
        offset: Bytes from the start of that memory.
        region: Memory region of the block, if the target names one (`-state=`).
        rolling: For each state in a rolling buffer, by its number, the height of that buffer in rows. The rows are in
            order after a call of `<name>_unroll`.
    """

    bytes: Size
    memory: Size
    offset: Size = 0
    region: Identifier | None = None
    rolling: dict[int, Size] = {}


class SourceFlags(_ManifestRecord):
    """Further compiler flags for some sources, such as sources for a second core. They follow all other flags.

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
        """True if the flags select another core than the model's."""
        return any(flag.startswith(("-mcpu=", "-march=")) for flag in self.gcc)


class BufferRecord(_ManifestRecord):
    """A buffer in an arena, for memory maps.

    Attributes:
        name: Name of the tensor or scratch buffer.
        arena: Number of the arena that stores the buffer; 0 if there is only one.
        offset: Bytes from the start of the arena.
        bytes: Size.
        first: Index of the first node of the live range.
        last: Index of the last node of the live range.
    """

    name: Line
    arena: Size = 0
    offset: Size
    bytes: Size
    first: Size
    last: Size


class ManifestFields(_ManifestRecord):
    """The fields of `manifest.json`.

    Attributes:
        format: Version of the manifest format.
        generator: Name and version of the generator.
        name: C identifier of the model.
        model_file: File name of the model, without folders.
        model_hash: SHA-256 of the model file, hex.
        target: The target's string form.
        core: The core that the model was compiled for, such as `cortex-m4`.
        input_mode: `consumed`, `kept` or `rows`.
        hooks: True if the C source can profile, trace, and run one node by itself (`aboard compile --hooks`).
        macs: Multiply-accumulates of the model file.
        macs_run: Multiply-accumulates of the compiled model.
        ram_bytes: Bytes of all arenas: tensors, scratch, inputs and outputs.
        ram_lower_bound_bytes: Lower bound on the arena bytes for this order of nodes; with several arenas, for this
            assignment of buffers to arenas.
        arenas: The arenas, fastest first, if the target names memory regions; empty for a single arena.
        weights_region: Memory region of the constants; None for the region of the code.
        weights_bytes: Bytes of the constants as emitted.
        flash_predicted_bytes: Bytes of the constants, and of the code as measured for the same kernels in other models;
            None if devices compute a part.
        cflags: Flags that the generated sources need (optimisation level).
        sources: C files, relative to the bundle.
        source_flags: Further flags for some sources; `CMakeLists.txt` of the bundle sets them.
        headers: Header files, relative to the bundle.
        tests: Files of the self-test program, relative to the bundle; not part of the model.
        include_folders: Include folders of the sources besides `include`, relative to the bundle.
        template: Project template of the target's runtime; None for the default template of the board.
        prediction: Accuracy of the estimates of the nodes; None if it is not known.
        states: Values that a run leaves for the next one.
        state: The memory of the states; None for a model without state.
        notes: What the importer assumed about the model file.
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
    copied_bytes: Size = 0
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
    states: tuple[TensorRecord, ...] = ()
    state: StateRecord | None = None
    notes: tuple[Line, ...] = ()

    @property
    def memory_bytes(self) -> tuple[int, ...]:
        """Sizes of the memory that a run takes: of each arena, then of the state block if it is apart."""
        arenas = [arena.bytes for arena in self.arenas] or [self.ram_bytes]
        return (*arenas, *([self.state.bytes] if self.state is not None and self.has_state_block else []))

    @property
    def has_state_block(self) -> bool:
        """True for a model whose state is in memory of its own, False without state or with state in an arena."""
        return self.state is not None and self.state.memory == max(len(self.arenas), 1)
