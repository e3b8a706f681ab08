"""Tables of a TFLite file that do not depend on the rest of it, for `tflite_builder`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import flatbuffers
import numpy as np
import tflite

#: Options that are enumerations, with the enumeration.
_ENUMERATIONS = {
    "Padding": tflite.Padding,
    "FusedActivationFunction": tflite.ActivationFunctionType,
    "InDataType": tflite.TensorType,
    "OutDataType": tflite.TensorType,
    "OutType": tflite.TensorType,
    "WeightsFormat": tflite.FullyConnectedOptionsWeightsFormat,
}


class Quantized(Protocol):
    """The quantisation of a tensor."""

    scales: Sequence[float] | np.ndarray
    zero_points: Sequence[float] | np.ndarray
    axis: int
    details: int


def offsets(b: flatbuffers.Builder, start: Any, offsets: Sequence[int]) -> int:
    """Writes a vector of tables; `start` begins it."""
    start(b, len(offsets))
    for offset in reversed(offsets):
        b.PrependUOffsetTRelative(offset)
    return b.EndVector()


def write_buffer(b: flatbuffers.Builder, data: bytes | None, position: int | None = None) -> int:
    """Writes a buffer; its data are at `position` behind the flatbuffer, if that is given."""
    vector = None
    if data is not None and position is None:
        # The schema wants buffers aligned to 16 bytes (`force_align`); interpreters read them in place.
        b.StartVector(1, len(data), 16)
        b.head -= len(data)
        b.Bytes[b.head : b.head + len(data)] = data
        vector = b.EndVector()
    tflite.BufferStart(b)
    if vector is not None:
        tflite.BufferAddData(b, vector)
    elif data is not None:
        tflite.BufferAddOffset(b, position)
        tflite.BufferAddSize(b, len(data))
    return tflite.BufferEnd(b)


def write_quantization(b: flatbuffers.Builder, tensor: Quantized) -> int:
    """Writes the scales and zero points of a tensor."""
    scales = b.CreateNumpyVector(np.array(tensor.scales, np.float32))
    zero_points = b.CreateNumpyVector(np.array(tensor.zero_points, np.int64))
    tflite.QuantizationParametersStart(b)
    tflite.QuantizationParametersAddScale(b, scales)
    tflite.QuantizationParametersAddZeroPoint(b, zero_points)
    tflite.QuantizationParametersAddQuantizedDimension(b, tensor.axis)
    tflite.QuantizationParametersAddDetailsType(b, tensor.details)
    return tflite.QuantizationParametersEnd(b)


def write_options(b: flatbuffers.Builder, table: str, options: Mapping[str, Any]) -> int:
    """Writes an options table with these fields."""
    values: dict[str, Any] = {}
    for key, value in options.items():
        if not hasattr(tflite, f"{table}Add{key}"):
            raise KeyError(f"{table} has no field {key}")
        if isinstance(value, str) and key in _ENUMERATIONS:
            values[key] = getattr(_ENUMERATIONS[key], value)
        elif isinstance(value, str):
            values[key] = b.CreateString(value)
        elif isinstance(value, Sequence | np.ndarray):
            values[key] = b.CreateNumpyVector(np.array(value, np.int32))
        else:
            values[key] = value
    getattr(tflite, f"{table}Start")(b)
    for key, value in values.items():
        getattr(tflite, f"{table}Add{key}")(b, value)
    return getattr(tflite, f"{table}End")(b)


def write_code(b: flatbuffers.Builder, kind: str, version: int, custom: str, fields: str) -> int:
    """Writes the code of an operator; `fields` as `ModelBuilder.code_fields`."""
    number = getattr(tflite.BuiltinOperator, kind)
    name = b.CreateString(custom) if custom else None
    tflite.OperatorCodeStart(b)
    if fields != "new":
        tflite.OperatorCodeAddDeprecatedBuiltinCode(b, min(number, 127))
    if fields != "old":
        tflite.OperatorCodeAddBuiltinCode(b, number)
    tflite.OperatorCodeAddVersion(b, version)
    if name is not None:
        tflite.OperatorCodeAddCustomCode(b, name)
    return tflite.OperatorCodeEnd(b)
