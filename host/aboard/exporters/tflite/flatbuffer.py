"""Tensors, buffers and operators as the bytes of a TFLite file (`schema.fbs` of TensorFlow Lite, version 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import flatbuffers
import numpy as np
import tflite

from aboard.exporters.tflite.operators import Operator
from aboard.importers import tflite_options
from aboard.ir import Array, DType, Graph, Quantization, Tensor

_SCHEMA = 3
_IDENTIFIER = b"TFL3"

#: Data of constants begin at multiples of this, in bytes.
_ALIGNMENT = 16

#: Largest number of an operator in the field of old files; others have this number there.
_MOST_OLD = 127

_TYPES = {
    DType.FLOAT32: tflite.TensorType.FLOAT32,
    DType.FLOAT16: tflite.TensorType.FLOAT16,
    DType.INT8: tflite.TensorType.INT8,
    DType.UINT8: tflite.TensorType.UINT8,
    DType.INT16: tflite.TensorType.INT16,
    DType.INT32: tflite.TensorType.INT32,
    DType.UINT32: tflite.TensorType.UINT32,
    DType.INT64: tflite.TensorType.INT64,
    DType.UINT64: tflite.TensorType.UINT64,
    DType.BOOL: tflite.TensorType.BOOL,
}


def build(graph: Graph, operators: Sequence[Operator], description: str) -> bytes:
    """Returns the file of a graph whose nodes are these operators."""
    return _File(graph, operators).build(description)


class _File:
    def __init__(self, graph: Graph, operators: Sequence[Operator]) -> None:
        self._graph, self._operators = graph, operators
        self._builder = flatbuffers.Builder(1 << 16)
        self._tensors = _tensors(graph, operators)
        self._numbers = {id(tensor): number for number, tensor in enumerate(self._tensors)}
        self._codes = sorted({(each.kind, each.version) for each in operators})
        # Buffer 0 is that of tensors without data.
        self._buffers: dict[bytes, int] = {}

    def build(self, description: str) -> bytes:
        builder = self._builder
        tensors = self._vector([self._tensor(tensor) for tensor in self._tensors])
        operators = self._vector([self._operator(each) for each in self._operators])
        inputs, outputs = (
            self._integers(map(self._number, part)) for part in (self._graph.inputs, self._graph.outputs)
        )
        name = builder.CreateString("main")
        tflite.SubGraphStart(builder)
        tflite.SubGraphAddTensors(builder, tensors)
        tflite.SubGraphAddInputs(builder, inputs)
        tflite.SubGraphAddOutputs(builder, outputs)
        tflite.SubGraphAddOperators(builder, operators)
        tflite.SubGraphAddName(builder, name)
        subgraphs = self._vector([tflite.SubGraphEnd(builder)])
        codes = self._vector([self._code(*each) for each in self._codes])
        buffers = self._vector([self._buffer(data) for data in (b"", *self._buffers)])
        said = builder.CreateString(description)
        tflite.ModelStart(builder)
        tflite.ModelAddVersion(builder, _SCHEMA)
        tflite.ModelAddOperatorCodes(builder, codes)
        tflite.ModelAddSubgraphs(builder, subgraphs)
        tflite.ModelAddDescription(builder, said)
        tflite.ModelAddBuffers(builder, buffers)
        builder.Finish(tflite.ModelEnd(builder), _IDENTIFIER)
        return bytes(builder.Output())

    def _number(self, tensor: Tensor | None) -> int:
        return -1 if tensor is None else self._numbers[id(tensor)]

    def _tensor(self, tensor: Tensor) -> int:
        builder = self._builder
        shape, name = self._integers(tensor.shape), builder.CreateString(tensor.name)
        quant = None if tensor.type.quant is None else self._quantization(tensor.type.quant)
        buffer = 0 if tensor.data is None else self._stored(tensor.data)
        tflite.TensorStart(builder)
        tflite.TensorAddShape(builder, shape)
        tflite.TensorAddType(builder, _TYPES[tensor.dtype])
        tflite.TensorAddBuffer(builder, buffer)
        tflite.TensorAddName(builder, name)
        if any(tensor is state.read for state in self._graph.states):
            tflite.TensorAddIsVariable(builder, True)
        if quant is not None:
            tflite.TensorAddQuantization(builder, quant)
        return int(tflite.TensorEnd(builder))

    def _stored(self, values: Array) -> int:
        data = np.ascontiguousarray(values).astype(values.dtype.newbyteorder("<")).tobytes()
        return self._buffers.setdefault(data, len(self._buffers) + 1)

    def _quantization(self, quant: Quantization) -> int:
        builder = self._builder
        scales = builder.CreateNumpyVector(np.array(quant.scales, np.float32))
        points = builder.CreateNumpyVector(np.array(quant.zero_points, np.int64))
        tflite.QuantizationParametersStart(builder)
        tflite.QuantizationParametersAddScale(builder, scales)
        tflite.QuantizationParametersAddZeroPoint(builder, points)
        if quant.axis is not None:
            tflite.QuantizationParametersAddQuantizedDimension(builder, quant.axis)
        return int(tflite.QuantizationParametersEnd(builder))

    def _buffer(self, data: bytes) -> int:
        builder = self._builder
        vector = None
        if data:
            builder.StartVector(1, len(data), _ALIGNMENT)
            builder.head -= len(data)
            builder.Bytes[builder.head : builder.head + len(data)] = data
            vector = builder.EndVector()
        tflite.BufferStart(builder)
        if vector is not None:
            tflite.BufferAddData(builder, vector)
        return int(tflite.BufferEnd(builder))

    def _operator(self, operator: Operator) -> int:
        builder = self._builder
        inputs, outputs = (self._integers(map(self._number, part)) for part in (operator.inputs, operator.outputs))
        table = tflite_options.expected_table(operator.kind)
        options = None if table == tflite_options.NONE else self._options(table, operator.options)
        tflite.OperatorStart(builder)
        tflite.OperatorAddOpcodeIndex(builder, self._codes.index((operator.kind, operator.version)))
        tflite.OperatorAddInputs(builder, inputs)
        tflite.OperatorAddOutputs(builder, outputs)
        if options is not None and hasattr(tflite.BuiltinOptions, table):
            tflite.OperatorAddBuiltinOptionsType(builder, getattr(tflite.BuiltinOptions, table))
            tflite.OperatorAddBuiltinOptions(builder, options)
        return int(tflite.OperatorEnd(builder))

    def _options(self, table: str, given: Mapping[str, Any]) -> int:
        builder = self._builder
        getattr(tflite, f"{table}Start")(builder)
        for name, value in given.items():
            getattr(tflite, f"{table}Add{name}")(builder, value)
        return int(getattr(tflite, f"{table}End")(builder))

    def _code(self, kind: str, version: int) -> int:
        builder, number = self._builder, int(getattr(tflite.BuiltinOperator, kind))
        tflite.OperatorCodeStart(builder)
        tflite.OperatorCodeAddDeprecatedBuiltinCode(builder, min(number, _MOST_OLD))
        tflite.OperatorCodeAddBuiltinCode(builder, number)
        tflite.OperatorCodeAddVersion(builder, version)
        return int(tflite.OperatorCodeEnd(builder))

    def _integers(self, values: Any) -> int:
        return int(self._builder.CreateNumpyVector(np.array(list(values), np.int32)))

    def _vector(self, offsets: Sequence[int]) -> int:
        self._builder.StartVector(4, len(offsets), 4)
        for offset in reversed(offsets):
            self._builder.PrependUOffsetTRelative(offset)
        return int(self._builder.EndVector())


def _tensors(graph: Graph, operators: Sequence[Operator]) -> list[Tensor]:
    """Returns each tensor once: inputs first, then as operators mention them."""
    found: dict[int, Tensor] = {}
    mentioned: list[Tensor | None] = [*graph.inputs]
    for each in operators:
        mentioned += [*each.inputs, *each.outputs]
    for tensor in [*mentioned, *graph.outputs]:
        if tensor is not None:
            found.setdefault(id(tensor), tensor)
    return list(found.values())
