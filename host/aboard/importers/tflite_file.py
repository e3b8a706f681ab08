"""A TFLite file as plain records: the only module that reads the flatbuffer.

A flatbuffer consists of offsets, which may point anywhere in a corrupt file. This module reads every table once, checks
every count against the size of the file, and charges all reads to a budget, so that tables that refer to each other a
million times end in an error instead of exhausting memory. The results are numbers, bytes and lists; the importer
checks their meaning.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import flatbuffers
import numpy as np
import numpy.typing as npt
import tflite

from aboard.base import printable
from aboard.errors import ModelError
from aboard.importers import tflite_options

#: The identifier at byte 4 of the file, and the only version of the schema since 2017.
IDENTIFIER = b"TFL3"
VERSION = 3

# Exceptions of the flatbuffer reader for corrupt files: offsets past the end (struct.error, ValueError of numpy),
# offsets out of range of their type (TypeError of flatbuffers), counts too large for Python (OverflowError).
_CORRUPT = (struct.error, ValueError, TypeError, OverflowError, IndexError)

# Buffer.offset is valid only if it is larger: 0 is the schema's default and 1 a placeholder of the converter.
_FIRST_OFFSET = 2

# The buffer of tensors without values: the schema requires it first and empty. Some files have no buffers.
_NO_BUFFER = 0

# `QuantizationDetails.BlockwiseQuantization`, which is newer than the schema package.
_BLOCKWISE = 2

# Position of `OperatorCode.builtin_code`, its fourth field, in the table's list of fields.
_BUILTIN_CODE_SLOT = 10

_Read = TypeVar("_Read")


@dataclass(frozen=True)
class FileTensor:
    """A tensor of the file.

    Attributes:
        name: May be empty and need not be unique.
        shape: Shape in the file; -1 for an unknown size.
        signature: `shape_signature`, empty if absent.
        type: Number of the element type.
        buffer: Number of its buffer.
        scales: Scales of its quantisation, empty without quantisation.
        zero_points: Zero points; may be empty.
        axis: Axis of the scales.
        unknown_quantization: Name of a quantisation other than scales and zero points; empty without one.
        variable: True for state that is kept between inferences.
        sparse: True if the values are stored in a sparse format.
    """

    name: str
    shape: tuple[int, ...]
    signature: tuple[int, ...]
    type: int
    buffer: int
    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    axis: int
    unknown_quantization: str
    variable: bool
    sparse: bool


@dataclass(frozen=True)
class FileOperator:
    """An operator of the file.

    Attributes:
        kind: Name in the schema; `CUSTOM <name>` for a custom operator.
        inputs: Tensor numbers; -1 for an absent optional operand.
        outputs: Tensor numbers.
        table: Name of the options table that the file states; `NONE` where it states none.
        options: Fields of the operator's own options table, with the schema's defaults where the file says nothing;
            empty where the schema has no table for the operator.
        custom_options: Content of the options of a custom operator, whose form is the operator's own.
    """

    kind: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    table: str
    options: Mapping[str, Any]
    custom_options: bytes = b""


@dataclass(frozen=True)
class Subgraph:
    """A subgraph of the file.

    Attributes:
        tensors: All tensors.
        operators: The operators in execution order.
        inputs: Tensor numbers.
        outputs: Tensor numbers.
    """

    tensors: list[FileTensor]
    operators: list[FileOperator]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclass
class File:
    """The content of a file.

    Attributes:
        subgraphs: At least one. The first is the model; others are what its operators call, or further signatures.
    """

    subgraphs: list[Subgraph]
    _buffer: Callable[[int], bytes] = field(repr=False)

    def buffer(self, number: int) -> bytes:
        """Returns the content of a buffer; empty if the file has no content for it.

        Raises:
            ModelError: The buffer does not exist, or exceeds the end of the file.
        """
        return self._buffer(number)


def parse(data: bytes, where: str) -> File:
    """Reads a TFLite file.

    Args:
        data: The whole file.
        where: File name, for error messages.

    Raises:
        ModelError: It is no TFLite file, another version of it, corrupt, or has no subgraph.
    """
    if data[4:8] != IDENTIFIER:
        raise ModelError(
            f"{where}: not a TFLite file, got {data[4:8]!r} at byte 4, expected {IDENTIFIER!r}. "
            "Convert the model with the TensorFlow Lite converter"
        )
    reader = _Reader(data, where)
    return reader.guard(reader.file)


def type_name(number: int) -> str:
    """Returns the schema's name of an element type."""
    return tflite_options.numbers(tflite.TensorType).get(number, f"number {number}")


class _Reader:
    """Reads tables within the bounds of the file and a budget of values."""

    def __init__(self, data: bytes, where: str) -> None:
        self._data = data
        self._where = where
        self._budget = 4 * len(data) + (1 << 16)
        self._model: Any = None
        self._buffers: dict[int, bytes] = {}

    def guard(self, read: Callable[[], _Read]) -> _Read:
        """Calls a reading function, and turns any exception of a corrupt flatbuffer into a `ModelError`."""
        try:
            return read()
        except _CORRUPT as error:
            raise self.corrupt("an offset points outside it") from error

    def corrupt(self, what: str) -> ModelError:
        """Returns the error for a damaged file of this many bytes."""
        return ModelError(
            f"{self._where}: the file is cut off or corrupt, got {len(self._data)} bytes in which {what}. "
            "Export or download the model again"
        )

    def file(self) -> File:
        """Reads the whole file except the buffers."""
        self._model = model = tflite.Model.GetRootAs(self._data, 0)
        if model.Version() != VERSION:
            raise ModelError(
                f"{self._where}: version of the schema, got {model.Version()}, expected {VERSION}. "
                "Convert the model with a current TensorFlow"
            )
        if model.SubgraphsLength() == 0:
            raise ModelError(
                f"{self._where}: subgraphs, got none, expected at least 1. Export or download the model again"
            )
        codes = [self._code(model.OperatorCodes(i)) for i in range(self._count(model.OperatorCodesLength()))]
        return File(
            [self._subgraph(model.Subgraphs(i), codes) for i in range(self._count(model.SubgraphsLength()))],
            lambda number: self.guard(lambda: self._read_buffer(number)),
        )

    def _subgraph(self, graph: Any, codes: list[str]) -> Subgraph:
        return Subgraph(
            [self._tensor(graph.Tensors(i)) for i in range(self._count(graph.TensorsLength()))],
            [self._operator(graph.Operators(i), codes) for i in range(self._count(graph.OperatorsLength()))],
            self._integers(graph.InputsAsNumpy()),
            self._integers(graph.OutputsAsNumpy()),
        )

    def _count(self, count: int) -> int:
        """Charges `count` table entries of at least 4 bytes each."""
        self._charge(4 * count)
        return count

    def _charge(self, size: int) -> None:
        self._budget -= size
        if self._budget < 0:
            raise self.corrupt("tables state more content than it can hold")

    def _integers(self, vector: npt.NDArray[Any] | int) -> tuple[int, ...]:
        """Returns the values of a vector; empty for an absent vector (0 in the schema's code)."""
        if isinstance(vector, int):
            return ()
        self._charge(vector.nbytes)
        return tuple(int(value) for value in vector)

    def _bytes(self, vector: npt.NDArray[Any] | int) -> bytes:
        """Returns the content of a vector of bytes; an absent one is empty."""
        if isinstance(vector, int):
            return b""
        self._charge(vector.nbytes)
        return vector.tobytes()

    def _text(self, text: bytes | None) -> str:
        """Returns a name with escaped hidden characters: error messages, generated files and reports contain it."""
        self._charge(len(text or b""))
        return printable.one_line((text or b"").decode("utf-8", "replace"))

    def _code(self, code: Any) -> str:
        """Returns the name of an operator code: the larger of the old field (int8) and the new one (int32)."""
        number = max(code.DeprecatedBuiltinCode(), _new_builtin_code(code))
        kind = tflite_options.numbers(tflite.BuiltinOperator).get(number, f"operator number {number}")
        return f"CUSTOM {self._text(code.CustomCode())}" if kind == "CUSTOM" else kind

    def _tensor(self, tensor: Any) -> FileTensor:
        quantization = tensor.Quantization()
        scales: tuple[float, ...] = ()
        zero_points: tuple[int, ...] = ()
        axis, unknown = 0, ""
        if quantization is not None:
            values = quantization.ScaleAsNumpy()
            if not isinstance(values, int):
                self._charge(values.nbytes)
                scales = tuple(float(value) for value in values)
            zero_points = self._integers(quantization.ZeroPointAsNumpy())
            axis = int(quantization.QuantizedDimension())
            unknown = _unknown_quantization(quantization.DetailsType())
        return FileTensor(
            self._text(tensor.Name()),
            self._integers(tensor.ShapeAsNumpy()),
            self._integers(tensor.ShapeSignatureAsNumpy()),
            int(tensor.Type()),
            int(tensor.Buffer()),
            scales,
            zero_points,
            axis,
            unknown,
            bool(tensor.IsVariable()),
            tensor.Sparsity() is not None,
        )

    def _operator(self, operator: Any, codes: list[str]) -> FileOperator:
        index = operator.OpcodeIndex()
        if index >= len(codes):
            raise self.corrupt(f"operator code {index} of {len(codes)} is asked for")
        kind = codes[index]
        return FileOperator(
            kind,
            self._integers(operator.InputsAsNumpy()),
            self._integers(operator.OutputsAsNumpy()),
            _table(operator),
            self._options(operator, kind),
            self._bytes(operator.CustomOptionsAsNumpy()),
        )

    def _options(self, operator: Any, kind: str) -> Mapping[str, Any]:
        """Returns the fields of the operator's table, or the defaults if the file has no table or another one."""
        name = tflite_options.expected_table(kind)
        table, cls = operator.BuiltinOptions(), tflite_options.table_class(name)
        if table is None or cls is None or _table(operator) != name:
            return tflite_options.defaults(name)
        options = cls()
        options.Init(table.Bytes, table.Pos)
        return {name: self._field(options, name, is_vector) for name, is_vector in tflite_options.fields(cls)}

    def _field(self, options: Any, name: str, is_vector: bool) -> Any:
        if is_vector:
            return self._integers(getattr(options, f"{name}AsNumpy")())
        value = getattr(options, name)()
        return self._text(value) if isinstance(value, bytes) else value

    def _read_buffer(self, number: int) -> bytes:
        if number not in self._buffers:
            if number == _NO_BUFFER:
                return b""
            if number >= self._model.BuffersLength():
                raise self.corrupt(f"buffer {number} of {self._model.BuffersLength()} is asked for")
            self._buffers[number] = self._buffer_content(self._model.Buffers(number))
        return self._buffers[number]

    def _buffer_content(self, buffer: Any) -> bytes:
        """Returns the bytes of a buffer: in the flatbuffer, or at an offset behind it (files over 2 GB)."""
        start, size = buffer.Offset(), buffer.Size()
        if start >= _FIRST_OFFSET:
            if start + size > len(self._data):
                raise self.corrupt(f"a buffer ends at byte {start + size}")
            self._charge(size)
            return self._data[start : start + size]
        content: npt.NDArray[np.uint8] | int = buffer.DataAsNumpy()
        if isinstance(content, int):
            return b""
        self._charge(content.nbytes)
        return content.tobytes()


def _unknown_quantization(number: int) -> str:
    """Returns the name of a kind of quantisation by its number in the union `QuantizationDetails`.

    Interpreters ignore `CustomQuantization`, which is an addition to the scales.
    """
    if number in (tflite.QuantizationDetails.NONE, tflite.QuantizationDetails.CustomQuantization):
        return ""
    return "BlockwiseQuantization" if number == _BLOCKWISE else f"quantisation details number {number}"


def _new_builtin_code(code: Any) -> int:
    """Returns the field `builtin_code` of an operator code.

    The schema package cannot be used: it returns the deprecated field instead for all operators below 127.
    """
    table = code._tab  # noqa: SLF001 - the package has no other way to the field itself
    offset = table.Offset(_BUILTIN_CODE_SLOT)
    return int(table.Get(flatbuffers.number_types.Int32Flags, table.Pos + offset)) if offset else 0


def _table(operator: Any) -> str:
    """Returns the name of the options table of an operator in the file, from the first or the second union."""
    number = operator.BuiltinOptionsType()
    if number or not operator.BuiltinOptions2Type():
        return tflite_options.table_name(tflite.BuiltinOptions, number)
    return tflite_options.table_name(tflite.BuiltinOptions2, operator.BuiltinOptions2Type())
