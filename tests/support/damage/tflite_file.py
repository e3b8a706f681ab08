"""A TFLite file as objects: read, edited, written, and evaluated by LiteRT's reference kernels."""

from __future__ import annotations

from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from support import tflite_tables
from support.damage.records import Values

_IDENTIFIER = b"TFL3"
_TYPES = {0: np.float32, 2: np.int32, 4: np.int64, 7: np.int16, 9: np.int8, 17: np.int8}

KINDS = {number: name for name, number in vars(schema.BuiltinOperator).items() if not name.startswith("_")}


class _AlignedBuffer(schema.BufferT):
    """A buffer that is aligned to 16 bytes, as the schema asks; the generated class aligns to 4."""

    def Pack(self, builder: flatbuffers.Builder) -> int:
        return tflite_tables.write_buffer(builder, None if self.data is None else bytes(self.data))


class TFLiteFile:
    """The objects of a file, which may be edited."""

    def __init__(self, data: bytes) -> None:
        self.model = schema.ModelT.InitFromPackedBuf(bytearray(data), 0)
        self.graph = self.model.subgraphs[0]

    def written(self) -> bytes:
        """Returns the file."""
        for number, buffer in enumerate(self.model.buffers):
            aligned = _AlignedBuffer()
            aligned.data = buffer.data
            self.model.buffers[number] = aligned
        builder = flatbuffers.Builder(1 << 16)
        builder.Finish(self.model.Pack(builder), _IDENTIFIER)
        return bytes(builder.Output())

    def kind(self, layer: int) -> str:
        """Returns the name of an operator's kind, such as `CONV_2D`."""
        code = self.model.operatorCodes[self.graph.operators[layer].opcodeIndex]
        return KINDS[max(code.builtinCode, code.deprecatedBuiltinCode)]

    def operands(self, layer: int) -> list[int]:
        """Returns the numbers of an operator's input tensors; -1 for an absent one."""
        return [int(number) for number in self.graph.operators[layer].inputs]

    def output(self, layer: int) -> int:
        """Returns the number of an operator's first output."""
        return int(self.graph.operators[layer].outputs[0])

    def readers(self, tensor: int) -> list[int]:
        """Returns the operators that read a tensor."""
        return [layer for layer in range(len(self.graph.operators)) if tensor in self.operands(layer)]

    def array(self, tensor: int) -> np.ndarray | None:
        """Returns the values of a constant with at most 8 bits for each weight; None for any other tensor."""
        record = self.graph.tensors[tensor] if tensor >= 0 else None
        data = None if record is None else self.model.buffers[record.buffer].data
        if record is None or data is None or len(data) == 0 or record.type not in _TYPES or record.type == 17:
            return None
        return np.frombuffer(bytes(data), _TYPES[record.type]).reshape(record.shape).copy()

    def store(self, tensor: int, values: np.ndarray) -> None:
        """Gives a constant other values of its shape, in a buffer of its own."""
        buffer = schema.BufferT()
        buffer.data = np.frombuffer(values.astype(_TYPES[self.graph.tensors[tensor].type]).tobytes(), np.uint8)
        self.model.buffers.append(buffer)
        self.graph.tensors[tensor].buffer = len(self.model.buffers) - 1

    def scales(self, tensor: int) -> np.ndarray | None:
        """Returns the scales of a quantised tensor, a copy; None if it has none."""
        record = self.graph.tensors[tensor].quantization if tensor >= 0 else None
        return None if record is None or record.scale is None or len(record.scale) == 0 else np.array(record.scale)

    def zero_point(self, tensor: int) -> int:
        """Returns the zero point of a tensor of one scale; 0 if none is stated."""
        points = self.graph.tensors[tensor].quantization.zeroPoint
        return 0 if points is None or len(points) == 0 else int(points[0])

    def name(self, tensor: int) -> str:
        """Returns the name of a tensor."""
        return str((self.graph.tensors[tensor].name or b"").decode())

    def type(self, tensor: int) -> Any:
        """Returns the numpy type of a tensor; None if it is of another kind."""
        return _TYPES.get(self.graph.tensors[tensor].type)


def _interpreter(data: bytes) -> Interpreter:
    return Interpreter(
        model_content=data,
        experimental_op_resolver_type=OpResolverType.BUILTIN_REF,
        experimental_preserve_all_tensors=True,
        num_threads=1,
    )


def _with_plain_axes(data: bytes) -> bytes:
    """Returns a file with axis 0 where the axis of scales does not exist.

    Old files have such axes, and LiteRT refuses them.
    """
    file = TFLiteFile(data)
    for tensor in file.graph.tensors:
        if tensor.quantization is not None and tensor.quantization.quantizedDimension >= len(tensor.shape):
            tensor.quantization.quantizedDimension = 0
    return file.written()


class Run:
    """A file in LiteRT with its reference kernels, which keeps every tensor."""

    def __init__(self, data: bytes) -> None:
        try:
            self._interpreter = _interpreter(data)
        except ValueError:
            self._interpreter = _interpreter(_with_plain_axes(data))
        self._interpreter.allocate_tensors()
        self.inputs = self._interpreter.get_input_details()
        self.shapes = {item["index"]: tuple(map(int, item["shape"])) for item in self._interpreter.get_tensor_details()}

    def invoke(self, feed: Values) -> None:
        """Computes every tensor for values by the names of inputs in the file."""
        for item in self.inputs:
            self._interpreter.set_tensor(item["index"], feed[item["name"]])
        self._interpreter.invoke()

    def value(self, tensor: int) -> np.ndarray:
        """Returns the values of a tensor that an operator computes, as they are stored."""
        return np.array(self._interpreter.get_tensor(tensor))


def real(file: TFLiteFile, tensor: int, values: np.ndarray) -> np.ndarray:
    """Returns values of a tensor as real numbers."""
    scales = file.scales(tensor)
    if values.dtype.kind != "i" or scales is None:
        return values.astype(np.float64)
    return (values.astype(np.float64) - file.zero_point(tensor)) * float(scales[0])
