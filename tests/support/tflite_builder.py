"""Builds TFLite files from a few lines, through the schema package: tests say exactly what a model contains.

model = (
    ModelBuilder()
    .tensor("x", (1, 8, 8, 3), np.int8, scale=0.5, zero_point=-3)
    .tensor("w", (4, 3, 3, 3), np.int8, scales=[0.1, 0.2, 0.3, 0.4], axis=0, data=weights)
    .tensor("b", (4,), np.int32, scales=[...], axis=0, data=bias)
    .tensor("y", (1, 4, 4, 4), np.int8, scale=0.7, zero_point=5)
    .op("CONV_2D", ["x", "w", "b"], ["y"], {"StrideH": 2, "StrideW": 2, "Padding": "SAME"})
    .build(["x"], ["y"])
)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import flatbuffers
import numpy as np
import tflite

from support import tflite_tables as tables

#: Operators whose options table is not the operator's own name in camel case.
_OPTIONS = {
    "AVERAGE_POOL_2D": "Pool2DOptions",
    "MAX_POOL_2D": "Pool2DOptions",
    "L2_POOL_2D": "Pool2DOptions",
    "L2_NORMALIZATION": "L2NormOptions",
    "MEAN": "ReducerOptions",
    "SUM": "ReducerOptions",
    "REDUCE_MAX": "ReducerOptions",
    "REDUCE_MIN": "ReducerOptions",
    "REDUCE_ALL": "ReducerOptions",
    "REDUCE_PROD": "ReducerOptions",
    "BATCH_MATMUL": "BatchMatMulOptions",
    "CONV_2D": "Conv2DOptions",
    "DEPTHWISE_CONV_2D": "DepthwiseConv2DOptions",
    "SVDF": "SVDFOptions",
    "UNIDIRECTIONAL_SEQUENCE_LSTM": "UnidirectionalSequenceLSTMOptions",
}

_Quantity = Sequence[float] | np.ndarray


def _options_name(kind: str) -> str | None:
    name = _OPTIONS.get(kind) or "".join(word.capitalize() for word in kind.split("_")) + "Options"
    return name if hasattr(tflite, name) else None


@dataclass
class _Tensor:
    name: str
    shape: tuple[int, ...]
    dtype: np.dtype
    scales: _Quantity = ()
    zero_points: _Quantity = ()
    axis: int = 0
    data: bytes | None = None
    signature: tuple[int, ...] | None = None
    variable: bool = False
    sparse: bool = False
    type_number: int | None = None
    details: int = 0


@dataclass
class _Operator:
    kind: str
    inputs: list[int]
    outputs: list[int]
    options: dict[str, Any]
    options_name: str | None
    version: int
    custom: str | None = None
    custom_options: bytes | None = None


@dataclass
class ModelBuilder:
    """Collects tensors and operators; `build` writes the file.

    Attributes:
        version: Schema version that the file states.
        identifier: File identifier.
        subgraphs: How often the one subgraph is written.
        called: Builders of further subgraphs.
        border: Inputs and outputs of a further subgraph, by name or index.
        code_fields: Which fields of an operator code say what the operator is: `both` as converters write them today,
            `old` as they did before 2020, `new` for the 32-bit one alone.
        buffers: Whether there is a list of buffers; without it, no tensor may have data.
    """

    version: int = 3
    identifier: bytes = b"TFL3"
    subgraphs: int = 1
    called: list[ModelBuilder] = field(default_factory=list)
    border: tuple[Sequence[str | int], Sequence[str | int]] = ((), ())
    code_fields: str = "both"
    buffers: bool = True
    _tensors: list[_Tensor] = field(default_factory=list)
    _operators: list[_Operator] = field(default_factory=list)

    def tensor(
        self,
        name: str,
        shape: Sequence[int],
        dtype: Any,
        *,
        scale: float | None = None,
        zero_point: int = 0,
        scales: _Quantity | None = None,
        zero_points: _Quantity | None = None,
        axis: int = 0,
        data: Any = None,
        signature: Sequence[int] | None = None,
        variable: bool = False,
        sparse: bool = False,
        type_number: int | None = None,
        details: int = 0,
    ) -> ModelBuilder:
        """Adds a tensor.

        Args:
            name: Name in the file; operators refer to it.
            shape: Outermost dimension first.
            dtype: Anything numpy takes for a dtype.
            scale: Per-tensor scale; with it comes `zero_point`.
            zero_point: Per-tensor zero point.
            scales: Per-channel scales, along `axis`; zero points are 0 unless given.
            zero_points: Per-channel zero points.
            axis: Axis of the scales.
            data: Array of a constant, cast to `dtype`; bytes are written as they are.
            signature: `shape_signature` (-1 for dynamic dimensions).
            variable: Whether the tensor keeps its value between inferences.
            sparse: Whether an (empty) sparsity table is written.
            type_number: Number of the element type in the file, instead of that of `dtype`.
            details: Number in the union `QuantizationDetails`, whose table is left out.
        """
        if scale is not None:
            scales, zero_points = [scale], [zero_point]
        elif scales is not None and zero_points is None:
            zero_points = [0] * len(scales)
        if data is not None and not isinstance(data, bytes):
            data = np.ascontiguousarray(data, dtype).tobytes()
        self._tensors.append(
            _Tensor(
                name,
                tuple(shape),
                np.dtype(dtype),
                () if scales is None else scales,
                () if zero_points is None else zero_points,
                axis,
                data,
                None if signature is None else tuple(signature),
                variable,
                sparse,
                type_number,
                details,
            )
        )
        return self

    def renamed(self, names: Sequence[str]) -> ModelBuilder:
        """Gives the tensors, in order, these names in the file; operators refer to them by number from here on."""
        for tensor, name in zip(self._tensors, names, strict=True):
            tensor.name = name
        return self

    def like(self, other: ModelBuilder, *names: str) -> ModelBuilder:
        """Adds tensors as another builder has them, under the same names."""
        self._tensors += [dataclasses.replace(tensor) for tensor in other._tensors if tensor.name in names]
        return self

    def op(
        self,
        kind: str,
        inputs: Sequence[str | int],
        outputs: Sequence[str | int],
        options: Mapping[str, Any] | None = None,
        *,
        options_type: str | None = None,
        version: int = 1,
        custom: str | None = None,
        custom_options: bytes | None = None,
    ) -> ModelBuilder:
        """Adds an operator.

        Args:
            kind: Name in the schema's `BuiltinOperator`.
            inputs: Names of tensors (or raw indices: -1 where an optional operand is absent).
            outputs: Likewise.
            options: Fields of the options table by their name in the schema, enumerations by number or name.
            options_type: Name of the options table, where it does not follow from the operator.
            version: Version of the operator.
            custom: Name of a custom operator; `kind` is then `CUSTOM`.
            custom_options: Content of its options.
        """
        name = options_type or _options_name(kind)
        self._operators.append(
            _Operator(
                kind,
                self._indices(inputs),
                self._indices(outputs),
                dict(options or {}),
                name,
                version,
                custom,
                custom_options,
            )
        )
        return self

    def build(self, inputs: Sequence[str | int], outputs: Sequence[str | int], *, external: bool = False) -> bytes:
        """Returns the file.

        Args:
            inputs: The model's inputs, by name or index.
            outputs: The model's outputs.
            external: Whether constants lie behind the flatbuffer, as they do in files over 2 GB.
        """
        if not external:
            return self._build(inputs, outputs, None)
        start = len(self._build(inputs, outputs, 2))
        constants = b"".join(tensor.data for tensor in self._tensors if tensor.data is not None)
        return self._build(inputs, outputs, start) + constants

    def _build(self, inputs: Sequence[str | int], outputs: Sequence[str | int], behind: int | None) -> bytes:
        b = flatbuffers.Builder(4096)
        every = [self, *self.called]
        buffers, numbers = self._write_buffers(b, behind, [t for each in every for t in each._tensors])
        codes = sorted({(op.kind, op.version, op.custom or "") for each in every for op in each._operators})
        written = [tables.write_code(b, *code, self.code_fields) for code in codes]
        graphs = []
        for each in every:
            own, numbers = numbers[: len(each._tensors)], numbers[len(each._tensors) :]
            tensors = [self._write_tensor(b, t, n) for t, n in zip(each._tensors, own, strict=True)]
            operators = [self._write_operator(b, op, codes) for op in each._operators]
            border = (inputs, outputs) if each is self else each.border
            graphs.append(self._write_subgraph(b, tensors, operators, *map(each._indices, border)))
        subgraphs = tables.offsets(b, tflite.ModelStartSubgraphsVector, [graphs[0]] * self.subgraphs + graphs[1:])
        code_table = tables.offsets(b, tflite.ModelStartOperatorCodesVector, written)
        buffer_table = tables.offsets(b, tflite.ModelStartBuffersVector, buffers)
        tflite.ModelStart(b)
        tflite.ModelAddVersion(b, self.version)
        tflite.ModelAddOperatorCodes(b, code_table)
        tflite.ModelAddSubgraphs(b, subgraphs)
        if self.buffers:
            tflite.ModelAddBuffers(b, buffer_table)
        b.Finish(tflite.ModelEnd(b), self.identifier)
        return bytes(b.Output())

    def _indices(self, names: Sequence[str | int]) -> list[int]:
        known = [t.name for t in self._tensors]
        return [n if isinstance(n, int) else known.index(n) for n in names]

    def _write_buffers(
        self, b: flatbuffers.Builder, behind: int | None, tensors: Sequence[_Tensor]
    ) -> tuple[list[int], list[int]]:
        """Returns the buffers (the first is empty, by convention) and the buffer number of each tensor.

        Args:
            b: Where to write.
            behind: Position in the file from which on constants lie; None where they lie in the buffers.
            tensors: The tensors, of all subgraphs.
        """
        buffers, numbers = [tables.write_buffer(b, None)], []
        for tensor in tensors:
            if tensor.data is None:
                numbers.append(0)
            else:
                numbers.append(len(buffers))
                buffers.append(tables.write_buffer(b, tensor.data, behind))
                behind = None if behind is None else behind + len(tensor.data)
        return buffers, numbers

    def _write_tensor(self, b: flatbuffers.Builder, tensor: _Tensor, buffer: int) -> int:
        quantization = tables.write_quantization(b, tensor) if len(tensor.scales) or tensor.details else None
        name = b.CreateString(tensor.name)
        shape = b.CreateNumpyVector(np.array(tensor.shape, np.int32))
        signature = None if tensor.signature is None else b.CreateNumpyVector(np.array(tensor.signature, np.int32))
        sparsity = None
        if tensor.sparse:
            tflite.SparsityParametersStart(b)
            sparsity = tflite.SparsityParametersEnd(b)
        number = tensor.type_number
        if number is None:
            number = getattr(tflite.TensorType, tensor.dtype.name.upper())
        tflite.TensorStart(b)
        tflite.TensorAddName(b, name)
        tflite.TensorAddShape(b, shape)
        tflite.TensorAddType(b, number)
        tflite.TensorAddBuffer(b, buffer)
        tflite.TensorAddIsVariable(b, tensor.variable)
        if quantization is not None:
            tflite.TensorAddQuantization(b, quantization)
        if signature is not None:
            tflite.TensorAddShapeSignature(b, signature)
        if sparsity is not None:
            tflite.TensorAddSparsity(b, sparsity)
        return tflite.TensorEnd(b)

    def _write_operator(self, b: flatbuffers.Builder, op: _Operator, codes: list[tuple[str, int, str]]) -> int:
        options = tables.write_options(b, op.options_name, op.options) if op.options_name else None
        inputs = b.CreateNumpyVector(np.array(op.inputs, np.int32))
        outputs = b.CreateNumpyVector(np.array(op.outputs, np.int32))
        custom = None if op.custom_options is None else b.CreateByteVector(op.custom_options)
        tflite.OperatorStart(b)
        tflite.OperatorAddOpcodeIndex(b, codes.index((op.kind, op.version, op.custom or "")))
        tflite.OperatorAddInputs(b, inputs)
        tflite.OperatorAddOutputs(b, outputs)
        if custom is not None:
            tflite.OperatorAddCustomOptions(b, custom)
        if options is not None:
            tflite.OperatorAddBuiltinOptionsType(b, getattr(tflite.BuiltinOptions, op.options_name))
            tflite.OperatorAddBuiltinOptions(b, options)
        return tflite.OperatorEnd(b)

    def _write_subgraph(
        self, b: flatbuffers.Builder, tensors: list[int], operators: list[int], inputs: list[int], outputs: list[int]
    ) -> int:
        tensor_table = tables.offsets(b, tflite.SubGraphStartTensorsVector, tensors)
        operator_table = tables.offsets(b, tflite.SubGraphStartOperatorsVector, operators)
        input_table = b.CreateNumpyVector(np.array(inputs, np.int32))
        output_table = b.CreateNumpyVector(np.array(outputs, np.int32))
        tflite.SubGraphStart(b)
        tflite.SubGraphAddTensors(b, tensor_table)
        tflite.SubGraphAddInputs(b, input_table)
        tflite.SubGraphAddOutputs(b, output_table)
        tflite.SubGraphAddOperators(b, operator_table)
        return tflite.SubGraphEnd(b)
